"""The flows behind a certificate: one per target and fold, each serving every subset of the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from forebear.data.question import Question
from forebear.data.scaling import Encoder
from forebear.data.table import Table
from forebear.discovery.dependence import features
from forebear.discovery.dependence_device import DeviceFeatures
from forebear.discovery.laws import Weights
from forebear.discovery.problem import ALONE, Context
from forebear.discovery.tester import CertificateSettings, SetTester
from forebear.flow.settings import FlowSettings
from forebear.flow.subset import make_subset_flow, prepare_subset_flow
from forebear.flow.train import Trained, Training, fit

# Rows in a step of training: masks make the loss noisier than that of a flow with one set of inputs, and half as many
# rows in 1.4 times as many steps serve a little worse.
_BATCH = 512
# Targets times candidates from which a GPU tests faster than the host, what it has to compile included.
_WORTH_COMPILING = 100
# Rows, in multiples of those that are tested, from which one flow will do.
_PLENTY = 4


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
    """rows at random: the first are tested, those after them are for a second look"""
    held_out: np.ndarray
    """which flow has not seen a row; -1: all have"""

    @classmethod
    def of(
        cls,
        table: Table,
        questions: Sequence[Question],
        y: Sequence[np.ndarray],
        fold: np.ndarray,
        settings: CertificateSettings,
        order: np.ndarray,
    ) -> SharedFlow:
        """`fold` (rows,) divides the rows for cross-fitting, `order` is a random order of them."""
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
        if table.rows >= _PLENTY * settings.tested:
            held_out = np.full(table.rows, -1)
            held_out[order[: 2 * settings.tested]] = 0
        return cls(table, questions, y, settings, encoder, places, owners, order, held_out)

    def testers(self, seed: int, context: Context = ALONE) -> list[SetTester]:
        """Train the flow of every subset for all targets together, and set up the test of each."""
        rows = np.sort(self.order[: self.settings.tested])
        everything = [(frozenset(question.candidates), frozenset[str]()) for question in self.questions]
        return self._train(range(len(self.questions)), everything, rows, seed, "subsets", context)

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
        tested = self.settings.tested
        fresh = self.order[tested : 2 * tested] if self.table.rows >= 2 * tested else self.order[:tested]
        wanted = list(zip(doubtful, sure, strict=True))
        count = len(numbers)
        if jax.default_backend() != "cpu":
            # A GPU trains more of them in the same time, and compiles for few numbers of targets only.
            more = (1 << (count - 1).bit_length()) - count
            numbers, wanted = [*numbers, *[numbers[-1]] * more], [*wanted, *[wanted[-1]] * more]
        return self._train(numbers, wanted, np.sort(fresh), seed, name, context)[:count]

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
        names = [code.name for code in self.encoder.codes]
        x = self.encoder.encode(self.table.frame(names))
        scaled = np.stack([(v - v.mean()) / v.std() for v in (self.y[n] for n in numbers)])[:, :, None]
        allowed, always = np.zeros((2, len(questions), len(self.places)))
        for place, (question, (free, fixed)) in enumerate(zip(questions, wanted, strict=True)):
            allowed[place, [self.places[candidate] for candidate in free]] = 1
            always[place, [self.places[candidate] for candidate in (*question.always, *fixed)]] = 1
        seen = np.stack([self.encoder.mask(question.inputs) for question in questions])
        settings = FlowSettings(steps=self.settings.steps_for(len(self.places)), batch=_BATCH)
        trainings = prepare_subset_flow(
            x, scaled, self.held_out, self.owners, seen, allowed, always, settings, seed=seed
        )
        trained = [_trained(one, f"{name}-{fold}", context) for fold, one in enumerate(trainings)]
        flow = make_subset_flow(trained, len(questions), settings)
        notes = tuple(note for one in trained for note in one.notes)
        part = self.table.take(rows)
        columns = {name: features(part.columns[name]) for name in names}
        a_lot = len(questions) * len(self.places) >= _WORTH_COMPILING
        stock = DeviceFeatures.of(columns) if a_lot and jax.default_backend() != "cpu" else None
        return [
            SetTester(
                question,
                place,
                flow,
                x[rows] * seen[place],
                scaled[place, rows],
                self.held_out[rows],
                self.places,
                columns,
                self.owners,
                self.settings,
                stock,
                notes,
            )
            for place, question in enumerate(questions)
        ]


def _trained(training: Training, name: str, context: Context) -> Trained:
    form = Weights(training)
    return context.kept.load(name, form) or context.kept.save(name, form, fit(training))
