"""The test of `forebear.discovery.dependence` on a GPU: the same numbers up to rounding, all candidates in one call.

Features of all columns lie side by side on the device. A product of two of them is a pair of their numbers, so that a
set is asked about with a few lists of numbers; lists are padded, so that few lengths are ever compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve
from jaxtyping import Bool, Float, Int

from forebear.discovery.dependence import (
    CROSSED,
    JOINT_PAIR,
    LEAST_LEFT,
    LEAST_VARIANCE,
    MOST_JOINT,
    NOTHING,
    PAIR,
    MaxStatistic,
    plain_products,
    upper_quantile,
    wanted_products,
)
from forebear.discovery.effective import FEWEST, normal_equivalent
from forebear.discovery.residuals import LATENT_ORDERS, RIDGE, TAIL_ORDERS, richness
from forebear.kernel.precision import double

Candidates = Mapping[str, Sequence[str]]
"""columns of each candidate"""

# Candidates, and features of pairs, that are handled at once.
_UNITS_AT_ONCE, _FEATURES_AT_ONCE = 8, 8


class DeviceFeatures(NamedTuple):
    """Features of every column, on the device."""

    values: Array
    """(rows, features + 2): behind the features one that is 1 everywhere, and one that is 0"""
    places: Mapping[str, np.ndarray]
    """column -> numbers of its features"""

    @classmethod
    @double
    def of(cls, columns: Mapping[str, np.ndarray]) -> DeviceFeatures:
        """From the features (rows, some) of each column.

        >>> DeviceFeatures.of({"a": np.ones((3, 2)), "b": np.ones((3, 1))}).places["b"].tolist()
        [2]
        """
        rows = len(next(iter(columns.values())))
        edges = np.cumsum([0, *(own.shape[1] for own in columns.values())])
        places = {name: np.arange(a, b) for name, a, b in zip(columns, edges[:-1], edges[1:], strict=True)}
        both = np.concatenate([*columns.values(), np.ones((rows, 1)), np.zeros((rows, 1))], axis=1)
        return cls(jnp.asarray(both), places)

    @property
    def one(self) -> int:
        """The number of the feature that is 1."""
        return self.values.shape[1] - 2

    def single(self, numbers: np.ndarray) -> np.ndarray:
        """Features alone, as pairs (2, some)."""
        return np.stack([numbers, np.full(len(numbers), self.one)])

    def padded(self, pairs: Sequence[np.ndarray]) -> np.ndarray:
        """Pairs (2, some), one after the other, and pairs that are 0 up to one of few lengths."""
        joined = np.concatenate(pairs, axis=1)
        more = _roomy(joined.shape[1]) - joined.shape[1]
        return np.pad(joined, ((0, 0), (0, more)), constant_values=self.one + 1)


def _roomy(length: int) -> int:
    """The next of few lengths: operations are cheap here, and compiling is not.

    >>> _roomy(3), _roomy(32), _roomy(33)
    (8, 32, 128)
    """
    roomy = 8
    while roomy < length:
        roomy *= 4
    return roomy


def _crossed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Every one of the left with every one of the right."""
    return np.stack([np.repeat(left, len(right)), np.tile(right, len(left))])


class DeviceTest:
    """The test of one set: given the columns `kept`, what do the latents know of each of the `candidates`?"""

    @double
    def __init__(self, stock: DeviceFeatures, kept: Sequence[str], candidates: Candidates):
        self.stock, self.candidates, self.kept = stock, candidates, [stock.places[name] for name in kept]
        rows = stock.values.shape[0]
        single, pair = richness([len(own) for own in self.kept], rows)
        columns = [stock.single(np.array([stock.one])), *(stock.single(own[:single]) for own in self.kept)]
        if pair:
            columns += [_crossed(a[:pair], b[:pair]) for a, b in combinations(self.kept, 2)]
        self.count = sum(part.shape[1] for part in columns)
        self.prepared = _prepare(stock.values, stock.padded(columns))

    @double
    def clear(self, values: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
        """What the kept columns leave of values (rows, some)."""
        width = values.shape[1]
        padded = np.pad(values.astype(float), ((0, 0), (0, _roomy(width) - width)))
        return np.asarray(_cleared(self.prepared, padded))[:, :width]

    @double
    def each(self, latents: Float[np.ndarray, "rows orders"]) -> dict[str, MaxStatistic]:
        """Every candidate alone, and with the kept columns; `latents` are already cleared."""
        probes = [self._probe([self.stock.places[name] for name in names]) for names in self.candidates.values()]
        length = max(pairs.shape[1] for pairs, _ in probes)
        # As many candidates as there are columns, whatever the number of those that are left.
        lists = np.full((max(len(self.stock.places), len(probes)), 2, length), self.stock.one + 1)
        ranks = np.full((len(lists), length), CROSSED)
        for number, (pairs, own) in enumerate(probes):
            lists[number, :, : pairs.shape[1]] = pairs
            ranks[number, : len(own)] = own
        orders = latents.shape[1]
        wanted, plain = (np.stack([f(orders, own) for own in ranks]) for f in (wanted_products, plain_products))
        told = _each(
            self.stock.values,
            self.prepared,
            latents,
            lists,
            wanted,
            plain,
            self._freedom,
            upper_quantile(self._freedom),
        )
        columns = [np.asarray(column) for column in told]
        return {
            candidate: self._strongest(*(c[n] for c in columns), candidates=(candidate,))
            for n, candidate in enumerate(self.candidates)
        }

    @double
    def pairs(self, latents: Float[np.ndarray, "rows orders"]) -> list[MaxStatistic]:
        """Products of features of two candidates."""
        count = len(self.candidates) * (len(self.candidates) - 1) // 2
        most = JOINT_PAIR if count * JOINT_PAIR**2 <= MOST_JOINT else 1
        own = [
            np.concatenate([self.stock.places[name][:most] for name in names]) for names in self.candidates.values()
        ]
        owner = np.repeat(np.arange(len(own)), [len(numbers) for numbers in own])
        listed = self.stock.padded([self.stock.single(np.concatenate(own))])
        owners = np.pad(owner, (0, listed.shape[1] - len(owner)), constant_values=-1)
        told = _pairs(self.stock.values, self.prepared, latents[:, :LATENT_ORDERS], listed, owners, self._freedom)
        statistic, correlation, order, tests, i, j = (np.asarray(one)[()] for one in told)
        names = list(self.candidates)
        pair = (names[owners[i]], names[owners[j]])
        none = [np.array(0.0)] * 5
        return [self._strongest(statistic, correlation, order, tests, *none, candidates=pair)]

    @property
    def _freedom(self) -> int:
        return self.stock.values.shape[0] - self.count

    def _probe(self, columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The pairs that `probe_candidate` multiplies, and the ranks of those that are single features."""
        own = [self.stock.single(numbers) for numbers in columns]
        ranks = np.concatenate([np.arange(len(numbers)) for numbers in columns])
        own += [_crossed(a[:PAIR], b[:PAIR]) for a, b in combinations(columns, 2)]
        own += [_crossed(a[:PAIR], k[:PAIR]) for a in columns for k in self.kept]
        return self.stock.padded(own), ranks

    def _strongest(
        self,
        statistic: np.ndarray,
        correlation: np.ndarray,
        order: np.ndarray,
        tests: np.ndarray,
        plain: np.ndarray,
        plain_tests: np.ndarray,
        limit: np.ndarray,
        plain_correlation: np.ndarray,
        plain_order: np.ndarray,
        *,
        candidates: tuple[str, ...],
    ) -> MaxStatistic:
        """From |t| statistics, which become standard normal values here."""
        if not tests:
            return NOTHING
        freedom = float(self._freedom)
        return MaxStatistic(
            float(normal_equivalent(statistic, freedom)),
            float(correlation),
            int(order) + 1,
            candidates,
            int(tests),
            float(normal_equivalent(plain, freedom)),
            int(plain_tests),
            1.0 if freedom < FEWEST else min(float(limit), 1.0),
            freedom,
            float(plain_correlation),
            max(int(plain_order) - LATENT_ORDERS - TAIL_ORDERS, 0) + 1,
        )


class _Prepared(NamedTuple):
    design: Array
    factor: Array


def _values(stock: Float[Array, "rows features"], pairs: Int[Array, "2 some"]) -> Float[Array, "rows some"]:
    return stock[:, pairs[0]] * stock[:, pairs[1]]


@jax.jit
def _prepare(stock: Array, pairs: Array) -> _Prepared:
    design = _values(stock, pairs)
    squares = design.T @ design + RIDGE * len(stock) * jnp.eye(pairs.shape[1], dtype=stock.dtype)
    return _Prepared(design, jax.lax.linalg.cholesky(squares, symmetrize_input=False))


@jax.jit
def _cleared(prepared: _Prepared, values: Float[Array, "rows some"]) -> Float[Array, "rows some"]:
    design, factor = prepared
    return values - design @ cho_solve((factor, True), design.T @ values)


def _alive(cleared: Float[Array, "rows some"], values: Float[Array, "rows some"]) -> Bool[Array, " some"]:
    return cleared.var(axis=0) > LEAST_LEFT * jnp.maximum(values.var(axis=0), LEAST_VARIANCE)


def _statistics(
    left: Float[Array, "rows left"], right: Float[Array, "rows right"], freedom: Array
) -> tuple[Float[Array, "left right"], Float[Array, "left right"], Float[Array, "left right"]]:
    """|t|, mean and variance of the product of every column of one with every column of the other."""
    mean = left.T @ right / len(left)
    variance = jnp.maximum((left**2).T @ right**2 / len(left) - mean**2, 1e-300)
    return jnp.sqrt(freedom) * jnp.abs(mean) / jnp.sqrt(variance), mean, variance


@jax.jit
def _each(
    stock: Array,
    prepared: _Prepared,
    latents: Array,
    lists: Array,
    wanted: Array,
    plain: Array,
    freedom: Array,
    quantile: Array,
) -> tuple[Array, ...]:
    def one(asked: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        pairs, counted, plainly = asked
        values = _values(stock, pairs)
        cleared = _cleared(prepared, values)
        alive = _alive(cleared, values)
        statistic, mean, variance = _statistics(latents, cleared, freedom)
        counted, plainly = counted & alive, plainly & alive

        def strongest(among: Array) -> tuple[Array, Array, Array]:
            largest = jnp.where(among, statistic, -1.0)
            order, which = jnp.unravel_index(jnp.argmax(largest), largest.shape)
            spread = jnp.maximum(latents[:, order].var() * cleared[:, which].var(), 1e-300)
            return largest[order, which], mean[order, which] ** 2 / spread, order

        most, correlation, order = strongest(counted)
        of_plain, plain_correlation, plain_order = strongest(plainly)
        # As in `strengths`: deviations of the product against those of its factors.
        wider = variance / jnp.maximum(jnp.outer(latents.var(axis=0), cleared.var(axis=0)), 1e-300)
        limit = (statistic + quantile) ** 2 / freedom * jnp.maximum(wider, 1.0)
        limit = jnp.where(counted | plainly, limit, 0.0).max()
        of_list = most, correlation, order, counted.sum()
        return *of_list, jnp.maximum(of_plain, 0.0), plainly.sum(), limit, plain_correlation, plain_order

    return jax.lax.map(one, (lists, wanted, plain), batch_size=_UNITS_AT_ONCE)


@jax.jit
def _pairs(
    stock: Array, prepared: _Prepared, latents: Array, listed: Array, owners: Array, freedom: Array
) -> tuple[Array, ...]:
    values = _values(stock, listed)
    cleared = _cleared(prepared, values)
    alive = _alive(cleared, values)

    def some(start: Array) -> tuple[Array, ...]:
        left = jax.lax.dynamic_slice_in_dim(cleared, start, _FEATURES_AT_ONCE, axis=1)
        mine, living = (jax.lax.dynamic_slice_in_dim(a, start, _FEATURES_AT_ONCE) for a in (owners, alive))
        wanted = (mine[:, None] < owners) & (mine[:, None] >= 0) & living[:, None] & alive

        def at(latent: Array) -> tuple[Array, ...]:
            statistic, mean, _ = _statistics(latent[:, None] * left, cleared, freedom)
            statistic = jnp.where(wanted, statistic, -1.0)
            i, j = jnp.unravel_index(jnp.argmax(statistic), statistic.shape)
            spread = jnp.maximum((left[:, i] * cleared[:, j]).var(), 1e-300)
            return statistic[i, j], mean[i, j] ** 2 / (latent.var() * spread), i, j

        statistic, correlation, i, j = jax.lax.map(at, latents.T)
        order = jnp.argmax(statistic)
        found = statistic[order], correlation[order], order, wanted.sum() * latents.shape[1], start + i[order]
        return *found, j[order]

    parts = jax.lax.map(some, jnp.arange(0, listed.shape[1], _FEATURES_AT_ONCE))
    best = jnp.argmax(parts[0])
    statistic, correlation, order, tests, i, j = parts
    return statistic[best], correlation[best], order[best], tests.sum(), i[best], j[best]
