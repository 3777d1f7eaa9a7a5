"""Rows of a kernel in pieces, for the cores of a CPU, where a compiled loop runs on one; all at once on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from forebear.kernel.threads import cores

Result = TypeVar("Result")

# Rows handled at once. A block of this many rows of a 5,000-row kernel stays in a CPU's cache; a GPU wants few
# large launches instead.
_CPU_BLOCK = 64
_GPU_BLOCK = 4096
# Pieces on a CPU, from so many rows on. Their number is fixed: sums over pieces then come out the same on any number
# of cores.
_PIECES = 16
_ROWS_FOR_PIECES = 1_000


def row_block() -> int:
    """How many kernel rows to handle at once on the default device."""
    return _CPU_BLOCK if jax.default_backend() == "cpu" else _GPU_BLOCK


def over_rows(work: Callable[[np.ndarray], Result], rows: int) -> list[Result]:
    """`work` on row numbers, piece by piece. All pieces are equally long, so that one compiled function serves them:
    the last is filled up with `rows`, a number that no row has.

    >>> over_rows(lambda numbers: numbers.tolist(), 3) == [[0, 1, 2]]
    True
    """
    pieces = _PIECES if jax.default_backend() == "cpu" and rows >= _ROWS_FOR_PIECES else 1
    length = -(-rows // pieces)
    numbers = np.minimum(np.arange(pieces * length), rows).reshape(pieces, length)
    if pieces == 1:
        return [work(numbers[0])]
    # Precision is a setting of the thread.
    double = jnp.result_type(float) == jnp.float64

    def one(piece: np.ndarray) -> Result:
        with jax.enable_x64(double):
            return jax.block_until_ready(work(piece))

    with ThreadPoolExecutor(min(cores(), pieces)) as pool:
        return list(pool.map(one, numbers))
