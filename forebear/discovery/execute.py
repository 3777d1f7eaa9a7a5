"""Run the stages: in this process, in several, or on a cluster; resumed from a run folder, with whoever listens told.

What is computed is in `forebear.discovery.pipeline`; the result does not depend on anything here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebear.discovery.certify import search_sets
from forebear.discovery.distil import DRAWN, Drawn, draw
from forebear.discovery.laws import fit_laws
from forebear.discovery.pipeline import Results, TargetResult, certify, conclude, discover_batch
from forebear.discovery.problem import Batch, Context, Problem, read
from forebear.discovery.trace import TRACED, Traced, trace
from forebear.errors import InputError
from forebear.kernel.threads import one_thread
from forebear.run.engine import Failures, as_done
from forebear.run.events import Listener, Note, Progress, silent
from forebear.run.notes import WarnOnce
from forebear.storage.checkpoint import DAMAGED, Checkpoint
from forebear.storage.folder import RunFolder
from forebear.storage.records import from_record, to_record

# Where each stage begins and how long it takes, as shares of a batch, with and without a certificate.
_STAGES = {
    False: {"train": (0.0, 0.5, "training"), "prune": (0.5, 0.5, "pruning")},
    True: {
        "train": (0.0, 0.25, "training"),
        "prune": (0.25, 0.25, "pruning"),
        "certify": (0.5, 0.5, "certifying"),
    },
}


class Session:
    """One discovery under way: what is done of it, where that is kept, and who listens."""

    def __init__(self, problem: Problem, folder: RunFolder | None = None, tell: Listener = silent):
        self.problem, self.folder, self.tell = problem, folder, tell
        self.done: dict[int, Results] = {} if folder is None else _saved(folder, problem.batches)
        for number in self.done:
            # Left by a process that ended between keeping the whole and dropping its parts.
            self.checkpoint(number).clear()
        # What an earlier process has told is part of the result, and not told again.
        self.notes = WarnOnce(note for results in self.done.values() for note in _notes(results))
        self._traced = False

    @property
    def waiting(self) -> list[int]:
        """Numbers of the batches that are not done."""
        return [number for number in range(len(self.problem.batches)) if number not in self.done]

    def place(self, number: int) -> Path | None:
        """Where the parts of an unfinished batch are kept."""
        return None if self.folder is None else self.folder.place_of_parts(number)

    def checkpoint(self, number: int) -> Checkpoint:
        """The parts of an unfinished batch."""
        return Checkpoint(self.place(number))

    def context(self, number: int) -> Context:
        """What the stages of a batch in this process are given."""
        self._traced = False
        return Context(self.checkpoint(number), lambda stage, share: self._tick(number, stage, share))

    def _tick(self, number: int, stage: str, share: float) -> None:
        # The search runs beside the paths: the user is told of paths as long as there are any.
        self._traced = self._traced or (stage == "prune" and share >= 1)
        if stage != "certify" or self._traced:
            first, length, word = _STAGES[self.problem.certified][stage]
            whole = (len(self.done) + first + length * share) / len(self.problem.batches)
            self.tell(Progress(f"{self._told(number)} ({word})", whole))

    def finish(self, number: int, results: Results) -> None:
        """Keep the results of a batch, drop its parts, and tell its notes."""
        if self.folder is not None:
            self.folder.put(number, to_record(results))
            self.checkpoint(number).clear()
        self.done[number] = results
        for note in self.notes(_notes(results), stacklevel=5):
            self.tell(Note(note))
        self.tell(Progress(self._told(number), len(self.done) / len(self.problem.batches)))

    def _told(self, number: int) -> str:
        """What is at work, for the bar: the run only where there are several."""
        batch = self.problem.batches[number]
        return batch.label if any(other.run for other in self.problem.batches) else batch.names

    def fail(self, error: BaseException) -> None:
        """What there was to say before it failed."""
        for note in self.notes(getattr(error.__cause__ or error, "__notes__", ()), stacklevel=5):
            self.tell(Note(note))

    def by_run(self, runs: int) -> list[dict[str, TargetResult]]:
        """The results of every target, for each run."""
        merged: list[dict[str, TargetResult]] = [{} for _ in range(runs)]
        for number, batch in enumerate(self.problem.batches):
            merged[batch.run].update(self.done[number])
        return merged


def run_here(session: Session) -> None:
    """Every batch that waits, one after another, in this process."""
    problem, failures = session.problem, Failures(len(session.waiting))
    for number in session.waiting:
        try:
            with _quiet_machine():
                results = discover_batch(problem, number, session.context(number))
            session.finish(number, results)
        except (FloatingPointError, MemoryError) as error:
            session.fail(error)
            failures.add(problem.batches[number].label, error)
    failures.tell()


def run_in_processes(session: Session, jobs: int) -> None:
    """Every batch that waits, in so many worker processes."""
    numbers = session.waiting
    batches = session.problem.batches
    work = _InProcess(session.problem, {number: session.place(number) for number in numbers})
    try:
        for place, results in as_done(work, numbers, jobs, lambda number: batches[number].label):
            session.finish(numbers[place], results)
    except FloatingPointError as error:
        session.fail(error)
        raise


@dataclass(frozen=True)
class _InProcess:
    """One batch by its number; a class, so that it can travel to a worker process."""

    problem: Problem
    places: Mapping[int, Path | None]
    """where the parts of each batch are kept"""

    def __call__(self, number: int) -> Results:
        with _quiet_machine():
            return discover_batch(self.problem, number, Context(Checkpoint(self.places[number])))


def run_on_cluster(session: Session, client: Any) -> None:
    """Every batch that waits, as tasks of a dask cluster: its draws, paths of a few targets each, its certificates.

    Parts come back to this process, which keeps them: workers need no common disk, and a run that is interrupted goes
    on from the last task that was done.
    """
    from forebear.run.cluster import Tasks, Tries

    numbers = session.waiting
    failures, tries = Failures(len(numbers)), Tries(len(numbers))
    for places in tries:
        lost: dict[int, BaseException] = {}
        with Tasks(client, session.problem) as tasks:
            for place in places:
                _submit(tasks, session, place, numbers[place])
            for (place, part), answer in tasks.answers():
                kept = session.checkpoint(numbers[place])
                if isinstance(answer, BaseException):
                    # A task that fails takes those that need it along: the first reason is the one to tell.
                    lost.setdefault(place, answer)
                elif isinstance(answer, Drawn):
                    kept.save("draws", DRAWN, answer)
                elif isinstance(answer, Traced):
                    kept.save(f"path-{part}", TRACED, answer)
                else:
                    session.finish(numbers[place], answer)
        for place, error in lost.items():
            if not tries.again(place, error):
                session.fail(error)
                failures.add(session.problem.batches[numbers[place]].label, error)
    failures.tell()


def _submit(tasks: Any, session: Session, place: int, number: int) -> None:
    """The tasks of one batch; what is kept already is passed on as it is."""
    if session.problem.shares_flows:
        # Flows are trained once for paths and certificates: what they serve stays where they are.
        tasks.submit((place, None), _discover_there, number)
        return
    kept = session.checkpoint(number)
    known = kept.load("draws", DRAWN)
    drawn = tasks.submit((place, None), _draw_there, number) if known is None else tasks.put(known)
    traced = [
        kept.load(f"path-{part}", TRACED) or tasks.submit((place, part), _trace_there, number, part, drawn)
        for part in range(len(session.problem.path_batches(number)))
    ]
    tasks.submit((place, None), _conclude_there, number, drawn, *traced)


def _discover_there(problem: Problem, number: int) -> Results:
    with _quiet_machine():
        return discover_batch(problem, number)


def _draw_there(problem: Problem, number: int) -> Drawn:
    with _quiet_machine():
        rows = read(problem, number)
        return draw(problem, number, rows, fit_laws(problem, number, rows))


def _trace_there(problem: Problem, number: int, part: int, drawn: Drawn) -> Traced:
    with _quiet_machine():
        return trace(problem, number, part, drawn)


def _conclude_there(problem: Problem, number: int, drawn: Drawn, *traced: Traced) -> Results:
    with _quiet_machine():
        certified = certify(problem, number, traced, search_sets(problem, number)) if problem.certified else None
        return conclude(problem, number, drawn, traced, certified)


@contextmanager
def _quiet_machine() -> Iterator[None]:
    """One thread for BLAS, and lack of memory on the device told as such."""
    with one_thread():
        try:
            yield
        except RuntimeError as error:
            if "RESOURCE_EXHAUSTED" in str(error):
                raise MemoryError(str(error).splitlines()[0]) from error
            raise


def _notes(results: Results) -> list[str]:
    return [note for result in results.values() for note in result.notes]


def _saved(folder: RunFolder, batches: Sequence[Batch]) -> dict[int, Results]:
    """The batches that an earlier process has finished."""
    done: dict[int, Results] = {}
    for number, batch in enumerate(batches):
        saved = folder.get(number)
        try:
            if saved is not None:
                done[number] = {q.target: from_record(TargetResult, saved[q.target]) for q in batch.questions}
        except DAMAGED:
            raise InputError(
                f"{folder.folder}: pieces/{number:05d}.json is damaged: delete that file, and it is computed again"
            ) from None
    return done
