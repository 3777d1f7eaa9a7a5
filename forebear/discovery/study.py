"""One unit of work: fit samplers for a few targets together, distil each, prune each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forebear.data.dequantise import find_atoms
from forebear.data.question import Question
from forebear.data.table import Column, Table
from forebear.discovery.distil import Draws, Lengthscales, distil, embed, standardise_output
from forebear.discovery.path import Path, prune
from forebear.discovery.settings import Settings
from forebear.flow.sampler import Law, NetworkSampler, Sampler, Task
from forebear.kernel.evidence import Choice, choose

# The evidence is compared on this many distilled rows: it costs their cube, for every point of the grid.
_ROWS_FOR_EVIDENCE = 1_000

Tick = Callable[[str, float], None]
"""(stage, share of it that is done)"""


@dataclass(frozen=True)
class Study:
    """Targets whose samplers are trained together, in one run."""

    questions: tuple[Question, ...]
    joint: bool
    run: int
    seed: tuple[int, ...]
    """entropy for numpy's seed sequence; what a study draws depends on nothing else"""

    @property
    def label(self) -> str:
        """A name that is unique within a discovery."""
        return f"run {self.run}: {', '.join(question.target for question in self.questions)}"


def study(
    table: Table, work: Study, sampler: Sampler | NetworkSampler, settings: Settings, tick: Tick
) -> dict[str, Path]:
    """The pruning path of every target of the study."""
    rng = np.random.default_rng(np.random.SeedSequence(work.seed))
    tasks = _tasks(work)
    laws = _fit(table, tasks, sampler, rng, lambda share: tick("train", share))
    paths: dict[str, Path] = {}
    for number, question in enumerate(work.questions):
        slot = 0 if work.joint else number
        if slot == number:
            draws = distil(laws[slot], table, tasks[slot].inputs, settings.kernel.distilled, rng=rng)
        output = number if work.joint else 0

        def inner(share: float, done: int = number) -> None:
            tick("prune", (done + share) / len(work.questions))

        paths[question.target] = _path(table, question, draws, output, settings, inner)
    return paths


def _tasks(work: Study) -> list[Task]:
    if work.joint:
        return [Task(work.questions[0].inputs, tuple(question.target for question in work.questions))]
    return [Task(question.inputs, (question.target,)) for question in work.questions]


def _fit(
    table: Table,
    tasks: Sequence[Task],
    sampler: Sampler | NetworkSampler,
    rng: np.random.Generator,
    tick: Callable[[float], None],
) -> Sequence[Law]:
    seed = int(rng.integers(2**31))
    if isinstance(sampler, NetworkSampler):
        y = [np.stack([_continuous(table.columns[t], rng) for t in task.targets], axis=1) for task in tasks]
        return sampler.fit_many(table, tasks, y, seed=seed, tick=tick)
    laws = []
    for number, task in enumerate(tasks):
        laws.append(sampler.fit(table.frame(task.inputs), table.frame(task.targets), seed=seed + number))
        tick((number + 1) / len(tasks))
    return laws


def _continuous(column: Column, rng: np.random.Generator) -> np.ndarray:
    """A lattice or atoms would be fitted as spikes; a category's codes are a lattice."""
    return find_atoms(column.values).spread(column.values, rng)


def _path(
    table: Table,
    question: Question,
    draws: Draws,
    output: int,
    settings: Settings,
    tick: Callable[[float], None],
) -> Path:
    columns = [table.columns[name] for name in question.inputs]
    y = standardise_output(draws.y[:, output])
    choice = _hyperparameters(columns, draws, y, settings)
    lengthscale = settings.kernel.lengthscale
    lengthscales = Lengthscales(
        choice.lengthscale if lengthscale is None else lengthscale, choice.latent_lengthscale
    )
    points = embed(columns, draws.rows, draws.z, lengthscales)
    place = {name: number for number, name in enumerate(question.inputs)}
    units = {unit: tuple(place[name] for name in members) for unit, members in question.units.items()}
    return prune(points, y, units, choice.nugget, lengthscales=lengthscales, tick=tick)


def _hyperparameters(columns: Sequence[Column], draws: Draws, y: np.ndarray, settings: Settings) -> Choice:
    """What the settings fix, and the evidence's choice for the rest."""
    kernel = settings.kernel
    fixed_inputs = isinstance(kernel.lengthscale, float | int)
    grid = {
        "lengthscales": (kernel.lengthscale,) if fixed_inputs else None,
        "latent_lengthscales": None if kernel.latent_lengthscale is None else (kernel.latent_lengthscale,),
        "nuggets": None if kernel.nugget is None else (kernel.nugget,),
    }
    grid = {name: values for name, values in grid.items() if values is not None}
    if not isinstance(kernel.lengthscale, float | int | None):
        grid["lengthscales"] = (1.0,)
    if len(grid) == 3:
        return Choice(*(float(values[0]) for values in grid.values()))
    few = slice(0, _ROWS_FOR_EVIDENCE)

    def points(lengthscale: float, latent_lengthscale: float) -> np.ndarray:
        inputs = kernel.lengthscale if kernel.lengthscale is not None else lengthscale
        return embed(columns, draws.rows[few], draws.z[few], Lengthscales(inputs, latent_lengthscale))

    return choose(points, standardise_output(y[few]), **grid)
