"""Find the smallest set that passes: add back what is rejected, drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from forebear.discovery.dependence import TestResult
from forebear.discovery.multiple import holm


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
    # Of a single candidate both tests are one, unless a learned probe has seen more of it.
    more = jointly is not None and (len(tests) > 1 or jointly.p_value < min(p_values.values(), default=0.0))
    together = {"": jointly} if jointly is not None and more else {}
    significant = holm({**p_values, **{name: v.p_value for name, v in together.items()}}, level)
    rejected = {u for u in significant if u and matters(tests[u])}
    if not rejected and "" in significant and matters(together[""]):
        rejected = set(together[""].candidates)
    return SetEvidence(tests, jointly, frozenset(rejected))


Examine = Callable[[frozenset[str]], SetEvidence]
"""the evidence on a set"""


def search(
    examine: Examine,
    start: Iterable[str],
    ends: Iterable[frozenset[str]] = (),
    glance: Examine | None = None,
) -> frozenset[str]:
    """Walk from `start` to a set that passes and of which no member can be dropped.

    A walk that comes by a set that holds one of the `ends` of earlier walks goes there. `glance` says faster than
    `examine`, and less surely, whether a set passes: see `drop`.

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
    known = [end for end in ends if end <= kept]
    return known[0] if known else drop(examine, kept, glance=glance)


def _worst(evidence: SetEvidence) -> frozenset[str]:
    """The rejected candidate with the strongest sign, or all those of an interaction that only shows jointly."""
    joint = evidence.jointly
    if joint is not None and evidence.rejected == frozenset(joint.candidates) and len(evidence.rejected) > 1:
        return evidence.rejected
    # In the order of the table, so that ties are broken the same way everywhere.
    rejected = [candidate for candidate in evidence.tests if candidate in evidence.rejected]
    return frozenset([max(rejected, key=lambda candidate: evidence.tests[candidate].statistic)])


# Candidates that may take the place of one.
_IN_ITS_PLACE = 3


def replaced(
    examine: Examine, kept: frozenset[str], member: str, glance: Examine | None = None
) -> frozenset[str] | None:
    """A set that passes without a member of one that does, others in its place; None if a few do not make one.

    A column that stands for several others (a sum, a product, a shared effect) passes alone, and hides them: none of
    them shows beside it, though together they say more. Only what shows when the member is gone can take its place,
    so this costs nothing where inputs have little to do with each other.

    >>> def examine(kept):  # the law needs a and b, or the column that holds both
    ...     left = {u for u in ("a", "b", "sum") if u not in kept}
    ...     missing = set() if "sum" in kept or {"a", "b"} <= kept else left
    ...     tests = {u: TestResult(9.0, 0.0, 1.0, 1, (u,)) for u in sorted(left)}
    ...     return SetEvidence(tests, None, frozenset(missing))
    >>> sorted(replaced(examine, frozenset(["sum"]), "sum"))
    ['a', 'b']
    """
    without = kept - {member}
    for _ in range(_IN_ITS_PLACE):
        evidence = examine(without)
        if evidence.passes:
            return drop(examine, without, glance=glance)
        others = [name for name in evidence.tests if name in evidence.rejected and name != member]
        if not others:
            return None
        without = without | {max(others, key=lambda name: evidence.tests[name].statistic)}
    return drop(examine, without, glance=glance) if examine(without).passes else None


def drop(
    examine: Examine,
    kept: frozenset[str],
    among: frozenset[str] | None = None,
    glance: Examine | None = None,
) -> frozenset[str]:
    """A smaller set that passes as well, if there is one; only candidates `among` some are given up, or any.

    Of several that can go, the one that shows least goes first; ties are broken by name. What a `glance` rejects is
    not examined: a set that passes takes much longer to test than one that fails.
    """
    glance = examine if glance is None else glance
    while True:
        spare = kept if among is None else kept & among
        without = {candidate: glance(kept - {candidate}) for candidate in sorted(spare)}
        free = [candidate for candidate, evidence in without.items() if evidence.passes]
        free.sort(key=lambda candidate: without[candidate].tests[candidate].statistic)
        # When many can go, they can often go together.
        if len(free) > 1 and glance(kept - set(free)).passes and examine(kept - set(free)).passes:
            kept = kept - set(free)
            continue
        before = kept
        for candidate in free:  # what went before it may have made it needed
            less = kept - {candidate}
            kept = less if glance(less).passes and examine(less).passes else kept
        if kept == before:
            return kept
