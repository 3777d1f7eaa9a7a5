"""Cholesky factorisation and solution on a CPU, in place and on several cores.

LAPACK, with threads of its own, rounds differently on other numbers of cores, and its threads wait for each other in
a busy loop (`forebear.kernel.threads`); `forebear bench libraries` compares the two.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float

from forebear.kernel.threads import cores, one_thread

# Columns factorised at a time, and the size from which several cores pay.
_BLOCK = 500
_ROWS_FOR_CORES = 3_000
# Rows that a core takes at a time, whatever the number of cores: rounding stays the same. Half as many cost a tenth
# more; with twice as many, sixteen cores wait for the last of them.
_PIECE = 128


def cholesky_solve(
    matrix: Float[np.ndarray, "rows rows"], y: Float[np.ndarray, "rows targets"], *, block: int = _BLOCK
) -> Float[np.ndarray, "rows targets"] | None:
    """matrix^-1 y for a symmetric positive definite matrix, which is overwritten; None if it is not definite.

    >>> cholesky_solve(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([[2.0], [3.0]])).round(12) + 0.0
    array([[0.],
           [1.]])
    >>> cholesky_solve(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 1)))
    """
    from scipy.linalg import get_lapack_funcs

    (solve,) = get_lapack_funcs(("potrs",), dtype=float)

    with one_thread():
        if not (_blockwise(matrix, block) if len(matrix) >= _ROWS_FOR_CORES else _at_once(matrix)):
            return None
        # The transpose of a matrix in C order is the same memory in the order that LAPACK wants: lower becomes upper.
        return solve(matrix.T, y, lower=0)[0]


def _at_once(matrix: Float[np.ndarray, "rows rows"]) -> bool:
    from scipy.linalg import get_lapack_funcs

    (factorise,) = get_lapack_funcs(("potrf",), dtype=float)
    _, trouble = factorise(matrix.T, lower=0, clean=0, overwrite_a=1)
    return not trouble


def _blockwise(matrix: Float[np.ndarray, "rows rows"], block: int) -> bool:
    """Write the factor into the lower triangle, block column by block column; the rows below a block share the work.

    Each piece is one matrix product, during which numpy lets other Python threads run.
    """
    from scipy.linalg import get_lapack_funcs

    factorise, invert = get_lapack_funcs(("potrf", "trtri"), dtype=float)

    rows = len(matrix)
    with ThreadPoolExecutor(cores()) as pool:
        for start in range(0, rows, block):
            stop = min(start + block, rows)
            below = [slice(first, min(first + _PIECE, rows)) for first in range(stop, rows, _PIECE)]
            across, column = matrix[start:stop, :start], matrix[:, start:stop]

            def subtract(some: slice, across: np.ndarray = across, column: np.ndarray = column) -> None:
                column[some] -= matrix[some, : across.shape[1]] @ across.T

            # The corner is one piece: numpy computes half of the product of a matrix with its own transpose.
            list(pool.map(subtract, [slice(start, stop), *below]))
            corner, trouble = factorise(column[start:stop], lower=1)
            if trouble:
                return False
            column[start:stop] = corner
            undo = np.ascontiguousarray(invert(corner, lower=1)[0].T)

            def divide(some: slice, column: np.ndarray = column, undo: np.ndarray = undo) -> None:
                column[some] = column[some] @ undo

            list(pool.map(divide, below))
    return True
