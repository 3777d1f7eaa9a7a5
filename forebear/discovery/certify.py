"""Search and certify: the smallest set whose latents know nothing of the other candidates, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from forebear.discovery.certificate import Certificate
from forebear.discovery.coupling import couple
from forebear.discovery.dependence import TestResult
from forebear.discovery.problem import ALONE, Context, Problem, read
from forebear.discovery.search import SetEvidence, drop, search
from forebear.discovery.subsets import SharedFlow
from forebear.discovery.tester import CertificateSettings, SetTests
from forebear.storage.checkpoint import Entries

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

    def look_again(
        self, numbers: Sequence[int], doubtful: Sequence[frozenset[str]], sure: Sequence[frozenset[str]]
    ) -> list[SetTests]:
        """Tests of some targets with flows of their own, see `SharedFlow.closer_testers`."""
        seed, name = int(self.rng.integers(2**31)), f"closer-{self.looks}"
        self.looks += 1
        testers = self.flow.closer_testers(numbers, doubtful, sure, seed, name, self.context)
        self.notes.update(dict.fromkeys(note for tester in testers for note in tester.notes))
        return [SetTests(tester) for tester in testers]


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
    fold = rng.permutation(rows.table.rows) % max(2, problem.settings.folds)
    y = [rows.y[question.target] for question in batch.questions]
    seed, order = int(rng.integers(2**31)), rng.permutation(rows.table.rows)
    flow = SharedFlow.of(rows.table, batch.questions, y, fold, problem.settings.certificate, order)
    tests = [
        SetTests(tester, context.kept.journal(f"examined-{place}", Entries(frozenset[str], SetEvidence)))
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
    tests = searched.tests
    ends = []
    for number, (test, own) in enumerate(zip(tests, starts, strict=True)):
        ends.append(list(dict.fromkeys(search(test.examine, start) for start in own)))
        context.tick("certify", _SEARCHED + (1 - _SEARCHED) * 0.6 * (number + 1) / len(tests))
    best = [_smallest(test, own) for test, own in zip(tests, ends, strict=True)]
    _look_closer(searched, best)
    context.tick("certify", _SEARCHED + (1 - _SEARCHED) * 0.8)
    return [_certificate(test, kept, own) for test, kept, own in zip(tests, best, ends, strict=True)]


# Looks at most: a set that still does not pass then is reported as such.
_MOST_LOOKS = 4
# A kept candidate that moves the law by less than this share of the target's deviation gets a second look.
_WEAK = 0.05


def _look_closer(searched: CertificateSearch, best: list[frozenset[str]]) -> None:
    """Where a kept candidate is weak, or something still shows that does not matter, ask flows made for that set.

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


def _smallest(tests: SetTests, ends: Sequence[frozenset[str]]) -> frozenset[str]:
    return min(ends, key=lambda kept: (len(kept), -_least_p(tests.examine(kept))))


def _weak(tests: SetTests, kept: frozenset[str]) -> frozenset[str]:
    return frozenset(
        candidate for candidate in kept if tests.examine(kept - {candidate}).tests[candidate].shift < _WEAK
    )


def _not_clean(tests: SetTests, kept: frozenset[str]) -> bool:
    """Whether something is still found in the latents, too little to matter: often a misfit of the flow."""
    evidence = tests.examine(kept)
    joint = evidence.jointly
    return joint is not None and joint.p_value < tests.tester.settings.level


def _certificate(tests: SetTests, best: frozenset[str], ends: Sequence[frozenset[str]]) -> Certificate:
    candidates = list(tests.tester.question.candidates)
    evidence = tests.examine(best)
    others = [end for end in (*ends, *_swaps(tests, best)) if end != best and len(end) <= len(best)]
    return Certificate(
        tuple(candidate for candidate in candidates if candidate in best),
        evidence.passes,
        all(end >= best for end in ends),
        _results(tests, best),
        evidence.jointly,
        {tuple(u for u in candidates if u in other): _results(tests, other) for other in others},
        {candidate: tests.action(best, candidate) for candidate in candidates if candidate in best},
        tests.tester.settings.level,
        tuple(
            candidate
            for candidate in candidates
            if candidate not in best and _negligible(evidence, candidate, tests.tester.settings)
        ),
    )


def _results(tests: SetTests, kept: frozenset[str]) -> dict[str, TestResult]:
    """Of a removed candidate: given the set; of a kept one: when it alone is taken out of it."""
    sources = {candidate: kept - {candidate} for candidate in tests.tester.question.candidates}
    return {candidate: tests.examine(source).tests[candidate] for candidate, source in sources.items()}


def _negligible(evidence: SetEvidence, candidate: str, settings: CertificateSettings) -> bool:
    result = evidence.tests[candidate]
    return result.p_value * len(evidence.tests) < settings.level and not settings.matters(result)


def _least_p(evidence: SetEvidence) -> float:
    return min((result.p_value for result in evidence.tests.values()), default=1.0)


# How many stand-ins are tried for each kept candidate.
_STAND_INS = 2


def _swaps(tests: SetTests, best: frozenset[str]) -> list[frozenset[str]]:
    """Sets that pass with one kept candidate replaced by one that shows when it is gone."""
    found = []
    for candidate in sorted(best):
        evidence = tests.examine(best - {candidate})
        shown = sorted(evidence.rejected - {candidate}, key=lambda u: -evidence.tests[u].statistic)
        swapped = [best - {candidate} | {other} for other in shown[:_STAND_INS]]
        found += [kept for kept in swapped if tests.examine(kept).passes]
    return found
