"""Find the smallest set that passes: add back what is rejected, drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from forebear.discovery.certificate import holm
from forebear.discovery.dependence import TestResult


class SetEvidence(NamedTuple):
    """The test of one set: every candidate outside it, alone and jointly."""

    tests: Mapping[str, TestResult]
    jointly: TestResult | None
    rejected: frozenset[str]
    """candidates still found in the latents"""

    @property
    def passes(self) -> bool:
        """Nothing outside the set is found in the latents."""
        return not self.rejected


def weigh(
    tests: Mapping[str, TestResult], jointly: TestResult | None, level: float, matters: Callable[[TestResult], bool]
) -> SetEvidence:
    """Statistical and practical significance together: Holm over the candidates and their joint test, and an effect
    that matters. When only the joint test rejects, the candidates behind it are the rejected ones."""
    p_values = {candidate: result.p_value for candidate, result in tests.items()}
    together = {} if jointly is None or len(tests) < 2 else {"": jointly}
    significant = holm({**p_values, **{name: v.p_value for name, v in together.items()}}, level)
    rejected = {u for u in significant if u and matters(tests[u])}
    if not rejected and "" in significant and matters(together[""]):
        rejected = set(together[""].candidates)
    return SetEvidence(tests, jointly, frozenset(rejected))


def search(examine: Callable[[frozenset[str]], SetEvidence], start: Iterable[str]) -> frozenset[str]:
    """Walk from `start` to a set that passes and of which no member can be dropped.

    >>> def examine(kept):  # the law needs a and b
    ...     strength = {"a": 9.0, "b": 7.0, "c": 1.0}
    ...     missing = {u for u in "ab" if u not in kept}
    ...     tests = {u: TestResult(s, 0.0, 1.0, 1, (u,)) for u, s in strength.items() if u not in kept}
    ...     return SetEvidence(tests, None, frozenset(missing))
    >>> [sorted(search(examine, start)) for start in ("", "c", "abc")]
    [['a', 'b'], ['a', 'b'], ['a', 'b']]
    """
    kept = frozenset(start)
    evidence = examine(kept)
    while not evidence.passes:
        kept = kept | _worst(evidence)
        evidence = examine(kept)
    return drop(examine, kept)


def _worst(evidence: SetEvidence) -> frozenset[str]:
    """The rejected candidate with the strongest sign, or all those of an interaction that only shows jointly."""
    joint = evidence.jointly
    if joint is not None and evidence.rejected == frozenset(joint.candidates) and len(evidence.rejected) > 1:
        return evidence.rejected
    return frozenset([max(evidence.rejected, key=lambda candidate: evidence.tests[candidate].statistic)])


def drop(
    examine: Callable[[frozenset[str]], SetEvidence], kept: frozenset[str], among: frozenset[str] | None = None
) -> frozenset[str]:
    """A smaller set that passes as well, if there is one; only candidates `among` some are given up, or any."""
    while True:
        spare = kept if among is None else kept & among
        without = {candidate: examine(kept - {candidate}) for candidate in sorted(spare)}
        free = [candidate for candidate, evidence in without.items() if evidence.passes]
        if not free:
            return kept
        # When many can go, they can often go together.
        if len(free) > 1 and examine(kept - set(free)).passes:
            kept = kept - set(free)
        else:
            kept = kept - {min(free, key=lambda candidate: without[candidate].tests[candidate].statistic)}
