"""Spread independent pieces of work over processes, a cluster, or none of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from forebear.errors import InputError, listed
from forebear.run.workers import Died, work

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Unfinished(RuntimeError):
    """Some pieces could not be done, however often they were tried; the others are done."""


def spread(function: Callable[[Piece], Result], pieces: Sequence[Piece], jobs: Any) -> Iterator[tuple[Piece, Result]]:
    """Each piece with its result, in order. `jobs`: a number of processes, or a dask.distributed.Client.

    What is said in `as_done` of pieces that fail holds here too.

    >>> list(spread(abs, [-1, 2], jobs=1))
    [(-1, 1), (2, 2)]
    """
    early: dict[int, Result] = {}
    upto = 0
    try:
        for place, result in as_done(function, pieces, jobs):
            early[place] = result
            while upto in early:
                yield pieces[upto], early.pop(upto)
                upto += 1
    except (Unfinished, FloatingPointError, MemoryError):
        # Those behind the first one that failed are done all the same.
        yield from ((pieces[place], early[place]) for place in sorted(early))
        raise


def as_done(
    function: Callable[[Piece], Result],
    pieces: Sequence[Piece],
    jobs: Any,
    name: Callable[[Piece], str] = str,
) -> Iterator[tuple[int, Result]]:
    """(place of a piece, its result), in the order in which they are done.

    A piece whose process dies is tried again, then left; so is one without enough memory, or whose numbers are not
    finite. When all others are done, `Unfinished` (or a FloatingPointError) names what was left. Any other exception
    ends the work at once. The function goes to each worker once, with the data it holds.

    >>> sorted(as_done(abs, [-1, 2], jobs=1))
    [(0, 1), (1, 2)]
    """
    check_jobs(jobs)
    failures = Failures(len(pieces))
    for place, result in _answers(function, pieces, jobs):
        if isinstance(result, BaseException):
            failures.add(name(pieces[place]), result)
        else:
            yield place, result
    failures.tell()


def is_cluster(jobs: Any) -> bool:
    """Whether `jobs` is a dask.distributed.Client (or something that can do as much)."""
    return hasattr(jobs, "submit") and hasattr(jobs, "scatter")


def check_jobs(jobs: Any) -> None:
    """Refuse what is neither a number of processes nor a client that can be waited for.

    >>> check_jobs(0)
    Traceback (most recent call last):
    forebear.errors.InputError: jobs must be a whole number of at least 1, or a dask client; got 0
    """
    if is_cluster(jobs):
        if getattr(jobs, "asynchronous", False):
            raise InputError("jobs: this dask client is asynchronous: make one with Client(asynchronous=False)")
        if getattr(jobs, "status", "running") != "running":
            raise InputError(f"jobs: this dask client is {jobs.status}: connect a new one")
    elif isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, or a dask client; got {jobs!r}")


def _answers(function: Callable[[Any], Any], pieces: Sequence[Any], jobs: Any) -> Iterator[tuple[int, Any]]:
    if is_cluster(jobs):
        from forebear.run.cluster import work as work_on_cluster

        yield from work_on_cluster(function, pieces, jobs)
    elif jobs == 1 or len(pieces) < 2:
        for place, piece in enumerate(pieces):
            try:
                yield place, function(piece)
            except (FloatingPointError, MemoryError) as error:
                yield place, error
    else:
        yield from work(function, pieces, jobs)


class Failures:
    """What could not be done, to be told when the rest is.

    >>> failures = Failures(3)
    >>> failures.add("run 1: y", Died("was killed"))
    >>> failures.tell()
    Traceback (most recent call last):
    forebear.run.engine.Unfinished: run 1: y: its worker process was killed, twice; the other 2 pieces are done
    """

    def __init__(self, pieces: int):
        self.pieces = pieces
        self.found: dict[str, BaseException] = {}

    def add(self, name: str, error: BaseException) -> None:
        """Keep what may be left for the end; raise the rest."""
        if not isinstance(error, FloatingPointError | MemoryError | Died):
            raise error
        self.found[name] = error

    def tell(self) -> None:
        """Raise if anything is missing."""
        if not self.found:
            return
        name, error = next(iter(self.found.items()))
        rest = self.pieces - len(self.found)
        done = f"; the other {rest} piece{'s are' if rest > 1 else ' is'} done" if rest else ""
        others = f" (so did {listed([*self.found][1:])})" if len(self.found) > 1 else ""
        if self.pieces == 1 and not isinstance(error, Died):
            raise error
        if isinstance(error, FloatingPointError):
            raise FloatingPointError(f"{name}: {error}{others}{done}") from error
        if isinstance(error, MemoryError):
            raise Unfinished(f"{name}: out of memory{others}{done}") from error
        raise Unfinished(f"{name}: its worker process {error}, twice{others}{done}")
