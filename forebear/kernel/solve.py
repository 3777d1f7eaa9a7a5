"""(K + nugget I)^-1 y for a kernel in memory: on the host the fastest way that K allows, on a device by Cholesky."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from forebear.kernel.cholesky import cholesky_solve
from forebear.kernel.precision import double
from forebear.kernel.threads import cores, one_thread
from forebear.kernel.truncated import truncated_solve

# Below this a whole factorisation takes no longer than a part of it.
_ROWS_TO_TRUNCATE = 1_500


@double
def solve(
    kernel: ArrayLike, y: Float[np.ndarray, "rows targets"], nugget: float
) -> Float[np.ndarray, "rows targets"]:
    """(K + nugget I)^-1 y; NaN where K + nugget I is singular to working precision.

    >>> solve(np.eye(2), np.array([[1.0], [-1.0]]), nugget=1.0).round(12).tolist()
    [[0.5], [-0.5]]
    """
    where = _solve_on_host if jax.default_backend() == "cpu" else _solve_on_device
    return where(kernel, y, nugget)


def _solve_on_host(
    kernel: ArrayLike, y: Float[np.ndarray, "rows targets"], nugget: float
) -> Float[np.ndarray, "rows targets"]:
    """LAPACK itself: JAX transposes and copies on the way to it, which costs half as much as the factorisation."""
    if len(y) >= _ROWS_TO_TRUNCATE:
        with one_thread():
            alpha = truncated_solve(InMemory(np.asarray(kernel)), y, nugget)
        if alpha is not None:
            return alpha
    regularised = np.array(kernel, float)
    regularised[np.diag_indices(len(y))] += nugget
    alpha = cholesky_solve(regularised, y)
    return np.full(y.shape, np.nan) if alpha is None else alpha


def _solve_on_device(
    kernel: ArrayLike, y: Float[np.ndarray, "rows targets"], nugget: float
) -> Float[np.ndarray, "rows targets"]:
    solved = _solve(jnp.asarray(kernel, jnp.float64), jnp.asarray(widened(y), jnp.float64), nugget)
    return np.asarray(solved)[:, : y.shape[1]]


def widened(vectors: Float[np.ndarray, "rows width"]) -> Float[np.ndarray, "rows wider"]:
    """With columns of zeros up to a power of two: so few widths are soon all compiled.

    >>> widened(np.ones((2, 3))).tolist()
    [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    width = vectors.shape[1]
    return np.pad(vectors, ((0, 0), (0, (1 << max(width - 1, 0).bit_length()) - width)))


@jax.jit
def _solve(
    kernel: Float[Array, "rows rows"], y: Float[Array, "rows targets"], nugget: Array
) -> Float[Array, "rows targets"]:
    regularised = kernel + nugget * jnp.eye(kernel.shape[0], dtype=kernel.dtype)
    lower = jax.lax.linalg.cholesky(regularised, symmetrize_input=False)
    return jax.scipy.linalg.cho_solve((lower, True), y)


# Rows from which several cores share a product, in so many pieces whatever their number: rounding stays the same. Few
# rows at a time: BLAS copies a larger block before it multiplies it with a few vectors, which takes longer than the
# product itself.
_ROWS_FOR_PIECES, _PIECES, _ROWS_AT_A_TIME = 2_000, 8, 25


class InMemory:
    """Columns of a symmetric matrix that is in memory, and products with it.

    >>> matrix = InMemory(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> matrix.columns(np.array([1])).tolist(), (matrix @ np.ones((2, 1))).tolist()
    ([[0.5], [1.0]], [[1.5], [1.5]])
    """

    # What may be left of it, beside the nugget, when a factorisation stops early: products are cheap here.
    small = 0.02

    def __init__(self, entries: Float[np.ndarray, "rows rows"]):
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def columns(self, which: Int[np.ndarray, " some"]) -> Float[np.ndarray, "rows some"]:
        """Some of its columns (rows, some)."""
        return self.entries[which].T

    def __matmul__(self, vectors: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
        pieces = _PIECES if len(self) >= _ROWS_FOR_PIECES else 1
        edges = np.linspace(0, len(self), pieces + 1).astype(int).tolist()
        product = np.empty((len(self), vectors.shape[1]))

        def fill(first: int, last: int) -> None:
            for start in range(first, last, _ROWS_AT_A_TIME):
                rows = slice(start, min(start + _ROWS_AT_A_TIME, last))
                np.matmul(self.entries[rows], vectors, out=product[rows])

        with ThreadPoolExecutor(min(cores(), pieces)) as pool:
            list(pool.map(fill, edges[:-1], edges[1:]))
        return product
