"""What a sampler is: something that can be fitted, and then turns inputs and latents into draws.

A user's own sampler needs just the two methods below; `forebear.systems.System.oracle` is an example that knows
the exact law. The built-in ones (`FlowSampler`, `GaussianSampler`, `MeanSampler`) train all their models at once.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
import pandas as pd
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from forebear.data.scaling import Encoder
from forebear.data.table import Table, read_columns
from forebear.data.weights import lesson_rows, weighted_rows
from forebear.flow.network import Network, stack, unstack
from forebear.flow.settings import FlowSettings
from forebear.flow.single import single
from forebear.flow.train import Rows, Trained, Training, fit
from forebear.run.notes import told


@runtime_checkable
class Law(Protocol):
    """The conditional law of some outputs given inputs, as a map from latents to draws.

    A twin also uses two methods that a law may have: `pull(given, y)`, the inverse of `push`, which gives latents
    (rows, latents), and `log_prob(given, y)`, log densities (rows,) of all outputs together.
    """

    @property
    def latents(self) -> int:
        """Standard normal latents of a draw; 0 for a deterministic law."""
        ...

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        """Draws (rows, outputs) at the rows of `given`, one for each row of latents z (rows, latents)."""
        ...


@runtime_checkable
class Sampler(Protocol):
    """Learns a law from data."""

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Law:
        """The law of the columns of `y` given those of `given`."""
        ...


class Task(NamedTuple):
    """One law to be learned."""

    inputs: tuple[str, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class NetworkSampler(abc.ABC):
    """A sampler made of one network per task; the concrete classes say what the network means."""

    settings: FlowSettings = FlowSettings()

    @abc.abstractmethod
    def make(self, features: int, outputs: int, *, rng: np.random.Generator) -> Network:
        """A fresh network."""

    @abc.abstractmethod
    def latents(self, outputs: int) -> int:
        """Latents of a draw."""

    @staticmethod
    @abc.abstractmethod
    def loss(
        model: Network, x: Float[Array, "batch features"], y: Float[Array, "batch outputs"], key: PRNGKeyArray
    ) -> Float[Array, ""]:
        """The mean loss of a batch: x (batch, features), standardised y (batch, outputs)."""

    @abc.abstractmethod
    def push(
        self, model: Network, x: Float[Array, "rows features"], z: Float[Array, "rows latents"]
    ) -> Float[Array, "rows outputs"]:
        """Latents (rows, latents) to standardised outputs (rows, outputs) at features x (rows, features)."""

    @abc.abstractmethod
    def pull(
        self, model: Network, x: Float[Array, "rows features"], y: Float[Array, "rows outputs"]
    ) -> Float[Array, "rows latents"]:
        """Standardised outputs to latents: the inverse of `push`."""

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> NetworkLaw:
        """The law of the columns of `y` given those of `given`, from two data frames."""
        table = read_columns(given, "the table", list(given.columns))
        task = Task(tuple(given.columns), tuple(y.columns))
        lessons = self.prepare(table, [task], [y.to_numpy(float)], np.arange(len(given)), seed=seed)
        return lessons.laws(told(fit(lessons.training)))[0]

    def prepare(
        self,
        table: Table,
        tasks: Sequence[Task],
        y: Sequence[np.ndarray],
        rows: Int[np.ndarray, " some"],
        held_out: Int[np.ndarray, " others"] | None = None,
        *,
        seed: int,
        weights: Float[np.ndarray, " all"] | None = None,
    ) -> Lessons:
        """The training of one law per task, together, on some `rows` of the table, watched on the `held_out` ones.

        y[i] has shape (rows of the table, outputs), the same for every task; `weights` (rows of the table,) say how
        much rows count. `forebear.flow.train.fit` does the training, and `Lessons.laws` makes laws of what it
        learned.
        """
        names = [name for name in table.columns if any(name in task.inputs for task in tasks)]
        encoder = Encoder.of(table, names)
        x = encoder.of_table(table)
        masks = np.stack([encoder.mask(task.inputs) for task in tasks])
        values = np.stack(y)
        centre, scale = values.mean(axis=1), values.std(axis=1)
        scaled = (values - centre[:, None]) / scale[:, None]
        rng = np.random.default_rng(seed)
        models = stack([self.make(x.shape[1], values.shape[2], rng=rng) for _ in tasks])
        if weights is not None and held_out is not None:
            held_out = held_out[weighted_rows(weights[held_out], len(held_out))]
        watched = None if held_out is None else Rows(x[held_out], scaled[:, held_out])
        data = Rows(x[rows], scaled[:, rows], None if weights is None else lesson_rows(weights[rows]))
        training = Training(models, self.loss, data, watched, masks, self.settings, seed)
        return Lessons(self, training, encoder, tuple(tasks), centre, scale)


@dataclass(frozen=True, eq=False)
class Lessons:
    """A training, and what turns its networks into laws: raw numbers in, raw numbers out."""

    sampler: NetworkSampler
    training: Training
    encoder: Encoder
    tasks: tuple[Task, ...]
    centre: np.ndarray
    """(tasks, outputs)"""
    scale: np.ndarray

    def laws(self, trained: Trained) -> list[NetworkLaw]:
        """One law per task."""
        each = unstack(trained.models, len(self.tasks))
        return [
            NetworkLaw(self.sampler, each[i], self.encoder, task.inputs, self.centre[i], self.scale[i])
            for i, task in enumerate(self.tasks)
        ]


@dataclass(frozen=True, eq=False)
class NetworkLaw:
    """A trained network with the scaling of its inputs and outputs: raw numbers in, raw numbers out."""

    sampler: NetworkSampler
    model: Network
    encoder: Encoder
    inputs: tuple[str, ...]
    centre: np.ndarray
    scale: np.ndarray

    @property
    def latents(self) -> int:
        """Latents of a draw."""
        return self.sampler.latents(len(self.centre))

    def push(self, given: pd.DataFrame, z: Float[np.ndarray, "rows latents"]) -> Float[np.ndarray, "rows outputs"]:
        """Draws (rows, outputs) at the rows of `given`, one for each row of latents z (rows, latents)."""
        y = _push(self.model, self._features(given), single(z), self._solver)
        return np.asarray(y, float) * self.scale + self.centre

    def pull(self, given: pd.DataFrame, y: Float[np.ndarray, "rows outputs"]) -> Float[np.ndarray, "rows latents"]:
        """Latents (rows, latents) of observed outputs y (rows, outputs)."""
        scaled = (np.asarray(y, float) - self.centre) / self.scale
        return np.asarray(_pull(self.model, self._features(given), single(scaled), self._solver), float)

    @property
    def _solver(self) -> NetworkSampler:
        """The sampler without its training: what a compiled push or pull depends on."""
        return replace(self.sampler, settings=self.sampler.settings.untrained())

    def _features(self, given: pd.DataFrame) -> Float[Array, "rows features"]:
        return single(self.encoder.encode(given.filter(list(self.inputs))))


@partial(jax.jit, static_argnames="sampler")
def _push(
    model: Network, x: Float[Array, "rows features"], z: Float[Array, "rows latents"], sampler: NetworkSampler
) -> Float[Array, "rows outputs"]:
    return sampler.push(model, x, z)


@partial(jax.jit, static_argnames="sampler")
def _pull(
    model: Network, x: Float[Array, "rows features"], y: Float[Array, "rows outputs"], sampler: NetworkSampler
) -> Float[Array, "rows latents"]:
    return sampler.pull(model, x, y)
