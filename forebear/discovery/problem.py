"""What is to be found out, cut into batches of targets that are worked on together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from forebear.data.dequantise import find_atoms
from forebear.data.question import Question
from forebear.data.table import Table
from forebear.discovery.choose import Rule, needs_certificate
from forebear.discovery.halves import halves
from forebear.discovery.settings import SHARED, Settings
from forebear.discovery.structure import RowStructure
from forebear.flow.sampler import NetworkSampler, Sampler, Task
from forebear.storage.checkpoint import Checkpoint

# Targets whose samplers are trained side by side. Fixed, so that the result does not depend on `jobs`.
_TOGETHER = 16
# Targets that share a walk down the path at most, and what their kernels may take together. More would leave nothing
# to share out among the workers of a cluster.
_SIDE_BY_SIDE, _BYTES = 8, 2**30


@dataclass(frozen=True)
class Batch:
    """Targets whose samplers are trained together, in one run."""

    questions: tuple[Question, ...]
    joint: bool
    run: int
    rows: int | None
    """how many rows, drawn at random, the run sees; None: all"""
    seed: tuple[int, ...]
    """entropy for numpy's seed sequence; what a batch draws depends on nothing else"""
    pair: tuple[int, ...] | None = None
    """entropy of the halves that this run and its partner see; None: rows are drawn for this run alone"""

    @property
    def label(self) -> str:
        """A name that is unique within a discovery."""
        return f"run {self.run + 1}: {self.names}"

    @property
    def names(self) -> str:
        """Its targets."""
        return ", ".join(question.target for question in self.questions)

    @property
    def tasks(self) -> list[Task]:
        """The laws to be learned: one per target, or one of all together."""
        if self.joint:
            return [Task(self.questions[0].inputs, tuple(question.target for question in self.questions))]
        return [Task(question.inputs, (question.target,)) for question in self.questions]


SetAside = Mapping[str, tuple[str, ...]]
"""candidates that a quick look set aside -> their columns"""


class Aside(NamedTuple):
    """What a quick look at very many candidates has set aside."""

    table: Table
    """the targets, and the columns that were set aside"""
    candidates: Mapping[str, SetAside]
    """of each target that has any"""


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that the stages read; sent to each worker once."""

    table: Table
    batches: tuple[Batch, ...]
    sampler: Sampler | NetworkSampler
    rule: Rule
    settings: Settings
    structure: RowStructure = RowStructure()
    """how the rows of the table hang together"""
    aside: Aside | None = None
    """None: every candidate is searched"""

    @property
    def certified(self) -> bool:
        """Whether the rule reads certificates."""
        return needs_certificate(self.rule)

    @property
    def shares_flows(self) -> bool:
        """Whether paths are traced from draws of the flows behind the certificates."""
        return self.settings.path == SHARED

    @property
    def targets(self) -> int:
        """How many targets there are."""
        return len({question.target for batch in self.batches for question in batch.questions})

    def path_batches(self, number: int) -> list[tuple[int, ...]]:
        """Numbers of the questions of a batch whose paths are traced together."""
        return path_batches(self.batches[number].questions, self.settings.kernel.distilled)


def make_batches(
    questions: Sequence[Question],
    joint: bool,
    runs: int,
    seed: int,
    rows: int | None,
    table: Table | None = None,
    paired: bool = False,
) -> tuple[Batch, ...]:
    """All batches of all runs; each sees `rows` of the table, or all of them; if paired, two runs share no row.

    Targets of one batch have their gaps in the same rows of the table: what is missing of one costs no other a row.
    """
    together = len(questions) if joint else _TOGETHER
    alike: dict[bytes, list[Question]] = {}
    for question in questions:
        gaps = b"" if table is None or joint else table.columns[question.target].gaps.tobytes()
        alike.setdefault(gaps, []).append(question)
    place = {question.target: number for number, question in enumerate(questions)}

    def batch(run: int, some: list[Question]) -> Batch:
        first = place[some[0].target]
        # One number more than a batch's own: no draw is made twice.
        pair = (seed, run // 2, first, 1) if paired else None
        return Batch(tuple(some), joint, run, rows, (seed, run, first), pair)

    return tuple(
        batch(run, some[start : start + together])
        for run in range(runs)
        for some in alike.values()
        for start in range(0, len(some), together)
    )


def path_batches(questions: Sequence[Question], distilled: int) -> list[tuple[int, ...]]:
    """Numbers of questions whose paths are traced together: they have the same inputs, and there are not too many."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, question in enumerate(questions):
        alike.setdefault(question.inputs, []).append(number)
    most = side_by_side(distilled)
    return [tuple(some[first : first + most]) for some in alike.values() for first in range(0, len(some), most)]


def side_by_side(distilled: int) -> int:
    """Targets whose kernels are held at the same time.

    >>> side_by_side(2_000), side_by_side(5_000), side_by_side(50_000)
    (8, 5, 1)
    """
    return max(1, min(_SIDE_BY_SIDE, _BYTES // (8 * distilled**2)))


class Rows(NamedTuple):
    """The rows that a batch sees, as every stage begins with them."""

    table: Table
    fold: np.ndarray
    """(rows,) the part of the rows that a row belongs to: samplers are cross-fitted over these"""
    y: Mapping[str, np.ndarray]
    """the continuous version (rows,) of each target"""
    rng: np.random.Generator
    """stands where the training of samplers needs it"""
    structure: RowStructure = RowStructure()
    """how these rows hang together"""


def read(problem: Problem, number: int) -> Rows:
    """The rows of a batch: drawn, divided into folds, lattices and atoms of the targets spread out."""
    table, structure, rng = rows_of(problem, number)
    fold = structure.folds(table.rows, problem.settings.folds, rng)
    targets = [question.target for question in problem.batches[number].questions]
    # A lattice or atoms would be fitted as spikes; a category's codes are a lattice.
    columns = {t: table.columns[t] for t in targets}
    treats = {t: "lattice" if column.levels else "auto" for t, column in columns.items()}
    y = {t: find_atoms(c.values, treats[t]).spread(c.values, rng) for t, c in columns.items()}
    return Rows(table, fold, y, rng, structure)


def rows_of(problem: Problem, number: int) -> tuple[Table, RowStructure, np.random.Generator]:
    """The table of the rows that a batch sees, their structure, and the generator that drew them."""
    batch, table, structure = problem.batches[number], problem.table, problem.structure
    rng = np.random.default_rng(np.random.SeedSequence(batch.seed))
    gaps = np.any([table.columns[question.target].gaps for question in batch.questions], axis=0)
    share = 1.0 if batch.rows is None else batch.rows / table.rows
    if gaps.any():
        known = np.flatnonzero(~gaps)
        table, structure = table.take(known), structure.take(known)
    if batch.pair is not None:
        of_pair = np.random.default_rng(np.random.SeedSequence(batch.pair))
        drawn = halves(table.rows, of_pair, structure)[batch.run % 2]
        table, structure = table.take(drawn), structure.take(drawn)
    elif batch.rows is not None:
        # In table order: the certificate looks at neighbouring rows.
        drawn = np.sort(structure.order(table.rows, rng)[: max(1, round(share * table.rows))])
        table, structure = table.take(drawn), structure.take(drawn)
    return table, structure, rng


def aside_of(problem: Problem, number: int) -> Aside | None:
    """What was set aside, in the rows that a batch sees."""
    if problem.aside is None:
        return None
    # The targets are in this table too, so the same rows are drawn.
    return problem.aside._replace(table=rows_of(replace(problem, table=problem.aside.table), number)[0])


def _silent(stage: str, share: float) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class Context:
    """What a stage may use beside its arguments: what an earlier process has kept, and who wants to know how far it
    is. The result does not depend on it."""

    kept: Checkpoint = field(default_factory=Checkpoint)
    tick: Callable[[str, float], None] = _silent
    """takes the name of a stage, and the share of it that is done"""

    def quietly(self) -> Context:
        """The same, for work beside the stage that is told of."""
        return replace(self, tick=_silent)


ALONE = Context()
"""nothing is kept, and nobody listens"""
