"""Solve (K + nugget I) alpha = y where K is smooth: a Cholesky factorisation that stops early, and a few corrections.

After some hundreds of well-chosen columns, what is left of a smooth K is small beside the nugget. Those columns are
then so good a preconditioner that a few steps of conjugate gradients give the solution to working precision. Where K
is rough (many inputs, short lengthscales), that shows after the first columns, and the answer is None: factorise it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

# Columns chosen at a time and at most, as shares of the rows.
_BLOCK, _MOST = 1 / 40, 1 / 5
# What may be left of K, per row, beside the nugget after the first columns, if it is to be worth it.
_PROMISING = 3.0
# Relative residual at which conjugate gradients are done, and the steps they may take.
_TOLERANCE, _MOST_STEPS = 1e-11, 40


class Matrix(Protocol):
    """A symmetric positive matrix with a diagonal of ones, whether it is in memory or not."""

    small: float
    """what may be left of it, a row and beside the nugget, when the factorisation stops"""

    def __len__(self) -> int: ...

    def columns(self, which: Int[np.ndarray, " some"]) -> Float[np.ndarray, "rows some"]:
        """Some of its columns (rows, some)."""
        ...

    def __matmul__(self, vectors: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "rows some"]:
        """The product with vectors (rows, some)."""
        ...


def truncated_solve(
    matrix: Matrix, y: Float[np.ndarray, "rows targets"], nugget: float
) -> Float[np.ndarray, "rows targets"] | None:
    """(K + nugget I)^-1 y for y (rows, targets), or None where K is too rough for it.

    >>> from forebear.kernel.solve import InMemory
    >>> x = np.linspace(0, 1, 400)
    >>> entries = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> y = np.sin(9 * x)[:, None]
    >>> alpha = truncated_solve(InMemory(entries), y, nugget=0.1)
    >>> bool(np.allclose(entries @ alpha + 0.1 * alpha, y))
    True
    >>> truncated_solve(InMemory(np.eye(400)), y, nugget=0.1)
    """
    factor = leading_columns(matrix, nugget)
    return None if factor is None else conjugate_gradients(matrix, y, nugget, factor)


def leading_columns(matrix: Matrix, nugget: float) -> Float[np.ndarray, "rows some"] | None:
    """L (rows, some) with K - L L' positive and small beside the nugget; None if that takes too many columns.

    The columns come from the rows that those before them explain least, a block at a time.
    """
    rows = len(matrix)
    block = max(1, round(rows * _BLOCK))
    factor, left = np.empty((rows, 0), order="F"), np.ones(rows)
    while factor.shape[1] + block <= rows * _MOST:
        chosen = np.argpartition(-left, block)[:block]
        fresh = matrix.columns(chosen) - factor @ factor[chosen].T
        corner = fresh[chosen]
        # Rows close to each other leave next to nothing of one another: rounding may take it below zero.
        corner[np.diag_indices(block)] += 1e-13 * rows
        try:
            lower = cholesky(corner, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        fresh = solve_triangular(lower, fresh.T, lower=True, check_finite=False).T
        factor = np.concatenate([factor, fresh], axis=1)
        left = np.maximum(left - np.einsum("ij,ij->i", fresh, fresh), 0.0)
        remaining = left.mean() / nugget if nugget > 0 else np.inf
        if remaining < matrix.small:
            return factor
        if remaining > _PROMISING:
            return None
    return None


def conjugate_gradients(
    matrix: Matrix, y: Float[np.ndarray, "rows targets"], nugget: float, factor: Float[np.ndarray, "rows some"]
) -> Float[np.ndarray, "rows targets"] | None:
    """All columns of y side by side, preconditioned by (L L' + nugget I)^-1; None if it takes too many steps."""
    squares = factor.T @ factor
    squares[np.diag_indices(len(squares))] += nugget
    inner = cho_factor(squares, check_finite=False, overwrite_a=True)

    def undo(vectors: np.ndarray) -> np.ndarray:
        return (vectors - factor @ cho_solve(inner, factor.T @ vectors, check_finite=False)) / nugget

    alpha, residual = np.zeros_like(y), y.astype(float)
    goal = _TOLERANCE * np.linalg.norm(y, axis=0)
    better = undo(residual)
    direction, size = better, np.sum(residual * better, axis=0)
    for _ in range(_MOST_STEPS):
        image = matrix @ direction + nugget * direction
        # A column that is done has nothing left to divide.
        step = size / np.maximum(np.sum(direction * image, axis=0), 1e-300)
        alpha, residual = alpha + step * direction, residual - step * image
        if (np.linalg.norm(residual, axis=0) <= goal).all():
            return alpha
        better = undo(residual)
        before, size = size, np.sum(residual * better, axis=0)
        direction = better + size / np.maximum(before, 1e-300) * direction
    return None
