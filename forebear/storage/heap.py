"""Memory that a process has freed goes back to the system, where the C library would keep it for later.

A discovery makes and drops arrays of many megabytes, and compiles code: left alone, the allocator of Linux keeps
several hundred megabytes of what was dropped, in an arena for each thread.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

# Numbers of mallopt(3). Blocks from so many bytes on are given back as soon as they are free; so many arenas at most.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE, _ARENAS = 1 << 20, 2


@cache
def _library() -> ctypes.CDLL | None:
    """The C library, where it has these calls: that of GNU."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
    except OSError:
        return None


@cache
def keep_heap_small() -> bool:
    """From now on, large blocks go back to the system when they are freed. Whether the C library can do that.

    >>> keep_heap_small() in (True, False)
    True
    """
    library = _library()
    if library is None:
        return False
    return bool(library.mallopt(_MMAP_THRESHOLD, _LARGE)) and bool(library.mallopt(_ARENA_MAX, _ARENAS))


def give_back_memory() -> None:
    """Hand all that is free to the system, of whatever size; takes some milliseconds.

    >>> give_back_memory()
    """
    library = _library()
    if library is not None:
        library.malloc_trim(0)
