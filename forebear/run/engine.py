"""Spread independent pieces of work over processes, a cluster, or none of these."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
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
        with _deaf_to_interrupts():
            results = pool.map(function, pieces)
        try:
            yield from zip(pieces, results, strict=True)
        except BaseException:
            # Without this, Ctrl-C would wait for the pieces in progress.
            for worker in list((pool._processes or {}).values()):
                worker.terminate()
            raise


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started within do not hear Ctrl-C, which a terminal sends to all: only their parent answers it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
