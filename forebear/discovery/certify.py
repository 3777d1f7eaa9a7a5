"""Certified selection: the smallest set of units whose latents know nothing of the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from forebear.data.question import Question
from forebear.data.scaling import Encoder
from forebear.data.table import Table
from forebear.discovery.action import Action, action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import (
    Clearing,
    Probe,
    Verdict,
    features,
    judge,
    latent_features,
    probe_jointly,
    probe_unit,
)
from forebear.discovery.search import Evidence, search, weigh
from forebear.flow.settings import FlowSettings
from forebear.flow.subset import SubsetFlow, fit_subset_flow


@dataclass(frozen=True)
class CertificateSettings:
    """The test of independence and the flow behind it."""

    level: float = 0.01
    """chance of adding a useless unit to a set that suffices, over all its removed units"""
    least_effect: float = 1e-3
    """a dependence that explains less than this share of the variance of every feature of the latent is negligible,
    however significant"""
    least_shift: float = 0.01
    """a dependence that moves the law by less than this share of the target's standard deviation is negligible too.
    Where the inputs determine the target almost wholly (increments of a simulator), whatever moves the small rest
    would count otherwise; set it to 0 where that rest is what you are after"""
    tested: int = 10_000
    """rows whose latents are tested, at most"""
    subset_steps: int = 2_000
    """training steps of the flow that serves every subset"""

    def matters(self, verdict: Verdict) -> bool:
        """Whether an effect is large enough to count, if it is there at all."""
        return verdict.effect >= self.least_effect and verdict.shift >= self.least_shift


_MOST_PRODUCTS = 200


@dataclass(frozen=True, eq=False)
class Examiner:
    """Tests any set of units of one target on the latents of real rows."""

    question: Question
    number: int
    flow: SubsetFlow
    x: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    places: Mapping[str, int]
    """unit -> its number in the flow's masks"""
    columns: Mapping[str, np.ndarray]
    """features of every input column, for the test"""
    owners: Sequence[int]
    settings: CertificateSettings
    seen: dict[frozenset[str], Evidence] = field(default_factory=dict)

    def on(self, kept: frozenset[str]) -> np.ndarray:
        """The mask of a set, kept inputs included."""
        mask = np.zeros(len(self.places))
        mask[[self.places[unit] for unit in (*kept, *self.question.keep)]] = 1
        return mask

    def examine(self, kept: frozenset[str]) -> Evidence:
        """The evidence on a set; computed once."""
        if kept not in self.seen:
            self.seen[kept] = self._examine(kept)
        return self.seen[kept]

    def _examine(self, kept: frozenset[str]) -> Evidence:
        settings = self.settings
        removed = self.removed(kept)
        if not removed:
            return weigh({}, None, settings.level, settings.matters)
        given, clearing = self.clearing(kept)
        latents = clearing(latent_features(self.latents(kept)))
        unexplained = self._unexplained(kept, clearing)

        def verdict(probe: Probe) -> Verdict:
            found = judge(latents, probe, clearing)
            return found._replace(shift=float(np.sqrt(found.effect)) * unexplained)

        probes = {unit: probe_unit(unit, columns, given) for unit, columns in removed.items()}
        verdicts = {unit: verdict(probe) for unit, probe in probes.items()}
        jointly = verdict(probe_jointly(removed, list(probes.values())))
        return weigh(verdicts, jointly, settings.level, settings.matters)

    def action(self, kept: frozenset[str], unit: str) -> Action:
        """How a kept unit acts: what the latents of the set without it show of it."""
        without = kept - {unit}
        given, clearing = self.clearing(without)
        probe = probe_unit(unit, self.removed(without)[unit], given)
        return action(clearing(latent_features(self.latents(without))), clearing(probe.values))

    def _unexplained(self, kept: frozenset[str], clearing: Clearing) -> float:
        """What the inputs of the set leave open of the target, as a share of its standard deviation: an upper bound.

        Beside the bounded features of the clearing, the inputs themselves and their products, which those miss in the
        tails.
        """
        inside = self.x[:, self.on(kept)[list(self.owners)] > 0]
        products = [inside[:, i] * inside[:, j] for i in range(inside.shape[1]) for j in range(i + 1)]
        powers = np.column_stack([inside, *products[:_MOST_PRODUCTS]])
        left, powers = clearing(self.y), clearing(powers.astype(float))
        left = left - powers @ np.linalg.lstsq(powers, left)[0]
        return float(left.std() / self.y.std())

    def removed(self, kept: frozenset[str]) -> dict[str, list[np.ndarray]]:
        """Features of the columns of every unit outside the set."""
        return {
            unit: [self.columns[name] for name in columns]
            for unit, columns in self.question.units.items()
            if unit not in kept
        }

    def clearing(self, kept: frozenset[str]) -> tuple[list[np.ndarray], Clearing]:
        """Features of the columns inside the set, and how to clear with them."""
        outside = {n for unit, names in self.question.units.items() if unit not in kept for n in names}
        given = [self.columns[name] for name in self.question.inputs if name not in outside]
        return given, Clearing(given, len(self.x))

    def latents(self, kept: frozenset[str]) -> np.ndarray:
        """Latents (rows,) of the real rows, given the set."""
        return self.flow.latents(self.number, self.x, self.y, self.fold, self.on(kept))[:, 0]


def certify(examiner: Examiner, starts: Sequence[Sequence[str]]) -> Certificate:
    """Search from every start, and certify the smallest set found."""
    ends = list(dict.fromkeys(search(examiner.examine, start) for start in starts))
    best = min(ends, key=lambda kept: (len(kept), -_least_p(examiner.examine(kept))))
    units = list(examiner.question.units)
    evidence = examiner.examine(best)
    others = [end for end in (*ends[1:], *_swaps(examiner, best)) if end != best and len(end) <= len(best)]
    return Certificate(
        tuple(unit for unit in units if unit in best),
        evidence.passes,
        len(ends) == 1,
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


def examiners(
    table: Table,
    questions: Sequence[Question],
    y: Sequence[np.ndarray],
    fold: np.ndarray,
    settings: CertificateSettings,
    *,
    rng: np.random.Generator,
    tick: Callable[[float], None],
) -> list[Examiner]:
    """Train the flow of every subset for all questions together, and set up the test of each.

    y[i] (rows,) is the continuous version of target i.
    """
    names = [name for name in table.columns if any(name in question.inputs for question in questions)]
    encoder = Encoder.of(table, names)
    # A kept column is a unit of its own that is never masked; groups are the same for every target.
    unit_of = {name: name for name in names}
    for question in questions:
        unit_of.update({name: unit for unit, columns in question.units.items() for name in columns})
    places = {unit: place for place, unit in enumerate(dict.fromkeys(unit_of[name] for name in names))}
    owners = [places[unit_of[code.name]] for code in encoder.codes for _ in range(code.width)]
    x = encoder.encode(table.frame(names))
    scaled = np.stack([(v - v.mean()) / v.std() for v in y])[:, :, None]
    allowed, always = np.zeros((2, len(questions), len(places)))
    for number, question in enumerate(questions):
        allowed[number, [places[unit] for unit in question.units]] = 1
        always[number, [places[unit_of[name]] for name in question.keep]] = 1
    seen = np.stack([encoder.mask(question.inputs) for question in questions])
    flow = fit_subset_flow(
        x,
        scaled,
        fold,
        owners,
        seen,
        allowed,
        always,
        FlowSettings(steps=settings.subset_steps),
        seed=int(rng.integers(2**31)),
        tick=tick,
    )
    rows = np.sort(rng.permutation(table.rows)[: settings.tested])
    part = table.take(rows)
    columns = {name: features(part.columns[name]) for name in names}
    return [
        Examiner(
            question,
            number,
            flow,
            x[rows] * seen[number],
            scaled[number, rows],
            fold[rows],
            places,
            columns,
            owners,
            settings,
        )
        for number, question in enumerate(questions)
    ]
