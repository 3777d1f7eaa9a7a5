"""What pruning costs is measured, and where it surely costs something, the inputs that win it back are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from jaxtyping import Float

from forebear.data.weights import mean_of, scaled
from forebear.discovery.cost import Cost, CurvePoint, Difference, losses, paired, score_curve
from forebear.discovery.search import SetEvidence
from forebear.discovery.structure import RowStructure
from forebear.discovery.subsets import SharedFlow
from forebear.discovery.tester import CertificateSettings, SetTests

BETTER = 2.0
"""standard errors of the difference of held-out scores from which one of two laws is the better one"""


class Searched(Protocol):
    """What was searched: the tests of every target, the flow they share, and a way to train flows for some sets."""

    tests: list[SetTests]
    flow: SharedFlow

    def look_again(
        self, numbers: Sequence[int], doubtful: Sequence[frozenset[str]], sure: Sequence[frozenset[str]]
    ) -> list[SetTests]:
        """Tests of some targets with flows of their own."""
        ...


def win_back(searched: Searched, best: list[frozenset[str]], costs: list[Cost]) -> None:
    """Where pruning seems to cost something, ask laws trained for the two sets alone, and keep what wins it back.

    A flow that serves every subset serves large ones better than small ones, so its word alone does not count; nor
    does it for the inputs that come back. Changes `best` and `costs`.
    """
    doubtful = [number for number, cost in enumerate(costs) if cost.seems]
    if not doubtful:
        return
    for number, cost in zip(doubtful, _dedicated(searched, doubtful, [best[n] for n in doubtful]), strict=True):
        costs[number] = cost._replace(curve=costs[number].curve)
    larger = list(best)
    for number in doubtful:
        if costs[number].sure:
            larger[number] = _won_back(searched.tests[number], best[number], searched.flow)
    changed = [number for number in doubtful if larger[number] != best[number]]
    for number, cost in zip(changed, _dedicated(searched, changed, [larger[n] for n in changed]), strict=True):
        if not cost.sure or cost.log_loss.difference < costs[number].log_loss.low:
            _settle(searched, number, larger[number], cost, best, costs)
    for number in doubtful:
        if _too_much(costs[number], searched.tests[number]):
            _add_the_suspected(searched, number, best, costs)


def _settle(
    searched: Searched, number: int, kept: frozenset[str], cost: Cost, best: list[frozenset[str]], costs: list[Cost]
) -> None:
    """This set is the answer for a target."""
    best[number], costs[number] = kept, cost._replace(curve=_curve(searched.tests[number], kept))


# Removed candidates at most that are let in by their p-values.
_MOST_SUSPECTED = 6


def _add_the_suspected(searched: Searched, number: int, best: list[frozenset[str]], costs: list[Cost]) -> None:
    """Let in removed candidates, those with the smallest p-values first, until pruning no longer seems to cost more
    than the margin allows; none if that takes too many. What is surely there and too weak to matter, as the settings
    have it, stays out. Changes `best` and `costs`."""
    tests, kept = searched.tests[number], best[number]
    evidence, tester = tests.examine(kept), tests.tester
    removed = [
        name
        for name in sorted(evidence.tests, key=lambda name: evidence.tests[name].p_value)
        if not negligible(evidence, name, tester.settings, tester.level)
    ][:_MOST_SUSPECTED]
    sets = [kept.union(removed[: count + 1]) for count in range(len(removed))]
    for own, cost in zip(sets, _dedicated(searched, [number] * len(sets), sets), strict=True):
        if not cost.matters(tester.settings.margin):
            return _settle(searched, number, own, cost, best, costs)


def _too_much(cost: Cost, tests: SetTests) -> bool:
    """Whether a cost that no score is sure of is one to win back. In a record of rows that hang together it is not:
    there, any slow column makes the past easier to predict."""
    return tests.tester.dependence is None and cost.matters(tests.tester.settings.margin)


# Trainings of a law, and rows from which fewer will do. Two laws on the same inputs that differ only in where their
# training began can differ by more than the rows let on.
_TRAININGS, _FEWER, _ROWS_FOR_FEWER = 3, 2, 5_000


def _dedicated(searched: Searched, numbers: Sequence[int], sets: Sequence[frozenset[str]]) -> list[Cost]:
    """What laws trained for sets, each of a target, lose against laws trained for all candidates of that target."""
    if not numbers:
        return []
    times = _FEWER if searched.flow.table.rows >= _ROWS_FOR_FEWER else _TRAININGS
    everything = [frozenset(searched.tests[number].tester.question.candidates) for number in numbers]
    wanted = [*sets, *everything] * times
    laws = searched.look_again([*numbers, *numbers] * times, [frozenset[str]()] * len(wanted), wanted)
    count = len(numbers)
    return [
        _paired_cost(
            # A law on all candidates is not worse than itself: two trainings of it would differ by chance.
            laws[(place if own != whole else count + place) :: 2 * count],
            laws[count + place :: 2 * count],
            own,
            scored_structure(searched.tests[number], searched.flow),
        )
        for place, (number, own, whole) in enumerate(zip(numbers, sets, everything, strict=True))
    ]


# A removed candidate is near the set if its own p-value is below this.
_NEAR = 0.05
# Rows of a record from which a score can speak for an input that no test speaks for: in a shorter one, any slow
# column tells the time, and with it whatever drifts.
_LONG = 5_000


def _won_back(tests: SetTests, kept: frozenset[str], flow: SharedFlow) -> frozenset[str]:
    """The set with what wins back the held-out score: of the candidates outside it, those that cannot go without
    loss. They go in one pass, the least missed first."""
    evidence, tester = tests.examine(kept), tests.tester
    by_score = tester.dependence is None or len(tester.x) >= _LONG
    structure = scored_structure(tests, flow)

    def lost(without: frozenset[str]) -> Difference:
        return paired(losses(tests.log_scores(without)), whole, structure)

    # What surely is there and was called negligible has been decided on.
    near = [
        name
        for name, result in evidence.tests.items()
        if (by_score or result.p_value < _NEAR) and not negligible(evidence, name, tester.settings, tester.level)
    ]
    found = kept.union(near)
    whole = losses(tests.log_scores(found))
    alone = {name: lost(found - {name}).difference for name in near}
    for name in sorted(near, key=lambda name: alone[name]):
        if not lost(found - {name}).costs(BETTER):
            found = found - {name}
    return found


def negligible(evidence: SetEvidence, candidate: str, settings: CertificateSettings, level: float) -> bool:
    """Whether a candidate is surely there, and too weak to matter."""
    result = evidence.tests[candidate]
    return result.p_value * len(evidence.tests) < level and not settings.matters(result)


def scored_structure(tests: SetTests, flow: SharedFlow) -> RowStructure:
    """Of the rows that laws are scored on."""
    dependence = tests.tester.dependence
    groups = None if dependence is None or dependence.groups is None else dependence.groups[tests.tester.scored]
    weights = None if tests.tester.weights is None else scaled(tests.tester.weights[tests.tester.scored])
    return replace(flow.structure, groups=groups, weights=weights)


def cost_of_pruning(tests: SetTests, best: frozenset[str], structure: RowStructure) -> Cost:
    """What the law on the set loses against the law on all candidates, by one flow that serves both."""
    return _paired_cost([tests], [tests], best, structure)._replace(curve=_curve(tests, best))


# Rows whose scores the curve of smaller and smaller sets is an average over, about: it has many sets.
_ON_THE_CURVE = 1_000


def _curve(tests: SetTests, best: frozenset[str]) -> tuple[CurvePoint, ...]:
    tester, every = tests.tester, -(-len(tests.tester.scored) // _ON_THE_CURVE)
    kept = [candidate for candidate in tester.question.candidates if candidate in best]
    known = ~np.isnan(losses(tester.log_scores(best, every)))
    if not known.any():
        return ()
    counts = 1.0 if tester.weights is None else scaled(tester.weights[tester.scored[::every]][known])
    return score_curve(kept, lambda some: losses(tester.log_scores(some, every))[known] * counts)


def _paired_cost(
    pruned: Sequence[SetTests], full: Sequence[SetTests], best: frozenset[str], structure: RowStructure
) -> Cost:
    """The same of laws that may be of several trainings, on rows that none has seen."""
    everything, tester = frozenset(full[0].tester.question.candidates), pruned[0].tester
    own, whole = (
        _each(pruned, lambda t: losses(t.log_scores(best))),
        _each(full, lambda t: losses(t.log_scores(everything))),
    )
    own_crps, whole_crps = (
        _each(pruned, lambda t: t.tester.crps(best)),
        _each(full, lambda t: t.tester.crps(everything)),
    )
    some = structure.take(np.searchsorted(tester.scored, tester.ranked))
    freedom = 2.0 * (len(pruned) - 1)
    return Cost(
        paired(own.mean(axis=0), whole.mean(axis=0), structure).widened(_training_error(own, whole), freedom),
        paired(own_crps.mean(axis=0), whole_crps.mean(axis=0), some).widened(
            _training_error(own_crps, whole_crps), freedom
        ),
        (_mean(own, own, structure), _mean(own_crps, own_crps, some)),
        (_mean(whole, own, structure), _mean(whole_crps, own_crps, some)),
        (),
    )


def _each(laws: Sequence[SetTests], score: Callable[[SetTests], np.ndarray]) -> Float[np.ndarray, "trainings rows"]:
    return np.stack([score(law) for law in laws])


def _training_error(own: Float[np.ndarray, "trainings rows"], whole: Float[np.ndarray, "trainings rows"]) -> float:
    """Standard error of a difference of mean scores that is due to where trainings began; 0 of a single one."""
    if len(own) < 2:
        return 0.0
    known = ~np.isnan(own).any(axis=0)
    spread = [scores[:, known].mean(axis=1).var(ddof=1) for scores in (own, whole) if known.any()]
    return float(np.sqrt(sum(spread) / len(own)))


def _mean(
    scores: Float[np.ndarray, "trainings rows"], pruned: Float[np.ndarray, "trainings rows"], rows: RowStructure
) -> float:
    """Over the rows on which the pruned law has all its inputs."""
    known = ~np.isnan(pruned).any(axis=0)
    return mean_of(scores[:, known].mean(axis=0), rows.take(np.flatnonzero(known)).weights) if known.any() else 0.0
