"""The law inside a twin: raw matrices in, raw matrices out.

Inputs x (rows, inputs) hold categories as codes; values y (rows, targets) are continuous, in the units of the data
(the twin makes lattice values and atoms of them). A twin works with any such law: that of networks, which compiled
code can use as well, or whatever a sampler of the user's has fitted.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax import Array
from jax.typing import ArrayLike

from forebear.data.scaling import ColumnCode, Encoder
from forebear.errors import InputError
from forebear.flow.sampler import Law
from forebear.kinds import kind_named
from forebear.twin.batches import MOST, in_pieces
from forebear.twin.mass import log_normal
from forebear.twin.model import TwinModel

Part = Literal["pull", "density", "networks"]
"""what a law may lack: the way back to latents, densities, and networks that can be compiled, saved and exported"""


class TwinLaw(abc.ABC):
    """The conditional law of the targets as a map from standard normal latents."""

    @property
    @abc.abstractmethod
    def latents(self) -> int:
        """Latents of a draw of all targets; 0 when the law is a point."""

    @property
    @abc.abstractmethod
    def lacks(self) -> Mapping[Part, str]:
        """What the law cannot do, and why, in a few words and a remedy."""

    @property
    @abc.abstractmethod
    def rises(self) -> bool | None:
        """Whether each target rises with a latent of its own, which makes the law a quantile map; None: not known."""

    @abc.abstractmethod
    def push(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values (some, rows, targets) at latents z (some, rows, latents), all at the same inputs."""

    @abc.abstractmethod
    def pull(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Latents (rows, latents) of values y (rows, targets)."""

    @abc.abstractmethod
    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Log densities (rows, targets) of values y; of a joint law (rows, 1), of all targets together."""


@final
@dataclass(frozen=True, eq=False)
class ModelLaw(TwinLaw):
    """The law of a model of networks, with the scaling around it."""

    encoder: Encoder
    model: TwinModel
    centre: np.ndarray
    """(targets,)"""
    scale: np.ndarray

    @property
    def latents(self) -> int:
        """Those of the model."""
        return self.model.latents

    @property
    def lacks(self) -> Mapping[Part, str]:
        """A mean has no latents to go back to."""
        if self.latents:
            return {}
        why = "the law is a mean, without latents: fit the twin with sampler='flow' or 'gaussian'"
        return {"pull": why, "density": why}

    @property
    def rises(self) -> bool | None:
        """As the model knows."""
        return self.model.rises

    def push(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """In pieces, through the compiled model."""
        return self.standardised(self.encoder.single(x), z) * self.scale + self.centre

    def standardised(self, features: np.ndarray, z: np.ndarray) -> np.ndarray:
        """What the networks say, before it is scaled back, at features (rows, width)."""
        some, rows = z.shape[:2]

        def arguments(piece: slice) -> tuple[np.ndarray, ...]:
            which, row = np.divmod(np.arange(piece.start, piece.stop), rows)
            return features[row], z[which, row]

        [y] = in_pieces(lambda *both: (_push(self.model, *both),), arguments, some * rows, len(self.centre))
        return y.reshape(some, rows, -1)

    def pull(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The model's own inverse."""
        return self._pulled(x, y)[0]

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """That of the latents times the slope of the model's inverse."""
        z, slope = self._pulled(x, y)
        if slope.shape[1] < y.shape[1]:
            return log_normal(z).sum(axis=1, keepdims=True) + slope - np.log(self.scale).sum()
        return log_normal(z) + slope - np.log(self.scale)

    def _pulled(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features, scaled = self.encoder.single(x), (y - self.centre) / self.scale

        def arguments(piece: slice) -> tuple[np.ndarray, ...]:
            return features[piece], scaled[piece]

        z, slope = in_pieces(lambda *both: _pull(self.model, *both), arguments, len(x), len(self.centre))
        return z, slope


@eqx.filter_jit
def _push(model: TwinModel, x: ArrayLike, z: ArrayLike) -> Array:
    return model.push(jnp.asarray(x), jnp.asarray(z))


@eqx.filter_jit
def _pull(model: TwinModel, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    return model.pull_with_slope(jnp.asarray(x), jnp.asarray(y))


@final
@dataclass(frozen=True, eq=False)
class ForeignLaw(TwinLaw):
    """Laws that a user's sampler fitted, one for each target or one for all; they see data frames.

    `pull(given, y)` and `log_prob(given, y)`, a number for each row, are used where a law has them.
    """

    laws: tuple[Law, ...]
    columns: tuple[ColumnCode, ...]
    inputs: tuple[tuple[str, ...], ...]
    """of each law"""
    outputs: tuple[int, ...]
    """targets of each law"""

    @property
    def latents(self) -> int:
        """Those of all laws, one after the other."""
        return sum(law.latents for law in self.laws)

    @cached_property
    def lacks(self) -> Mapping[Part, str]:
        """What the law has no method for."""
        name = type(self.laws[0]).__name__
        found: dict[Part, str] = {"networks": f"{name} is not made of forebear's networks"}
        methods: dict[Part, str] = {"pull": "pull", "density": "log_prob"}
        for part, method in methods.items():
            if not all(hasattr(law, method) for law in self.laws):
                found[part] = f"{name} has no {method}(given, y): add one, or fit the twin with sampler='flow'"
        return found

    @property
    def rises(self) -> bool | None:
        """Invertible maps of a latent each do rise, or fall; all others are not known to."""
        one_each = all(law.latents == count == 1 for law, count in zip(self.laws, self.outputs, strict=True))
        return None if one_each and "pull" not in self.lacks else False

    def push(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Each law at its own inputs and latents, many rows at a time."""
        frame = self._frame(x)
        at_once = max(1, MOST // max(1, len(x)))
        return np.concatenate([self._push(frame, z[i : i + at_once]) for i in range(0, len(z), at_once)])

    def _push(self, frame: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        some, rows = z.shape[:2]
        repeated = frame.iloc[np.tile(np.arange(rows), some)].reset_index(drop=True)
        flat = z.reshape(some * rows, -1)
        parts, first = [], 0
        for law, names, count in zip(self.laws, self.inputs, self.outputs, strict=True):
            told = law.push(repeated[list(names)], flat[:, first : first + law.latents])
            parts.append(_checked(told, (some * rows, count), law, "push"))
            first += law.latents
        return np.concatenate(parts, axis=1).reshape(some, rows, -1)

    def pull(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What the laws' own inverses say."""
        wanted = [(len(x), law.latents) for law in self.laws]
        return np.concatenate(self._ask("pull", x, y, wanted), axis=1)

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What the laws themselves say."""
        return np.concatenate(self._ask("log_prob", x, y, [(len(x), 1)] * len(self.laws)), axis=1)

    def _ask(self, method: str, x: np.ndarray, y: np.ndarray, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
        frame, told, first = self._frame(x), [], 0
        for law, names, count, shape in zip(self.laws, self.inputs, self.outputs, shapes, strict=True):
            answer = getattr(law, method)(frame[list(names)], y[:, first : first + count])
            told.append(_checked(answer, shape, law, method))
            first += count
        return told

    def _frame(self, x: np.ndarray) -> pd.DataFrame:
        cells = {c.name: kind_named(c.kind).cells(x[:, i], c) for i, c in enumerate(self.columns)}
        return pd.DataFrame(cells, index=pd.RangeIndex(len(x)))


def _checked(told: Any, shape: tuple[int, int], law: Law, method: str) -> np.ndarray:
    numbers = np.asarray(told, float)
    if numbers.size != shape[0] * shape[1]:
        raise InputError(
            f"{type(law).__name__}.{method} must return an array of shape {shape}; got {numbers.shape}: "
            "see `forebear.Law`"
        )
    if not np.isfinite(numbers).all():
        raise InputError(f"{type(law).__name__}.{method} returned numbers that are not finite")
    return numbers.reshape(shape)
