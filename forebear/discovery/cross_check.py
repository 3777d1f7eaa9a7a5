"""Numbers that mean what they say after a search: either half of the rows chooses, and the other half tests.

A p-value that is computed from the rows that chose a set is that of a winner. Where a table has too few rows to set
some aside, its rows are divided in two. Each half searches alone, from nothing; what it keeps is tested on the half
that had no part in the choice. The two p-values of an input are merged by twice the smaller one, and an input that a
half does not choose has the p-value 1 there (Meinshausen, Meier and Buehlmann 2009, with two splits that share no
row).

Where both halves choose the answer itself, the sum of what either half says of the other's choice *is* the statistic
on all rows, so the limits on all rows are those of a set that other rows chose (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from forebear.discovery.search import search
from forebear.discovery.structure import RowStructure
from forebear.discovery.tester import SetTests

# Rows of a half below which it is not asked: a search among so few says nothing.
_FEWEST = 60


class CrossCheck(NamedTuple):
    """What two halves of the rows say of each other's choice."""

    chosen: tuple[frozenset[str], ...]
    """the set that each half finds alone; empty where there are too few rows to ask"""
    p_values: Mapping[str, float]
    """of every candidate, from rows that did not choose"""

    def agree_on(self, kept: frozenset[str]) -> bool:
        """Whether both found this set."""
        return bool(self.chosen) and all(chosen == kept for chosen in self.chosen)


class HalfTests:
    """The evidence on sets from half of the rows; latents are those that all rows have already."""

    def __init__(self, tests: SetTests, rows: np.ndarray, structure: RowStructure):
        parts = structure.take(rows).folds(len(rows), 2, np.random.default_rng(len(rows)))
        self.tests = SetTests(tests.tester.on_rows(rows, parts), part_of=(tests, rows))

    def choose(self) -> frozenset[str]:
        """The set that these rows find alone."""
        return search(self.tests.examine, (), glance=self.tests.glance)

    def needs(self, kept: frozenset[str], candidate: str) -> float:
        """p-value of a member of a set, when it alone is taken out; what shows only with others speaks for it too."""
        evidence = self.tests.examine(kept - {candidate})
        own, jointly = evidence.tests[candidate].p_value, evidence.jointly
        return min(own, jointly.p_value) if jointly is not None and candidate in jointly.candidates else own

    def leaves_out(self, kept: frozenset[str], candidate: str) -> float:
        """p-value of a candidate outside a set."""
        return self.tests.glance(kept).tests[candidate].p_value


def cross_check(tests: SetTests, kept: frozenset[str], structure: RowStructure) -> CrossCheck:
    """Let either half of the tested rows choose, and the other test its choice; `kept` is the answer on all rows.

    The p-value of a removed candidate comes from halves that found the answer itself, tested by the other; where
    neither did, there is none.
    """
    parts = tests.tester.parts
    rows = [np.flatnonzero(parts == part) for part in (0, 1)]
    candidates = list(tests.tester.question.candidates)
    if min(len(own) for own in rows) < _FEWEST:
        return CrossCheck((), {})
    halves = [HalfTests(tests, own, structure) for own in rows]
    chosen = tuple(half.choose() for half in halves)
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for own, other in zip(chosen, reversed(halves), strict=True):
        for name in candidates:
            if name in kept:
                found[name].append(other.needs(own, name) if name in own else 1.0)
            elif own == kept:
                found[name].append(other.leaves_out(own, name))
    merged = {name: min(1.0, 2 * min(values)) for name, values in found.items() if values}
    return CrossCheck(chosen, merged)
