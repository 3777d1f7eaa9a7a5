"""The pruning paths of targets with the same inputs: their kernels are tried out together, and shared where equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from forebear.data.question import Question
from forebear.data.table import Column, Table
from forebear.discovery.distil import Drawn, Draws
from forebear.discovery.embed import Lengthscales, embed, embed_inputs, embed_latents, standard
from forebear.discovery.path import Fit, Fits, Path, prune
from forebear.discovery.problem import ALONE, Context, Problem, rows_of
from forebear.discovery.settings import Settings
from forebear.kernel.buffers import POOL
from forebear.kernel.settings import KernelSettings
from forebear.kernel.tune import Choice, choose
from forebear.storage.checkpoint import AsRecord, Entries

FitsOf = Callable[[str], Fits]
"""name of a walk -> its fits, those that are known already and room for the others"""


class Traced(NamedTuple):
    """The paths of targets that were traced together."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def __contains__(self, path: object) -> bool:
        return any(path is one for one in self.paths)


TRACED = AsRecord(Traced)


def trace(problem: Problem, number: int, part: int, drawn: Drawn, context: Context = ALONE) -> Traced:
    """The pruning paths of some targets of a batch, all with the same inputs. Draws no random numbers."""
    parts = problem.path_batches(number)
    mine = parts[part]
    paths, notes = trace_paths(
        rows_of(problem, number)[0],
        [problem.batches[number].questions[place] for place in mine],
        drawn.draws.of(mine),
        problem.settings,
        lambda walk: context.kept.journal(f"fits-{part}-{walk}", Entries(tuple[int, ...], Fit)),
        lambda share: context.tick("prune", (part + share) / len(parts)),
    )
    return Traced(tuple(paths), tuple(notes))


def trace_paths(
    table: Table,
    questions: Sequence[Question],
    draws: Draws,
    settings: Settings,
    fits: FitsOf = lambda name: Fits(),
    tick: Callable[[float], None] = lambda share: None,
) -> tuple[list[Path], list[str]]:
    """The path of every question, and what there is to say of the way; draws hold one output per question."""
    try:
        return _trace_paths(table, questions, draws, settings, fits, tick)
    finally:
        POOL.trim()


def _trace_paths(
    table: Table,
    questions: Sequence[Question],
    draws: Draws,
    settings: Settings,
    fits: FitsOf,
    tick: Callable[[float], None],
) -> tuple[list[Path], list[str]]:
    columns = [table.columns[name] for name in questions[0].inputs]
    choices = _hyperparameters(columns, draws, settings.kernel)
    walks: dict[tuple[Choice, tuple[str, ...]], list[int]] = {}
    for number, (question, choice) in enumerate(zip(questions, choices, strict=True)):
        walks.setdefault((choice, tuple(question.candidates)), []).append(number)
    paths: dict[int, Path] = {}
    for done, ((choice, _), numbers) in enumerate(walks.items()):

        def inner(share: float, done: int = done) -> None:
            tick((done + share) / len(walks))

        known = fits("-".join(map(str, numbers)))
        walked = _walk(columns, questions[numbers[0]], draws.of(numbers), choice, settings.kernel, known, inner)
        paths |= dict(zip(numbers, walked, strict=True))
    notes = [_raised(q.target, paths[n], choices[n].nugget) for n, q in enumerate(questions)]
    return [paths[number] for number in range(len(questions))], [note for note in notes if note]


def _walk(
    columns: Sequence[Column],
    question: Question,
    draws: Draws,
    choice: Choice,
    kernel: KernelSettings,
    fits: Fits,
    tick: Callable[[float], None],
) -> list[Path]:
    """Paths of outputs that share a kernel and the names of what can be removed."""
    inputs = choice.lengthscale if kernel.lengthscale is None else kernel.lengthscale
    lengthscales = Lengthscales(inputs, choice.latent_lengthscale)
    points = embed(columns, draws.rows, draws.z, lengthscales)
    place = {name: number for number, name in enumerate(question.inputs)}
    candidates = {
        candidate: tuple(place[name] for name in members) for candidate, members in question.candidates.items()
    }
    y = standard(draws.y)
    return prune(
        points,
        y,
        candidates,
        choice.nugget,
        drop=kernel.drop,
        scores=kernel.scores,
        lengthscales=lengthscales,
        profile=kernel.profile,
        pool=POOL,
        fits=fits,
        tick=tick,
    )


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


def _hyperparameters(columns: Sequence[Column], draws: Draws, kernel: KernelSettings) -> list[Choice]:
    """For each output: what the settings fix, and the best grid point for the rest."""
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
        return [Choice(*(float(values[0]) for values in grid.values()))] * draws.y.shape[1]
    few = slice(0, draws.rivals.shape[1])
    return choose(
        lambda lengthscale: embed_inputs(columns, draws.rows[few], lengthscale if given is None else given),
        lambda lengthscale: embed_latents(draws.z[few], lengthscale),
        np.stack([standard(y) for y in draws.rivals]),
        profile=kernel.profile,
        **grid,
    )
