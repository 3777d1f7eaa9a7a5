"""Find the smallest set that passes: add back what is rejected, drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from forebear.discovery.certificate import holm
from forebear.discovery.dependence import Verdict


class Evidence(NamedTuple):
    """The test of one set: every unit outside it, alone and jointly."""

    verdicts: Mapping[str, Verdict]
    jointly: Verdict | None
    rejected: frozenset[str]
    """units still found in the latents"""

    @property
    def passes(self) -> bool:
        """Nothing outside the set is found in the latents."""
        return not self.rejected


def weigh(
    verdicts: Mapping[str, Verdict], jointly: Verdict | None, level: float, matters: Callable[[Verdict], bool]
) -> Evidence:
    """Statistical and practical significance together: Holm over the units and their joint test, and an effect that
    matters. When only the joint test rejects, the units behind it are the rejected ones."""
    p_values = {unit: verdict.p_value for unit, verdict in verdicts.items()}
    together = {} if jointly is None or len(verdicts) < 2 else {"": jointly}
    significant = holm({**p_values, **{name: v.p_value for name, v in together.items()}}, level)
    rejected = {u for u in significant if u and matters(verdicts[u])}
    if not rejected and "" in significant and matters(together[""]):
        rejected = set(together[""].units)
    return Evidence(verdicts, jointly, frozenset(rejected))


def search(examine: Callable[[frozenset[str]], Evidence], start: Iterable[str]) -> frozenset[str]:
    """Walk from `start` to a set that passes and of which no member can be dropped.

    >>> def examine(kept):  # the law needs a and b
    ...     strength = {"a": 9.0, "b": 7.0, "c": 1.0}
    ...     missing = {u for u in "ab" if u not in kept}
    ...     verdicts = {u: Verdict(s, 0.0, 1.0, 1, (u,)) for u, s in strength.items() if u not in kept}
    ...     return Evidence(verdicts, None, frozenset(missing))
    >>> [sorted(search(examine, start)) for start in ("", "c", "abc")]
    [['a', 'b'], ['a', 'b'], ['a', 'b']]
    """
    kept = frozenset(start)
    evidence = examine(kept)
    while not evidence.passes:
        kept = kept | _worst(evidence)
        evidence = examine(kept)
    return drop(examine, kept)


def _worst(evidence: Evidence) -> frozenset[str]:
    """The rejected unit with the strongest sign, or all the units of an interaction that only shows jointly."""
    joint = evidence.jointly
    if joint is not None and evidence.rejected == frozenset(joint.units) and len(evidence.rejected) > 1:
        return evidence.rejected
    return frozenset([max(evidence.rejected, key=lambda unit: evidence.verdicts[unit].statistic)])


def drop(
    examine: Callable[[frozenset[str]], Evidence], kept: frozenset[str], among: frozenset[str] | None = None
) -> frozenset[str]:
    """A smaller set that passes as well, if there is one; only units `among` some are given up, or any."""
    while True:
        spare = kept if among is None else kept & among
        without = {unit: examine(kept - {unit}) for unit in sorted(spare)}
        free = [unit for unit, evidence in without.items() if evidence.passes]
        if not free:
            return kept
        # When many can go, they can often go together.
        if len(free) > 1 and examine(kept - set(free)).passes:
            kept = kept - set(free)
        else:
            kept = kept - {min(free, key=lambda unit: without[unit].verdicts[unit].statistic)}
