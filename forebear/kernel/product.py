"""The product kernel in memory, and one that never is."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from forebear.errors import InputError
from forebear.kernel import device, host
from forebear.kernel.buffers import BufferPool
from forebear.kernel.memory import dense_rows
from forebear.kernel.profiles import RBF, Kernel
from forebear.kernel.solve import solve
from forebear.kernel.threads import one_thread
from forebear.kernel.truncated import truncated_solve

_RBF = RBF()


def backend() -> ModuleType:
    """Where kernels are made: `forebear.kernel.host` or, with a GPU, `forebear.kernel.device`."""
    return host if jax.default_backend() == "cpu" else device


# Rows at which a fit's variation is measured, and over which inputs are averaged: they are drawn at random.
_ROWS_LOOKED_AT = 1_000


def looked_at(points: Float[np.ndarray, "inputs width rows"]) -> int:
    """How many of the rows `variations` looks at, the first ones."""
    return min(_ROWS_LOOKED_AT, points.shape[2])


def group_means(
    points: Float[np.ndarray, "inputs width rows"], groups: Sequence[Sequence[int]], profile: Kernel = _RBF
) -> Float[np.ndarray, "groups rows"]:
    """For `variations`: what takes the place of each group's factors where the group is averaged out.

    >>> group_means(np.zeros((2, 1, 3)), [[0], [0, 1]]).tolist()
    [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]
    """
    return backend().group_means(points, groups, looked_at(points), profile)


class Dense:
    """The product over some inputs of (1 + k) / 2, every entry of it.

    Factors are (1 + k) / 2 rather than 1 + k, so that the diagonal is 1 with any number of inputs; nuggets are
    divided by the same power of two. Noise-to-signal ratios and scores do not change.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 5))
    >>> bool(np.allclose(Dense.of(points).without([0]).entries, Dense.of(points[1:]).entries))
    True
    """

    def __init__(
        self,
        entries: Any,
        points: Float[np.ndarray, "inputs width rows"],
        profile: Kernel = _RBF,
        pool: BufferPool | None = None,
    ):
        self.entries, self.points, self.profile, self.pool = entries, points, profile, pool

    @classmethod
    def of(
        cls, points: Float[np.ndarray, "inputs width rows"], profile: Kernel = _RBF, pool: BufferPool | None = None
    ) -> Dense:
        """The kernel of all inputs of `points` (inputs, width, rows), see `forebear.kernel.factors`.

        With a pool, it and those that come of it take their memory from there.
        """
        rows = points.shape[2]
        entries = backend().gram(points, range(len(points)), profile, out=_taken(pool, rows))
        return cls(entries, points, profile, pool)

    def solve(self, y: Float[np.ndarray, "rows targets"], nugget: float) -> Float[np.ndarray, "rows targets"]:
        """(K + nugget I)^-1 y; NaN where that is singular to working precision."""
        return solve(self.entries, y, nugget)

    def energies(
        self, alpha: Float[np.ndarray, "rows targets"], groups: Sequence[Sequence[int]]
    ) -> Float[np.ndarray, "groups targets"]:
        """alpha' K_u alpha (groups, targets), where K_u holds all terms of K that involve a member of group u.

        K_u = K o (1 - prod over members of 1 / (1 + k)), for alpha (rows, targets). Divide by the signal for scores.
        The score of a useless input is not near 0, because k is not centred: rank by it, never threshold it.
        """
        return backend().energies(self.entries, self.points, alpha, groups, self.profile)

    def variations(
        self,
        alpha: Float[np.ndarray, "rows targets"],
        groups: Sequence[Sequence[int]],
        means: Float[np.ndarray, "groups rows"],
    ) -> tuple[Float[np.ndarray, "groups targets"], Float[np.ndarray, " targets"]]:
        """What the fit f = K alpha loses without each of the groups, E (f - E_u f)^2, and the variance of f.

        E_u f is f with the members of group u drawn from other rows and averaged: in every term of f their factors
        1 + k are replaced by their mean, of which `means` (groups, rows) has one per row (`group_means`). For inputs
        that are independent the ratio of both is the total index of Sobol. It is 0 where f does not follow u.
        """
        return backend().variations(
            self.entries, self.points, alpha, groups, means, looked_at(self.points), self.profile
        )

    def without(self, inputs: Sequence[int], *, spare: bool = False) -> Dense:
        """The kernel of fewer inputs: their factors, which lie in [1/2, 1], are divided out, at the cost of one
        rounding error each. `spare`: this one is not needed any more, and its memory may be used."""
        out = self.entries if spare else _taken(self.pool, len(self.entries))
        less = backend().divide_out(self.entries, self.points, inputs, self.profile, out=out)
        return Dense(less, self.points, self.profile, self.pool)

    def done(self) -> None:
        """This kernel is not needed any more: its memory may be used for another one."""
        if self.pool is not None:
            self.pool.give(self.entries)


def _taken(pool: BufferPool | None, rows: int) -> np.ndarray | None:
    """Memory for a kernel on this machine; none is needed on a GPU."""
    return None if pool is None or backend() is not host else pool.take(rows)


class Tiled:
    """The same kernel without holding it: columns and products are made when they are asked for.

    >>> points = np.random.default_rng(0).normal(size=(3, 1, 50))
    >>> vectors = np.ones((50, 1))
    >>> bool(np.allclose(Tiled.of(points).without([1]) @ vectors, Dense.of(points[[0, 2]]).entries @ vectors))
    True
    """

    # Products are dear here and columns are not: a factorisation goes on for longer, and leaves less to correct.
    small = 1e-3

    def __init__(self, points: Float[np.ndarray, "inputs width rows"], inputs: Sequence[int], profile: Kernel = _RBF):
        self.points, self.inputs, self.profile = points, tuple(inputs), profile

    @classmethod
    def of(
        cls, points: Float[np.ndarray, "inputs width rows"], profile: Kernel = _RBF, pool: BufferPool | None = None
    ) -> Tiled:
        """The kernel of all inputs of `points` (inputs, width, rows); it has no use for a pool."""
        del pool
        return cls(points, range(len(points)), profile)

    def __len__(self) -> int:
        return self.points.shape[2]

    def columns(self, which: Int[np.ndarray, " some"]) -> Float[np.ndarray, "rows some"]:
        """Some of its columns (rows, some)."""
        return backend().columns(self.points, self.inputs, which, self.profile)

    def __matmul__(self, vectors: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
        return backend().product(self.points, self.inputs, vectors, self.profile)

    def solve(self, y: Float[np.ndarray, "rows targets"], nugget: float) -> Float[np.ndarray, "rows targets"]:
        """(K + nugget I)^-1 y. There is no memory for a whole factorisation: too rough a kernel is refused."""
        with one_thread():
            alpha = truncated_solve(self, y, nugget)
        if alpha is None:
            raise InputError(
                f"{len(y):,} distilled rows are too many for a kernel of {len(self.inputs)} inputs and latents that "
                f"is as rough as this one: take at most {dense_rows():,}, which fit into memory, or set a longer "
                "lengthscale= or a larger nugget="
            )
        return alpha

    def energies(
        self, alpha: Float[np.ndarray, "rows targets"], groups: Sequence[Sequence[int]]
    ) -> Float[np.ndarray, "groups targets"]:
        """As those of `Dense`."""
        return backend().energies(self.inputs, self.points, alpha, groups, self.profile)

    def variations(
        self,
        alpha: Float[np.ndarray, "rows targets"],
        groups: Sequence[Sequence[int]],
        means: Float[np.ndarray, "groups rows"],
    ) -> tuple[Float[np.ndarray, "groups targets"], Float[np.ndarray, " targets"]]:
        """As those of `Dense`."""
        return backend().variations(
            self.inputs, self.points, alpha, groups, means, looked_at(self.points), self.profile
        )

    def without(self, inputs: Sequence[int], *, spare: bool = False) -> Tiled:
        """The kernel of fewer inputs; there is no memory to `spare`."""
        del spare
        return Tiled(self.points, [j for j in self.inputs if j not in inputs], self.profile)

    def done(self) -> None:
        """There is nothing to give back."""
