"""What pruning costs: held-out scores of the law of the chosen inputs against that of all, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.data.weights import mean_of
from forebear.discovery.structure import ORDERED, RowStructure


class Difference(NamedTuple):
    """A mean difference of paired scores, with its 95% interval."""

    difference: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """One standard error: of a normal law with an interval of this width."""
        return (self.high - self.low) / (2 * _INTERVAL)

    def widened(self, error: float, freedom: float = np.inf) -> Difference:
        """With a standard error of another source in its interval, which was estimated with so many degrees of
        freedom: those of the sum are Satterthwaite's, and its quantile is Student's.

        >>> three = Difference(1.0, 1.0 - 3 * 1.96, 1.0 + 3 * 1.96)
        >>> round(three.widened(4.0).error, 6), round(three.widened(4.0, 2).error, 2)
        (5.0, 6.61)
        """
        if error == 0:
            return self
        total = float(np.hypot(self.error, error))
        beside = total * _student(freedom * (total / error) ** 4)
        return Difference(self.difference, self.difference - beside, self.difference + beside)

    def costs(self, errors: float) -> bool:
        """Whether the first is worse than the second, beyond so many standard errors."""
        return self.difference > errors * self.error


class CurvePoint(NamedTuple):
    """The score of a law on some of the chosen inputs."""

    kept: tuple[str, ...]
    log_loss: float
    """mean negative log density on held-out rows, in standard deviations of the target"""
    share: float
    """of what all chosen inputs bring beyond none"""


class Cost(NamedTuple):
    """Losses of the pruned law less those of the full one: positive when pruning costs something."""

    log_loss: Difference
    """negative log density"""
    crps: Difference
    """in standard deviations of the target"""
    pruned: tuple[float, float]
    """mean losses of the pruned law: negative log density, CRPS"""
    full: tuple[float, float]
    """the same of the law on all candidates"""
    curve: tuple[CurvePoint, ...]
    """from all chosen inputs down to none, the least missed removed first"""

    @property
    def seems(self) -> bool:
        """Whether pruning seems to cost something: the interval of a score lies above zero."""
        return self.log_loss.low > 0 or self.crps.low > 0

    def seems_beyond(self, margin: float) -> bool:
        """Whether pruning seems to cost as much as an input does that explains this share of what is left open: about
        half the share, in nats of log density and as a part of the CRPS."""
        least = margin / 2
        by_log_loss = self.log_loss.low > 0 and self.log_loss.difference > least
        return by_log_loss or (self.crps.low > 0 and self.crps.difference > least * self.full[1])

    @property
    def sure(self) -> bool:
        """Whether pruning costs something beyond doubt, by both scores."""
        return self.log_loss.costs(SURE) and self.crps.costs(SURE)

    def matters(self, margin: float) -> bool:
        """Whether pruning costs something beyond doubt, or seems to cost more than the margin allows."""
        return self.sure or self.seems_beyond(margin)


_INTERVAL = 1.96


def _student(freedom: float) -> float:
    """The factor of a 95% interval with so many degrees of freedom."""
    from scipy.stats import t

    return _INTERVAL * float(t.ppf(0.975, freedom) / t.ppf(0.975, np.inf))


# Standard errors by which a law must lose for the loss to be sure.
SURE = 3.3
# Stretches of ordered rows whose means are taken as independent.
_STRETCHES = 20
# A difference of which no row tells anything lies between this and its negative.
_NOTHING_KNOWN = 1e3
# A density lower than this says that the law missed, not by how much.
_LOWEST = -15.0


def paired(first: Float[np.ndarray, " rows"], second: Float[np.ndarray, " rows"], rows: RowStructure) -> Difference:
    """The mean of first - second, with an interval that minds how the rows hang together and what each counts.

    >>> paired(np.array([2.0, 3.0, 2.0, 3.0]), np.ones(4), RowStructure()).difference
    1.5
    """
    apart = first - second
    known = ~np.isnan(apart)
    if not known.all():
        # Rows on which a law lacks an input say nothing of what it is worth.
        if known.sum() < 2:
            return Difference(0.0, -_NOTHING_KNOWN, _NOTHING_KNOWN)
        apart, rows = apart[known], rows.take(np.flatnonzero(known))
    weights = np.ones(len(apart)) if rows.weights is None else rows.weights
    mean = mean_of(apart, rows.weights)
    if rows.kind == ORDERED and len(apart) >= 2 * _STRETCHES:
        parts = np.arange(len(apart)) * _STRETCHES // len(apart)
    elif rows.groups is not None:
        parts = np.unique(rows.groups, return_inverse=True)[1]
    else:
        parts = np.arange(len(apart))
    count = int(parts.max()) + 1
    sums = np.bincount(parts, weights * (apart - mean))
    error = np.sqrt((sums**2).sum() * count / max(1, count - 1)) / weights.sum()
    return Difference(mean, mean - _INTERVAL * float(error), mean + _INTERVAL * float(error))


def losses(log_scores: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """Negative log densities, of which a single one cannot decide alone; NaN where an input is missing, which an
    infinite density stands for."""
    finite = np.nan_to_num(log_scores, nan=_LOWEST, posinf=0.0, neginf=_LOWEST)
    return np.where(np.isposinf(log_scores), np.nan, -np.maximum(finite, _LOWEST))


def score_curve(
    kept: Sequence[str], loss: Callable[[frozenset[str]], Float[np.ndarray, " rows"]]
) -> tuple[CurvePoint, ...]:
    """Scores of nested sets, from all of `kept` to none; `loss` gives those of a law on a set.

    >>> worth = {"a": 1.0, "b": 0.01}
    >>> curve = score_curve(["a", "b"], lambda kept: np.full(3, -sum(worth[name] for name in kept)))
    >>> [(point.kept, round(point.share, 2)) for point in curve]
    [(('a', 'b'), 1.0), (('a',), 0.99), ((), 0.0)]
    """
    left = list(kept)
    everything, nothing = float(loss(frozenset(kept)).mean()), float(loss(frozenset()).mean())
    brought = max(nothing - everything, 1e-12)
    points = [CurvePoint(tuple(left), everything, 1.0)]
    # What each is missed by when it alone is gone says in which order they go: one pass in place of all subsets.
    missed = {name: float(loss(frozenset(kept) - {name}).mean()) for name in kept}
    for name in sorted(kept, key=lambda one: missed[one]):
        left.remove(name)
        own = float(loss(frozenset(left)).mean())
        points.append(CurvePoint(tuple(left), own, (nothing - own) / brought))
    return tuple(points)
