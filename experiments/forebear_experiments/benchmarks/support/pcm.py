"""The projected covariance measure, with boosted trees: does an input move the mean of a target, given the rest?

Lundborg, Kim, Shah and Samworth (Annals of Statistics, 2024). On one half of the rows a regression of the target on
all inputs is taken apart into what the rest says and what the tested input adds; on the other half the covariance of
that addition with the target is tested, both with what the rest says of them taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

# More rows, drawn at random, are left out: the regressions are many, and their cost grows with the rows.
MOST_ROWS = 5_000


def pcm(blocks: Sequence[np.ndarray], y: np.ndarray, seed: int, kept: np.ndarray | None = None) -> list[float]:
    """The p-value of each block of columns (rows, n), given all the others and what is kept.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2, 600, 1))
    >>> p = pcm(list(x), x[0, :, 0] ** 2 + rng.normal(size=600), seed=0)
    >>> p[0] < 1e-4, p[1] > 0.01
    (True, True)
    """
    from threadpoolctl import threadpool_limits

    # The threads of one small fit wait for one another: beside another busy process they take many times as long.
    with threadpool_limits(1, user_api="openmp"):
        return _p_values(blocks, y, seed, kept)


def _p_values(blocks: Sequence[np.ndarray], y: np.ndarray, seed: int, kept: np.ndarray | None) -> list[float]:
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    base = np.zeros((len(y), 0)) if kept is None else kept
    half = len(rows) // 2
    learn, test = rows[:half], rows[half:]
    everything = np.hstack([base, *blocks])
    mean = Predict(everything[learn], y[learn], seed)
    spread = _spread_of(mean(everything[learn]), everything[learn], y[learn], seed)
    p_values = []
    for number in range(len(blocks)):
        others = np.hstack([base, *(block for place, block in enumerate(blocks) if place != number)])
        without = Predict(others[learn], mean(everything[learn]), seed)
        direction = (mean(everything[test]) - without(others[test])) / spread(everything[test])
        p_values.append(_p_value(direction, y[test], others[test], seed))
    return p_values


def _spread_of(fitted: np.ndarray, x: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The variance that is left, so that noisy rows count less; kept away from zero."""
    left = (y - fitted) ** 2
    floor = 0.1 * float(left.mean()) + 1e-12
    model = Predict(x, left, seed)
    return lambda rows: np.maximum(model(rows), floor)


def _p_value(direction: np.ndarray, y: np.ndarray, others: np.ndarray, seed: int) -> float:
    """One-sided: the direction was learned so that it goes with the target."""
    from scipy.stats import norm

    product = _residual(others, y, seed) * _residual(others, direction, seed)
    deviation = float(product.std())
    if deviation < 1e-12:
        return 1.0
    return float(norm.sf(np.sqrt(len(y)) * product.mean() / deviation))


def _residual(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """What a regression on the rows of the other fold leaves: trees would explain noise of their own rows."""
    fold = np.arange(len(y)) % 2
    left = np.empty(len(y))
    for side in (0, 1):
        own = fold == side
        left[own] = y[own] - Predict(x[~own], y[~own], seed)(x[own])
    return left


class Predict:
    """Boosted trees, or the mean where there is nothing to regress on."""

    def __init__(self, x: np.ndarray, y: np.ndarray, seed: int):
        from sklearn.ensemble import HistGradientBoostingRegressor

        self.mean, self.model = float(y.mean()), None
        if x.shape[1]:
            # Fewer than 10,000 rows: there is no early stopping.
            model = HistGradientBoostingRegressor(max_iter=100, max_leaf_nodes=15, random_state=seed)
            self.model = model.fit(x, y)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The expected target at these rows."""
        return np.full(len(x), self.mean) if self.model is None else self.model.predict(x)
