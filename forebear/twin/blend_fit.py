"""Fit a blend: learn every law without some rows, let those rows weigh the laws, and keep them all.

Tables of few rows are cut into five folds: each fold has networks and trees of its own that have not seen it, so that
every row judges, and the ensemble of all folds has seen every row. Larger tables keep some rows out of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import nnls
from scipy.special import ndtr

from forebear.data.weights import lesson_rows, weighted_rows
from forebear.discovery.structure import RowStructure
from forebear.flow.network import Network, stack, unstack
from forebear.flow.settings import FlowSettings
from forebear.flow.train import Rows, Training, fit
from forebear.run.notes import told
from forebear.trees.arrays import Trees
from forebear.trees.learn import boosted, forest
from forebear.twin.aside import divided
from forebear.twin.blend import (
    Assistants,
    Blend,
    assisted_table,
    forest_table,
    forest_values,
    member_tables,
    mix,
    summarised,
)
from forebear.twin.knots import LATENTS, MIXED, rows_line
from forebear.twin.model import TwinModel
from forebear.twin.quantiles import COUNT, QuantileModel, quantile_loss
from forebear.twin.spline import Spline, SplineModel
from forebear.twin.stacking import best_weights, crps_parts, straightening

FOLDS = 5
FEW = 5_000
"""rows, below which every row judges in its turn"""
_REACH, _POINTS = 4.0, 12
# Rows of the table whose laws weigh the mixture; more would change nothing.
_JUDGES = 4_096


class Lesson(NamedTuple):
    """A target to be learned: features (rows, features) that it may see, and its values in standardised units."""

    features: np.ndarray
    y: np.ndarray
    """(rows,) spread out"""
    plain: np.ndarray
    """(rows,) a lattice's values where they are: what trees are grown on"""
    mask: np.ndarray
    """(features,) 1 for those that it may see"""


class Part(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    learn: np.ndarray
    judge: np.ndarray


@dataclass(frozen=True)
class Sizes:
    """How long and on how many rows at once networks are trained: it follows the table."""

    members: int
    """of each kind, in each part"""
    assistants: int
    """as many of those that hear trees"""
    plain: FlowSettings
    assisted: FlowSettings
    trees: int
    """of the forest, in each fold"""

    @classmethod
    def of(cls, rows: int) -> Sizes:
        """For a table of so many rows."""
        few = rows < FEW
        batch = 256 if few else 512 if rows < 20_000 else 1_024
        steps = int(np.clip(rows, 1_500, 4_000))
        plain = FlowSettings(
            width=64 if few else 96, depth=4, steps=steps, batch=batch, rate=5e-3, averaging=0.995, ode_steps=8
        )
        assisted = replace(plain, width=64, steps=max(800, steps // 2), rate=3e-3)
        return cls(1 if few else 3, 1 if few else 2, plain, assisted, 40 if rows < 10_000 else 20)


def fit_blend(
    lesson: Lesson,
    *,
    seed: int,
    sizes: Sizes | None = None,
    structure: RowStructure | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> Blend:
    """The blend of a target; rows that hang together learn, or judge, together."""
    rows = len(lesson.y)
    sizes, structure = sizes or Sizes.of(rows), structure or RowStructure()
    rng = np.random.default_rng(seed)
    parts = _parts(rows, rng, structure)
    weights_of = structure.weights
    every = np.arange(rows) if weights_of is None else weighted_rows(weights_of, rows)
    trees = _grow(lesson, parts, sizes, rng, structure)
    tick(0.3)
    learner = _Learner(lesson, parts, rng, weights=weights_of)
    plain = [learner.train(head, sizes.plain, sizes.members) for head in HEADS]
    tick(0.6)
    told_lesson = learner.told(trees.summaries, trees.centre, trees.assistants.spread)
    assisted = [told_lesson.train(head, sizes.assisted, sizes.assistants) for head in HEADS]
    tick(0.9)
    judged = np.concatenate([part.judge for part in parts])
    marginal = np.quantile(lesson.y[every], ndtr(LATENTS)) + 1e-3 * LATENTS
    tables = [learner.judged(own) for own in plain] + [told_lesson.judged(own) for own in assisted]
    tables.append([forest_table(values)[None] for values in trees.judged])
    tables.append([np.broadcast_to(marginal, (1, len(part.judge), len(LATENTS))) for part in parts])
    whole = [np.concatenate(own, axis=1) for own in tables]
    counted = np.arange(len(judged)) if weights_of is None else weighted_rows(weights_of[judged], len(judged))
    some = rng.permutation(counted)[:_JUDGES]
    # The CRPS of an ensemble is that of the mixture of its members.
    weights = _weigh([own[:, some] for own in whole], lesson.y[judged][some])
    kept = weights > 0
    mixture = mix([whole[i] for i in np.flatnonzero(kept)], _member_weights(whole, weights))
    z = rows_line(lesson.y[judged][:, None], mixture, np.broadcast_to(MIXED, mixture.shape))[0][:, 0][counted]
    models = [
        head.model(stack([net for nets in own for net in nets])) for own, head in zip(plain, HEADS, strict=True)
    ]
    more = [head.model(stack([n for nets in own for n in nets])) for own, head in zip(assisted, HEADS, strict=True)]
    heads = len(HEADS)
    return Blend(
        tuple(model for model, keep in zip(models, kept[:heads], strict=True) if keep),
        tuple(model for model, keep in zip(more, kept[heads : 2 * heads], strict=True) if keep),
        trees.assistants if kept[heads : 2 * heads].any() else None,
        trees.assistants.forest if kept[2 * heads] else None,
        marginal if kept[-1] else np.empty(0),
        weights[kept],
        straightening(z),
    )


def _member_weights(whole: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return np.concatenate([np.full(len(t), w / len(t)) for t, w in zip(whole, weights, strict=True) if w > 0])


def _weigh(tables: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Weights of laws, each the mixture of its members."""
    owner = np.repeat(np.arange(len(tables)), [len(own) for own in tables])
    alone, pairs = crps_parts(np.concatenate(tables), y)
    share = np.stack([(owner == i) / np.sum(owner == i) for i in range(len(tables))])
    return best_weights(share @ alone, share @ pairs @ share.T)


def _parts(rows: int, rng: np.random.Generator, structure: RowStructure) -> list[Part]:
    if rows >= FEW:
        judge, learn = divided(rows, min(_JUDGES, rows // 10), rng, structure)
        return [Part(np.sort(learn), np.sort(judge))]
    fold = structure.folds(rows, FOLDS, rng)
    # Equal numbers of rows to learn from: nothing is compiled twice. Groups may differ too much in size for that.
    size = rows - int(np.bincount(fold).max()) if structure.groups is None else rows
    return [Part(np.flatnonzero(fold != k)[:size], np.flatnonzero(fold == k)) for k in range(FOLDS)]


class _Head(NamedTuple):
    """A way in which a network can say a law."""

    outputs: int
    loss: Callable[[Any, Array, Array, Array], Array]
    model: Callable[[Network], TwinModel]


def _likelihood(network: Network, x: Array, y: Array, key: Array) -> Array:
    """Of a monotone spline, negative and up to a constant."""
    del key
    splines = Spline.of(network(x), _REACH)
    z = splines.inverse(y[:, 0])
    return jnp.mean(0.5 * z**2 + jnp.log(splines.slope(z)))


HEADS = (
    _Head(1 + 2 * _POINTS, _likelihood, lambda networks: SplineModel(networks, _REACH, autoregressive=False)),
    _Head(COUNT, quantile_loss, QuantileModel),
)
"""likelihood sees the density, quantiles the distance: which serves a table better is for held-out rows to say"""


@dataclass(frozen=True, eq=False)
class _Learner:
    """Trains networks on a lesson, part by part."""

    lesson: Lesson
    parts: Sequence[Part]
    rng: np.random.Generator
    summaries: np.ndarray | None = None
    centre: np.ndarray | None = None
    spread: float = 1.0
    weights: np.ndarray | None = None
    """(rows,) how much each counts"""

    def told(self, summaries: np.ndarray, centre: np.ndarray, spread: float) -> _Learner:
        """A learner of what the trees' mean leaves, who hears their summaries."""
        return replace(self, summaries=summaries, centre=centre, spread=spread)

    def train(self, head: _Head, settings: FlowSettings, members: int) -> list[list[Network]]:
        """The networks of each part."""
        x, y, mask = self._data()
        found = []
        for part in self.parts:
            sizes = {"width": settings.width, "depth": settings.depth, "activation": settings.activation}
            fresh = [Network.fresh(x.shape[1], head.outputs, rng=self.rng, **sizes) for _ in range(members)]
            learn, judge = (self._rows(x, y, rows, members) for rows in part)
            if self.weights is not None:
                counts, own = (self.weights[rows] for rows in part)
                learn = learn._replace(draws=lesson_rows(counts))
                judge = self._rows(x, y, part.judge[weighted_rows(own, len(own))], members)
            masks = np.repeat(mask[None], members, 0)
            seed = int(self.rng.integers(2**31))
            trained = told(fit(Training(stack(fresh), head.loss, learn, judge, masks, settings, seed))).models
            first = trained.weights[0] * jnp.asarray(mask, jnp.float32)[None, :, None]
            found.append(unstack(replace(trained, weights=(first, *trained.weights[1:])), members))
        return found

    @staticmethod
    def _rows(x: np.ndarray, y: np.ndarray, rows: np.ndarray, members: int) -> Rows:
        return Rows(x[rows], np.repeat(y[None, rows, None], members, 0))

    def judged(self, networks: Sequence[Sequence[Network]]) -> list[np.ndarray]:
        """Tables of each part's networks at the rows that it has not seen: (members, rows, latents)."""
        found = []
        for part, own in zip(self.parts, networks, strict=True):
            outputs = own[0].weights[-1].shape[-1]
            head = next(head for head in HEADS if head.outputs == outputs)
            model, features = head.model(stack(own)), self.lesson.features[part.judge]
            if self.summaries is None or self.centre is None:
                found.append(member_tables(model, features))
            else:
                rows = part.judge
                found.append(assisted_table(model, features, self.summaries[rows], self.centre[rows], self.spread))
        return found

    def _data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        features, y, _, mask = self.lesson
        if self.summaries is None or self.centre is None:
            return features, y, mask
        x = np.concatenate([features, self.summaries], axis=1)
        return x, (y - self.centre) / self.spread, np.concatenate([mask, np.ones(self.summaries.shape[1])])


class _Grown(NamedTuple):
    """Trees, and what they say of rows that they have not seen."""

    assistants: Assistants
    summaries: np.ndarray
    """(rows, summaries)"""
    centre: np.ndarray
    """(rows,)"""
    judged: list[np.ndarray]
    """values of the forest at the judging rows of each part"""


def _grow(
    lesson: Lesson, parts: Sequence[Part], sizes: Sizes, rng: np.random.Generator, structure: RowStructure
) -> _Grown:
    """Trees on five folds; every row is told by those that have not seen it."""
    rows = len(lesson.y)
    kept_out = parts[0].judge if len(parts) == 1 else np.empty(0, int)
    fold = np.full(rows, -1)
    if len(parts) == 1:
        learn = parts[0].learn
        fold[learn] = structure.take(learn).folds(len(learn), FOLDS, rng)
    else:
        for number, part in enumerate(parts):
            fold[part.judge] = number
    places = np.flatnonzero(lesson.mask)
    x = lesson.features[:, places]
    means, forests, summaries = [], [], np.empty((rows, 7), np.float32)
    judged: list[np.ndarray] = []
    for number in range(FOLDS):
        learn, rest = (fold != number) & (fold >= 0), np.flatnonzero(fold == number)
        seed = int(rng.integers(2**31))
        counts = None if structure.weights is None else structure.weights[learn]
        means.append(boosted(x[learn], lesson.plain[learn], seed=seed, weights=counts))
        told = lesson.plain[learn], lesson.y[learn]
        forests.append(forest(x[learn], *told, trees=sizes.trees, seed=seed, weights=counts))
        values = forest_values(forests[-1], x[rest])
        summaries[rest] = summarised(means[-1].values(x[rest])[..., 0].sum(axis=0), values)
        judged.append(values)
    every, grown = Trees.joined(means), Trees.joined(forests)
    if len(kept_out):
        values = forest_values(grown, x[kept_out])
        mean = every.values(x[kept_out])[..., 0].sum(axis=0) / FOLDS
        summaries[kept_out], judged = summarised(mean, values), [values]
    known = fold >= 0
    counted = np.flatnonzero(known)
    if structure.weights is not None:
        counted = counted[weighted_rows(structure.weights[counted], len(counted))]
    base = _combined(summaries[counted, :2], lesson.plain[counted])
    centre = base[0] + summaries[:, :2] @ base[1:]
    spread = float(np.std(lesson.y[counted] - centre[counted]))
    own = Assistants(every.seeing(places), FOLDS, grown.seeing(places), base, max(spread, 1e-6))
    return _Grown(own, summaries, centre.astype(np.float64), judged)


def _combined(means: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number and weights, none below zero, that bring two means closest to y."""
    middle = y.mean()
    weights, _ = nnls(np.asarray(means, float) - middle, y - middle)
    return np.array([middle * (1 - weights.sum()), *weights])
