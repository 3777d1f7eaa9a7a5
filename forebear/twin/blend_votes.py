"""Learn how likely each of a few things is: the networks behind atoms, two values and labels."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int
from scipy.optimize import OptimizeResult, minimize_scalar
from scipy.special import log_softmax

from forebear.discovery.structure import RowStructure
from forebear.flow.network import Network, stack
from forebear.flow.settings import FlowSettings
from forebear.flow.train import Rows, Training, fit
from forebear.run.notes import told
from forebear.twin.blend_nets import Lesson
from forebear.twin.votes import Votes

# One network for each part of the rows, stopped where it serves that part best.
_PARTS = 5
_SETTINGS = FlowSettings(width=32, depth=2, steps=800, batch=256, rate=3e-3, averaging=0.99)
_DECAY = 1e-4
# What the networks say is made more or less sure by such a factor at most.
_COOLEST, _HOTTEST = 0.05, 5.0


def fit_votes(
    lesson: Lesson, codes: Int[np.ndarray, " rows"], some: int, seed: int, structure: RowStructure
) -> Votes:
    """How likely each of `some` things is, from which one each row has; rows that hang together vote together."""
    rng = np.random.default_rng(seed)
    rows, width = lesson.features.shape
    fold = structure.folds(rows, _PARTS, rng)
    counts = np.ones(rows) if structure.weights is None else structure.weights
    # Every row is drawn as often; its weight tells how much it counts.
    y = (np.eye(some)[codes] * counts[:, None])[None]
    sizes = {"width": _SETTINGS.width, "depth": _SETTINGS.depth, "activation": _SETTINGS.activation}
    networks, said = [], np.empty((rows, some))
    # Equal numbers of rows to learn from: nothing is compiled twice.
    size = rows - int(np.bincount(fold).max())
    for part in range(_PARTS):
        learn, judge = np.flatnonzero(fold != part)[:size], np.flatnonzero(fold == part)
        fresh = stack([Network.fresh(width, some, rng=rng, **sizes)])
        data, held_out = (Rows(lesson.features[own], y[:, own]) for own in (learn, judge))
        asked = int(rng.integers(2**31))
        trained = told(fit(Training(fresh, _loss, data, held_out, lesson.mask[None], _SETTINGS, asked))).models
        seen = jnp.asarray(lesson.mask, jnp.float32)[None, :, None]
        trained = replace(trained, weights=(trained.weights[0] * seen, *trained.weights[1:]))
        said[judge] = trained.plainly(lesson.features[judge])[0]
        networks.append(trained)
    joined: Network = jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *networks)
    return Votes(joined, _heat(said, codes, counts))


def _loss(network: Network, x: Array, y: Array, key: Array) -> Array:
    """Of y (rows, some): how much a row counts, at the place of what it has, and 0 elsewhere."""
    del key
    wrong = -jnp.mean(jnp.sum(y * jax.nn.log_softmax(network(x)), axis=1))
    return wrong + _DECAY * sum(jnp.sum(weight**2) for weight in network.weights)


def _heat(said: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """The factor that serves rows best which the networks had not seen."""

    def wrong(heat: float) -> float:
        return -float(
            np.average(np.take_along_axis(log_softmax(heat * said, 1), codes[:, None], 1)[:, 0], weights=counts)
        )

    found = cast(OptimizeResult, minimize_scalar(wrong, bounds=(_COOLEST, _HOTTEST), method="bounded"))
    return float(found["x"])
