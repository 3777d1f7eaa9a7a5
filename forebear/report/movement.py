"""What a law does as one input moves: which of its sides moves most, from where to where, and how far."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.twin.sweep import Along, Sweep

LEVELS = np.linspace(0.025, 0.975, 39)
_LOW, _MIDDLE, _HIGH = 1, 19, 37
"""places of 5%, 50% and 95%"""
Side = Literal["level", "spread", "states", "split", "skew", "none"]
# A trough counts when it is so much thinner than the lesser of its two peaks; below the second number there is none.
_TWO, _ONE = 1.6, 1.25
# A tenth of the mass: the width of a window in which a density is looked at.
_WINDOW = 4
# Less is told as weak: of a change of the level, as a share of the 90% range; of the range, as a ratio; of skewness.
_LEVEL, _SPREAD, _SKEW = 0.1, 1.12, 0.2
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
    two = ~np.isnan(told.states[:, 0])
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


def _troughs(quantiles: Float[np.ndarray, " levels"]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """How thin the law is at each window against the lesser peak beside it, the widths of all windows, and where the
    narrowest before and after each are."""
    widths = np.maximum(quantiles[_WINDOW:] - quantiles[:-_WINDOW], 1e-12 * (np.ptp(quantiles) + 1e-300))
    before = np.array([np.argmin(widths[: k + 1]) for k in range(len(widths))])
    after = np.array([k + np.argmin(widths[k:]) for k in range(len(widths))])
    return widths / np.maximum(widths[before], widths[after]), widths, before, after


def _clearly_one(quantiles: np.ndarray) -> bool:
    """Whether the law has one peak, without a doubt, at some stop."""
    return any(_troughs(own)[0].max() < _ONE for own in quantiles)


def two_states(quantiles: Float[np.ndarray, " levels"]) -> Float[np.ndarray, "3"]:
    """Where both peaks of a law lie, and the share of the upper one; NaN where there is a single one.

    >>> rng = np.random.default_rng(0)
    >>> law = np.concatenate([rng.normal(-3, 0.5, 4_000), rng.normal(4, 0.5, 6_000)])
    >>> two_states(np.quantile(law, LEVELS)).round(1).tolist()
    [-3.0, 4.0, 0.6]
    >>> two_states(np.quantile(rng.normal(size=9_000), LEVELS)).tolist()
    [nan, nan, nan]
    """
    thin, _, before, after = _troughs(quantiles)
    trough = int(np.argmax(thin))
    if thin[trough] < _TWO:
        return np.full(3, np.nan)
    half = _WINDOW // 2
    share = 1 - LEVELS[trough + half]
    # The middle of what lies on either side is steadier than its narrowest window.
    split = trough + half
    lower = float(np.median(quantiles[: split + 1]))
    upper = float(np.median(quantiles[split:]))
    return np.array([lower, upper, share])
