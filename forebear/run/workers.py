"""Worker processes whose death costs one try of one piece, and nothing else.

The pools of joblib and of the standard library are as quick, but break as a whole when one of their processes dies:
what runs beside it is lost, and nobody says which piece it was (`forebear bench libraries`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from forebear.errors import InputError
from forebear.run.compiled import NOT_KEPT

TRIES = 2
"""of a piece whose worker dies; the last one has the machine to itself"""


class Died(RuntimeError):
    """The process that worked on a piece ended without an answer."""


class _Worker:
    """A process that answers one piece at a time. Spawned, not forked: JAX has threads, and a fork of it can hang."""

    def __init__(self, function: Callable[[Any], Any]):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, function), daemon=True)
        try:
            with _deaf_to_interrupts():
                self.process.start()
        except Exception as error:  # what cannot be sent fails in as many ways as there are objects
            if "pickle" not in f"{type(error).__name__} {error}".lower():
                raise
            raise InputError(
                f"jobs: this work cannot be sent to another process ({error}): define your sampler in a module of "
                "its own, or use jobs=1"
            ) from None
        finally:
            theirs.close()
        self.place: int | None = None
        self.ready = False

    def end(self) -> None:
        """At once: whatever it does is done again elsewhere, or not wanted any more."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def work(function: Callable[[Any], Any], pieces: Sequence[Any], jobs: int) -> Iterator[tuple[int, Any]]:
    """(place of the piece, its result or the exception that stands for it), as they come.

    A piece whose worker dies is tried once more when nothing else runs: what ran out of memory beside others may fit
    alone. A second death gives a `Died`.
    """
    waiting, alone, deaths = deque(range(len(pieces))), deque[int](), Counter[int]()
    workers: list[_Worker] = []
    try:
        while waiting or alone or any(worker.place is not None for worker in workers):
            _hand_out(function, pieces, jobs, waiting, alone, workers)
            for connection in wait([worker.connection for worker in workers if worker.place is not None]):
                worker = next(w for w in workers if w.connection is connection)
                place = worker.place
                assert place is not None
                try:
                    answer = worker.connection.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.end()
                    if not worker.ready:
                        raise InputError(
                            "jobs: a worker process could not start: in a script, put the call under "
                            "`if __name__ == '__main__':`"
                        ) from None
                    deaths[place] += 1
                    if deaths[place] < TRIES:
                        alone.append(place)
                    else:
                        yield place, Died(_how(worker.process.exitcode))
                    continue
                if answer is None:
                    worker.ready = True
                    continue
                worker.place = None
                yield place, answer[0]
    finally:
        # Also on Ctrl-C, which would otherwise wait for the pieces in progress.
        for worker in workers:
            worker.end()


def _hand_out(
    function: Callable[[Any], Any],
    pieces: Sequence[Any],
    jobs: int,
    waiting: deque[int],
    alone: deque[int],
    workers: list[_Worker],
) -> None:
    busy = sum(worker.place is not None for worker in workers)
    while waiting and busy < jobs:
        _give(function, pieces, waiting.popleft(), workers)
        busy += 1
    if alone and not busy:
        for worker in workers:  # idle ones hold memory
            worker.end()
        workers.clear()
        _give(function, pieces, alone.popleft(), workers)


def _give(function: Callable[[Any], Any], pieces: Sequence[Any], place: int, workers: list[_Worker]) -> None:
    idle = [worker for worker in workers if worker.place is None]
    if not idle:
        idle = [_Worker(function)]
        workers.append(idle[0])
    idle[0].place = place
    with suppress(OSError):  # it has just died: the loop will find out
        idle[0].connection.send(pieces[place])


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            name = signal.Signals(-status).name
            return f"was killed ({name}{', most likely for lack of memory' if name == 'SIGKILL' else ''})"
    return f"ended with status {status}"


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.filterwarnings("ignore", message=NOT_KEPT)
    with suppress(EOFError, OSError):  # the parent has gone
        connection.send(None)
        while True:
            _answer(connection, function, connection.recv())


def _answer(connection: Connection, function: Callable[[Any], Any], piece: Any) -> None:
    try:
        answer = function(piece)
    except BaseException as error:
        answer = error
    try:
        connection.send((answer,))
    except OSError:
        raise
    except Exception as error:  # an exception that cannot be sent
        connection.send((RuntimeError(f"{type(answer).__name__}: {answer} ({error})"),))


def _end_with_parent() -> None:
    """A parent that is killed cannot end its workers; they must not write into a folder that another has taken."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started within do not hear Ctrl-C, which a terminal sends to all: only their parent answers it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Started by the first worker otherwise, it would open this process's ears again before the worker is there.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
