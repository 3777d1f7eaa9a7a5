"""Fit a blend: learn every law without some rows, let those rows weigh the laws, and keep them all.

Tables of few rows are cut into five folds: each fold has networks and trees of its own that have not seen it, so that
every row judges, and the ensemble of all folds has seen every row. Larger tables keep some rows out of everything.

Networks learn in four ways. One of each is trained at first; the ways that get no weight beside the others are given
up, and the rest of the ensemble is trained in those that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from forebear.data.weights import weighted_rows
from forebear.discovery.structure import RowStructure
from forebear.flow.network import Network
from forebear.flow.settings import FlowSettings
from forebear.twin.aside import divided
from forebear.twin.blend import Blend, forest_table, mix, reach_of
from forebear.twin.blend_nets import WAYS, Learner, Lesson, Part, Way
from forebear.twin.blend_trees import FOLDS, Grown, grow
from forebear.twin.knots import LATENTS, MIXED, rows_line
from forebear.twin.stacking import best_weights, crps_parts, straightening

FEW = 5_000
"""rows, below which every row judges in its turn"""
# Rows of the table whose laws weigh the mixture; more would change nothing.
_JUDGES = 4_096
# A way of learning with less weight than this after its first network is given up.
_PROMISING = 0.1
# A CRPS below this share of the target's deviation is next to nothing. Where there is more, squares of the weights
# count so much.
_QUIET, _DECAY = 0.04, 2e-4


@dataclass(frozen=True)
class Sizes:
    """How long and on how many rows at once networks are trained: it follows the table."""

    members: int
    """networks of each kind, in each part"""
    plain: FlowSettings
    assisted: FlowSettings
    trees: int
    """of the forest, in each fold"""

    @classmethod
    def of(cls, rows: int) -> Sizes:
        """For a table of so many rows."""
        few, many = rows < FEW, rows >= 20_000
        batch = 128 if rows < 2_000 else 256 if few else 512
        steps = 1_200 if rows < 2_000 else 2_000 if few else 4_000 if many else 3_000
        width = 64 if few else 128 if many else 96
        plain = FlowSettings(width=width, depth=4, steps=steps, batch=batch, rate=5e-3, averaging=0.995)
        assisted = replace(plain, steps=steps // 2, rate=3e-3)
        return cls(1 if few else 4, plain, assisted, 40 if rows < 10_000 else 20)

    def longer(self) -> Sizes:
        """For a law with next to no noise, which can be learned ever more closely."""
        plain, assisted = (replace(own, steps=2 * (own.steps or 0)) for own in (self.plain, self.assisted))
        return replace(self, plain=plain, assisted=assisted)

    def of_way(self, way: Way) -> FlowSettings:
        """How networks are trained that learn in this way."""
        return self.assisted if way.assisted else self.plain


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
    counts = structure.weights
    every = np.arange(rows) if counts is None else weighted_rows(counts, rows)
    trees = grow(lesson, parts, sizes.trees, rng, structure)
    tick(0.2)
    marginal = np.quantile(lesson.y[every], ndtr(LATENTS)) + 1e-3 * LATENTS
    learner = Learner(lesson, trees.summaries, trees.centre, trees.assistants.spread, rng, counts)
    ensemble = _Ensemble(learner, parts, sizes, trees, marginal)
    networks = ensemble.trained(tick)
    judged = np.concatenate([part.judge for part in parts])
    whole = ensemble.judged(networks)
    counted = np.arange(len(judged)) if counts is None else weighted_rows(counts[judged], len(judged))
    some = rng.permutation(counted)[:_JUDGES]
    # The CRPS of an ensemble is that of the mixture of its members.
    weights = _weigh([own[:, some] for own in whole], lesson.y[judged][some])
    kept = weights > 0
    mixture = mix([whole[i] for i in np.flatnonzero(kept)], _member_weights(whole, weights))
    z = rows_line(lesson.y[judged][:, None], mixture, np.broadcast_to(MIXED, mixture.shape))[0][:, 0][counted]
    models = [
        (way, learner.model(way, own)) for (way, own), keep in zip(networks.items(), kept, strict=False) if keep
    ]
    assisted = tuple(model for way, model in models if way.assisted)
    return Blend(
        tuple(model for way, model in models if not way.assisted),
        assisted,
        trees.assistants if assisted else None,
        trees.assistants.forest if kept[-2] else None,
        marginal if kept[-1] else np.empty(0),
        weights[kept],
        straightening(z),
        reach_of(lesson.features * lesson.mask, lesson.plain),
    )


@dataclass(frozen=True, eq=False)
class _Ensemble:
    """Laws of a target, and what they say of rows that they have not seen."""

    learner: Learner
    parts: Sequence[Part]
    sizes: Sizes
    trees: Grown
    marginal: np.ndarray

    def trained(self, tick: Callable[[float], None]) -> dict[Way, list[Network]]:
        """Networks of every way that promises something, in the order of `WAYS`: part by part, member by member.

        What the first ones leave tells how the others should learn: where it is next to nothing, longer, if there are
        many rows; else with small weights.
        """
        turns = [part for part in self.parts for _ in range(self.sizes.members)]
        networks = {way: [self.learner.train(way, turns[0], self.sizes.of_way(way))] for way in WAYS}
        networks, left = self._promising(networks)
        quiet = left < _QUIET
        sizes = self.sizes.longer() if quiet and len(self.parts) == 1 else self.sizes
        if sizes is not self.sizes:
            networks = {way: [] for way in networks}
        for number, part in enumerate(turns):
            for way, own in networks.items():
                if len(own) <= number:
                    own.append(self.learner.train(way, part, sizes.of_way(way), 0.0 if quiet else _DECAY))
            tick(0.2 + 0.7 * (number + 1) / len(turns))
        return networks

    def _promising(self, networks: dict[Way, list[Network]]) -> tuple[dict[Way, list[Network]], float]:
        """The ways to go on with, and the least CRPS of any, in deviations of the target."""
        rows = self.parts[0].judge[:_JUDGES]
        tables = [self.learner.tables(way, own[0], rows) for way, own in networks.items()]
        tables += [own[:, : len(rows)] for own in self._others(0)]
        y = self.learner.lesson.y[rows]
        weights = _weigh(tables, y)[: len(networks)]
        least = min(_PROMISING, weights.max())
        alone, pairs = crps_parts(np.concatenate(tables), y)
        going_on = {way: own for (way, own), weight in zip(networks.items(), weights, strict=True) if weight >= least}
        return going_on, float(np.min(alone - np.diag(pairs) / 2))

    def judged(self, networks: dict[Way, list[Network]]) -> list[np.ndarray]:
        """Tables (members, rows, latents) of each law, at the judging rows of all parts."""
        found = []
        for way, own in networks.items():
            turns = np.array_split(np.arange(len(own)), len(self.parts))
            by_part = [
                np.concatenate([self.learner.tables(way, own[turn], part.judge) for turn in some])
                for some, part in zip(turns, self.parts, strict=True)
            ]
            found.append(np.concatenate(by_part, axis=1))
        others = [self._others(place) for place in range(len(self.parts))]
        return found + [np.concatenate(tables, axis=1) for tables in zip(*others, strict=True)]

    def _others(self, place: int) -> list[np.ndarray]:
        """Forest and marginal law at the judging rows of a part."""
        rows = len(self.parts[place].judge)
        return [
            forest_table(self.trees.judged[place])[None],
            np.broadcast_to(self.marginal, (1, rows, len(LATENTS))),
        ]


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
