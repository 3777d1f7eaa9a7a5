"""Square matrices that are not needed any more make room for the next of the same size.

The system hands out fresh memory page by page: on a virtual machine that can take longer than filling it, a tenth of
a discovery with 5,000 draws. So a few hundred megabytes are kept for the next discovery in the same process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from threading import Lock

import numpy as np
from jaxtyping import Float

_FREE: ContextVar[list[np.ndarray] | None] = ContextVar("_FREE", default=None)
# Bytes that outlast a `room`: two kernels of 5,000 draws.
_MOST_KEPT = 400_000_000
_kept: list[np.ndarray] = []
_change = Lock()


@contextmanager
def room() -> Iterator[None]:
    """Within, what `give_back` gets is kept for `square`; at the end, what is more than a little goes to the system.

    >>> with room():
    ...     first = square(3)
    ...     give_back(first)
    ...     square(3) is first, square(3) is first
    (True, False)
    """
    with _change:
        free, _kept[:] = list(_kept), []
    token = _FREE.set(free)
    try:
        yield
    finally:
        _FREE.reset(token)
        with _change:
            # A room beside this one may have kept some meanwhile.
            every = [*_kept, *free]
            ends = accumulate(matrix.nbytes for matrix in every)
            _kept[:] = [matrix for matrix, end in zip(every, ends, strict=True) if end <= _MOST_KEPT]


def kept_bytes() -> int:
    """Memory that waits for the next `room`."""
    return sum(matrix.nbytes for matrix in _kept)


def square(rows: int) -> Float[np.ndarray, "rows rows"]:
    """A matrix (rows, rows) of whatever numbers."""
    free = _FREE.get() or []
    while free:
        matrix = free.pop()
        # One of another size was kept from a discovery with other draws, and goes.
        if len(matrix) == rows:
            return matrix
    return np.empty((rows, rows))


def give_back(matrix: object) -> None:
    """Nobody will look at this matrix again."""
    free = _FREE.get()
    if free is not None and isinstance(matrix, np.ndarray):
        free.append(matrix)
