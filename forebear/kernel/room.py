"""Square matrices that are not needed any more make room for the next of the same size.

The system hands out fresh memory page by page: on a virtual machine that can take longer than filling it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

_FREE: ContextVar[list[np.ndarray] | None] = ContextVar("_FREE", default=None)


@contextmanager
def room() -> Iterator[None]:
    """Within, what `give_back` gets is kept for `square`; outside, and at the end, memory goes back to the system.

    >>> with room():
    ...     first = square(3)
    ...     give_back(first)
    ...     square(3) is first, square(3) is first
    (True, False)
    """
    token = _FREE.set([])
    try:
        yield
    finally:
        _FREE.reset(token)


def square(rows: int) -> np.ndarray:
    """A matrix (rows, rows) of whatever numbers."""
    free = _FREE.get() or []
    for place, matrix in enumerate(free):
        if len(matrix) == rows:
            return free.pop(place)
    return np.empty((rows, rows))


def give_back(matrix: object) -> None:
    """Nobody will look at this matrix again."""
    free = _FREE.get()
    if free is not None and isinstance(matrix, np.ndarray):
        free.append(matrix)
