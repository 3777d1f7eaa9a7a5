"""Does the latent of a row still depend on an input, once the kept inputs are accounted for?

Every variable becomes a few bounded features: Legendre polynomials of its ranks, indicators of its levels, waves of
its angle; of the latent also scores of its tails. Latent features and input features are both cleared of what the
kept inputs explain (linear regression on features of those, products of pairs included). If the latent is independent
of the input given the kept ones, every product of a cleared latent feature and a cleared input feature has mean zero;
its t statistic says whether it does. A misfit of the flow in the kept inputs matters only through the product of two
small errors, so that dependence among inputs does not leak into the answer.

The p-value is that of the largest statistic among all products (Sidak): the features are close to orthogonal, so this
is close to exact, and needs no resampling. Most of the level goes to plain effects, a shift of the location or of the
spread along the input: small tables show little else. Rows that hang together are worth fewer than they are, see
`forebear.discovery.effective`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_ndtr, ndtri, stdtrit

from forebear.discovery.effective import FEWEST, Inflation, RowDependence, normal_equivalent
from forebear.discovery.residuals import (
    LATENT_ORDERS,
    TAIL_ORDERS,
    Residualiser,
    latent_features,
    normal_scores,
    plain_features,
    products,
    tail_features,
)
from forebear.discovery.residuals import features as features
from forebear.kernel.threads import cores

MANY = 1e15
"""effective rows where nothing limits what can be told; infinity has no place in JSON"""


class TestResult(NamedTuple):
    """What the test says of one removed candidate, or of all of them together."""

    statistic: float
    """largest |t| of a product of features, as a standard normal value"""
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
    limit: float = 1.0
    """95% upper limit on the effect"""
    detectable: float = 1.0
    """the effect that would have been found four times out of five"""
    rows: float = MANY
    """independent rows that those tested are worth, for the product of features with the fewest"""

    __test__ = False  # not a class of tests, whatever pytest makes of its name


class Features(NamedTuple):
    """Features of a column, and how slow they are."""

    values: np.ndarray
    """(rows, features)"""
    memory: np.ndarray | None = None
    """(features, lags) autocorrelations; None where rows do not follow each other"""
    untold: bool = False
    """the record is hardly longer than the memory of the column"""

    def first(self, count: int) -> Features:
        """The most telling ones."""
        memory = None if self.memory is None else self.memory[:count]
        return Features(self.values[:, :count], memory, self.untold)

    def times(self, other: Features) -> Features:
        """Every one with every other. Autocorrelations of independent series multiply.

        What a law leaves open is not independent of what it is given, where it fits badly: a slow hidden variable
        times a fast given column shows there, and meets the slow column times the same fast one. So a column of which
        nothing can be told stays as slow as it is.
        """
        values = products(self.values, other.values)
        if self.memory is None or other.memory is None:
            return Features(values)
        others = np.ones_like(other.memory) if self.untold else other.memory
        return Features(values, (self.memory[:, None] * others).reshape(values.shape[1], -1), self.untold)

    @staticmethod
    def joined(parts: Sequence[Features]) -> Features:
        """Side by side."""
        memories = [part.memory for part in parts if part.memory is not None]
        values = np.concatenate([part.values for part in parts], axis=1)
        return Features(values, np.concatenate(memories) if len(memories) == len(parts) else None)


def all_latent_features(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows features"]:
    """Polynomials of a latent (rows,), behind them the scores of its tails, and last its plain features."""
    return np.concatenate([latent_features(z), tail_features(z), plain_features(z)], axis=1)


class Probe(NamedTuple):
    """Features to hold against the latents."""

    own: Features
    ranks: Int[np.ndarray, " features"]
    """the place of a feature in its column; of a product, beyond all"""


# Features of either column in a product. Tails are held against the first features of an input alone, plain effects
# are location and spread against the first.
PAIR, TAIL_RANKS, PLAIN_RANKS = 3, 2, 1
# The share of the level that is for plain effects.
PLAIN_SHARE = 0.65
CROSSED = 1_000
"""rank of a product"""


def probe_candidate(columns: Sequence[Features], kept: Sequence[Features]) -> Probe:
    """Features of a candidate alone, and together with each kept column and within the candidate."""
    crossed = [a.first(PAIR).times(b.first(PAIR)) for a, b in combinations(columns, 2)]
    crossed += [a.first(PAIR).times(k.first(PAIR)) for a in columns for k in kept]
    ranks = [np.arange(column.values.shape[1]) for column in columns]
    ranks += [np.full(pair.values.shape[1], CROSSED) for pair in crossed]
    return Probe(Features.joined([*columns, *crossed]), np.concatenate(ranks))


Candidates = Mapping[str, Sequence[Features]]
"""features of the columns of each candidate"""


def wanted_products(orders: int, ranks: Int[np.ndarray, " features"]) -> np.ndarray:
    """Which latent features (orders) are held against which features of a probe."""
    order = np.arange(orders)[:, None]
    return (order < LATENT_ORDERS) | ((order < LATENT_ORDERS + TAIL_ORDERS) & (ranks < TAIL_RANKS))


def plain_products(orders: int, ranks: Int[np.ndarray, " features"]) -> np.ndarray:
    """Which products are plain effects."""
    return (np.arange(orders)[:, None] >= LATENT_ORDERS + TAIL_ORDERS) & (ranks < PLAIN_RANKS)


class MaxStatistic(NamedTuple):
    """Of many products of features the one with the largest statistic, and how many there are."""

    statistic: float
    correlation: float
    """squared"""
    order: int
    candidates: tuple[str, ...]
    tests: int
    plain: float = 0.0
    """the largest statistic of a plain effect"""
    plain_tests: int = 0
    limit: float = 0.0
    """95% upper limit on the squared correlation of any of the products; 0 for products of two candidates, which are
    so many that the largest of them says little of how large an effect could be"""
    rows: float = MANY
    """effective rows, for the product with the fewest"""
    plain_correlation: float = 0.0
    """squared, of the strongest plain effect"""
    plain_order: int = 1


NOTHING = MaxStatistic(0.0, 0.0, 1, (), 0)

_UPPER = 0.95


def upper_quantile(freedom: np.ndarray | float) -> np.ndarray:
    """Of Student's t, for a one-sided limit."""
    return stdtrit(np.asarray(freedom, float), _UPPER)


def upper_limit(t: np.ndarray, rows: np.ndarray | float, freedom: np.ndarray | float) -> np.ndarray:
    """95% upper limit on a squared correlation whose t statistic on so many effective rows is this.

    >>> float(upper_limit(np.array(0.0), 1_000.0, 1_000.0).round(4))
    0.0027
    """
    rows = np.asarray(rows, float)
    limit = np.square(np.abs(t) + upper_quantile(freedom)) / np.maximum(rows, 1.0)
    return np.where(rows < FEWEST, 1.0, np.minimum(limit, 1.0))


class Strengths(NamedTuple):
    """Of every product of a latent feature and a feature of a probe."""

    statistic: np.ndarray
    """|t| as a standard normal value; 0 where too few effective rows are left to tell"""
    correlation: np.ndarray
    """squared"""
    limit: np.ndarray
    rows: np.ndarray
    """effective"""


def strengths(
    latents: Float[np.ndarray, "rows orders"],
    cleared: Features,
    freedom: float,
    dependence: RowDependence | None,
    worth: float = 1.0,
) -> Strengths:
    """The statistics of all products of cleared features; `worth` is what a row is worth, beside an equal one, where
    rows are weighted: features then come with the roots of the weights, and `freedom` counts equal rows."""
    values = cleared.values
    squares, own_squares = latents**2, values**2
    mean = latents.T @ values / len(values)
    variance = np.maximum(squares.T @ own_squares / len(values) - mean**2, 1e-300)
    t = np.sqrt(freedom / worth) * np.abs(mean) / np.sqrt(variance)
    factors = np.maximum(np.outer(_variances(latents, squares), _variances(values, own_squares)), 1e-300)
    correlation = mean**2 / factors
    rows, of_freedom = np.full(t.shape, float(freedom)), np.full(t.shape, float(freedom))
    if worth != 1.0:
        of_freedom = np.minimum(of_freedom, _rows_behind(squares, own_squares))
    if dependence is not None:
        inflation = dependence.of(latents, values, cleared.memory)
        t, rows = t / np.sqrt(inflation.factor), rows / inflation.factor
        of_freedom = np.minimum(inflation.freedom, of_freedom)
    fewest = FEWEST if dependence is None else dependence.fewest
    statistic = np.where(rows < min(fewest, freedom), 0.0, normal_equivalent(t, of_freedom))
    # The t statistic counts in deviations of the product; a correlation in those of its factors.
    wider = np.maximum(variance / factors, 1.0)
    # What weights take is in the deviation of the product already.
    limit = np.where(rows < FEWEST, 1.0, upper_limit(t, rows / worth, of_freedom) * wider)
    return Strengths(statistic, correlation, np.minimum(limit, 1.0), rows)


def _rows_behind(left: Float[np.ndarray, "rows left"], right: Float[np.ndarray, "rows right"]) -> np.ndarray:
    """Degrees of freedom of the variance of weighted products, whose squares are those of `left` and `right`.

    Few heavy rows carry it where weights are large: it has as many degrees of freedom as there are rows where
    products are normal, and fewer the more their squares differ (Satterthwaite).
    """
    mean, squares = left.T @ right / len(left), (left**2).T @ right**2 / len(left)
    spread = squares / np.maximum(mean**2, 1e-300) - 1
    return np.maximum(2 * len(left) / np.maximum(spread, 1e-9), 1.0)


def _variances(values: Float[np.ndarray, "rows some"], squares: Float[np.ndarray, "rows some"]) -> np.ndarray:
    """Of columns whose means are next to nothing, in a fraction of the time that numpy's own take."""
    ones = np.ones(len(values)) / len(values)
    return np.maximum(ones @ squares - (ones @ values) ** 2, 0.0)


def measure(
    name: str,
    latents: Float[np.ndarray, "rows orders"],
    probe: Probe,
    clearing: Residualiser,
    dependence: RowDependence | None = None,
) -> MaxStatistic:
    """The strongest product of a candidate; `latents` are already cleared, the probe is cleared here."""
    cleared, alive = _clear(probe.own, clearing)
    if not len(alive):
        return NOTHING
    found = strengths(latents, cleared, clearing.freedom, dependence, clearing.worth)
    ranks = probe.ranks[alive]
    wanted, plain = (f(len(found.statistic), ranks) for f in (wanted_products, plain_products))
    order, which = _largest(found.statistic, wanted)
    plainly, of_plain = _largest(found.statistic, plain)
    return MaxStatistic(
        float(found.statistic[order, which]),
        float(found.correlation[order, which]),
        order + 1,
        (name,),
        int(wanted.sum()),
        float(found.statistic.max(where=plain, initial=0.0)),
        int(plain.sum()),
        float(found.limit.max(where=wanted | plain, initial=0.0)),
        float(found.rows.min(where=wanted, initial=MANY)),
        float(found.correlation[plainly, of_plain]) if plain.any() else 0.0,
        max(plainly - LATENT_ORDERS - TAIL_ORDERS, 0) + 1,
    )


def _largest(statistic: np.ndarray, among: np.ndarray) -> tuple[int, int]:
    """Where the largest of some statistics is."""
    order, which = np.unravel_index(int(np.argmax(np.where(among, statistic, -1.0))), statistic.shape)
    return int(order), int(which)


def _spread(values: Float[np.ndarray, "rows some"]) -> np.ndarray:
    """Variances of columns, without holding their squares."""
    return np.maximum(np.einsum("ij,ij->j", values, values) / len(values) - values.mean(axis=0) ** 2, 0.0)


# A feature is gone if clearing leaves this share of its variance, which is about 1 unless a column has few values.
LEAST_LEFT, LEAST_VARIANCE = 1e-8, 1e-4


def _clear(own: Features, clearing: Residualiser) -> tuple[Features, Int[np.ndarray, " alive"]]:
    """Features cleared of the kept inputs, without those that these explain altogether: what is left of them is
    rounding. And the numbers of the features that are left."""
    cleared = clearing(own.values)
    left, whole = _spread(cleared), _spread(own.values)
    alive = np.flatnonzero(left > LEAST_LEFT * np.maximum(whole, LEAST_VARIANCE))
    kept = cleared if len(alive) == cleared.shape[1] else cleared[:, alive]
    return Features(kept, None if own.memory is None else own.memory[alive], own.untold), alive


# Products of two removed candidates: this many features of each column, fewer when there are very many pairs.
JOINT_PAIR, MOST_JOINT = 2, 6_000
# Features of a candidate that are multiplied at once with those of all candidates after it.
_AT_A_TIME = 32


@dataclass(frozen=True, eq=False)
class HostTest:
    """The test of one set: given the columns `kept`, what do the latents know of each of the `candidates`?

    The same for a GPU, where rows are independent, is in `forebear.discovery.dependence_device`.
    """

    kept: Sequence[Features]
    candidates: Candidates
    clear: Residualiser
    dependence: RowDependence | None = None

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Features],
        kept: Sequence[str],
        candidates: Mapping[str, Sequence[str]],
        dependence: RowDependence | None = None,
        weights: np.ndarray | None = None,
    ) -> HostTest:
        """`columns` are features by name, `candidates` names of columns by candidate; `weights` (rows,) say how much
        each row counts."""
        own = [columns[name] for name in kept]
        named = {candidate: [columns[name] for name in names] for candidate, names in candidates.items()}
        rows = len(next(iter(columns.values())).values)
        clear = Residualiser([one.values for one in own], rows, weights=weights)
        return cls(own, named, clear, dependence)

    @property
    def count(self) -> int:
        """Features that are cleared with."""
        return self.clear.count

    def each(self, latents: Float[np.ndarray, "rows orders"]) -> dict[str, MaxStatistic]:
        """Every candidate alone, and with the kept columns; `latents` are already cleared."""

        def one(name: str) -> MaxStatistic:
            return self.of_candidate(name, latents)

        with ThreadPoolExecutor(cores()) as pool:
            return dict(zip(self.candidates, pool.map(one, self.candidates), strict=True))

    def of_candidate(self, name: str, latents: Float[np.ndarray, "rows orders"]) -> MaxStatistic:
        """One candidate alone, and with the kept columns."""
        return measure(name, latents, probe_candidate(self.candidates[name], self.kept), self.clear, self.dependence)

    def pairs(self, latents: Float[np.ndarray, "rows orders"]) -> list[MaxStatistic]:
        """Products of features of two candidates, so that interactions are seen that neither shows alone.

        The features are cleared and then multiplied: all products with one latent feature are one product of
        matrices.
        """
        pairs = len(self.candidates) * (len(self.candidates) - 1) // 2
        each = JOINT_PAIR if pairs * JOINT_PAIR**2 <= MOST_JOINT else 1
        columns = [column.first(each) for candidate in self.candidates.values() for column in candidate]
        owner = np.repeat(
            np.arange(len(self.candidates)),
            [sum(c.first(each).values.shape[1] for c in candidate) for candidate in self.candidates.values()],
        )
        cleared, alive = _clear(Features.joined(columns), self.clear)
        owner = owner[alive]
        if not len(owner):
            return []
        starts = range(0, int(np.searchsorted(owner, owner[-1])), _AT_A_TIME)

        def some(start: int) -> MaxStatistic:
            return self._strongest_pair(latents[:, :LATENT_ORDERS], cleared, owner, start)

        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(some, starts))

    def _strongest_pair(
        self, latents: Float[np.ndarray, "rows orders"], cleared: Features, owner: np.ndarray, start: int
    ) -> MaxStatistic:
        names, rows = list(self.candidates), len(latents)
        left, right = cleared.values[:, start : start + _AT_A_TIME], self.clear.plain(cleared.values[:, start:])
        left_owner, right_owner = owner[start : start + _AT_A_TIME], owner[start:]
        wanted = left_owner[:, None] < right_owner
        best, squares = NOTHING, right**2
        for order in range(latents.shape[1]):
            weighted = latents[:, order, None] * left
            mean = weighted.T @ right / rows
            np.square(weighted, out=weighted)
            variance = np.maximum(weighted.T @ squares / rows - mean**2, 1e-300)
            t = np.sqrt(self.clear.freedom / self.clear.worth) * np.abs(mean) / np.sqrt(variance) * wanted
            if self.clear.worth != 1.0:
                t = normal_equivalent(t, _rows_behind(weighted, squares))
            statistic, effective = self._pairs_in_rows(order, latents, left, right, t, cleared.memory, start)
            if statistic.max() > best.statistic:
                i, j = np.unravel_index(int(np.argmax(statistic)), statistic.shape)
                spread = latents[:, order].var() * max(float((left[:, i] * right[:, j]).var()), 1e-300)
                best = MaxStatistic(
                    float(statistic[i, j]),
                    float(mean[i, j] ** 2 / spread),
                    order + 1,
                    (names[int(left_owner[i])], names[int(right_owner[j])]),
                    0,
                    rows=float(effective[i, j]),
                )
        return best._replace(tests=int(wanted.sum()) * latents.shape[1])

    def _pairs_in_rows(
        self,
        order: int,
        latents: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        t: np.ndarray,
        memory: np.ndarray | None,
        start: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Statistics of products of pairs, and the effective rows behind them."""
        freedom = self.clear.freedom
        if self.dependence is None:
            return normal_equivalent(t, freedom), np.full(t.shape, freedom)
        if self.dependence.groups is None:
            assert memory is not None and self.dependence.latents is not None
            of_latent = self.dependence.latents[order]
            mine = memory[start : start + _AT_A_TIME] * of_latent
            first = self.dependence.corrected(memory[:, 0])
            crossed = np.outer(first[start : start + _AT_A_TIME], first[start:])
            inflation = self.dependence.by_memory(
                mine @ memory[start:].T, crossed * self.dependence.corrected(of_latent[:1])
            )
        else:
            # The spread of groups' sums takes long: for the largest only, which are what it can take away.
            inflation = _Largest(t).inflation(self.dependence, latents[:, order], left, right)
        rows = freedom / inflation.factor
        z = normal_equivalent(t / np.sqrt(inflation.factor), np.minimum(inflation.freedom, freedom))
        return np.where(rows < self.dependence.fewest, 0.0, z), rows


_LOOKED_AT = 32


class _Largest:
    """The largest of many statistics, to be looked at more closely; the others are given up."""

    def __init__(self, t: np.ndarray):
        self.shape, self.chosen = t.shape, np.argsort(-t, axis=None, kind="stable")[:_LOOKED_AT]

    def inflation(
        self, dependence: RowDependence, latent: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> Inflation:
        """Of these; the others are worth no rows."""
        i, j = np.unravel_index(self.chosen, self.shape)
        own = dependence.of(latent[:, None], left[:, i] * right[:, j], None)
        factor = np.full(self.shape, np.inf)
        factor[i, j] = own.factor[0]
        return Inflation(factor, np.full(self.shape, own.freedom[0, 0]))


def judge(
    name: str,
    latents: Float[np.ndarray, "rows orders"],
    probe: Probe,
    clearing: Residualiser,
    dependence: RowDependence | None = None,
) -> TestResult:
    """The test of one candidate: `latents` (rows, orders) are already cleared, the probe is cleared here.

    >>> from forebear.data.table import Column
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 2_000))
    >>> clearing = Residualiser([], rows=2_000)
    >>> probe = probe_candidate([Features(features(Column("x", "real", x)))], [])
    >>> judge("x", clearing(all_latent_features(noise)), probe, clearing).p_value > 0.01
    True
    >>> result = judge("x", clearing(all_latent_features(noise * (1 + 0.2 * np.tanh(x)))), probe, clearing)
    >>> result.p_value < 1e-6, result.order
    (True, 2)
    """
    return result_of([measure(name, latents, probe, clearing, dependence)])


def tails_test(
    name: str,
    z: Float[np.ndarray, " rows"],
    columns: Sequence[Features],
    clearing: Residualiser,
    dependence: RowDependence | None = None,
) -> float:
    """p-value of "both tails of a latent together hold as much, whatever a candidate with these columns says"."""
    low, high = np.split(tail_features(normal_scores(z)), 2, axis=1)
    own = Features.joined(columns)
    probe = Probe(own, np.zeros(own.values.shape[1], int))
    return judge(name, clearing(low + high), probe, clearing, dependence).p_value


def result_of(measured: Iterable[MaxStatistic]) -> TestResult:
    """What several families of products say together: most of the level is for plain effects."""
    measured = list(measured)
    tests, plain_tests = sum(one.tests for one in measured), sum(one.plain_tests for one in measured)
    if not tests:
        return TestResult(0.0, 1.0, 0.0, 1, (), 0.0, 0.0, 0.0)
    limit, rows = max(one.limit for one in measured), min(one.rows for one in measured)
    one = max(measured, key=lambda one: one.statistic)
    of_list = one.statistic, one.correlation, one.order, one.candidates
    p_value = sidak(one.statistic, tests)
    if not plain_tests:
        return _told(p_value, of_list, tests, limit, rows)
    p_value = min(1.0, p_value / (1 - PLAIN_SHARE))
    one = max(measured, key=lambda one: one.plain)
    of_plain = one.plain, one.plain_correlation, one.plain_order, one.candidates
    plainly = min(1.0, sidak(one.plain, plain_tests) / PLAIN_SHARE)
    if plainly < p_value:
        return _told(plainly, of_plain, plain_tests, limit, rows)
    return _told(p_value, of_list, tests, limit, rows)


def _told(
    p_value: float, strongest: tuple[float, float, int, tuple[str, ...]], tests: int, limit: float, rows: float
) -> TestResult:
    """The result of so many tests, from the strongest of them: its statistic, correlation, order and candidates."""
    statistic, correlation, order, candidates = strongest
    chance = (_median_of_largest(tests) / max(statistic, 1e-100)) ** 2
    effect = correlation * max(0.0, 1.0 - chance)
    return TestResult(statistic, p_value, effect, order, candidates, limit=limit, rows=rows)


def sidak(statistic: float, tests: int) -> float:
    """P(the largest of so many independent |t| exceeds the statistic), without cancellation for small values."""
    single = np.exp(np.log(2) + log_ndtr(-statistic))
    return float(-np.expm1(tests * np.log1p(-min(single, 1.0 - 1e-16))))


def _median_of_largest(tests: int) -> float:
    return float(-ndtri(-np.expm1(-np.log(2) / tests) / 2))


_POWER = 0.8


def detectable(rows: float, level: float, tests: int) -> float:
    """The squared correlation that is found four times out of five, at this level over so many tests.

    >>> round(detectable(1_000, 0.01, 10), 3)
    0.017
    """
    if rows < FEWEST:
        return 1.0
    return float(min(1.0, (-ndtri(level / (2 * tests)) + ndtri(_POWER)) ** 2 / rows))
