"""One thread for BLAS: what is parallel here is made so in coarse pieces, by us.

The threads of BLAS wait for each other in a busy loop. Where another program wants one of the cores, that makes them
slower than one thread alone: measured on two cores, a factorisation of 5,000 rows takes four to ten times as long.
Their number also shows in the last bits of what they compute. `forebear bench libraries` measures both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for BLAS and LAPACK.

    >>> with one_thread():
    ...     pass
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - its LAPACK, which JAX uses on CPUs too, must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
