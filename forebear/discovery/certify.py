"""Certified selection: the smallest set of units whose latents know nothing of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import jax
import numpy as np

from forebear.data.question import Question
from forebear.data.scaling import Encoder
from forebear.data.table import Table
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import Verdict, features
from forebear.discovery.dependence_device import Stock
from forebear.discovery.examiner import CertificateSettings, Examiner
from forebear.discovery.search import Evidence, drop, search
from forebear.flow.settings import FlowSettings
from forebear.flow.subset import fit_subset_flow

Tick = Callable[[float], None]
"""share that is done"""

# Rows in a step of training: masks make the loss noisier than that of a flow with one set of inputs, and half as many
# rows in 1.4 times as many steps serve a little worse.
_BATCH = 512
# Targets times units from which a GPU tests faster than the host, what it has to compile included.
_WORTH_COMPILING = 100
# Rows, in multiples of those that are tested, from which one flow will do.
_PLENTY = 4


@dataclass(frozen=True, eq=False)
class Panel:
    """What the examiners of several targets share: the data, and the flows that are trained on it."""

    table: Table
    questions: Sequence[Question]
    y: Sequence[np.ndarray]
    """the continuous version (rows,) of each target"""
    fold: np.ndarray
    settings: CertificateSettings
    rng: np.random.Generator
    encoder: Encoder = field(init=False)
    places: dict[str, int] = field(init=False)
    """unit -> its number in the masks"""
    owners: list[int] = field(init=False)
    """the unit of each feature"""
    seed: int = field(init=False)
    order: np.ndarray = field(init=False)
    """rows at random: the first are tested, those after them are for a second look"""
    held_out: np.ndarray = field(init=False)
    """which flow has not seen a row; -1: all have"""

    def __post_init__(self) -> None:
        names = [name for name in self.table.columns if any(name in question.inputs for question in self.questions)]
        encoder = Encoder.of(self.table, names)
        # A kept column is a unit of its own that is never masked; groups are the same for every target.
        unit_of = {name: name for name in names}
        for question in self.questions:
            unit_of.update({name: unit for unit, columns in question.units.items() for name in columns})
        places = {unit: place for place, unit in enumerate(dict.fromkeys(unit_of[name] for name in names))}
        owners = [places[unit_of[code.name]] for code in encoder.codes for _ in range(code.width)]
        seed, order = int(self.rng.integers(2**31)), self.rng.permutation(self.table.rows)
        # Where there are plenty of rows, those that are tested are kept from one flow; otherwise each of several is
        # asked about the rows that it has not seen.
        tested = self.settings.tested
        held_out = self.fold
        if self.table.rows >= _PLENTY * tested:
            held_out = np.full(self.table.rows, -1)
            held_out[order[: 2 * tested]] = 0
        made = {"encoder": encoder, "places": places, "owners": owners, "seed": seed, "order": order}
        made["held_out"] = held_out
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def examiners(self, tick: Tick = lambda share: None) -> list[Examiner]:
        """Train the flow of every subset for all targets together, and set up the test of each."""
        rows = np.sort(self.order[: self.settings.tested])
        everything = [(frozenset(question.units), frozenset[str]()) for question in self.questions]
        return self._train(range(len(self.questions)), everything, rows, self.seed, tick)

    def look_again(
        self, numbers: Sequence[int], doubtful: Sequence[frozenset[str]], sure: Sequence[frozenset[str]]
    ) -> list[Examiner]:
        """Examiners of some targets with a flow of their own: `sure` units are always seen, `doubtful` ones may be.

        A flow that serves every subset serves no one perfectly, and what it misses shows in other inputs; this one
        has few subsets to serve. It is asked about other rows than the first one was, where the table has them.
        """
        tested = self.settings.tested
        fresh = self.order[tested : 2 * tested] if self.table.rows >= 2 * tested else self.order[:tested]
        wanted = list(zip(doubtful, sure, strict=True))
        seed = int(self.rng.integers(2**31))
        count = len(numbers)
        if jax.default_backend() != "cpu":
            # A GPU trains more of them in the same time, and compiles for few numbers of targets only.
            more = (1 << (count - 1).bit_length()) - count
            numbers, wanted = [*numbers, *[numbers[-1]] * more], [*wanted, *[wanted[-1]] * more]
        return self._train(numbers, wanted, np.sort(fresh), seed, lambda share: None)[:count]

    def _train(
        self,
        numbers: Sequence[int],
        wanted: Sequence[tuple[frozenset[str], frozenset[str]]],
        rows: np.ndarray,
        seed: int,
        tick: Tick,
    ) -> list[Examiner]:
        questions = [self.questions[number] for number in numbers]
        names = [code.name for code in self.encoder.codes]
        x = self.encoder.encode(self.table.frame(names))
        scaled = np.stack([(v - v.mean()) / v.std() for v in (self.y[n] for n in numbers)])[:, :, None]
        allowed, always = np.zeros((2, len(questions), len(self.places)))
        for place, (question, (free, fixed)) in enumerate(zip(questions, wanted, strict=True)):
            allowed[place, [self.places[unit] for unit in free]] = 1
            always[place, [self.places[unit] for unit in (*question.keep, *fixed)]] = 1
        seen = np.stack([self.encoder.mask(question.inputs) for question in questions])
        flow = fit_subset_flow(
            x,
            scaled,
            self.held_out,
            self.owners,
            seen,
            allowed,
            always,
            FlowSettings(steps=self.settings.steps_for(len(self.places)), batch=_BATCH),
            seed=seed,
            tick=tick,
        )
        part = self.table.take(rows)
        columns = {name: features(part.columns[name]) for name in names}
        a_lot = len(questions) * len(self.places) >= _WORTH_COMPILING
        stock = Stock.of(columns) if a_lot and jax.default_backend() != "cpu" else None
        return [
            Examiner(
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
            )
            for place, question in enumerate(questions)
        ]


def certify(
    panel: Panel,
    tests: Sequence[Examiner],
    starts: Sequence[Sequence[Sequence[str]]],
    tick: Tick = lambda share: None,
) -> list[Certificate]:
    """For each target: search from every start, look again at what is weak, certify the smallest set found."""
    ends = []
    for number, (test, own) in enumerate(zip(tests, starts, strict=True)):
        ends.append(list(dict.fromkeys(search(test.examine, start) for start in own)))
        tick(0.6 * (number + 1) / len(tests))
    best = [_smallest(test, own) for test, own in zip(tests, ends, strict=True)]
    weak = [_weak(test, kept) for test, kept in zip(tests, best, strict=True)]
    again = [n for n, test in enumerate(tests) if weak[n] or _not_clean(test, best[n])]
    for looks_left in reversed(range(_MOST_LOOKS)):
        if not again:
            break
        closer = panel.look_again(again, [weak[n] for n in again], [best[n] - weak[n] for n in again])
        missing = []
        for number, test in zip(again, closer, strict=True):
            evidence = test.examine(best[number])
            if evidence.passes:
                best[number] = drop(test.examine, best[number], among=weak[number])
            elif looks_left:
                # A better flow sees more: what it misses is let in, and the next look says how much of it stays.
                best[number], weak[number] = best[number] | evidence.rejected, weak[number] | evidence.rejected
                missing.append(number)
            tests[number].seen.update(test.seen)
        again = missing
    tick(0.8)
    return [_certificate(test, kept, own) for test, kept, own in zip(tests, best, ends, strict=True)]


def _smallest(examiner: Examiner, ends: Sequence[frozenset[str]]) -> frozenset[str]:
    return min(ends, key=lambda kept: (len(kept), -_least_p(examiner.examine(kept))))


# Looks at most: a set that still does not pass then is reported as such.
_MOST_LOOKS = 4
# A kept unit that moves the law by less than this share of the target's deviation gets a second look.
_WEAK = 0.05


def _weak(examiner: Examiner, kept: frozenset[str]) -> frozenset[str]:
    return frozenset(unit for unit in kept if examiner.examine(kept - {unit}).verdicts[unit].shift < _WEAK)


def _not_clean(examiner: Examiner, kept: frozenset[str]) -> bool:
    """Whether something is still found in the latents, too little to matter: often a misfit of the flow."""
    evidence = examiner.examine(kept)
    joint = evidence.jointly
    return joint is not None and joint.p_value < examiner.settings.level


def _certificate(examiner: Examiner, best: frozenset[str], ends: Sequence[frozenset[str]]) -> Certificate:
    units = list(examiner.question.units)
    evidence = examiner.examine(best)
    others = [end for end in (*ends, *_swaps(examiner, best)) if end != best and len(end) <= len(best)]
    return Certificate(
        tuple(unit for unit in units if unit in best),
        evidence.passes,
        all(end >= best for end in ends),
        _verdicts(examiner, best),
        evidence.jointly,
        {tuple(u for u in units if u in other): _verdicts(examiner, other) for other in others},
        {unit: examiner.action(best, unit) for unit in units if unit in best},
        examiner.settings.level,
        tuple(unit for unit in units if unit not in best and _negligible(evidence, unit, examiner.settings)),
    )


def _verdicts(examiner: Examiner, kept: frozenset[str]) -> dict[str, Verdict]:
    """Of a removed unit: given the set; of a kept one: when it alone is taken out of it."""
    sources = {unit: kept - {unit} for unit in examiner.question.units}
    return {unit: examiner.examine(source).verdicts[unit] for unit, source in sources.items()}


def _negligible(evidence: Evidence, unit: str, settings: CertificateSettings) -> bool:
    verdict = evidence.verdicts[unit]
    return verdict.p_value * len(evidence.verdicts) < settings.level and not settings.matters(verdict)


def _least_p(evidence: Evidence) -> float:
    return min((verdict.p_value for verdict in evidence.verdicts.values()), default=1.0)


# How many stand-ins are tried for each kept unit.
_STAND_INS = 2


def _swaps(examiner: Examiner, best: frozenset[str]) -> list[frozenset[str]]:
    """Sets that pass with one kept unit replaced by one that shows when it is gone."""
    found = []
    for unit in sorted(best):
        evidence = examiner.examine(best - {unit})
        shown = sorted(evidence.rejected - {unit}, key=lambda u: -evidence.verdicts[u].statistic)
        swapped = [best - {unit} | {other} for other in shown[:_STAND_INS]]
        found += [kept for kept in swapped if examiner.examine(kept).passes]
    return found
