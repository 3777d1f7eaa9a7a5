"""Search and certify: the smallest set whose latents know nothing of the other candidates, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from forebear.data.weights import mean_of, scaled
from forebear.discovery.certificate import Certificate
from forebear.discovery.cost import Cost, Difference, losses, paired, score_curve
from forebear.discovery.coupling import couple
from forebear.discovery.dependence import TestResult
from forebear.discovery.problem import ALONE, Context, Problem, read
from forebear.discovery.search import SetEvidence, drop, replaced, search
from forebear.discovery.structure import RowStructure
from forebear.discovery.subsets import SharedFlow, folds_for
from forebear.discovery.tester import CertificateSettings, SetTests
from forebear.discovery.verdict import verdict_of
from forebear.storage.checkpoint import Entries, Journal

# The share of the work on certificates that training and the first search are, about; to tell progress.
_SEARCHED = 0.5
# Makes the random numbers of the certificate others than those of the path.
_OWN_NUMBERS = 0xCE27


class CertificateSearch:
    """A search for certified sets of several targets: the flow they share, and what was tested of each so far."""

    def __init__(
        self, flow: SharedFlow, tests: Sequence[SetTests], rng: np.random.Generator, context: Context = ALONE
    ):
        self.flow, self.tests, self.rng, self.context = flow, list(tests), rng, context
        self.looks = 0
        self.notes = dict.fromkeys(note for test in tests for note in test.tester.notes)

    def confirm(self) -> None:
        """From now on, test on rows that the search has not read, where there are enough of them."""
        testers = self.flow.confirming([test.tester for test in self.tests])
        if testers[0] is not self.tests[0].tester:
            self.tests = [
                SetTests(tester, _journal(self.context, f"confirmed-{place}")) for place, tester in enumerate(testers)
            ]

    def look_again(
        self, numbers: Sequence[int], doubtful: Sequence[frozenset[str]], sure: Sequence[frozenset[str]]
    ) -> list[SetTests]:
        """Tests of some targets with flows of their own, see `SharedFlow.closer_testers`."""
        seed, name = int(self.rng.integers(2**31)), f"closer-{self.looks}"
        self.looks += 1
        testers = self.flow.closer_testers(numbers, doubtful, sure, seed, name, self.context)
        self.notes.update(dict.fromkeys(note for tester in testers for note in tester.notes))
        return [SetTests(tester) for tester in testers]


def _journal(context: Context, name: str) -> Journal[frozenset[str], SetEvidence]:
    return context.kept.journal(name, Entries(frozenset[str], SetEvidence))


class Certificates(NamedTuple):
    """Of the targets of a batch, in their order."""

    certificates: tuple[Certificate, ...]
    notes: tuple[str, ...]


def search_sets(problem: Problem, number: int, context: Context = ALONE) -> CertificateSearch:
    """Train the flow that serves every subset, and search from the empty set.

    Depends on nothing that is drawn for paths, but for the rows.
    """
    batch, rows = problem.batches[number], read(problem, number)
    rng = np.random.default_rng(np.random.SeedSequence((*batch.seed, _OWN_NUMBERS)))
    structure, count = rows.structure, rows.table.rows
    fold = structure.folds(count, folds_for(count, problem.settings.folds), rng)
    y = [rows.y[question.target] for question in batch.questions]
    seed, order = int(rng.integers(2**31)), structure.order(count, rng)
    settings, targets = problem.settings.certificate, problem.targets
    flow = SharedFlow.of(rows.table, batch.questions, y, fold, settings, order, structure, targets)
    tests = [
        SetTests(tester, _journal(context, f"examined-{place}"))
        for place, tester in enumerate(flow.testers(seed, context))
    ]
    for place, test in enumerate(tests):
        context.tick("certify", _SEARCHED * place / len(tests))
        search(test.examine, ())
    return CertificateSearch(flow, tests, rng, context)


def certify_sets(
    searched: CertificateSearch,
    starts: Sequence[Sequence[Sequence[str]]],
    joint: bool = False,
    context: Context = ALONE,
) -> Certificates:
    """For each target: search from the empty set and from every start, look again at what is weak, certify the
    smallest set found; for a joint law, with what shapes the dependence of its outputs."""
    found = certify_targets(searched, [[(), *own] for own in starts], context)
    if joint:
        found = couple(searched, found)
    return Certificates(tuple(found), tuple(searched.notes))


def certify_targets(
    searched: CertificateSearch, starts: Sequence[Sequence[Sequence[str]]], context: Context = ALONE
) -> list[Certificate]:
    """The certificate of each target alone, from these starts."""
    ends = []
    for number, (test, own) in enumerate(zip(searched.tests, starts, strict=True)):
        ends.append(_ends(test, own))
        context.tick("certify", _SEARCHED + (1 - _SEARCHED) * 0.6 * (number + 1) / len(searched.tests))
    best = [_best_end(test, own, searched.flow) for test, own in zip(searched.tests, ends, strict=True)]
    searched.confirm()
    _look_closer(searched, best)
    context.tick("certify", _SEARCHED + (1 - _SEARCHED) * 0.8)
    tests, flow = searched.tests, searched.flow
    costs = [_cost(test, kept, _structure(test, flow)) for test, kept in zip(tests, best, strict=True)]
    _win_back(searched, best, costs)
    return [_certificate(searched, number, best[number], ends[number], costs[number]) for number in range(len(best))]


def _ends(tests: SetTests, starts: Sequence[Sequence[str]]) -> list[frozenset[str]]:
    """Where the search ends from these starts, and from where one member of an end is given up for others."""
    ends: list[frozenset[str]] = []
    for start in starts:
        ends.append(search(tests.examine, start, ends))
    for end in list(dict.fromkeys(ends)):
        ends += [other for member in sorted(end) if (other := replaced(tests.examine, end, member)) is not None]
    return list(dict.fromkeys(ends))


# Standard errors of the difference of held-out scores from which a larger end of the search is the better one.
_BETTER_END = 2.0


def _best_end(tests: SetTests, ends: Sequence[frozenset[str]], flow: SharedFlow) -> frozenset[str]:
    """The end to go on with: a larger one only if it predicts held-out rows better; ties by column order."""
    candidates = list(tests.tester.question.candidates)
    ranked = sorted(ends, key=lambda end: (len(end), [name not in end for name in candidates]))
    best = ranked[0]
    for end in ranked[1:]:
        mine, other = _doubt(tests, best), _doubt(tests, end)
        if len(end) == len(best) and min(mine, other) < _DOUBTED and max(mine, other) > _CLEARER * min(mine, other):
            # Of a cause and its proxy, what the proxy leaves open still shows a little of the cause.
            best = end if other > mine else best
            continue
        better = paired(losses(tests.log_scores(best)), losses(tests.log_scores(end)), _structure(tests, flow))
        if better.costs(_BETTER_END if len(end) > len(best) else 0.0):
            best = end
    return best


# An end of the search is doubted if something it leaves out has a p-value below this; another is clearer if its
# smallest is larger by this factor.
_DOUBTED, _CLEARER = 0.05, 5.0


def _doubt(tests: SetTests, kept: frozenset[str]) -> float:
    """The smallest p-value of what a set leaves out."""
    return min((result.p_value for result in tests.examine(kept).tests.values()), default=1.0)


def _structure(tests: SetTests, flow: SharedFlow) -> RowStructure:
    """Of the rows that laws are scored on."""
    dependence = tests.tester.dependence
    groups = None if dependence is None or dependence.groups is None else dependence.groups[tests.tester.scored]
    weights = tests.tester.weights
    return replace(
        flow.structure, groups=groups, weights=None if weights is None else scaled(weights[tests.tester.scored])
    )


# A removed candidate may win back what pruning costs if its own p-value is below this.
_NEAR = 0.05


def _win_back(searched: CertificateSearch, best: list[frozenset[str]], costs: list[Cost]) -> None:
    """Where pruning seems to cost something, ask laws trained for the two sets alone, and keep what wins it back.

    A flow that serves every subset serves large ones better than small ones, so its word alone does not count.
    """
    doubtful = [number for number, cost in enumerate(costs) if cost.sure]
    if not doubtful:
        return
    everything = [frozenset(searched.tests[number].tester.question.candidates) for number in doubtful]
    costs_of = _dedicated_costs(searched, doubtful, [best[number] for number in doubtful], everything)
    for number, cost in zip(doubtful, costs_of, strict=True):
        costs[number] = cost._replace(curve=costs[number].curve)
        if not cost.sure:
            continue
        tests = searched.tests[number]
        evidence, settings, level = tests.examine(best[number]), tests.tester.settings, tests.tester.level
        # What surely is there and was called negligible has been decided on.
        near = [
            name
            for name, result in evidence.tests.items()
            if result.p_value < _NEAR and not _negligible(evidence, name, settings, level)
        ]
        structure = _structure(tests, searched.flow)
        if near:
            best[number] = best[number] | set(near)
            best[number] = drop(tests.examine, best[number], among=_idle(tests, best[number], near, structure))
            costs[number] = _cost(tests, best[number], structure)
        unjudged = _unjudged(tests, best[number])
        if costs[number].sure and unjudged:
            best[number] = _won_back(tests, best[number], unjudged, structure)
            costs[number] = _cost(tests, best[number], structure)


# Rows of a record from which a score can speak for an input that no test can judge: in a shorter one, any slow column
# tells the time, and with it whatever drifts.
_LONG = 5_000


def _unjudged(tests: SetTests, kept: frozenset[str]) -> list[str]:
    """Candidates outside a set of which the rows are worth too few independent ones to tell anything."""
    dependence = tests.tester.dependence
    if dependence is None or len(tests.tester.x) < _LONG:
        return []
    return [name for name, result in tests.examine(kept).tests.items() if result.rows < dependence.fewest]


def _won_back(
    tests: SetTests, kept: frozenset[str], unjudged: Sequence[str], structure: RowStructure
) -> frozenset[str]:
    """The set with what wins back the held-out score: of the candidates that no test can judge, those that cannot go
    without loss.

    The law on the set alone is so much worse that nobody would use it. Candidates go in one pass, the least missed
    first.
    """

    def lost(without: frozenset[str]) -> Difference:
        return paired(losses(tests.log_scores(without)), whole, structure)

    found = kept.union(unjudged)
    whole = losses(tests.log_scores(found))
    alone = {name: lost(found - {name}).difference for name in unjudged}
    for name in sorted(unjudged, key=lambda name: alone[name]):
        if not lost(found - {name}).costs(_BETTER_END):
            found = found - {name}
    return found


def _idle(tests: SetTests, kept: frozenset[str], near: Sequence[str], structure: RowStructure) -> frozenset[str]:
    """Of those that came back, the ones that bring nothing."""
    own = losses(tests.log_scores(kept))
    without = {name: paired(losses(tests.log_scores(kept - {name})), own, structure) for name in near}
    return frozenset(name for name, loss in without.items() if not loss.costs(_BETTER_END))


def _dedicated_costs(
    searched: CertificateSearch,
    numbers: Sequence[int],
    best: Sequence[frozenset[str]],
    everything: Sequence[frozenset[str]],
) -> list[Cost]:
    """What laws trained for these sets alone lose against laws trained for all candidates."""
    none = [frozenset[str]()] * (2 * len(numbers))
    laws = searched.look_again([*numbers, *numbers], none, [*best, *everything])
    return [
        _cost_of(pruned, full, kept, whole, _structure(pruned, searched.flow))
        for pruned, full, kept, whole in zip(
            laws[: len(numbers)], laws[len(numbers) :], best, everything, strict=True
        )
    ]


# Looks at most: a set that still does not pass then is reported as such.
_MOST_LOOKS = 4
# A kept candidate that moves the law by less than this share of the target's deviation gets a second look.
_WEAK = 0.05


def _look_closer(searched: CertificateSearch, best: list[frozenset[str]]) -> None:
    """Where a kept candidate is weak, or something still shows, ask flows made for that set.

    Changes `best` where they know better.
    """
    tests = searched.tests
    weak = [_weak(test, kept) for test, kept in zip(tests, best, strict=True)]
    again = [n for n, test in enumerate(tests) if weak[n] or _not_clean(test, best[n])]
    for looks_left in reversed(range(_MOST_LOOKS)):
        if not again:
            return
        closer = searched.look_again(again, [weak[n] for n in again], [best[n] - weak[n] for n in again])
        missing = []
        for number, test in zip(again, closer, strict=True):
            evidence = test.examine(best[number])
            if evidence.passes:
                best[number] = drop(test.examine, best[number], among=weak[number])
            elif looks_left:
                # A better flow sees more: what it misses is let in, and the next look says how much of it stays.
                best[number], weak[number] = best[number] | evidence.rejected, weak[number] | evidence.rejected
                missing.append(number)
            tests[number].take_over(test)
        again = missing


def _weak(tests: SetTests, kept: frozenset[str]) -> frozenset[str]:
    return frozenset(
        candidate for candidate in kept if tests.examine(kept - {candidate}).tests[candidate].shift < _WEAK
    )


def _not_clean(tests: SetTests, kept: frozenset[str]) -> bool:
    """Whether something is still found in the latents: often a misfit of the flow."""
    evidence = tests.examine(kept)
    joint = evidence.jointly
    return not evidence.passes or (joint is not None and joint.p_value < tests.tester.level)


def _certificate(
    searched: CertificateSearch, number: int, best: frozenset[str], ends: Sequence[frozenset[str]], cost: Cost
) -> Certificate:
    tests, flow = searched.tests[number], searched.flow
    tester, settings = tests.tester, tests.tester.settings
    candidates = list(tester.question.candidates)
    evidence = tests.examine(best)
    others = _others(tests, best, ends, _structure(tests, flow))
    kept, rows = tuple(candidate for candidate in candidates if candidate in best), tester.rows_of(best)
    results = _results(tests, best)
    needed, classes = {candidate: results[candidate] for candidate in kept}, _classes(candidates, best, others)
    exchanged = _exchanged(candidates, best, others)
    return Certificate(
        kept,
        evidence.passes,
        all(end == best for end in ends),
        results,
        evidence.jointly,
        {tuple(u for u in candidates if u in other): _results(tests, other) for other in others},
        {candidate: tests.action(best, candidate) for candidate in kept},
        settings.level,
        tuple(
            candidate
            for candidate in candidates
            if candidate not in best and _negligible(evidence, candidate, settings, tester.level)
        ),
        verdict_of(evidence, needed, settings.margin, tester.level, rows, flow.structure, exchanged, cost),
        classes,
        cost,
        rows,
        flow.fresh,
        tester.unexplained(best),
        float(flow.y[number].std()),
        settings.margin,
    )


def _cost(tests: SetTests, best: frozenset[str], structure: RowStructure) -> Cost:
    """What the law on the set loses against the law on all candidates, by one flow that serves both."""
    everything = frozenset(tests.tester.question.candidates)
    kept = [candidate for candidate in tests.tester.question.candidates if candidate in best]
    known = ~np.isnan(losses(tests.log_scores(best)))
    counts = 1.0 if structure.weights is None else scaled(structure.weights[known])
    curve = score_curve(kept, lambda some: losses(tests.log_scores(some))[known] * counts) if known.any() else ()
    return _cost_of(tests, tests, best, everything, structure)._replace(curve=curve)


def _cost_of(
    pruned: SetTests, full: SetTests, best: frozenset[str], everything: frozenset[str], structure: RowStructure
) -> Cost:
    """The same of laws that may be of different flows, on rows that neither has seen."""
    own, whole = losses(pruned.log_scores(best)), losses(full.log_scores(everything))
    own_crps, whole_crps = pruned.tester.crps(best), full.tester.crps(everything)
    some = structure.take(np.searchsorted(pruned.tester.scored, pruned.tester.ranked))
    return Cost(
        paired(own, whole, structure),
        paired(own_crps, whole_crps, some),
        (_mean(own, own, structure), _mean(own_crps, own_crps, some)),
        (_mean(whole, own, structure), _mean(whole_crps, own_crps, some)),
        (),
    )


def _mean(scores: np.ndarray, pruned: np.ndarray, rows: RowStructure) -> float:
    """Over the rows on which the pruned law has all its inputs."""
    known = ~np.isnan(pruned)
    return mean_of(scores[known], rows.take(np.flatnonzero(known)).weights) if known.any() else 0.0


def _results(tests: SetTests, kept: frozenset[str]) -> dict[str, TestResult]:
    """Of a removed candidate: given the set; of a kept one: when it alone is taken out of it."""
    results = {}
    for candidate in tests.tester.question.candidates:
        evidence = tests.examine(kept - {candidate})
        alone, jointly = evidence.tests[candidate], evidence.jointly
        # What shows only together with others speaks for each of them.
        together = jointly if jointly is not None and candidate in kept and candidate in jointly.candidates else alone
        results[candidate] = together if together.p_value < alone.p_value else alone
    return results


def _negligible(evidence: SetEvidence, candidate: str, settings: CertificateSettings, level: float) -> bool:
    result = evidence.tests[candidate]
    return result.p_value * len(evidence.tests) < level and not settings.matters(result)


# How many stand-ins are tried for each kept candidate.
_STAND_INS = 3
# Log densities by which a flow that serves every subset may prefer one of two copies of a column.
_FLOWS_DIFFER = 0.02


def _others(
    tests: SetTests, best: frozenset[str], ends: Sequence[frozenset[str]], structure: RowStructure
) -> list[frozenset[str]]:
    """Sets that pass and predict as well: other ends of the search, and sets with one kept candidate replaced by one
    that shows when it is gone. A larger one must not predict worse at all."""
    tried = list(ends)
    for candidate in sorted(best):
        evidence = tests.examine(best - {candidate})
        shown = sorted(evidence.rejected - {candidate}, key=lambda u: (-evidence.tests[u].statistic, u))
        tried += [best - {candidate} | {other} for other in shown[:_STAND_INS]]
    found = []
    for kept in dict.fromkeys(tried):
        if kept != best and tests.examine(kept).passes:
            loss = paired(losses(tests.log_scores(kept)), losses(tests.log_scores(best)), structure)
            larger = len(kept) > len(best)
            worse = loss.costs(0.0) if larger else loss.costs(_BETTER_END) and loss.difference > _FLOWS_DIFFER
            found += [] if worse else [kept]
    return found


def _exchanged(
    candidates: Sequence[str], best: frozenset[str], others: Sequence[frozenset[str]]
) -> list[tuple[list[str], list[str]]]:
    """What other sets have in place of what, in the order of the table."""
    return [
        ([name for name in candidates if name in best - other], [name for name in candidates if name in other - best])
        for other in others
        if best - other
    ]


def _classes(
    candidates: Sequence[str], best: frozenset[str], others: Sequence[frozenset[str]]
) -> tuple[tuple[str, ...], ...]:
    """A kept candidate first, then those that can stand in for it, in the order of the table."""
    stand_ins: dict[str, set[str]] = {}
    for other in others:
        gone, instead = best - other, other - best
        if len(gone) == len(instead) == 1:
            stand_ins.setdefault(next(iter(gone)), set()).update(instead)
    return tuple((name, *(u for u in candidates if u in stand_ins[name])) for name in candidates if name in stand_ins)
