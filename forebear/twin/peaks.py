"""Whether a law has two peaks, and where: read off its quantiles, which are there for every law."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

LEVELS = np.linspace(0.025, 0.975, 39)
# A trough counts when it is so much thinner than the lesser of its two peaks.
_TWO = 1.6
# A tenth of the mass: the width of a window in which a density is looked at.
_WINDOW = 4


def thinness(quantiles: Float[np.ndarray, " levels"]) -> Float[np.ndarray, " windows"]:
    """How much wider each tenth of the mass is than the narrowest tenths on both its sides: above 1 in a trough.

    `quantiles` are those at `LEVELS`.

    >>> float(thinness(np.arange(39.0)).max())
    1.0
    """
    widths = np.maximum(quantiles[_WINDOW:] - quantiles[:-_WINDOW], 1e-12 * (np.ptp(quantiles) + 1e-300))
    before = np.minimum.accumulate(widths)
    after = np.minimum.accumulate(widths[::-1])[::-1]
    return widths / np.maximum(before, after)


def trough(quantiles: Float[np.ndarray, " levels"]) -> float:
    """The share of the mass below the trough between two peaks; NaN where there is a single one.

    >>> rng = np.random.default_rng(0)
    >>> law = np.concatenate([rng.normal(-3, 0.5, 4_000), rng.normal(4, 0.5, 6_000)])
    >>> round(trough(np.quantile(law, LEVELS)), 1), trough(np.quantile(rng.normal(size=9_000), LEVELS))
    (0.4, nan)
    """
    thin = thinness(quantiles)
    place = int(np.argmax(thin))
    return float(LEVELS[place + _WINDOW // 2]) if thin[place] >= _TWO else np.nan


def side_levels(share: float, inside: tuple[float, ...] = (0.25, 0.5, 0.75)) -> Float[np.ndarray, "2 inside"]:
    """Levels of the whole law that are such levels of each of its two sides.

    >>> side_levels(0.4).round(2).tolist()
    [[0.1, 0.2, 0.3], [0.55, 0.7, 0.85]]
    """
    own = np.array(inside)
    return np.stack([share * own, share + (1 - share) * own])


def sides(quantiles: Float[np.ndarray, " levels"]) -> Float[np.ndarray, "2 3"]:
    """Quartiles of the law below its trough, and above it; NaN where it has none.

    >>> sides(np.arange(39.0)).shape
    (2, 3)
    """
    share = trough(quantiles)
    if np.isnan(share):
        return np.full((2, 3), np.nan)
    return np.interp(side_levels(share), LEVELS, quantiles)


def two_states(quantiles: Float[np.ndarray, " levels"]) -> Float[np.ndarray, "3"]:
    """The middle of the law below its trough, that above it, and the share of the upper one; NaN where it has none.

    >>> rng = np.random.default_rng(0)
    >>> law = np.concatenate([rng.normal(-3, 0.5, 4_000), rng.normal(4, 0.5, 6_000)])
    >>> two_states(np.quantile(law, LEVELS)).round(1).tolist()
    [-3.0, 4.0, 0.6]
    """
    return np.array([*sides(quantiles)[:, 1], 1 - trough(quantiles)])
