"""Spread independent pieces of work over processes, a cluster, or none of these."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from forebear._checks import InputError

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def spread(function: Callable[[Piece], Result], pieces: Sequence[Piece], jobs: Any) -> Iterator[tuple[Piece, Result]]:
    """Each piece with its result, in order. `jobs`: a number of processes, or a dask.distributed.Client.

    >>> list(spread(abs, [-1, 2], jobs=1))
    [(-1, 1), (2, 2)]
    """
    if hasattr(jobs, "submit"):
        futures = [jobs.submit(function, piece, pure=False) for piece in pieces]
        yield from ((piece, future.result()) for piece, future in zip(pieces, futures, strict=True))
        return
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, or a dask client; got {jobs!r}")
    if jobs == 1 or len(pieces) < 2:
        yield from ((piece, function(piece)) for piece in pieces)
        return
    # Spawned, not forked: JAX is multithreaded, and a fork of it can hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(pieces)), mp_context=context) as pool:
        yield from zip(pieces, pool.map(function, pieces), strict=True)
