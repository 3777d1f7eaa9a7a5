"""A kernel matrix that is never in memory: its columns and products are made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from forebear._checks import InputError
from forebear.kernel.energy import row_energies, sum_pieces
from forebear.kernel.gram import block, kernel_row, listed
from forebear.kernel.memory import dense_rows
from forebear.kernel.pieces import over_rows, row_block
from forebear.kernel.precision import double
from forebear.kernel.threads import one_thread
from forebear.kernel.truncated import truncated_solve


class Tiled:
    """The product kernel of some inputs, as `forebear.kernel.gram.gram` makes it, a few rows at a time.

    >>> from forebear.kernel.gram import gram
    >>> points = np.random.default_rng(0).normal(size=(3, 1, 50))
    >>> vectors = np.ones((50, 1))
    >>> kernel = np.asarray(gram(points, np.array([True, False, True])))
    >>> bool(np.allclose(Tiled(points, (0, 2)) @ vectors, kernel @ vectors))
    True
    """

    # Products are dear here and columns are not: the factorisation goes on for longer, and leaves less to correct.
    small = 1e-3

    def __init__(self, points: ArrayLike, inputs: Sequence[int]):
        self.points = points
        self.inputs = tuple(inputs)

    @classmethod
    def of(cls, points: ArrayLike) -> Tiled:
        """The kernel of all inputs of `points` (inputs, width, rows)."""
        return cls(points, range(np.shape(points)[0]))

    def __len__(self) -> int:
        return np.shape(self.points)[2]

    @double
    def columns(self, which: np.ndarray) -> np.ndarray:
        """Some of its columns (rows, some)."""
        return np.asarray(block(jnp.asarray(self.points), *self._listed(), which, row_block())).T

    @double
    def __matmul__(self, vectors: np.ndarray) -> np.ndarray:
        work = partial(_product, jnp.asarray(self.points), *self._listed(), jnp.asarray(vectors))
        return np.concatenate([np.asarray(p) for p in over_rows(lambda r: work(r, row_block()), len(self))])[
            : len(self)
        ]

    def solve(self, y: np.ndarray, nugget: float) -> np.ndarray:
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

    @double
    def energies(self, alpha: ArrayLike, units: ArrayLike, active: ArrayLike) -> np.ndarray:
        """As `forebear.kernel.energy.energies`."""
        arrays = [jnp.asarray(a) for a in (alpha, units, active)]
        work = partial(_energies, jnp.asarray(self.points), *self._listed(), *arrays)
        return np.asarray(sum_pieces(over_rows(lambda rows: work(rows, row_block()), len(self))))

    def without(self, inputs: Sequence[int]) -> Tiled:
        """The kernel of fewer inputs."""
        return Tiled(self.points, [j for j in self.inputs if j not in inputs])

    def _listed(self) -> tuple[np.ndarray, int]:
        return listed(np.array(self.inputs, int), np.shape(self.points)[0])


@jax.jit(static_argnums=5)
def _product(points: Array, inputs: Array, count: Array, vectors: Array, rows: Array, at_once: int) -> Array:
    return jax.lax.map(lambda i: kernel_row(points, inputs, count, i) @ vectors, rows, batch_size=at_once)


@jax.jit(static_argnums=7)
def _energies(
    points: Array,
    inputs: Array,
    count: Array,
    alpha: Array,
    units: Array,
    active: Array,
    rows: Array,
    at_once: int,
) -> Array:
    def row(i: Array) -> Array:
        return row_energies(kernel_row(points, inputs, count, i), points, alpha, units, active, i)

    return jnp.sum(jax.lax.map(row, rows, batch_size=at_once), axis=0)
