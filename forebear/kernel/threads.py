"""How many threads linear algebra may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# Below this many rows a second thread gains little; and where other programs run, the threads of a factorisation
# spend most of their time waiting for each other (measured: two to seven times slower on a busy two-core machine).
_ROWS_FOR_THREADS = 4_000


@contextmanager
def few_threads(rows: int) -> Iterator[None]:
    """One thread for BLAS and LAPACK while matrices of this size are worked on, unless they are large.

    >>> with few_threads(rows=100):
    ...     pass
    """
    if rows >= _ROWS_FOR_THREADS:
        yield
        return
    import scipy.linalg  # noqa: F401 - its LAPACK, which JAX uses on CPUs, must be loaded to be found
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
