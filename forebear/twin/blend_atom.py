"""A target that is mostly one value below all others: how often another comes, and what it is then, learned apart.

Rows with a claim, with rain or with a sale are too few to shape a law that learns from all rows at once: it forgets
what moves them. Two laws do not: one of whether there is anything, and one of how much, which learns from the rows
that have something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float
from scipy.optimize import minimize

from forebear.data.dequantise import Dequantiser
from forebear.discovery.structure import RowStructure
from forebear.flow.network import Network, stack
from forebear.flow.settings import FlowSettings
from forebear.flow.train import Rows, Training, fit
from forebear.run.notes import told
from forebear.twin.atom import Atom, Chance
from forebear.twin.blend import Blend
from forebear.twin.blend_fit import fit_blend
from forebear.twin.blend_nets import Lesson

# The share of the rows that have the value, and how many must have another, for these to learn a law of their own.
_MOST, _FEWEST = 0.5, 100


def mostly_at(dequantiser: Dequantiser, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "2"] | None:
    """From where to where the value is spread that most rows of a target have, if no other lies below it; `y` are the
    values spread out.

    >>> from forebear.data.dequantise import find_atoms
    >>> rng = np.random.default_rng(0)
    >>> claims = np.where(rng.uniform(size=2_000) < 0.1, rng.gamma(2.0, size=2_000), 0.0)
    >>> found = find_atoms(claims)
    >>> ends = mostly_at(found, found.spread(claims, rng))
    >>> bool(ends[0] < ends[1] <= claims[claims > 0].min()), mostly_at(found, claims + 1_000.0)
    (True, None)
    """
    if dequantiser.kind != "atoms" or len(dequantiser.values) != 1:
        return None
    ends = np.array([dequantiser.low[0], dequantiser.high[0]])
    other = (y < ends[0]) | (y >= ends[1])
    if (y < ends[0]).any() or other.mean() > _MOST or other.sum() < _FEWEST:
        return None
    return ends


def fit_target(
    lesson: Lesson,
    ends: Float[np.ndarray, "2"] | None,
    *,
    seed: int,
    structure: RowStructure | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> Blend:
    """The blend of a target. `ends` are where the value lies that most rows have, in units of the lesson: the blend
    is then that of the other rows, and has the chance that one of them comes."""
    if ends is None:
        return fit_blend(lesson, seed=seed, structure=structure, tick=tick)
    low, high = map(float, ends)
    structure = structure or RowStructure()
    other = lesson.y >= high
    chance = _chance(lesson, other, seed, structure)
    tick(0.3)
    rows = np.flatnonzero(other)
    width = float(np.median(lesson.y[rows] - high))
    atom = Atom(chance, low, high, width, 0.0, 1.0)
    numbers, plain = atom.numbers(lesson.y[rows]), atom.numbers(lesson.plain[rows])
    centre, scale = float(numbers.mean()), float(numbers.std())
    own = Lesson(lesson.features[rows], (numbers - centre) / scale, (plain - centre) / scale, lesson.mask)
    around = fit_blend(own, seed=seed, structure=structure.take(rows), tick=lambda share: tick(0.3 + 0.7 * share))
    return replace(around, atom=replace(atom, centre=centre, scale=scale))


# Networks that tell a chance: one for each part of the rows, stopped where it serves that part best.
_PARTS = 5
_SETTINGS = FlowSettings(width=32, depth=2, steps=800, batch=256, rate=3e-3, averaging=0.99)
_DECAY = 1e-4


def _chance(lesson: Lesson, other: np.ndarray, seed: int, structure: RowStructure) -> Chance:
    """How likely another value is, by networks that each have not seen one part of the rows."""
    rng = np.random.default_rng(seed)
    rows = len(other)
    fold = structure.folds(rows, _PARTS, rng)
    counts = np.ones(rows) if structure.weights is None else structure.weights
    y = np.stack([other, counts], axis=1)[None]
    # Where every row is drawn as often, its weight tells how much it counts.
    networks, said = [], np.empty(rows)
    size = rows - int(np.bincount(fold).max())
    for part in range(_PARTS):
        learn, judge = np.flatnonzero(fold != part)[:size], np.flatnonzero(fold == part)
        fresh = stack([Network.fresh(lesson.features.shape[1], 1, rng=rng, width=32, depth=2, activation="silu")])
        data, held_out = (Rows(lesson.features[some], y[:, some]) for some in (learn, judge))
        training = Training(
            fresh, _chance_loss, data, held_out, lesson.mask[None], _SETTINGS, int(rng.integers(2**31))
        )
        trained = told(fit(training)).models
        seen = jnp.asarray(lesson.mask, jnp.float32)[None, :, None]
        trained = replace(trained, weights=(trained.weights[0] * seen, *trained.weights[1:]))
        said[judge] = trained.plainly(lesson.features[judge])[0, :, 0]
        networks.append(trained)
    joined: Network = jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *networks)
    return Chance(joined, _straight(said, other, counts))


def _chance_loss(network: Network, x: Array, y: Array, key: Array) -> Array:
    """Of y (rows, 2): whether another value came, and how much the row counts."""
    del key
    wrong = optax.sigmoid_binary_cross_entropy(network(x)[:, 0], y[:, 0])
    return jnp.mean(wrong * y[:, 1]) + _DECAY * sum(jnp.sum(weight**2) for weight in network.weights)


def _straight(said: np.ndarray, other: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """The line of log odds that serves rows best which the networks had not seen (Platt 1999)."""

    def wrong(line: np.ndarray) -> float:
        odds = line[0] + line[1] * said
        return float(np.average(np.logaddexp(0.0, odds) - other * odds, weights=counts))

    added, slope = minimize(wrong, np.array([0.0, 1.0]), method="Nelder-Mead").x
    return float(added), float(max(slope, 0.0))
