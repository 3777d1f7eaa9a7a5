"""A pool of square matrices: one that is not needed any more serves the next kernel of the same size.

The system hands out fresh memory page by page: on a virtual machine that can take longer than filling it, a tenth of
a discovery with 5,000 draws. So a few hundred megabytes are kept for the next discovery in the same process.
"""

from __future__ import annotations

from itertools import accumulate
from threading import Lock

import numpy as np
from jaxtyping import Float


class BufferPool:
    """Matrices to be used again, and how many bytes of them may wait while nobody works.

    >>> pool = BufferPool(most_bytes=1_000)
    >>> first = pool.take(3)
    >>> pool.give(first)
    >>> pool.take(3) is first, pool.take(3) is first
    (True, False)
    """

    def __init__(self, most_bytes: int):
        self.most_bytes = most_bytes
        self._free: list[np.ndarray] = []
        self._change = Lock()

    @property
    def nbytes(self) -> int:
        """Of all that waits."""
        return sum(matrix.nbytes for matrix in self._free)

    def take(self, rows: int) -> Float[np.ndarray, "rows rows"]:
        """A matrix (rows, rows) of whatever numbers, for the caller alone."""
        with self._change:
            while self._free:
                matrix = self._free.pop()
                # One of another size is left from a discovery with other draws, and goes.
                if len(matrix) == rows:
                    return matrix
        return np.empty((rows, rows))

    def give(self, matrix: object) -> None:
        """Nobody will look at this matrix again. What is not of this machine's memory is left to its owner."""
        if isinstance(matrix, np.ndarray):
            with self._change:
                self._free.append(matrix)

    def trim(self) -> None:
        """Hand back to the system what is more than may wait."""
        with self._change:
            ends = accumulate(matrix.nbytes for matrix in self._free)
            self._free = [matrix for matrix, end in zip(self._free, ends, strict=True) if end <= self.most_bytes]


POOL = BufferPool(most_bytes=400_000_000)
"""of this process: two kernels of 5,000 draws may wait for the next discovery"""
