"""The search for a smallest set that passes, by examiners that know what is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from forebear.discovery.dependence import TestResult
from forebear.discovery.search import SetEvidence, drop, replaced, search, weigh
from forebear.discovery.tester import CertificateSettings


def test_weighing_asks_for_significance_and_size() -> None:
    sure_but_tiny = TestResult(9.0, 1e-15, 1e-5, 1, ("a",))
    large_but_unsure = TestResult(2.0, 0.3, 0.1, 1, ("b",))
    both = TestResult(9.0, 1e-15, 0.1, 1, ("c",))
    tests = {"a": sure_but_tiny, "b": large_but_unsure, "c": both}
    matters = CertificateSettings(least_effect=1e-3, least_shift=0.0).matters
    assert weigh(tests, None, 0.05, matters).rejected == {"c"}
    pair = TestResult(9.0, 1e-15, 0.1, 1, ("a", "b"))
    assert weigh({"a": sure_but_tiny, "b": large_but_unsure}, pair, 0.05, matters).rejected == {"a", "b"}


def always(result: TestResult) -> bool:
    return True


def test_one_candidate_alone_is_tested_once_unless_trees_see_more_of_it() -> None:
    """The joint test of one candidate is its own test again; a learned probe that rejects it is not."""
    alone = TestResult(2.5, 0.02, 0.1, 1, ("a",))
    assert weigh({"a": alone}, alone, 0.03, always).rejected == {"a"}
    nothing, learned = TestResult(1.0, 0.5, 0.0, 1, ("a",)), TestResult(9.0, 1e-9, 0.1, 1, ("a",))
    assert weigh({"a": nothing}, learned, 0.03, always).rejected == {"a"}
    assert weigh({"a": nothing}, nothing, 0.03, always).passes


def test_search_adds_interactions_whole_and_drops_the_useless() -> None:
    def examine(kept: frozenset[str]) -> SetEvidence:
        outside = [u for u in "abcd" if u not in kept]
        tests = {u: TestResult(1.0, 0.5, 0.0, 1, (u,)) for u in outside}
        missing = {"a", "b"} - kept
        jointly = TestResult(20.0, 0.0, 0.3, 1, ("a", "b")) if len(missing) == 2 else None
        return SetEvidence(tests, jointly, frozenset(missing))

    for start in ("", "a", "cd", "abcd"):
        assert search(examine, start) == {"a", "b"}


def examiner(candidates: str, enough: Callable[[frozenset[str]], bool]) -> Callable[[frozenset[str]], SetEvidence]:
    """Whatever is outside a set that is not enough shows, all equally strong."""

    def examine(kept: frozenset[str]) -> SetEvidence:
        outside = [name for name in candidates if name not in kept]
        tests = {name: TestResult(9.0, 0.0, 1.0, 1, (name,)) for name in outside}
        return SetEvidence(tests, None, frozenset() if enough(kept) else frozenset(outside))

    return examine


def test_a_column_that_holds_several_is_replaced_by_them() -> None:
    """s is the sum of a and b: it suffices alone, and so do the two; c has no part in it."""

    def examine(kept: frozenset[str]) -> SetEvidence:
        enough = "s" in kept or {"a", "b"} <= kept
        shows = frozenset() if enough else frozenset("abs") - kept
        return SetEvidence(
            {name: TestResult(9.0, 0.0, 1.0, 1, (name,)) for name in "abcs" if name not in kept}, None, shows
        )

    assert replaced(examine, frozenset("s"), "s") == {"a", "b"}
    # There and back: without a, the sum is what shows beside b, and b is then spare.
    assert replaced(examine, frozenset("ab"), "a") == {"s"}


def test_what_nothing_can_stand_in_for_is_not_replaced() -> None:
    assert replaced(examiner("ab", lambda kept: "a" in kept), frozenset("a"), "a") is None

    def alone(kept: frozenset[str]) -> SetEvidence:
        gone = frozenset("a") - kept
        return SetEvidence(
            {name: TestResult(9.0, 0.0, 1.0, 1, (name,)) for name in "ab" if name not in kept}, None, gone
        )

    assert replaced(alone, frozenset("a"), "a") is None


@pytest.mark.parametrize("candidates", ["abc", "cba", "bca"])
def test_ties_are_broken_by_the_order_of_the_table(candidates: str) -> None:
    """Each input alone would do: the first of the table is taken, from whatever set the walk begins."""
    examine = examiner(candidates, lambda kept: bool(kept))
    assert search(examine, ()) == {candidates[0]}


def test_of_several_that_can_go_the_weakest_goes_and_ties_go_by_name() -> None:
    def examine(kept: frozenset[str]) -> SetEvidence:
        strength = {"a": 2.0, "b": 1.0, "c": 1.0}
        tests = {name: TestResult(s, 0.5, 0.0, 1, (name,)) for name, s in strength.items() if name not in kept}
        return SetEvidence(tests, None, frozenset() if len(kept) >= 2 else frozenset(tests))

    assert drop(examine, frozenset("abc")) == {"a", "c"}
    assert drop(examine, frozenset("abc"), among=frozenset("a")) == {"b", "c"}


def test_a_walk_goes_where_an_earlier_one_ended() -> None:
    examine = examiner("abc", lambda kept: bool(kept))
    assert search(examine, "bc", [frozenset("c")]) == {"c"}


SCRIPT = """
import json, sys
sys.path.insert(0, "tests/support")
import numpy as np, pandas as pd
import forebear as fb
from quick import QUICK

rng = np.random.default_rng(0)
cause = rng.normal(size=400)
table = pd.DataFrame({name: cause + 0.01 * rng.normal(size=400) for name in ("north", "east", "south", "west")})
table["y"] = cause + rng.normal(size=400)
told = fb.discover(table, "y", progress=False, **QUICK).to_dict()
del told["seconds"]
print(json.dumps(told, sort_keys=True))
"""


@pytest.mark.slow
def test_the_answer_does_not_depend_on_how_python_hashes_names() -> None:
    """Four sensors of one cause, any of which would do: the order of a set of names would decide."""
    told = []
    for seed in ("1", "2"):
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        told.append(json.loads(result.stdout.splitlines()[-1]))
    assert told[0] == told[1]


def test_what_a_glance_rejects_is_not_examined_and_what_it_misses_is_not_dropped() -> None:
    """The law needs a and b, and a glance sees a alone; c and d can go together."""
    examined = []

    def seen(kept: frozenset[str], needs: str) -> SetEvidence:
        tests = {u: TestResult(1.0, 0.5, 0.0, 1, (u,)) for u in "abcd" if u not in kept}
        return SetEvidence(tests, None, frozenset(needs) - kept)

    def examine(kept: frozenset[str]) -> SetEvidence:
        examined.append(kept)
        return seen(kept, "ab")

    assert drop(examine, frozenset("abcd"), glance=lambda kept: seen(kept, "a")) == {"a", "b"}
    assert all("a" in kept for kept in examined)
