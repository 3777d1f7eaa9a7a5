"""The flows behind a certificate: one per target and fold, each serving every subset of the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import numpy as np

from forebear.data.question import Question
from forebear.data.scaling import Encoder
from forebear.data.table import Table
from forebear.discovery.atoms import atoms_of
from forebear.discovery.dependence import Features, all_latent_features
from forebear.discovery.dependence_device import DeviceFeatures
from forebear.discovery.effective import RowDependence, memory_beyond_inputs, memory_of_column
from forebear.discovery.laws import train_folds
from forebear.discovery.problem import ALONE, Context
from forebear.discovery.residuals import features
from forebear.discovery.structure import INDEPENDENT, ORDERED, RowStructure
from forebear.discovery.tester import CertificateSettings, SetTester
from forebear.flow.settings import FlowSettings
from forebear.flow.subset import SubsetFlow, make_subset_flow, prepare_subset_flow

# Rows in a step of training: masks make the loss noisier than that of a flow with one set of inputs, and half as many
# rows in 1.4 times as many steps serve a little worse.
_BATCH = 512
# Targets times candidates from which a GPU tests faster than the host, what it has to compile included.
_WORTH_COMPILING = 100

# Folds of small tables, and from how many rows on two will do. Of 300 rows, a flow that has seen four fifths, slowly
# and not for long, has latents whose correlation with the true noise is 0.94 to 0.98 on four laws; half of the rows
# at the rate and for the time that many rows ask for gave 0.83 to 0.94. From 3,000 rows on there is no difference.
_FOLDS, _TWO_WILL_DO = 5, 1_500
_RATE, _FULL_RATE = 2e-2, 4_000


def folds_for(rows: int, least: int = 2) -> int:
    """Parts of the rows for cross-fitting.

    >>> folds_for(300), folds_for(5_000)
    (5, 2)
    """
    return max(least, _FOLDS if rows < _TWO_WILL_DO else 2)


def _rate(rows: int) -> float:
    """The peak rate of training."""
    return _RATE * min(1.0, max(0.25, rows / _FULL_RATE))


INDEPENDENT_ROWS = RowStructure()


@dataclass(frozen=True, eq=False)
class SharedFlow:
    """What the testers of several targets share: the data, and how flows are trained on it."""

    table: Table
    questions: Sequence[Question]
    y: Sequence[np.ndarray]
    """the continuous version (rows,) of each target"""
    settings: CertificateSettings
    encoder: Encoder
    places: Mapping[str, int]
    """candidate -> its number in the masks"""
    owners: Sequence[int]
    """the candidate of each feature"""
    order: np.ndarray
    """rows in an order of which any first part is a fair sample: the search reads the first, its answer is tested on
    those after them"""
    held_out: np.ndarray
    """which flow has not seen a row; -1: all have"""
    structure: RowStructure
    """of the rows"""
    level: float
    """for each target"""

    @classmethod
    def of(
        cls,
        table: Table,
        questions: Sequence[Question],
        y: Sequence[np.ndarray],
        fold: np.ndarray,
        settings: CertificateSettings,
        order: np.ndarray,
        structure: RowStructure = INDEPENDENT_ROWS,
        targets: int = 1,
    ) -> SharedFlow:
        """`fold` (rows,) divides the rows for cross-fitting, `order` is an order of which any first part is a fair
        sample; `targets` are those that the level may have to be shared among."""
        names = [name for name in table.columns if any(name in question.inputs for question in questions)]
        encoder = Encoder.of(table, names)
        # A kept column is a candidate of its own that is never masked; groups are the same for every target.
        candidate_of = {name: name for name in names}
        for question in questions:
            candidate_of.update(
                {name: candidate for candidate, columns in question.candidates.items() for name in columns}
            )
        places = {
            candidate: place for place, candidate in enumerate(dict.fromkeys(candidate_of[name] for name in names))
        }
        owners = [places[candidate_of[code.name]] for code in encoder.codes for _ in range(code.width)]
        # Where there are plenty of rows, those that are tested are kept from one flow; otherwise each of several is
        # asked about the rows that it has not seen.
        held_out = fold
        if settings.withholds(table.rows):
            held_out = np.full(table.rows, -1)
            held_out[order[: settings.tested + settings.rows_of_answer(table.rows)]] = 0
        level = settings.level / (targets if settings.family == "all" else 1)
        return cls(table, questions, y, settings, encoder, places, owners, order, held_out, structure, level)

    @property
    def fresh(self) -> bool:
        """Whether there are rows enough to test an answer on others than those that the search read."""
        return self.table.rows >= 2 * self.settings.tested

    @property
    def tested_rows(self) -> np.ndarray:
        """Rows that the certificate of an answer is from, in the order of the table."""
        return self._confirmed_rows()

    @property
    def searched_rows(self) -> np.ndarray:
        """Rows that the search reads, in the order of the table."""
        return np.sort(self.order[: self.settings.tested])

    def _confirmed_rows(self) -> np.ndarray:
        """Rows that the search has not read; all rows where there are too few for that."""
        if not self.fresh:
            return np.arange(self.table.rows)
        first = self.settings.tested
        return np.sort(self.order[first : first + self.settings.rows_of_answer(self.table.rows)])

    def testers(self, seed: int, context: Context = ALONE) -> list[SetTester]:
        """Train the flow of every subset for all targets together, and set up the test of each."""
        everything = [(frozenset(question.candidates), frozenset[str]()) for question in self.questions]
        return self._train(range(len(self.questions)), everything, self.searched_rows, seed, "subsets", context)

    def confirming(self, testers: Sequence[SetTester]) -> list[SetTester]:
        """The same flows, asked about other rows than the search read, where there are enough, or about all rows."""
        if self.table.rows <= self.settings.tested:
            return list(testers)
        numbers, rows = range(len(self.questions)), self._confirmed_rows()
        wanted = [(frozenset(question.candidates), frozenset[str]()) for question in self.questions]
        return self._testers(numbers, wanted, rows, testers[0].flow, testers[0].notes)

    def closer_testers(
        self,
        numbers: Sequence[int],
        doubtful: Sequence[frozenset[str]],
        sure: Sequence[frozenset[str]],
        seed: int,
        name: str,
        context: Context = ALONE,
    ) -> list[SetTester]:
        """Testers of some targets with a flow of their own, which always sees `sure` candidates and may see others.

        `doubtful` are those that it may see.

        A flow that serves every subset serves no one perfectly, and what it misses shows in other inputs; this one
        has few subsets to serve. It is asked about other rows than the first one was, where the table has them.
        """
        wanted = list(zip(doubtful, sure, strict=True))
        count = len(numbers)
        if jax.default_backend() != "cpu":
            # A GPU trains more of them in the same time, and compiles for few numbers of targets only.
            more = (1 << (count - 1).bit_length()) - count
            numbers, wanted = [*numbers, *[numbers[-1]] * more], [*wanted, *[wanted[-1]] * more]
        return self._train(numbers, wanted, self._confirmed_rows(), seed, name, context.quietly())[:count]

    def _train(
        self,
        numbers: Sequence[int],
        wanted: Sequence[tuple[frozenset[str], frozenset[str]]],
        rows: np.ndarray,
        seed: int,
        name: str,
        context: Context,
    ) -> list[SetTester]:
        """`wanted`: for each target the candidates that its flow may see, and those that it always sees."""
        questions = [self.questions[number] for number in numbers]
        allowed, always = np.zeros((2, len(questions), len(self.places)))
        for place, (question, (free, fixed)) in enumerate(zip(questions, wanted, strict=True)):
            allowed[place, [self.places[candidate] for candidate in free]] = 1
            always[place, [self.places[candidate] for candidate in (*question.always, *fixed)]] = 1
        seen = np.stack([self.encoder.mask(question.inputs) for question in questions])
        settings = FlowSettings(
            steps=self.settings.steps_for(len(self.places), self.table.rows),
            batch=_BATCH,
            rate=_rate(self.table.rows),
        )
        trainings = prepare_subset_flow(
            self._inputs,
            self._scaled(numbers),
            self.held_out,
            self.owners,
            seen,
            allowed,
            always,
            settings,
            seed=seed,
            observed=self._observed,
            weights=self.structure.weights,
        )
        trained = train_folds(trainings, name, context)
        flow = make_subset_flow(trained, len(questions), settings)
        notes = tuple(note for one in trained for note in one.notes)
        return self._testers(numbers, wanted, rows, flow, notes)

    @cached_property
    def _inputs(self) -> np.ndarray:
        """Features (rows, features) of all inputs, as networks see them."""
        return self.encoder.of_table(self.table)

    @cached_property
    def _observed(self) -> np.ndarray | None:
        """(rows, candidates) 1 where all cells of a candidate are there; None where no cell is missing."""
        gaps = {code.name: self.table.columns[code.name].gaps for code in self.encoder.codes}
        if not any(own.any() for own in gaps.values()):
            return None
        whole = np.ones((self.table.rows, len(self.places)))
        feature = 0
        for code in self.encoder.codes:
            whole[gaps[code.name], self.owners[feature]] = 0.0
            feature += code.width
        return whole

    @cached_property
    def _atoms(self) -> list[np.ndarray | None]:
        """Where the atoms of each target lie on its standardised scale."""
        columns = [self.table.columns[question.target] for question in self.questions]
        return [atoms_of(column, y) for column, y in zip(columns, self.y, strict=True)]

    def _scaled(self, numbers: Sequence[int]) -> np.ndarray:
        """Standardised targets (targets, rows, 1)."""
        return np.stack([(v - v.mean()) / v.std() for v in (self.y[n] for n in numbers)])[:, :, None]

    def _testers(
        self,
        numbers: Sequence[int],
        wanted: Sequence[tuple[frozenset[str], frozenset[str]]],
        rows: np.ndarray,
        flow: SubsetFlow,
        notes: tuple[str, ...],
    ) -> list[SetTester]:
        """Tests of some targets on some rows, by a flow that has not seen them."""
        questions = [self.questions[number] for number in numbers]
        part, structure = self.table.take(rows), self.structure.take(rows)
        x, y = self._inputs[rows], self._scaled(numbers)[:, rows]
        slow = structure.kind == ORDERED
        columns = {}
        for name in (code.name for code in self.encoder.codes):
            values = features(part.columns[name])
            columns[name] = Features(values, *memory_of_column(values)) if slow else Features(values)
        a_lot = len(questions) * len(self.places) >= _WORTH_COMPILING
        on_device = a_lot and jax.default_backend() != "cpu" and structure.kind == INDEPENDENT
        stock = DeviceFeatures.of({name: own.values for name, own in columns.items()}) if on_device else None
        testers = [
            SetTester(
                question,
                place,
                flow,
                x * self.encoder.mask(question.inputs),
                y[place],
                self.held_out[rows],
                self.places,
                columns,
                self.owners,
                self.settings,
                structure.folds(len(rows), 2, np.random.default_rng(len(rows))),
                self.level,
                stock=stock,
                notes=notes,
                observed=None if self._observed is None else self._observed[rows],
                weights=structure.weights,
                atoms=self._atoms[number],
            )
            for place, (number, question) in enumerate(zip(numbers, questions, strict=True))
        ]
        return [
            replace(tester, dependence=_dependence(tester, free | fixed, structure))
            for tester, (free, fixed) in zip(testers, wanted, strict=True)
        ]


def _dependence(tester: SetTester, everything: frozenset[str], structure: RowStructure) -> RowDependence | None:
    """How the rows of a target hang together beyond its inputs: read off the law that sees most of them."""
    if structure.kind == INDEPENDENT:
        return None
    rows = len(tester.x)
    if structure.groups is not None:
        return RowDependence(rows, groups=structure.groups)
    inputs = [tester.columns[name] for name in tester.question.inputs]
    memories = [own.memory for own in inputs if own.memory is not None]
    latents = all_latent_features(tester.latents(everything))
    memory = memory_beyond_inputs(latents, [own.values for own in inputs], memories)
    # A latent that is white beyond the inputs makes rows as good as independent. All features of a slow one count as
    # being as slow as the slowest: what moves its location for long moves its spread and shape now and then.
    return RowDependence(rows, latents=np.tile(memory.max(axis=0), (len(memory), 1))) if memory.any() else None
