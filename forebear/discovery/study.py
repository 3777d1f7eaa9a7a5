"""One unit of work: fit samplers for a few targets together, distil each, prune each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from forebear.discovery.path import Path, prune
from forebear.discovery.settings import Settings
from forebear.flow.sampler import Law, NetworkSampler, Sampler, Task
from forebear.kernel.settings import KernelSettings
from forebear.kernel.threads import one_thread
from forebear.kernel.tune import Choice, choose

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

    def record(self) -> dict[str, Any]:
        """Plain lists and numbers; `restore` is the way back."""
        certificate = None if self.certificate is None else self.certificate.record()
        return {"path": self.path.record(), "certificate": certificate}

    @classmethod
    def restore(cls, record: Mapping[str, Any]) -> Outcome:
        """The outcome that a record was made from."""
        certificate = record["certificate"]
        return cls(Path.restore(record["path"]), None if certificate is None else Certificate.restore(certificate))


def study(
    table: Table, work: Study, sampler: Sampler | NetworkSampler, settings: Settings, tick: Tick
) -> dict[str, Outcome]:
    """The pruning path of every target of the study and, where asked for, its certificate."""
    with one_thread():
        return _study(table, work, sampler, settings, tick)


def _study(
    table: Table, work: Study, sampler: Sampler | NetworkSampler, settings: Settings, tick: Tick
) -> dict[str, Outcome]:
    rng = np.random.default_rng(np.random.SeedSequence(work.seed))
    if work.rows is not None:
        # In table order: the certificate looks at neighbouring rows.
        table = table.take(np.sort(rng.permutation(table.rows)[: work.rows]))
    tasks = _tasks(work)
    fold = rng.permutation(table.rows) % settings.folds
    y = {q.target: _continuous(table.columns[q.target], rng) for q in work.questions}
    laws = _fit_folds(table, tasks, y, fold, sampler, rng, lambda share: tick("train", share))
    paths: dict[str, Path] = {}
    for number, task in enumerate(tasks):
        draws = distil(
            [of_fold[number] for of_fold in laws], fold, table, task.inputs, settings.kernel.distilled, rng=rng
        )
        question = work.questions[number]

        def inner(share: float, done: int = number) -> None:
            tick("prune", (done + share) / len(tasks))

        paths |= zip(task.targets, _paths(table, question, draws, settings, inner), strict=True)
    certificates = _certificates(table, work, y, paths, settings, rng, tick) if work.certified else {}
    return {target: Outcome(path, certificates.get(target)) for target, path in paths.items()}


def _certificates(
    table: Table,
    work: Study,
    y: Mapping[str, np.ndarray],
    paths: Mapping[str, Path],
    settings: Settings,
    rng: np.random.Generator,
    tick: Tick,
) -> dict[str, Certificate]:
    """Searches from the empty set and from the pick of the published rule."""
    fold = rng.permutation(table.rows) % max(2, settings.folds)
    targets = [question.target for question in work.questions]
    panel = Panel(table, work.questions, [y[target] for target in targets], fold, settings.certificate, rng)
    tests = panel.examiners(lambda share: tick("certify", 0.6 * share))
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
    table: Table,
    tasks: Sequence[Task],
    continuous: Mapping[str, np.ndarray],
    fold: np.ndarray,
    sampler: Sampler | NetworkSampler,
    rng: np.random.Generator,
    tick: Callable[[float], None],
) -> list[Sequence[Law]]:
    """For each fold, the laws of all tasks learned from the rows outside it (from all rows if there is one fold)."""
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
) -> list[Path]:
    """The path of every output of the draws; outputs of a joint law share the question but for its target."""
    columns = [table.columns[name] for name in question.inputs]
    choice = _hyperparameters(columns, draws, settings.kernel)
    lengthscale = settings.kernel.lengthscale
    lengthscales = Lengthscales(choice.lengthscale if lengthscale is None else lengthscale, choice.latent_lengthscale)
    points = embed(columns, draws.rows, draws.z, lengthscales)
    place = {name: number for number, name in enumerate(question.inputs)}
    units = {unit: tuple(place[name] for name in members) for unit, members in question.units.items()}
    return prune(points, standard(draws.y), units, choice.nugget, lengthscales=lengthscales, tick=tick)


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
