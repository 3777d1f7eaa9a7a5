"""How many independent rows the rows of a table are worth, for a product of two features.

The mean of a product of two series that have nothing to do with each other varies as if there were fewer rows when
both are slow: by the factor 1 + 2 sum over lags of the product of their autocorrelations (Bartlett 1946). What of a
latent is slow *beyond the inputs* is read off the latents of the full law, in which every candidate is kept: in a
sweep or a sorted table nothing is, and no power is lost; a slow hidden variable shows there and counts. Rows in
groups are worth what the spread of the groups' sums says, with Student's t over the groups (Ibragimov and Mueller
2010). Where too few effective rows are left, nothing can be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.discovery.residuals import Residualiser

FEWEST = 30.0
"""effective rows below which no t statistic deserves its name"""
_FEWEST_OF_SLOW = 60.0
"""the same where rows follow each other: a record that is hardly longer than its own memory does not tell how long
that is, and shows as more rows than it is worth"""
_FEWEST_GROUPS = 8
_MOST_LAGS = 2_000
# A latent has no memory beyond the first lag whose autocorrelation is smaller than this many standard errors.
_ERRORS = 2.5
# Effective rows of an input for each feature that may take the slowness out of a latent.
_PER_FEATURE = 10.0


class Inflation:
    """How much larger the variance of the mean of a product is than independent rows would make it, and the degrees
    of freedom of its estimate."""

    def __init__(self, factor: np.ndarray, freedom: np.ndarray):
        self.factor, self.freedom = factor, freedom


@dataclass(frozen=True, eq=False)
class RowDependence:
    """What is known of the dependence of rows, for the latents of one target."""

    rows: int
    latents: Float[np.ndarray, "orders lags"] | None = None
    """autocorrelation of each feature of the latent beyond the inputs; None: rows do not follow each other"""
    groups: np.ndarray | None = None
    """(rows,) number of the group; None: no groups"""

    def of(
        self,
        latents: Float[np.ndarray, "rows orders"],
        values: Float[np.ndarray, "rows some"],
        memory: Float[np.ndarray, "some lags"] | None,
    ) -> Inflation:
        """For every product of a cleared latent feature and a cleared feature of inputs with this memory."""
        if self.groups is not None:
            return self._of_groups(latents, values)
        assert self.latents is not None and memory is not None
        own = self.latents[: latents.shape[1]]
        return self.by_memory(own @ memory.T, np.outer(self.corrected(own[:, 0]), self.corrected(memory[:, 0])))

    @property
    def fewest(self) -> float:
        """Effective rows that a statistic needs."""
        return FEWEST if self.latents is None else _FEWEST_OF_SLOW

    def of_order(self, order: int) -> RowDependence:
        """The same for one feature of the latent alone."""
        return self if self.latents is None else replace(self, latents=self.latents[order : order + 1])

    def corrected(self, first: np.ndarray) -> np.ndarray:
        """Autocorrelations at the first lag, without what a short record takes from them (Kendall 1954)."""
        return np.where(first > 0, np.minimum(first + (1 + 3 * first) / self.rows, 0.9999), 0.0)

    def by_memory(self, shared: np.ndarray, first: np.ndarray) -> Inflation:
        """From sums over lags of the products of autocorrelations, and those products at the first lag.

        The sum is too small where a series hardly has the time to forget; a series that forgets at the rate of its
        first lag has the sum first / (1 - first), so the larger of the two counts.
        """
        factor = 1 + 2 * np.maximum(np.maximum(shared, first / (1 - first)), 0.0)
        return Inflation(factor, np.maximum(self.rows / factor - 1, 1.0))

    def _of_groups(self, latents: np.ndarray, values: np.ndarray) -> Inflation:
        assert self.groups is not None
        by_group = np.argsort(self.groups, kind="stable")
        starts = np.flatnonzero(np.diff(self.groups[by_group], prepend=-1))
        values, count = values[by_group], len(starts)
        factor = np.empty((latents.shape[1], values.shape[1]))
        for order, latent in enumerate(latents[by_group].T):
            products = latent[:, None] * values
            sums = np.add.reduceat(products, starts, axis=0)
            spread = ((sums - sums.mean(axis=0)) ** 2).sum(axis=0) * count / max(1, count - 1)
            factor[order] = spread / np.maximum(len(values) * products.var(axis=0), 1e-300)
        # Fewer groups than that have no spread to speak of.
        limit = self.rows / FEWEST * 1.01 if count < _FEWEST_GROUPS else 1.0
        return Inflation(np.maximum(factor, limit), np.full(factor.shape, max(1.0, count - 1.0)))


def autocorrelation(values: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "some lags"]:
    """Of every column, at lags 1, 2, and so on.

    >>> slow = np.cumsum(np.random.default_rng(0).normal(size=1_000))[:, None]
    >>> bool(autocorrelation(slow)[0, 0] > 0.98)
    True
    """
    rows = len(values)
    lags = min(_MOST_LAGS, rows // 3)
    size = 1 << (2 * rows - 1).bit_length()
    found = np.empty((values.shape[1], lags))
    for start in range(0, values.shape[1], 16):
        part = values[:, start : start + 16]
        power = np.abs(np.fft.rfft(part - part.mean(axis=0), size, axis=0)) ** 2
        covariance = np.fft.irfft(power, size, axis=0)[: lags + 1]
        found[start : start + 16] = (covariance[1:] / np.maximum(covariance[0], 1e-300)).T
    return found


class Memory(NamedTuple):
    """Of the features of one column."""

    correlation: Float[np.ndarray, "features lags"]
    untold: bool
    """the record is hardly longer than this memory"""


def memory_of_column(values: Float[np.ndarray, "rows features"]) -> Memory:
    """Autocorrelation of the features of one column.

    A record that is hardly longer than the memory of a column meets each of its values in one stretch or two. What
    else is slow differs from stretch to stretch, so whatever feature singles some values out is worth no more rows
    than the slowest, however fast it changes.

    >>> rng = np.random.default_rng(0)
    >>> walk, noise = np.cumsum(rng.normal(size=1_000)), rng.normal(size=1_000)
    >>> [memory_of_column(np.stack([x, np.sin(x)], axis=1)).untold for x in (walk, noise)]
    [True, False]
    """
    memory = autocorrelation(values)
    worth = len(values) / (1 + 2 * np.square(_sure(memory, len(values))).sum(axis=1))
    if worth.min() >= _FEWEST_OF_SLOW:
        return Memory(memory, False)
    return Memory(np.maximum(memory, memory[int(np.argmin(worth))]), True)


def memory_beyond_inputs(
    latents: Float[np.ndarray, "rows orders"], columns: Sequence[np.ndarray], memories: Sequence[np.ndarray]
) -> Float[np.ndarray, "orders lags"]:
    """Autocorrelation of each feature of a latent, beyond what the inputs explain; 0 from where it is not sure.

    `columns` are the features of the inputs and `memories` their autocorrelations. First everything that the inputs
    could explain is taken out: what is white then has no memory. What is not is looked at again with few features of
    slow inputs, as many of them would take a slow hidden variable out as well.
    """
    rows = len(latents)
    cleared = Residualiser(columns, rows)(latents)
    memory = _sure(autocorrelation(cleared), rows)
    if not memory.any():
        return memory
    # An input is worth so many rows on its own, and a feature needs some of them.
    worth = [rows / (1 + 2 * np.maximum(_sure(own[:1], rows), 0).sum()) for own in memories]
    few = [
        column[:, : int(min(8, own / _PER_FEATURE / max(1, len(columns)) ** 0.5))]
        for column, own in zip(columns, worth, strict=True)
    ]
    cleared = Residualiser([column for column in few if column.shape[1]], rows, pairs=False)(latents)
    return _sure(autocorrelation(cleared), rows)


def _sure(correlation: Float[np.ndarray, "some lags"], rows: int) -> Float[np.ndarray, "some lags"]:
    """What comes before the first lag at which nothing is sure."""
    return correlation * np.logical_and.accumulate(correlation > _ERRORS / np.sqrt(rows), axis=1)


def normal_equivalent(t: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    """The standard normal value that is as rare as a Student t with so many degrees of freedom (Wallace 1959).

    >>> float(normal_equivalent(np.array(2.228), 10.0).round(2))
    1.96
    """
    freedom = np.asarray(freedom, float)
    return np.sqrt(freedom * np.log1p(np.square(t) / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
