"""One unit of work: fit samplers for a few targets together, distil each, prune each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from forebear.data.dequantise import find_atoms
from forebear.data.question import Question
from forebear.data.table import Column, Table
from forebear.discovery.certificate import Certificate
from forebear.discovery.certify import Panel, certify
from forebear.discovery.choose import LargestJump
from forebear.discovery.coupling import couple
from forebear.discovery.distil import Draws, Lengthscales, distil, embed, standard
from forebear.discovery.kept import Drawn, Rounds, Traced
from forebear.discovery.path import Path, prune
from forebear.discovery.settings import Settings
from forebear.flow.sampler import Law, NetworkSampler, Sampler, Task
from forebear.kernel.settings import KernelSettings
from forebear.kernel.threads import one_thread
from forebear.kernel.tune import Choice, choose
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

    def record(self) -> dict[str, Any]:
        """Plain lists and numbers; `restore` is the way back."""
        certificate = None if self.certificate is None else self.certificate.record()
        return {"path": self.path.record(), "certificate": certificate, "notes": self.notes}

    @classmethod
    def restore(cls, record: Mapping[str, Any]) -> Outcome:
        """The outcome that a record was made from."""
        certificate = record["certificate"]
        restored = None if certificate is None else Certificate.restore(certificate)
        return cls(Path.restore(record["path"]), restored, tuple(record["notes"]))


def study(
    table: Table,
    work: Study,
    sampler: Sampler | NetworkSampler,
    settings: Settings,
    tick: Tick,
    parts: Parts = NOTHING_KEPT,
) -> dict[str, Outcome]:
    """The pruning path of every target of the study and, where asked for, its certificate.

    Four kinds of part are kept as they are made, and not made again: weights of each training, draws, the path of
    each target, and the sets that the certificate has examined.
    """
    drawn = draw(table, work, sampler, settings, parts, tick)
    traced = [
        trace(table, work, settings, number, drawn.draws[number], parts, tick) for number in range(tasks_of(work))
    ]
    return conclude(table, work, settings, drawn, traced, parts, tick)


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
    with _stage(parts, "flow") as notes:
        ground = _begin(table, work, settings)
        tasks = _tasks(work)
        laws = _fit_folds(ground, tasks, sampler, lambda share: tick("train", share))
        draws = tuple(
            distil(
                [of_fold[number] for of_fold in laws],
                ground.fold,
                ground.table,
                task.inputs,
                settings.kernel.distilled,
                rng=ground.rng,
            )
            for number, task in enumerate(tasks)
        )
    drawn = Drawn(draws, dict(ground.rng.bit_generator.state), tuple(notes))
    drawn.keep(parts)
    return drawn


def tasks_of(work: Study) -> int:
    """How many times `trace` is to be called: once a target, once in all for a joint law."""
    return len(_tasks(work))


def trace(
    table: Table,
    work: Study,
    settings: Settings,
    number: int,
    draws: Draws,
    parts: Parts = NOTHING_KEPT,
    tick: Tick = lambda stage, share: None,
) -> Traced:
    """The pruning path of one target (of all, when their law is joint): the second stage. Draws no random numbers."""
    kept = Traced.kept(parts, number)
    if kept is not None:
        return kept
    with _stage(parts, "path") as notes:
        table, count = _rows_of(table, work)[0], tasks_of(work)

        def inner(share: float) -> None:
            tick("prune", (number + share) / count)

        paths, asked = _paths(table, work.questions[number], draws, settings, inner)
    targets = _tasks(work)[number].targets
    raised = [_raised(target, path, asked) for target, path in zip(targets, paths, strict=True)]
    traced = Traced(tuple(paths), (*notes, *(note for note in raised if note)))
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
) -> dict[str, Outcome]:
    """The third stage: the certificates, where asked for, and all that was found out about each target."""
    tasks = _tasks(work)
    paths = {
        t: p for task, of in zip(tasks, traced, strict=True) for t, p in zip(task.targets, of.paths, strict=True)
    }
    with _stage(parts, "subsets") as notes:
        certificates = _certificates(table, work, paths, settings, drawn, parts, tick) if work.certified else {}
    every = (*drawn.notes, *notes)
    own = {t: of.notes for task, of in zip(tasks, traced, strict=True) for t in task.targets}
    return {
        target: Outcome(path, certificates.get(target), tuple(dict.fromkeys((*every, *own[target]))))
        for target, path in paths.items()
    }


@contextmanager
def _stage(parts: Parts, name: str) -> Iterator[list[str]]:
    """One thread for BLAS, trainings kept, warnings gathered, and lack of memory told as such."""
    with one_thread(), remembering(parts, name), gathered() as notes:
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


def _certificates(
    table: Table,
    work: Study,
    paths: Mapping[str, Path],
    settings: Settings,
    drawn: Drawn,
    parts: Parts,
    tick: Tick,
) -> dict[str, Certificate]:
    """Searches from the empty set and from the pick of the published rule."""
    table, _, y, rng = _begin(table, work, settings)
    rng.bit_generator.state = drawn.state
    fold = rng.permutation(table.rows) % max(2, settings.folds)
    targets = [question.target for question in work.questions]
    panel = Panel(table, work.questions, [y[target] for target in targets], fold, settings.certificate, rng)
    tests = panel.examiners(lambda share: tick("certify", 0.6 * share))
    tests = [replace(test, seen=Rounds(parts, number)) for number, test in enumerate(tests)]
    starts = [[(), LargestJump()(paths[target])] for target in targets]
    found = certify(panel, tests, starts, lambda share: tick("certify", 0.6 + 0.4 * share))
    return dict(zip(targets, couple(tests, found) if work.joint else found, strict=True))


def _tasks(work: Study) -> list[Task]:
    if work.joint:
        return [Task(work.questions[0].inputs, tuple(question.target for question in work.questions))]
    return [Task(question.inputs, (question.target,)) for question in work.questions]


# More held-out rows than this do not make the choice of weights any better.
_HELD_OUT_ROWS = 4_096


def _fit_folds(
    ground: _Ground, tasks: Sequence[Task], sampler: Sampler | NetworkSampler, tick: Callable[[float], None]
) -> list[Sequence[Law]]:
    """For each fold, the laws of all tasks learned from the rows outside it (from all rows if there is one fold)."""
    table, fold, continuous, rng = ground
    folds = int(fold.max()) + 1
    smallest = table.rows - int(np.bincount(fold).max())
    y = [np.stack([continuous[target] for target in task.targets], axis=1) for task in tasks]
    laws: list[Sequence[Law]] = []
    for number in range(folds):
        seed = int(rng.integers(2**31))
        inside = np.flatnonzero(fold == number)
        # Folds differ by a row at most; all are cut to one size, so that the second compiles nothing.
        outside = np.flatnonzero(fold != number)[:smallest] if folds > 1 else inside
        held_out = inside[: min(_HELD_OUT_ROWS, table.rows // folds)] if folds > 1 else None
        if isinstance(sampler, NetworkSampler):

            def inner(share: float, done: int = number) -> None:
                tick((done + share) / folds)

            laws.append(sampler.fit_many(table, tasks, y, outside, held_out, seed=seed, tick=inner))
        else:
            part = table.take(outside)
            laws.append([sampler.fit(part.frame(t.inputs), part.frame(t.targets), seed=seed) for t in tasks])
            tick((number + 1) / folds)
    return laws


def _continuous(column: Column, rng: np.random.Generator) -> np.ndarray:
    """A lattice or atoms would be fitted as spikes; a category's codes are a lattice."""
    return find_atoms(column.values).spread(column.values, rng)


def _paths(
    table: Table, question: Question, draws: Draws, settings: Settings, tick: Callable[[float], None]
) -> tuple[list[Path], float]:
    """The path of every output of the draws, and the nugget that was asked for; outputs of a joint law share the
    question but for its target."""
    columns = [table.columns[name] for name in question.inputs]
    choice = _hyperparameters(columns, draws, settings.kernel)
    lengthscale = settings.kernel.lengthscale
    lengthscales = Lengthscales(choice.lengthscale if lengthscale is None else lengthscale, choice.latent_lengthscale)
    points = embed(columns, draws.rows, draws.z, lengthscales)
    place = {name: number for number, name in enumerate(question.inputs)}
    units = {unit: tuple(place[name] for name in members) for unit, members in question.units.items()}
    drop = settings.kernel.drop
    paths = prune(points, standard(draws.y), units, choice.nugget, drop=drop, lengthscales=lengthscales, tick=tick)
    return paths, choice.nugget


def _raised(target: str, path: Path, asked: float) -> str:
    """What to say when some step needed a larger nugget than was asked for; nothing, when none did."""
    steps = [nugget for nugget in path.nuggets if nugget > asked * (1 + 1e-9)]
    if not steps:
        return ""
    return (
        f"target '{target}': the kernel was singular at {len(steps)} of {len(path.nuggets)} steps, and its nugget "
        f"was raised there from {asked:.2g} to {max(steps):.2g}: set nugget= to that, or leave out inputs that "
        "repeat others"
    )


def _hyperparameters(columns: Sequence[Column], draws: Draws, kernel: KernelSettings) -> Choice:
    """What the settings fix, and the best grid point for the rest."""
    given = kernel.lengthscale
    grid: dict[str, Sequence[float]] = {}
    if given is not None:
        # A lengthscale by column leaves nothing to choose; the number that stands in for it is not used.
        grid["lengthscales"] = (given if isinstance(given, float | int) else 1.0,)
    if kernel.latent_lengthscale is not None or not draws.z.shape[1]:
        grid["latent_lengthscales"] = (kernel.latent_lengthscale or 1.0,)
    if kernel.nugget is not None:
        grid["nuggets"] = (kernel.nugget,)
    if len(grid) == 3:
        return Choice(*(float(values[0]) for values in grid.values()))
    few = slice(0, draws.rivals.shape[1])

    def points(lengthscale: float, latent_lengthscale: float) -> np.ndarray:
        inputs = lengthscale if given is None else given
        return embed(columns, draws.rows[few], draws.z[few], Lengthscales(inputs, latent_lengthscale))

    return choose(points, np.stack([standard(y) for y in draws.rivals]), **grid)
