"""One unit of work: fit samplers for a few targets together, distil each, prune each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import NamedTuple

import numpy as np

from forebear.data.dequantise import find_atoms
from forebear.data.question import Question
from forebear.data.table import Column, Table
from forebear.discovery.certificate import Certificate
from forebear.discovery.certify import Panel, certify
from forebear.discovery.choose import LargestJump
from forebear.discovery.coupling import couple
from forebear.discovery.distil import Draws, distil
from forebear.discovery.examiner import Examiner
from forebear.discovery.kept import Drawn, Traced, known_fits, known_sets
from forebear.discovery.path import Path
from forebear.discovery.search import search
from forebear.discovery.settings import Settings
from forebear.discovery.trace import companies, trace_paths
from forebear.flow.sampler import Law, NetworkSampler, Sampler, Task
from forebear.kernel.threads import cores, one_thread
from forebear.run.notes import gathered
from forebear.run.parts import NOTHING_KEPT, Parts, remembering

Tick = Callable[[str, float], None]
"""(stage, share of it that is done)"""


@dataclass(frozen=True)
class Study:
    """Targets whose samplers are trained together, in one run."""

    questions: tuple[Question, ...]
    joint: bool
    run: int
    rows: int | None
    """how many rows, drawn at random, the run sees; None: all"""
    seed: tuple[int, ...]
    """entropy for numpy's seed sequence; what a study draws depends on nothing else"""
    certified: bool
    """whether to search for the certified set, beside the path"""

    @property
    def label(self) -> str:
        """A name that is unique within a discovery."""
        return f"run {self.run}: {', '.join(question.target for question in self.questions)}"


class Outcome(NamedTuple):
    """What a study finds out about one target."""

    path: Path
    certificate: Certificate | None
    notes: tuple[str, ...] = ()
    """what the user should know of the way there: a training that diverged, a kernel that was singular"""


def study(
    table: Table,
    work: Study,
    sampler: Sampler | NetworkSampler,
    settings: Settings,
    tick: Tick,
    parts: Parts = NOTHING_KEPT,
) -> dict[str, Outcome]:
    """The pruning path of every target of the study and, where asked for, its certificate.

    Five kinds of part are kept as they are made, and not made again: weights of each training, draws, the fits of a
    path, paths, and the sets that the certificate has examined.
    """
    together = companies(work.questions, settings.kernel.distilled)
    # The flow of the certificate and the first search know nothing of paths, and neither they nor paths keep every
    # core busy: both are made at once. The user is told of paths as long as there are any.
    waiting = Event()

    def searched(share: float) -> None:
        if waiting.is_set():
            tick("certify", _SEARCHED * share)

    with _stage() as notes, ThreadPoolExecutor(1) as pool:
        court = pool.submit(_court, table, work, settings, parts, searched) if work.certified else None
        drawn = draw(table, work, sampler, settings, parts, tick)
        traced = [trace(table, work, settings, number, drawn.draws, parts, tick) for number in range(len(together))]
        waiting.set()
        if court and not court.done():
            searched(0.0)
        ready = court and court.result()
    return conclude(table, work, settings, drawn, traced, parts, tick, court=ready, notes=notes)


def draw(
    table: Table,
    work: Study,
    sampler: Sampler | NetworkSampler,
    settings: Settings,
    parts: Parts = NOTHING_KEPT,
    tick: Tick = lambda stage, share: None,
) -> Drawn:
    """Train the samplers and draw from them: the first stage of a study."""
    kept = Drawn.kept(parts)
    if kept is not None:
        tick("train", 1.0)
        return kept
    with _stage() as notes:
        ground = _begin(table, work, settings)
        tasks = _tasks(work)
        laws = _fit_folds(ground, tasks, sampler, parts, lambda share: tick("train", share))
        inputs = [task.inputs for task in tasks]
        draws = distil(laws, ground.fold, ground.table, inputs, settings.kernel.distilled, rng=ground.rng)
    drawn = Drawn(draws, tuple(notes))
    drawn.keep(parts)
    return drawn


def trace(
    table: Table,
    work: Study,
    settings: Settings,
    number: int,
    draws: Draws,
    parts: Parts = NOTHING_KEPT,
    tick: Tick = lambda stage, share: None,
) -> Traced:
    """The paths of one of the `companies` of targets: the second stage. Draws no random numbers."""
    kept = Traced.kept(parts, number)
    if kept is not None:
        return kept
    together = companies(work.questions, settings.kernel.distilled)
    mine = together[number]
    with _stage() as notes:

        def inner(share: float) -> None:
            tick("prune", (number + share) / len(together))

        paths, told = trace_paths(
            _rows_of(table, work)[0],
            [work.questions[place] for place in mine],
            draws.of(mine),
            settings,
            lambda name: known_fits(parts, f"fits-{number}-{name}"),
            inner,
        )
    traced = Traced(tuple(paths), (*notes, *told))
    traced.keep(parts, number)
    return traced


def conclude(
    table: Table,
    work: Study,
    settings: Settings,
    drawn: Drawn,
    traced: Sequence[Traced],
    parts: Parts = NOTHING_KEPT,
    tick: Tick = lambda stage, share: None,
    *,
    court: _Court | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Outcome]:
    """The third stage: the certificates, where asked for, and all that was found out about each target.

    `court` saves making it here; `notes` are what there was to say while it was made.
    """
    together = companies(work.questions, settings.kernel.distilled)
    found = {
        number: (path, of.notes)
        for mine, of in zip(together, traced, strict=True)
        for number, path in zip(mine, of.paths, strict=True)
    }
    paths = {question.target: found[number][0] for number, question in enumerate(work.questions)}
    certificates: Mapping[str, Certificate] = {}
    with _stage() as more:
        if work.certified:
            court = court or _court(table, work, settings, parts, lambda share: tick("certify", _SEARCHED * share))
            certificates = _certificates(
                court, work, paths, parts, lambda share: tick("certify", _SEARCHED + (1 - _SEARCHED) * share)
            )
    every = (*drawn.notes, *notes, *more)
    return {
        target: Outcome(path, certificates.get(target), tuple(dict.fromkeys((*every, *found[number][1]))))
        for number, (target, path) in enumerate(paths.items())
    }


@contextmanager
def _stage() -> Iterator[list[str]]:
    """One thread for BLAS, warnings gathered, and lack of memory told as such."""
    with one_thread(), gathered() as notes:
        try:
            yield notes
        except RuntimeError as error:
            if "RESOURCE_EXHAUSTED" in str(error):  # of the device
                raise MemoryError(str(error).splitlines()[0]) from error
            raise


class _Ground(NamedTuple):
    """Where every stage begins; `rng` stands where the first one needs it."""

    table: Table
    fold: np.ndarray
    y: Mapping[str, np.ndarray]
    """the continuous version of each target"""
    rng: np.random.Generator


def _rows_of(table: Table, work: Study) -> tuple[Table, np.random.Generator]:
    rng = np.random.default_rng(np.random.SeedSequence(work.seed))
    if work.rows is not None:
        # In table order: the certificate looks at neighbouring rows.
        table = table.take(np.sort(rng.permutation(table.rows)[: work.rows]))
    return table, rng


def _begin(table: Table, work: Study, settings: Settings) -> _Ground:
    table, rng = _rows_of(table, work)
    fold = rng.permutation(table.rows) % settings.folds
    y = {q.target: _continuous(table.columns[q.target], rng) for q in work.questions}
    return _Ground(table, fold, y, rng)


_NOTHING: tuple[str, ...] = ()
# The share of the work on certificates that training and the first search are, about; to tell progress.
_SEARCHED = 0.5
# Makes the random numbers of the certificate others than those of the path.
_COURT = 0xCE27


class _Court(NamedTuple):
    """All that a search for certified sets needs but a place to start from."""

    panel: Panel
    examiners: Sequence[Examiner]


def _court(table: Table, work: Study, settings: Settings, parts: Parts, tick: Callable[[float], None]) -> _Court:
    """Train the flow that serves every subset, and search from the empty set.

    Depends on nothing that is drawn for paths, but for the rows. The examiners remember what they were asked.
    """
    table, _, y, _ = _begin(table, work, settings)
    rng = np.random.default_rng(np.random.SeedSequence((*work.seed, _COURT)))
    fold = rng.permutation(table.rows) % max(2, settings.folds)
    continuous = [y[question.target] for question in work.questions]
    panel = Panel(table, work.questions, continuous, fold, settings.certificate, rng)
    with remembering(parts, "subsets"):
        trained = panel.examiners()
    examiners = [replace(test, seen=known_sets(parts, number)) for number, test in enumerate(trained)]
    for number, test in enumerate(examiners):
        tick(number / len(examiners))
        search(test.examine, _NOTHING)
    return _Court(panel, examiners)


def _certificates(
    court: _Court, work: Study, paths: Mapping[str, Path], parts: Parts, tick: Callable[[float], None]
) -> dict[str, Certificate]:
    """Searches from the empty set and from the pick of the published rule."""
    targets = [question.target for question in work.questions]
    starts = [[_NOTHING, LargestJump()(paths[target])] for target in targets]
    with remembering(parts, "closer"):
        found = certify(court.panel, court.examiners, starts, tick)
        if work.joint:
            found = couple(court.panel, court.examiners, found)
    return dict(zip(targets, found, strict=True))


def _tasks(work: Study) -> list[Task]:
    if work.joint:
        return [Task(work.questions[0].inputs, tuple(question.target for question in work.questions))]
    return [Task(question.inputs, (question.target,)) for question in work.questions]


# More held-out rows than this do not make the choice of weights any better.
_HELD_OUT_ROWS = 4_096


def _fit_folds(
    ground: _Ground,
    tasks: Sequence[Task],
    sampler: Sampler | NetworkSampler,
    parts: Parts,
    tick: Callable[[float], None],
) -> list[Sequence[Law]]:
    """For each fold, the laws of all tasks learned from the rows outside it (from all rows if there is one fold).

    A step of training is too small to be shared out among cores, so each fold has a thread; all wait until the first
    one has compiled what they share.
    """
    table, fold, continuous, rng = ground
    folds = int(fold.max()) + 1
    smallest = table.rows - int(np.bincount(fold).max())
    y = [np.stack([continuous[target] for target in task.targets], axis=1) for task in tasks]
    seeds = [int(rng.integers(2**31)) for _ in range(folds)]
    done, compiled = [0.0] * folds, Event()

    def one(number: int) -> Sequence[Law]:
        def inner(share: float) -> None:
            done[number] = share
            compiled.set()
            tick(sum(done) / folds)

        inside = np.flatnonzero(fold == number)
        # Folds differ by a row at most; all are cut to one size, so that the second compiles nothing.
        outside = np.flatnonzero(fold != number)[:smallest] if folds > 1 else inside
        if isinstance(sampler, NetworkSampler):
            held_out = inside[: min(_HELD_OUT_ROWS, table.rows // folds)] if folds > 1 else None
            if number:
                compiled.wait()
            with remembering(parts, f"flow-{number}"):
                return sampler.fit_many(table, tasks, y, outside, held_out, seed=seeds[number], tick=inner)
        part = table.take(outside)
        laws = [sampler.fit(part.frame(t.inputs), part.frame(t.targets), seed=seeds[number]) for t in tasks]
        inner(1.0)
        return laws

    if not isinstance(sampler, NetworkSampler):  # someone else's, which may not like threads
        return [one(number) for number in range(folds)]
    with ThreadPoolExecutor(min(folds, cores())) as pool:
        trained = [pool.submit(one, number) for number in range(folds)]
        trained[0].add_done_callback(lambda _: compiled.set())  # also if it has failed
        return [each.result() for each in trained]


def _continuous(column: Column, rng: np.random.Generator) -> np.ndarray:
    """A lattice or atoms would be fitted as spikes; a category's codes are a lattice."""
    return find_atoms(column.values).spread(column.values, rng)
