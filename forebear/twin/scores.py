"""How good draws are, on plain arrays: CRPS, Wasserstein-1, coverage, and intervals for means."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.stats import kstest, kstwobign

from forebear.data.weights import effective_rows, mean_of


def crps(draws: Num[np.ndarray, "n rows"], y: Num[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """Continuous ranked probability score (rows,) of draws (n, rows) against observations (rows,); unbiased in n.

    E|Y - y| - E|Y - Y'| / 2, the second mean over pairs of different draws.

    >>> crps(np.zeros((5, 1)), np.array([2.0])).tolist()
    [2.0]
    """
    n = len(draws)
    ordered = np.sort(draws, axis=0)
    # The sum over pairs of |Y_i - Y_j| weighs the k-th smallest draw by 2k - n + 1.
    weight = 2 * np.arange(n) - n + 1
    pairs = (weight[:, None] * ordered).sum(axis=0) / (n * (n - 1) / 2)
    return np.abs(draws - y).mean(axis=0) - 0.5 * pairs


LEVELS = (0.5, 0.8, 0.9, 0.95)
"""of the central intervals whose coverage is counted"""


def pit(
    draws: Num[np.ndarray, "n rows"], y: Num[np.ndarray, " rows"], rng: np.random.Generator, step: float = 0.0
) -> Float[np.ndarray, " rows"]:
    """The place of each observation (rows,) among its draws (n, rows), uniform on (0, 1) when the law is right.

    Among draws that equal it, as those of grades do, its place is drawn; and where observations were rounded to
    multiples of `step`, so is the value that was rounded. Else even a law that is right would seem too wide: the
    interval from grade 5 to grade 6 holds more than it was asked for, and a law that knows a rounded value exactly
    holds its cell.

    >>> rng = np.random.default_rng(0)
    >>> coins = pit(np.tile([[0.0], [1.0]], (50, 2_000)), rng.integers(2, size=2_000).astype(float), rng)
    >>> bool(np.abs(np.quantile(coins, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.05)
    True
    """
    y = y + step * (rng.random(y.shape) - 0.5) if step else y
    below, ties = (draws < y).sum(axis=0), (draws == y).sum(axis=0)
    return (below + rng.random(y.shape) * (ties + 1)) / (len(draws) + 1)


def coverage(
    places: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"] | None = None
) -> dict[float, float]:
    """Of each level in `LEVELS` the share of places (`pit`) inside the central interval, weighted where rows are.

    >>> coverage(np.array([0.01, 0.3, 0.5, 0.9]))
    {0.5: 0.5, 0.8: 0.75, 0.9: 0.75, 0.95: 0.75}
    """
    return {level: mean_of(np.abs(2 * places - 1) <= level, weights) for level in LEVELS}


def wasserstein(draws: Num[np.ndarray, "n rows"], exact: Num[np.ndarray, "n rows"]) -> Float[np.ndarray, " rows"]:
    """Wasserstein-1 (rows,) between two equally large samples (n, rows) of each row's law.

    >>> wasserstein(np.array([[0.0], [1.0]]), np.array([[2.0], [0.0]])).tolist()
    [0.5]
    """
    return np.abs(np.sort(draws, axis=0) - np.sort(exact, axis=0)).mean(axis=0)


def mean_interval(
    values: Num[np.ndarray, " rows"],
    rng: np.random.Generator,
    repeats: int = 2_000,
    counts: Float[np.ndarray, " rows"] | None = None,
) -> tuple[float, float]:
    """A 95% bootstrap interval of the mean of values (rows,), which may have weights `counts` (rows,).

    >>> low, high = mean_interval(np.arange(100.0), np.random.default_rng(0))
    >>> 40 < low < 49.5 < high < 59
    True
    """
    # Poisson weights: resampling without making the samples, in pieces that fit into memory.
    means = []
    for start in range(0, repeats, 100):
        weights = rng.poisson(1.0, (min(100, repeats - start), len(values)))
        if counts is None:
            means.append(weights @ values / np.maximum(weights.sum(axis=1), 1))
        else:
            means.append(weights @ (counts * values) / np.maximum(weights @ counts, 1e-300))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)


def binned_wasserstein(
    draws: Num[np.ndarray, "n rows"], y: Num[np.ndarray, " rows"], bins: Int[np.ndarray, " rows"]
) -> float:
    """Mean over bins of the rows of W1 between a bin's observations (rows,) and its draws (n, rows), by rows.

    >>> binned_wasserstein(np.array([[0.0, 5.0]]), np.array([1.0, 5.0]), np.array([0, 1]))
    0.5
    """
    total = 0.0
    for number in np.unique(bins):
        rows = bins == number
        seen = np.sort(y[rows])
        made = np.sort(draws[:, rows], axis=None)
        levels = (np.arange(len(seen)) + 0.5) / len(seen)
        total += rows.sum() * np.abs(seen - np.quantile(made, levels)).mean()
    return float(total / len(y))


def uniformity(
    pit: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"] | None = None
) -> tuple[float, float]:
    """The largest gap between the distribution of values (rows,) and the uniform one, and its p-value
    (Kolmogorov-Smirnov); of weighted rows, as of so many equal ones as they are worth.

    >>> pit = (np.arange(100) + 0.5) / 100
    >>> [round(value, 3) for value in uniformity(pit)], [round(value, 3) for value in uniformity(pit, np.ones(100))]
    ([0.005, 1.0], [0.005, 1.0])
    """
    if weights is None:
        plain = kstest(pit, "uniform")
        return float(plain.statistic), float(plain.pvalue)
    order = np.argsort(pit)
    ends = np.cumsum(weights[order]) / weights.sum()
    starts = ends - weights[order] / weights.sum()
    gap = float(max((ends - pit[order]).max(), (pit[order] - starts).max()))
    return gap, float(kstwobign.sf(np.sqrt(effective_rows(weights)) * gap))
