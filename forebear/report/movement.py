"""What a law does as one input moves: which of its sides moves most, from where to where, and how far."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.twin.peaks import LEVELS as LEVELS
from forebear.twin.peaks import thinness, two_states
from forebear.twin.sweep import Along, Sweep

_LOW, _MIDDLE, _HIGH = 1, 19, 37
"""places of 5%, 50% and 95%"""
Side = Literal["level", "spread", "states", "split", "skew", "none"]
# Below this no part of a law is a trough, without a doubt.
_ONE = 1.25
# Less is told as weak: of a change of the level, as a share of the 90% range; of the range, as a ratio; of skewness.
_LEVEL, _SPREAD, _SKEW = 0.1, 1.12, 0.2
# Two peaks are told as states where they lie apart by such a share of the widest 90% range on the way.
_STATES = 0.3
# Of the stops, so many at least must lie in the data, or nothing is told of the whole way.
_ENOUGH = 1 / 3
# Both ends are the extremes, but for so much of the way between: then the way goes up or down.
_ONE_WAY = 0.85


class Change(NamedTuple):
    """How one number about a law changes along an input."""

    start: float
    """at the first stop"""
    end: float
    least: float
    most: float
    least_at: int
    """number of the stop"""
    most_at: int

    @property
    def one_way(self) -> bool:
        """Whether it only rises, or only falls, but for a little."""
        return abs(self.end - self.start) >= _ONE_WAY * (self.most - self.least)

    @property
    def by(self) -> float:
        """From the first stop to the last where it goes one way, else from the least to the most."""
        return self.end - self.start if self.one_way else self.most - self.least


class Movement(NamedTuple):
    """All that is told of how one input acts on one law."""

    along: Along
    stops: Float[np.ndarray, " stops"]
    labels: tuple[str, ...]
    side: Side
    """what moves most; "none" where nothing moves enough to be told"""
    level: Change
    """of the middle"""
    middle: str
    """mean or median; a law with two peaks has its median where nothing lies"""
    spread: Change
    """of the 90% range"""
    above: Change
    """how far 95% lies above the median"""
    below: Change
    """and 5% below it"""
    states: Float[np.ndarray, "stops 3"]
    """of a law with two peaks: both, and the share of the upper one; NaN where it has one"""
    strength: float
    """root mean square of the way of all quantiles, in the target's units"""

    @property
    def apart(self) -> Change:
        """The distance of two states."""
        return change(self.states[:, 1] - self.states[:, 0])


def movement(along: Sweep, level: np.ndarray | None = None) -> Movement | None:
    """The movement on a sweep at `LEVELS`; None where too few stops lie in the data.

    `level` (stops,) are means, for counts: their quantiles move by leaps, and a law of few values has no peaks.

    >>> law = np.stack([x + s * np.arange(39.0) for x, s in ((0, 1), (0, 2), (0, 3))])
    >>> along = Sweep("a", "number", np.zeros((3, 1)), np.arange(3.0), (), law - law[:, 19:20], np.ones(3, bool))
    >>> movement(along).side
    'spread'
    """
    seen = along.seen
    if seen.sum() < 2 or (along.along != "labels" and seen.mean() < _ENOUGH):
        return None
    quantiles = along.quantiles[seen]
    states = (
        np.stack([two_states(own) for own in quantiles]) if level is None else np.full((len(quantiles), 3), np.nan)
    )
    mean = quantiles.mean(axis=1) if level is None else level[seen]
    middle = "median" if level is None and np.isnan(states[:, 0]).all() else "mean"
    low, high = quantiles[:, _LOW], quantiles[:, _HIGH]
    told = Movement(
        along.along,
        along.at[seen],
        tuple(label for label, here in zip(along.labels, seen, strict=False) if here),
        "none",
        change(quantiles[:, _MIDDLE] if middle == "median" else mean),
        middle,
        change(high - low),
        change(high - quantiles[:, _MIDDLE]),
        change(quantiles[:, _MIDDLE] - low),
        states,
        float(np.sqrt(np.mean((quantiles - quantiles.mean(axis=0)) ** 2))),
    )
    return told._replace(side=_side(told, quantiles))


def change(values: Float[np.ndarray, " stops"]) -> Change:
    """The ends and the extremes of numbers along a way."""
    least, most = int(np.argmin(values)), int(np.argmax(values))
    return Change(float(values[0]), float(values[-1]), float(values[least]), float(values[most]), least, most)


def _side(told: Movement, quantiles: np.ndarray) -> Side:
    apart = np.nan_to_num(told.states[:, 1] - told.states[:, 0])
    two = (apart > 0) & (apart.max() > _STATES * told.spread.most)
    shift, stretch = _shares(quantiles)
    wide = float(np.mean(quantiles[:, _HIGH] - quantiles[:, _LOW]))
    ratio = told.spread.most / max(told.spread.least, 1e-12 * max(told.spread.most, 1e-300))
    if two.all() and told.apart.most > _SPREAD * told.apart.least and shift < 0.5:
        return "states"
    if two.any() and _clearly_one(quantiles) and shift < 0.5:
        return "split"
    moves, stretches = told.level.most - told.level.least > _LEVEL * wide, ratio > _SPREAD
    # A law that is a point somewhere, as of an atom, is skewed neither way there.
    ends = ((told.above.start, told.below.start), (told.above.end, told.below.end))
    first, last = ((up - down) / (up + down) if up + down > 1e-6 * wide else 0.0 for up, down in ends)
    skews = abs(last - first) > _SKEW
    if moves and (shift >= stretch or not stretches):
        return "level"
    if stretches and (not skews or stretch > 1 - shift - stretch):
        return "spread"
    return "skew" if skews else "level" if moves else "none"


def _shares(quantiles: np.ndarray) -> tuple[float, float]:
    """Of the way of all quantiles: what a shift does, and what a stretch does."""
    away = quantiles - quantiles.mean(axis=0)
    whole = float(np.mean(away**2))
    if whole == 0:
        return 0.0, 0.0
    shift = away.mean(axis=1, keepdims=True)
    shape = quantiles.mean(axis=0) - quantiles.mean()
    stretch = (away - shift) @ shape / max(float(shape @ shape), 1e-300)
    return float(np.mean(shift**2)) / whole, float(np.mean(np.outer(stretch, shape) ** 2)) / whole


def _clearly_one(quantiles: np.ndarray) -> bool:
    """Whether the law has one peak, without a doubt, at some stop."""
    return any(thinness(own).max() < _ONE for own in quantiles)
