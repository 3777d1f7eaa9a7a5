"""Does the latent of a row still depend on an input, once the kept inputs are accounted for?

Every variable becomes a few bounded features: Legendre polynomials of its ranks, indicators of its levels, waves of
its angle. Latent features and input features are both cleared of what the kept inputs explain (linear regression on
features of those, products of pairs included). If the latent is independent of the input given the kept ones, every
product of a cleared latent feature and a cleared input feature has mean zero; its t statistic says whether it does. A
misfit of the flow in the kept inputs matters only through the product of two small errors, so that dependence among
inputs does not leak into the answer.

The p-value is that of the largest statistic among all products (Sidak): the features are close to orthogonal, so this
is close to exact, and needs no resampling. Rows that follow each other in a table are often dependent (trajectories
with hidden variables), so the variance of a product is the larger of two: that of single rows, and that of blocks of
neighbouring rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr, ndtr

from forebear.data.table import Column
from forebear.kernel.threads import cores
from forebear.kinds import kind_named
from forebear.kinds.bounded import legendre

LATENT_ORDERS = 6
"""Legendre polynomials of the latent: the first moves with its location, the second with its spread, the others
with its shape"""


class TestResult(NamedTuple):
    """What the test says of one removed candidate, or of all of them together."""

    statistic: float
    """largest |t| of a product of features"""
    p_value: float
    effect: float
    """squared correlation of that pair of cleared features, less what chance alone gives: the share of the variance
    of a feature of the latent that the candidate explains beyond the kept inputs"""
    order: int
    """which latent feature moved: 1 location, 2 spread, 3 and more shape"""
    candidates: tuple[str, ...]
    """the candidates whose features were in that product"""
    shift: float = 0.0
    """the effect in the target's own units: about how far the candidate moves the law, as a share of the target's
    standard deviation (root of the effect, times the share of that deviation which the kept inputs leave open)"""

    __test__ = False  # not a class of tests, whatever pytest makes of its name


def features(column: Column) -> Float[np.ndarray, "rows features"]:
    """Bounded features (rows, some), most telling first, each with mean about 0 and variance about 1.

    >>> from forebear.data.table import Column
    >>> features(Column("x", "real", np.arange(5.0))).shape
    (5, 8)
    """
    return kind_named(column.kind).test_features(column.values, column)


def latent_features(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows orders"]:
    """Features (rows, orders) of a latent (rows,), orthonormal when it is standard normal.

    >>> z = np.random.default_rng(0).normal(size=100_000)
    >>> bool(abs(np.cov(latent_features(z).T) - np.eye(LATENT_ORDERS)).max() < 0.03)
    True
    """
    return legendre(2 * ndtr(z) - 1, LATENT_ORDERS)


def _products(
    left: Float[np.ndarray, "rows left"], right: Float[np.ndarray, "rows right"]
) -> Float[np.ndarray, "rows left*right"]:
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


# (features of a column, those in products of pairs): the richest that leaves this many rows per feature.
_RICHNESS = ((8, 8), (8, 6), (8, 4), (8, 3), (6, 3), (6, 2), (5, 1), (3, 1), (3, 0), (1, 0))
_ROWS_PER_FEATURE = 10
RIDGE = 1e-9


def richness(widths: Sequence[int], rows: int) -> tuple[int, int]:
    """Features of a kept column to clear with, and those in products of pairs, where there are so many of each.

    >>> richness([8], rows=1_000), richness([8] * 20, rows=1_000)
    ((8, 8), (3, 0))
    """
    for single, pair in _RICHNESS:
        crossed = sum(min(a, pair) * min(b, pair) for a, b in combinations(widths, 2))
        if (1 + sum(min(width, single) for width in widths) + crossed) * _ROWS_PER_FEATURE <= rows:
            return single, pair
    return _RICHNESS[-1]


class Residualiser:
    """Takes out of any features what the kept columns explain.

    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> clearing = Residualiser([features(Column("x", "real", x))], rows=1000)
    >>> bool(abs(clearing(np.exp(x)[:, None])).std() < 0.2 * np.exp(x).std())
    True
    """

    def __init__(self, kept: Sequence[np.ndarray], rows: int):
        single, pair = richness([f.shape[1] for f in kept], rows)
        self.design = design = self._design(kept, rows, single, pair)
        # By the normal equations, in a fifth of the time that orthogonal directions take. Features are bounded and
        # close to orthogonal; where two are not (copies of an input), a small ridge decides: nothing depends on how.
        squares = design.T @ design
        squares[np.diag_indices(len(squares))] += RIDGE * rows
        self.factor = cho_factor(squares, check_finite=False, overwrite_a=True)

    @property
    def count(self) -> int:
        """Features that are cleared with."""
        return self.design.shape[1]

    @staticmethod
    def _design(kept: Sequence[np.ndarray], rows: int, single: int, pair: int) -> np.ndarray:
        parts = [np.ones((rows, 1)), *(f[:, :single] for f in kept)]
        if pair:
            parts += [_products(a[:, :pair], b[:, :pair]) for a, b in combinations(kept, 2)]
        return np.concatenate(parts, axis=1)

    def __call__(self, values: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
        """The residuals of values (rows, some)."""
        return values - self.design @ cho_solve(self.factor, self.design.T @ values, check_finite=False)


class Probe(NamedTuple):
    """Features to hold against the latents, and the candidates each of them comes from."""

    values: np.ndarray
    sources: list[tuple[str, ...]]


SINGLE, PAIR = 5, 3


def probe_candidate(name: str, columns: Sequence[np.ndarray], kept: Sequence[np.ndarray]) -> Probe:
    """Features of a candidate alone, and together with each kept column and within the candidate."""
    own = [f[:, :SINGLE] for f in columns]
    own += [_products(a[:, :PAIR], b[:, :PAIR]) for a, b in combinations(columns, 2)]
    own += [_products(a[:, :PAIR], k[:, :PAIR]) for a in columns for k in kept]
    values = np.concatenate(own, axis=1)
    return Probe(values, [(name,)] * values.shape[1])


Candidates = Mapping[str, Sequence[np.ndarray]]
"""features of the columns of each candidate"""


def judge_each(
    latents: Float[np.ndarray, "rows orders"],
    candidates: Candidates,
    kept: Sequence[np.ndarray],
    clearing: Residualiser,
) -> dict[str, MaxStatistic]:
    """Each candidate alone, and with the kept columns; `latents` are already cleared."""

    def one(name: str) -> MaxStatistic:
        return _measure(latents, probe_candidate(name, candidates[name], kept), clearing)

    with ThreadPoolExecutor(cores()) as pool:
        return dict(zip(candidates, pool.map(one, candidates), strict=True))


# Products of two removed candidates: this many features of each column, fewer when there are very many pairs.
JOINT_PAIR, MOST_JOINT = 2, 6_000
# Features of a candidate that are multiplied at once with those of all candidates after it.
_AT_A_TIME = 32


def judge_pairs(
    latents: Float[np.ndarray, "rows orders"], candidates: Candidates, clearing: Residualiser
) -> list[MaxStatistic]:
    """Products of features of two candidates, so that interactions are seen that neither shows alone.

    The features are cleared and then multiplied: all products with one latent feature are one product of matrices.
    """
    pairs = len(candidates) * (len(candidates) - 1) // 2
    each = JOINT_PAIR if pairs * JOINT_PAIR**2 <= MOST_JOINT else 1
    columns = [column[:, :each] for candidate in candidates.values() for column in candidate]
    owner = np.repeat(
        np.arange(len(candidates)),
        [sum(c[:, :each].shape[1] for c in candidate) for candidate in candidates.values()],
    )
    cleared, alive = _clear(np.concatenate(columns, axis=1), clearing)
    owner, names = owner[alive], list(candidates)
    if not len(owner):
        return []
    starts = range(0, int(np.searchsorted(owner, owner[-1])), _AT_A_TIME)

    def some(start: int) -> MaxStatistic:
        left, right = slice(start, start + _AT_A_TIME), slice(start, None)
        return _strongest_pair(
            latents, cleared[:, left], cleared[:, right], owner[left], owner[right], clearing, names
        )

    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(some, starts))


def _strongest_pair(
    latents: Float[np.ndarray, "rows orders"],
    left: Float[np.ndarray, "rows left"],
    right: Float[np.ndarray, "rows right"],
    left_owner: Int[np.ndarray, " left"],
    right_owner: Int[np.ndarray, " right"],
    clearing: Residualiser,
    names: Sequence[str],
) -> MaxStatistic:
    wanted = left_owner[:, None] < right_owner
    best = MaxStatistic(0.0, 0.0, 1, (), 0)
    for order in range(latents.shape[1]):
        weighted = latents[:, order, None] * left
        mean, deviation = _moments(weighted, right)
        statistic = np.sqrt(len(latents) - clearing.count) * np.abs(mean) / deviation * wanted
        if statistic.max() > best.statistic:
            i, j = np.unravel_index(int(np.argmax(statistic)), statistic.shape)
            product = left[:, i] * right[:, j]
            correlation = mean[i, j] ** 2 / (latents[:, order].var() * max(float(product.var()), 1e-300))
            candidates = (names[int(left_owner[i])], names[int(right_owner[j])])
            best = MaxStatistic(float(statistic[i, j]), float(correlation), order + 1, candidates, 0)
    return best._replace(tests=int(wanted.sum()) * latents.shape[1])


class HostTest:
    """The test of one set: given the columns `kept`, what do the latents know of each of the `candidates`?

    `columns` are features by name, `candidates` names of columns by candidate. The same for a GPU is in
    `forebear.discovery.dependence_device`.
    """

    def __init__(
        self, columns: Mapping[str, np.ndarray], kept: Sequence[str], candidates: Mapping[str, Sequence[str]]
    ):
        self.kept = [columns[name] for name in kept]
        self.candidates = {candidate: [columns[name] for name in names] for candidate, names in candidates.items()}
        self.clear = Residualiser(self.kept, len(next(iter(columns.values()))))

    def each(self, latents: Float[np.ndarray, "rows orders"]) -> dict[str, MaxStatistic]:
        """Every candidate alone, and with the kept columns; `latents` are already cleared."""
        return judge_each(latents, self.candidates, self.kept, self.clear)

    def pairs(self, latents: Float[np.ndarray, "rows orders"]) -> list[MaxStatistic]:
        """Products of features of two candidates."""
        return judge_pairs(latents, self.candidates, self.clear)


def judge(latents: Float[np.ndarray, "rows orders"], probe: Probe, clearing: Residualiser) -> TestResult:
    """The test itself: `latents` (rows, orders) are already cleared, the probe is cleared here.

    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 2_000))
    >>> clearing = Residualiser([], rows=2_000)
    >>> probe = probe_candidate("x", [features(Column("x", "real", x))], [])
    >>> judge(clearing(latent_features(noise)), probe, clearing).p_value > 0.01
    True
    >>> result = judge(clearing(latent_features(noise * (1 + 0.2 * np.tanh(x)))), probe, clearing)
    >>> result.p_value < 1e-6, result.order
    (True, 2)
    """
    return result_of([_measure(latents, probe, clearing)])


class MaxStatistic(NamedTuple):
    """Of many products of features the one with the largest statistic, and how many there are."""

    statistic: float
    correlation: float
    """squared"""
    order: int
    candidates: tuple[str, ...]
    tests: int


def _measure(latents: Float[np.ndarray, "rows orders"], probe: Probe, clearing: Residualiser) -> MaxStatistic:
    cleared, alive = _clear(probe.values, clearing)
    if not cleared.shape[1]:
        return MaxStatistic(0.0, 0.0, 1, (), 0)
    mean, deviation = _moments(latents, cleared)
    statistic = np.sqrt(len(latents) - clearing.count) * np.abs(mean) / deviation
    order, which = np.unravel_index(int(np.argmax(statistic)), statistic.shape)
    correlation = mean[order, which] ** 2 / (latents[:, order].var() * cleared[:, which].var())
    source = probe.sources[int(alive[which])]
    return MaxStatistic(float(statistic[order, which]), float(correlation), int(order) + 1, source, statistic.size)


def _clear(
    values: Float[np.ndarray, "rows some"], clearing: Residualiser
) -> tuple[Float[np.ndarray, "rows alive"], Int[np.ndarray, " alive"]]:
    """Features cleared of the kept inputs, without those that these explain altogether: what is left of them is
    rounding. And the numbers of the features that are left."""
    cleared = clearing(values)
    alive = np.flatnonzero(cleared.var(axis=0) > 1e-8 * np.maximum(values.var(axis=0), 1e-300))
    return cleared[:, alive], alive


def _moments(
    left: Float[np.ndarray, "rows left"], right: Float[np.ndarray, "rows right"]
) -> tuple[Float[np.ndarray, "left right"], Float[np.ndarray, "left right"]]:
    """Mean and standard deviation of the product of every column of one with every column of the other."""
    mean = left.T @ right / len(left)
    variance = np.maximum(_variance_of_rows(left, right, mean), _variance_of_blocks(left, right, mean))
    return mean, np.sqrt(np.maximum(variance, 1e-300))


def result_of(measured: Iterable[MaxStatistic]) -> TestResult:
    """What several families of products say together."""
    measured = list(measured)
    tests = sum(one.tests for one in measured)
    if not tests:
        return TestResult(0.0, 1.0, 0.0, 1, ())
    strongest = max(measured, key=lambda one: one.statistic)
    chance = _median_of_largest(tests) ** 2 / max(strongest.statistic, 1e-300) ** 2
    effect = strongest.correlation * max(0.0, 1.0 - chance)
    p_value = _sidak(strongest.statistic, tests)
    return TestResult(strongest.statistic, p_value, effect, strongest.order, strongest.candidates)


def _variance_of_rows(
    left: Float[np.ndarray, "rows left"],
    right: Float[np.ndarray, "rows right"],
    mean: Float[np.ndarray, "left right"],
) -> Float[np.ndarray, "left right"]:
    return (left**2).T @ right**2 / len(left) - mean**2


# Neighbouring rows in a block, and the least number of blocks that a variance is estimated from.
BLOCK, LEAST_BLOCKS = 50, 20


def _variance_of_blocks(
    left: Float[np.ndarray, "rows left"],
    right: Float[np.ndarray, "rows right"],
    mean: Float[np.ndarray, "left right"],
) -> Float[np.ndarray, "left right"]:
    """Variance of the product, per row, as the sums over blocks of neighbouring rows show it."""
    length = max(1, min(BLOCK, len(left) // LEAST_BLOCKS))
    blocks = len(left) // length
    total = np.zeros_like(mean)
    for block in range(blocks):
        rows = slice(block * length, (block + 1) * length)
        total += (left[rows].T @ right[rows] / length - mean) ** 2
    return total * length / blocks


def _sidak(statistic: float, tests: int) -> float:
    """P(the largest of so many independent |t| exceeds the statistic), without cancellation for small values."""
    single = np.exp(np.log(2) + log_ndtr(-statistic))
    return float(-np.expm1(tests * np.log1p(-min(single, 1.0 - 1e-16))))


def _median_of_largest(tests: int) -> float:
    from scipy.special import ndtri

    return float(-ndtri(-np.expm1(-np.log(2) / tests) / 2))
