"""The trees of a blend: grown on folds, so that every row is told by those that have not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from forebear.data.weights import weighted_rows
from forebear.discovery.structure import RowStructure
from forebear.trees.arrays import Trees
from forebear.trees.learn import boosted, forest
from forebear.twin.blend import Assistants, forest_values, summarised
from forebear.twin.blend_nets import Lesson, Part

FOLDS = 5


class Grown(NamedTuple):
    """Trees, and what they say of rows that they have not seen."""

    assistants: Assistants
    summaries: np.ndarray
    """(rows, summaries)"""
    centre: np.ndarray
    """(rows,)"""
    judged: list[np.ndarray]
    """values of the forest at the judging rows of each part"""


def grow(
    lesson: Lesson, parts: Sequence[Part], trees: int, rng: np.random.Generator, structure: RowStructure
) -> Grown:
    """Trees on five folds, so many of the forest in each."""
    rows = len(lesson.y)
    kept_out = parts[0].judge if len(parts) == 1 else np.empty(0, int)
    fold = _folds(rows, parts, rng, structure)
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
        forests.append(forest(x[learn], *told, trees=trees, seed=seed, weights=counts))
        values = forest_values(forests[-1], x[rest])
        summaries[rest] = summarised(means[-1].values(x[rest])[..., 0].sum(axis=0), values)
        judged.append(values)
    every, grown = Trees.joined(means), Trees.joined(forests)
    if len(kept_out):
        values = forest_values(grown, x[kept_out])
        mean = every.values(x[kept_out])[..., 0].sum(axis=0) / FOLDS
        summaries[kept_out], judged = summarised(mean, values), [values]
    counted = np.flatnonzero(fold >= 0)
    if structure.weights is not None:
        counted = counted[weighted_rows(structure.weights[counted], len(counted))]
    base = _combined(summaries[counted, :2], lesson.plain[counted])
    centre = base[0] + summaries[:, :2] @ base[1:]
    spread = float(np.std(lesson.y[counted] - centre[counted]))
    own = Assistants(every.seeing(places), FOLDS, grown.seeing(places), base, max(spread, 1e-6))
    return Grown(own, summaries, centre.astype(np.float64), judged)


def _folds(rows: int, parts: Sequence[Part], rng: np.random.Generator, structure: RowStructure) -> np.ndarray:
    """The fold of each row; -1 for those that judge alone."""
    fold = np.full(rows, -1)
    if len(parts) == 1:
        learn = parts[0].learn
        fold[learn] = structure.take(learn).folds(len(learn), FOLDS, rng)
        return fold
    for number, part in enumerate(parts):
        fold[part.judge] = number
    return fold


def _combined(means: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number and weights, none below zero, that bring two means closest to y."""
    middle = y.mean()
    weights, _ = nnls(np.asarray(means, float) - middle, y - middle)
    return np.array([middle * (1 - weights.sum()), *weights])
