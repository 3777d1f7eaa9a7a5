"""Search and certify: the smallest set whose latents know nothing of the other candidates, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from forebear.discovery.aside import still_shown
from forebear.discovery.certificate import Certificate
from forebear.discovery.cost import Cost, losses, paired
from forebear.discovery.coupling import couple
from forebear.discovery.cross_check import cross_check
from forebear.discovery.dependence import TestResult
from forebear.discovery.problem import ALONE, Aside, Context, Problem, aside_of, read
from forebear.discovery.search import SetEvidence, drop, replaced, search
from forebear.discovery.structure import RowStructure
from forebear.discovery.subsets import SharedFlow, folds_for
from forebear.discovery.tester import SetTests
from forebear.discovery.verdict import missed, verdict_of
from forebear.discovery.win_back import BETTER, cost_of_pruning, negligible, scored_structure, win_back
from forebear.storage.checkpoint import Entries, Journal

# The share of the work on certificates that training and the first search are, about; to tell progress.
_SEARCHED = 0.5
# Makes the random numbers of the certificate others than those of the path.
_OWN_NUMBERS = 0xCE27


class CertificateSearch:
    """A search for certified sets of several targets: the flow they share, and what was tested of each so far."""

    def __init__(
        self,
        flow: SharedFlow,
        tests: Sequence[SetTests],
        rng: np.random.Generator,
        context: Context = ALONE,
        aside: Aside | None = None,
    ):
        self.flow, self.tests, self.rng, self.context = flow, list(tests), rng, context
        self.aside = aside
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


def search_sets(
    problem: Problem, number: int, context: Context = ALONE, begun: CertificateSearch | None = None
) -> CertificateSearch:
    """Train the flow that serves every subset, unless that has begun, and search from the empty set.

    Depends on nothing that is drawn for paths, but for the rows.
    """
    searched = begin_search(problem, number, context.quietly()) if begun is None else begun
    for place, test in enumerate(searched.tests):
        context.tick("certify", _SEARCHED * place / len(searched.tests))
        search(test.examine, (), glance=test.glance)
    return searched


def begin_search(problem: Problem, number: int, context: Context = ALONE) -> CertificateSearch:
    """The flow that serves every subset, trained, and nothing tested."""
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
    return CertificateSearch(flow, tests, rng, context, aside_of(problem, number))


def certify_given(searched: CertificateSearch, sets: Sequence[frozenset[str]]) -> list[Certificate]:
    """The certificates of sets that something else has chosen, one for each target: nothing is added or dropped."""
    searched.confirm()
    again = [n for n, test in enumerate(searched.tests) if _not_clean(test, sets[n])]
    if again:
        closer = searched.look_again(again, [frozenset[str]()] * len(again), [sets[n] for n in again])
        for number, test in zip(again, closer, strict=True):
            test.examine(sets[number])
            searched.tests[number].take_over(test)
    costs = _costs(searched, sets)
    return [_certificate(searched, n, own, [own], costs[n]) for n, own in enumerate(sets)]


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
    costs = _costs(searched, best)
    win_back(searched, best, costs)
    return [_certificate(searched, number, best[number], ends[number], costs[number]) for number in range(len(best))]


def _costs(searched: CertificateSearch, sets: Sequence[frozenset[str]]) -> list[Cost]:
    """What pruning costs each target, by the flow that serves every subset."""
    return [
        cost_of_pruning(test, own, scored_structure(test, searched.flow))
        for test, own in zip(searched.tests, sets, strict=True)
    ]


def _ends(tests: SetTests, starts: Sequence[Sequence[str]]) -> list[frozenset[str]]:
    """Where the search ends from these starts, and from where one member of an end is given up for others."""
    ends: list[frozenset[str]] = []
    for start in starts:
        ends.append(search(tests.examine, start, ends, tests.glance))
    for end in list(dict.fromkeys(ends)):
        others = (replaced(tests.examine, end, member, tests.glance) for member in sorted(end))
        ends += [other for other in others if other is not None]
    return list(dict.fromkeys(ends))


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
        better = paired(losses(tests.log_scores(best)), losses(tests.log_scores(end)), scored_structure(tests, flow))
        if better.costs(BETTER if len(end) > len(best) else 0.0):
            best = end
    return best


# An end of the search is doubted if something it leaves out has a p-value below this; another is clearer if its
# smallest is larger by this factor.
_DOUBTED, _CLEARER = 0.05, 5.0


def _doubt(tests: SetTests, kept: frozenset[str]) -> float:
    """The smallest p-value of what a set leaves out."""
    return min((result.p_value for result in tests.examine(kept).tests.values()), default=1.0)


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
                best[number] = drop(test.examine, best[number], weak[number], test.glance)
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
    halves = None if flow.fresh else cross_check(tests, best, flow.structure.take(flow.tested_rows))
    others = _others(tests, best, ends, () if halves is None else halves.chosen, scored_structure(tests, flow))
    kept, rows = tuple(candidate for candidate in candidates if candidate in best), tester.rows_of(best)
    results = _results(tests, best)
    needed, classes = {candidate: results[candidate] for candidate in kept}, _classes(candidates, best, others)
    exchanged = _exchanged(candidates, best, others)
    fresh_p = {c: result.p_value for c, result in results.items()} if halves is None else halves.p_values
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
            if candidate not in best and negligible(evidence, candidate, settings, tester.level)
        ),
        missed(
            verdict_of(evidence, needed, settings.margin, tester.level, rows, flow.structure, exchanged, cost),
            _missed_by_screen(searched, number, best),
        ),
        classes,
        cost,
        rows,
        halves is None or halves.agree_on(best),
        tester.unexplained(best),
        float(flow.y[number].std()),
        settings.margin,
        () if halves is None else tuple(tuple(c for c in candidates if c in own) for own in halves.chosen),
        fresh_p,
        {c: tests.tails(best - {c}, c) for c in candidates if _has_few_labels(tests, flow, c)},
    )


def _missed_by_screen(searched: CertificateSearch, number: int, best: frozenset[str]) -> list[str]:
    """Candidates that a quick look had set aside, and that the latents of the answer know of."""
    if searched.aside is None:
        return []

    def closer() -> SetTests:
        return searched.look_again([number], [frozenset()], [best])[0]

    return still_shown(searched.tests[number], best, searched.flow, searched.aside, closer)


def _has_few_labels(tests: SetTests, flow: SharedFlow, candidate: str) -> bool:
    columns = tests.tester.question.candidates[candidate]
    return len(columns) == 1 and 1 < len(flow.table.columns[columns[0]].levels) <= _FEW_LABELS


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


# Labels of a candidate that may be regimes.
_FEW_LABELS = 12
# How many stand-ins are tried for each kept candidate.
_STAND_INS = 3
# Log densities by which a flow that serves every subset may prefer one of two copies of a column.
_FLOWS_DIFFER = 0.02


def _others(
    tests: SetTests,
    best: frozenset[str],
    ends: Sequence[frozenset[str]],
    halves: Sequence[frozenset[str]],
    structure: RowStructure,
) -> list[frozenset[str]]:
    """Sets that pass and predict as well: other ends of the search, and sets with one kept candidate replaced by one
    that shows when it is gone. A larger one must not predict worse at all; one that holds the whole set and more is
    no other choice. Where half of the rows alone finds another candidate in place of one, and all rows let that set
    pass, nobody can tell them apart, whatever a flow prefers."""
    swapped = [own for own in halves if len(own) == len(best) and len(own - best) == 1]
    tried = list(ends)
    for candidate in sorted(best):
        evidence = tests.examine(best - {candidate})
        shown = sorted(evidence.rejected - {candidate}, key=lambda u: (-evidence.tests[u].statistic, u))
        tried += [best - {candidate} | {other} for other in shown[:_STAND_INS]]
    return [
        kept
        for kept in dict.fromkeys([*tried, *swapped])
        # Scores take less time than the whole test of a set that passes, and rule most of them out.
        if not kept >= best
        and tests.glance(kept).passes
        and (kept in swapped or _predicts_as_well(tests, kept, best, structure))
        and tests.examine(kept).passes
    ]


def _predicts_as_well(tests: SetTests, kept: frozenset[str], best: frozenset[str], structure: RowStructure) -> bool:
    loss = paired(losses(tests.log_scores(kept)), losses(tests.log_scores(best)), structure)
    if len(kept) > len(best):
        return not loss.costs(0.0)
    return not (loss.costs(BETTER) and loss.difference > _FLOWS_DIFFER)


def _exchanged(
    candidates: Sequence[str], best: frozenset[str], others: Sequence[frozenset[str]]
) -> list[tuple[list[str], list[str]]]:
    """What other sets have in place of what, in the order of the table."""
    return [
        ([name for name in candidates if name in best - other], [name for name in candidates if name in other - best])
        for other in others
        if best - other and other - best
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
