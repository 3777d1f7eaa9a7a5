"""Features of columns and latents, and what is left of them beyond what the kept inputs explain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr, ndtr, ndtri

from forebear.data.table import Column
from forebear.data.weights import effective_rows
from forebear.kinds import kind_named
from forebear.kinds.bounded import legendre

LATENT_ORDERS = 6
"""Legendre polynomials of the latent: the first moves with its location, the second with its spread, the others
with its shape"""
TAILS = (0.1, 0.03)
"""shares of the law, at either end, whose stretch has a feature of its own: six polynomials do not reach them"""


def features(column: Column) -> Float[np.ndarray, "rows features"]:
    """Bounded features (rows, some), most telling first, each with mean about 0 and variance about 1.

    >>> from forebear.data.table import Column
    >>> features(Column("x", "real", np.arange(5.0))).shape
    (5, 8)

    Of a column with gaps they are 0 where a cell is missing, and the last of them says where that is: whether a cell
    is missing can tell something, too.

    >>> features(Column("x", "real", np.array([1.0, 2.0, np.nan, 3.0])))[2, :-1].any()
    np.False_
    """
    kind, gaps = kind_named(column.kind), column.gaps
    if not gaps.any():
        return kind.test_features(column.values, column)
    if gaps.all():
        return np.zeros((len(gaps), 1))
    present = kind.test_features(column.present, column)
    whole = np.zeros((len(gaps), present.shape[1] + 1))
    whole[~gaps, :-1] = present
    whole[:, -1] = (gaps - gaps.mean()) / gaps.std()
    return whole


def latent_features(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows orders"]:
    """Features (rows, orders) of a latent (rows,), orthonormal when it is standard normal.

    >>> z = np.random.default_rng(0).normal(size=100_000)
    >>> bool(abs(np.cov(latent_features(z).T) - np.eye(LATENT_ORDERS)).max() < 0.03)
    True
    """
    return legendre(2 * ndtr(z) - 1, LATENT_ORDERS)


def tail_features(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows tails"]:
    """Scores of a stretch of the outer parts of the law, upper and lower, each with mean 0 and variance 1.

    With u the uniform version of the latent, the score is -log((1 - u) / share) - 1 where u > 1 - share, and 0
    elsewhere: the derivative of the log density of an exponential excess by the logarithm of its scale.

    >>> z = np.random.default_rng(0).normal(size=200_000)
    >>> tails = tail_features(z)
    >>> tails.shape[1], bool(abs(tails.mean(axis=0)).max() < 0.02), bool(abs(tails.std(axis=0) - 1).max() < 0.05)
    (4, True, True)
    """
    scores = []
    for beyond in (log_ndtr(-z), log_ndtr(z)):
        for share in TAILS:
            excess = np.log(share) - beyond
            # An excess that the law gives once in a million tails says no more than that.
            scores.append(np.where(excess > 0, np.clip(excess, 0, 14) - 1, 0.0) / np.sqrt(share))
    return np.stack(scores, axis=1)


TAIL_ORDERS = 2 * len(TAILS)
"""features of the tails of a latent"""


# Squares of normal scores count up to here: one far row must not carry a change of the spread, nor hide it.
_FAR = 6.0


def normal_scores(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """Of the ranks: standard normal, whatever the law of z."""
    return ndtri((np.argsort(np.argsort(z)) + 0.5) / len(z))


def plain_features(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows 2"]:
    """Location and spread of a latent (rows,), by its normal scores.

    Where a law is near normal these see a shift about as well as a t test does, and a change of the spread about as
    well as Levene's test; polynomials of ranks see less. No row counts for more than its rank.

    >>> z = np.random.default_rng(0).standard_t(3, size=10_000)
    >>> plain = plain_features(z)
    >>> bool(abs(plain.mean(axis=0)).max() < 0.01), bool(abs(plain.std(axis=0) - 1).max() < 0.02)
    (True, True)
    """
    scores = normal_scores(z)
    squares = np.minimum(scores**2, _FAR)
    return np.stack([scores, (squares - squares.mean()) / max(float(squares.std()), 1e-300)], axis=1)


def products(
    left: Float[np.ndarray, "rows left"], right: Float[np.ndarray, "rows right"]
) -> Float[np.ndarray, "rows left*right"]:
    """Every column of one with every column of the other."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


# (features of a column, those in products of pairs): the richest that leaves this many rows per feature.
_RICHNESS = ((20, 5), (20, 4), (12, 4), (12, 3), (6, 3), (6, 2), (5, 1), (3, 1), (3, 0), (1, 0))
_ROWS_PER_FEATURE = 10
# Features to clear with, at most: beyond these, the time they take grows faster than what they take out.
_MOST_FEATURES = 700
RIDGE = 1e-9


def richness(widths: Sequence[int], rows: int) -> tuple[int, int]:
    """Features of a kept column to clear with, and those in products of pairs, where there are so many of each.

    >>> richness([8], rows=1_000), richness([8] * 20, rows=1_000)
    ((20, 5), (3, 0))
    """
    most = min(rows // _ROWS_PER_FEATURE, _MOST_FEATURES)
    for single, pair in _RICHNESS:
        crossed = sum(min(a, pair) * min(b, pair) for a, b in combinations(widths, 2))
        if 1 + sum(min(width, single) for width in widths) + crossed <= most:
            return single, pair
    return _RICHNESS[-1]


class Residualiser:
    """Takes out of any features what the kept columns explain.

    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> clearing = Residualiser([features(Column("x", "real", x))], rows=1000)
    >>> bool(abs(clearing(np.exp(x)[:, None])).std() < 0.2 * np.exp(x).std())
    True

    With weights, the regression is weighted and every residual comes out times the root of its row's weight: the
    product of two of them counts with the weight, and its variance is that of the weighted product.
    """

    def __init__(self, kept: Sequence[np.ndarray], rows: int, pairs: bool = True, weights: np.ndarray | None = None):
        self.worth = 1.0 if weights is None else effective_rows(weights) / rows
        single, pair = richness([f.shape[1] for f in kept], int(self.worth * rows))
        self.root = None if weights is None else np.sqrt(weights)[:, None]
        self.design = design = self._rooted(self._design(kept, rows, single, pair if pairs else 0))
        # By the normal equations, in a fifth of the time that orthogonal directions take. Features are bounded and
        # close to orthogonal; where two are not (copies of an input), a small ridge decides: nothing depends on how.
        squares = design.T @ design
        squares[np.diag_indices(len(squares))] += RIDGE * rows
        self.factor = cho_factor(squares, check_finite=False, overwrite_a=True)

    @property
    def count(self) -> int:
        """Features that are cleared with."""
        return self.design.shape[1]

    @property
    def freedom(self) -> float:
        """Rows, or the equal ones that weighted rows are worth, beyond those that clearing uses up."""
        return max(1.0, self.worth * len(self.design) - self.count)

    @staticmethod
    def _design(kept: Sequence[np.ndarray], rows: int, single: int, pair: int) -> np.ndarray:
        parts = [np.ones((rows, 1)), *(f[:, :single] for f in kept)]
        if pair:
            parts += [products(a[:, :pair], b[:, :pair]) for a, b in combinations(kept, 2)]
        return np.concatenate(parts, axis=1)

    def __call__(self, values: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
        """The residuals of values (rows, some)."""
        values = self._rooted(values)
        explained = self.design @ cho_solve(self.factor, self.design.T @ values, check_finite=False)
        return np.subtract(values, explained, out=explained)

    def _rooted(self, values: np.ndarray) -> np.ndarray:
        return values if self.root is None else values * self.root

    def plain(self, cleared: np.ndarray) -> np.ndarray:
        """Residuals without the roots of the weights; 0 where a row does not count."""
        if self.root is None:
            return cleared
        return np.divide(cleared, self.root, out=np.zeros_like(cleared), where=self.root > 0)
