"""Tests of new rows against what is known: plain ones, and one for each feature of each input, in every window.

Under the null hypothesis the latents of new rows have, at each input, the law that those of known rows have. Then the
mean over new rows of h(x) (score - what the misfit says) is 0 for every h; h = 1 tells whether the law changed
plainly, h a feature of an input whether it changed with that input, h an end of its range whether it changed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import t as student

from forebear.watch.memory import inflation, memory
from forebear.watch.misfit import Misfit

FEWEST = 20.0
"""rows worth of independent ones below which nothing can be told"""
FEWEST_GROUPS = 8
_FEWEST_THERE = 20
"""rows at an end of an input, for a test of these alone"""


class Between(NamedTuple):
    """How much means vary from one stretch of known rows to the next, beyond chance: variances."""

    plain: Float[np.ndarray, "orders 1"]
    inputs: Float[np.ndarray, "orders tested"]

    @classmethod
    def of(
        cls, misfit: Misfit, known: Float[np.ndarray, "known tested"], ends: Bool[np.ndarray, " tested"]
    ) -> Between:
        """From the features of known rows, on the scale on which those of new rows are tested."""
        h = standardised(known)
        there = (known[:, ends] > 0).astype(float)
        h[:, ends] = there / np.sqrt(np.maximum(there.mean(axis=0), 1e-9))
        return cls(misfit.between(np.ones((len(known), 1))), misfit.between(h))


@dataclass(frozen=True, eq=False)
class NewRows:
    """The scores of new rows without the misfit, and what their memory is."""

    left: Float[np.ndarray, "rows orders"]
    design: Float[np.ndarray, "rows features"]
    features: Float[np.ndarray, "rows tested"]
    """of all inputs, side by side"""
    slow: Float[np.ndarray, "orders lags"]
    """memory of the scores beyond what any input explains"""
    slow_features: Float[np.ndarray, "tested lags"]
    groups: np.ndarray | None = None
    ends: Bool[np.ndarray, " tested"] | None = None
    """features that say whether a row lies at an end of an input"""
    covered: Bool[np.ndarray, " tested"] | None = None
    """features along which the misfit was learned: there it is the same as long as the inputs come as they did"""
    between: Between | None = None
    """how much means of known rows vary from stretch to stretch"""

    @classmethod
    def of(
        cls,
        scores: Float[np.ndarray, "rows orders"],
        design: Float[np.ndarray, "rows features"],
        features: Float[np.ndarray, "rows tested"],
        misfit: Misfit,
        groups: np.ndarray | None = None,
        ends: np.ndarray | None = None,
        covered: np.ndarray | None = None,
        between: Between | None = None,
    ) -> NewRows:
        """Take the misfit out, and look how slow the rest is."""
        left = scores - design @ misfit.weights
        slow = _longer(memory(_cleared(left, features)), misfit.slow)
        return cls(left, design, features, slow, memory(features), groups, ends, covered, between)

    def worth(self, rows: int) -> float:
        """How many independent rows so many of them are worth, for the slowest of location and spread."""
        return rows / float(inflation(self.slow)[:2].max())


def _cleared(left: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Without what the inputs explain of it, where there are rows enough to say."""
    rows = len(left)
    design = np.column_stack([np.ones(rows), features])
    if design.shape[1] * 5 > rows:
        return left
    gram = design.T @ design / rows + 1e-3 * np.eye(design.shape[1])
    return left - design @ np.linalg.solve(gram, design.T @ left / rows)


def _longer(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """For each order the memory that counts for more: under the null hypothesis they are the same."""
    lags = max(first.shape[1], second.shape[1])
    first, second = (np.pad(own, ((0, 0), (0, lags - own.shape[1]))) for own in (first, second))
    return np.where((first.sum(axis=1) >= second.sum(axis=1))[:, None], first, second)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Means with their errors, an order a row and a function h a column, and p-values of |mean| <= margin."""

    mean: Float[np.ndarray, "orders some"]
    error: Float[np.ndarray, "orders some"]
    p_value: Float[np.ndarray, "orders some"]


def plain_contrasts(new: NewRows, misfit: Misfit, window: slice, margin: float) -> Contrasts:
    """h = 1: one column."""
    rows = window.stop - window.start
    doubt = misfit.doubt[:, None] * misfit.stranger(new.design[window])
    between = None if new.between is None else new.between.plain
    return _contrasts(new, misfit, window, np.ones((rows, 1)), inflation(new.slow), margin + doubt, between)


def input_contrasts(new: NewRows, misfit: Misfit, window: slice, margin: float) -> Contrasts:
    """h = each feature, without its mean over the window and with variance 1 there; the ends keep their mean."""
    h = tested_functions(new, window)
    share = np.ones(h.shape[1])
    if new.covered is not None:
        share = np.where(new.covered, misfit.stranger(new.design[window]), 1.0)
    bound = margin + misfit.doubt[:, None] * share
    if new.ends is not None:
        # So much at an end alone is less over all rows.
        bound = bound * np.where(new.ends, np.abs(h).mean(axis=0), 1.0)
    between = None if new.between is None else new.between.inputs
    return _contrasts(new, misfit, window, h, inflation(new.slow, new.slow_features), bound, between)


def tested_functions(new: NewRows, window: slice) -> Float[np.ndarray, "rows tested"]:
    """h of each row of a window: with a mean of 0, or 0 everywhere but at an end; its mean square is 1."""
    h = standardised(new.features[window])
    if new.ends is not None and new.ends.any():
        there = (new.features[window][:, new.ends] > 0).astype(float)
        share = there.mean(axis=0)
        enough = share * len(there) >= _FEWEST_THERE
        h[:, new.ends] = there * np.where(enough, 1 / np.sqrt(np.maximum(share, 1e-9)), 0.0)
    return h


def standardised(features: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
    """Mean 0 and variance 1; zeros where a feature does not vary."""
    h = features - features.mean(axis=0)
    scale = h.std(axis=0)
    return h * np.where(scale > 0.05, 1 / np.maximum(scale, 1e-9), 0.0)


def _contrasts(
    new: NewRows,
    misfit: Misfit,
    window: slice,
    h: np.ndarray,
    factor: np.ndarray,
    bound: np.ndarray,
    between: np.ndarray | None,
) -> Contrasts:
    left, rows = new.left[window], len(h)
    mean = left.T @ h / rows
    if new.groups is None:
        own = (np.square(left).T @ np.square(h) / rows - mean**2).clip(0)
        # A tail that no row of a part lies in by chance must not look as if it never held any.
        own = np.maximum(own, misfit.spread[:, None] * np.square(h).mean(axis=0)) / max(1, rows - 1) * factor
        freedom = np.maximum(rows / factor - 1, 1.0)
    else:
        own, freedom = _by_groups(left, h, mean, new.groups[window])
    known = misfit.variance(h.T @ new.design[window] / rows)
    unlike = np.zeros_like(own) if between is None else between
    whole = own + known + unlike
    # Welch and Satterthwaite; a test that has no variance left has nothing to say.
    parts = own**2 / freedom + known**2 / np.maximum(misfit.freedom, 1.0)[:, None]
    parts = parts + unlike**2 / max(1, misfit.stretches - 1)
    freedom = np.clip(whole**2 / np.maximum(parts, 1e-300), 1.0, 1e6)
    error = np.sqrt(whole)
    beyond = np.maximum(np.abs(mean) - bound, 0.0) / np.maximum(error, 1e-12)
    p_value = np.where(error > 1e-9, np.minimum(1.0, 2 * student.sf(beyond, freedom)), 1.0)
    return Contrasts(mean, error, p_value)


def _by_groups(
    left: np.ndarray, h: np.ndarray, mean: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    names, places = np.unique(groups, return_inverse=True)
    own, count = np.empty(mean.shape), len(names)
    for order in range(left.shape[1]):
        sums = np.zeros((count, h.shape[1]))
        np.add.at(sums, places, left[:, order, None] * h - mean[order])
        own[order] = (sums**2).sum(axis=0) / len(left) ** 2 * count / max(1, count - 1)
    return own, np.full(own.shape, max(1.0, count - 1.0))


def windows(rows: int, fewest: float) -> list[tuple[slice, float]]:
    """All rows, then halves, quarters and eighths, with the share of the error that each may spend: half of it is for
    all rows, and halves together have as much of the rest as eighths.

    >>> [(one.start, one.stop, round(share, 3)) for one, share in windows(200, 60)]
    [(0, 200, 0.5), (0, 100, 0.25), (100, 200, 0.25)]
    """
    levels = [level for level in (2, 4, 8) if rows / level >= fewest]
    found = [(slice(0, rows), 0.5 if levels else 1.0)]
    for level in levels:
        ends = np.linspace(0, rows, level + 1).astype(int)
        share = 0.5 / len(levels) / level
        found += [(slice(int(a), int(b)), share) for a, b in zip(ends, ends[1:], strict=False)]
    return found
