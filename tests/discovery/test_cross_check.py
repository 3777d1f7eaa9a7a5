"""Either half of the rows chooses and the other tests: what both find, what one finds, what neither does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.question import Question
from forebear.discovery.cross_check import CrossCheck, cross_check
from forebear.discovery.dependence import TestResult
from forebear.discovery.search import SetEvidence
from forebear.discovery.structure import RowStructure
from forebear.discovery.tester import SetTests, SetTrial

ROWS = 400
SURE, UNSURE = 1e-9, 0.5


class Half:
    """A tester of candidates a, b and c whose two halves of the rows see what they are told to see."""

    question = Question("y", ("a", "b", "c"), {name: (name,) for name in "abc"}, ())
    parts = np.arange(ROWS) % 2

    def __init__(self, *sees: str):
        self.sees = sees

    def on_rows(self, rows: np.ndarray, parts: np.ndarray) -> Half:
        assert len(rows) == len(parts) == ROWS // 2 and set(parts) == {0, 1}
        return Half(self.sees[rows[0] % 2])

    def latents(self, kept: frozenset[str]) -> np.ndarray:
        return np.zeros(ROWS)

    def latents_apart(self, kept: frozenset[str], z: np.ndarray) -> None:
        return None

    def start(self, kept: frozenset[str], z: np.ndarray, apart: None = None) -> SetTrial:
        missing = set(self.sees[0]) - kept
        out = {
            name: TestResult(9.0 if name in missing else 1.0, SURE if name in missing else UNSURE, 0.1, 1, (name,))
            for name in "abc"
            if name not in kept
        }
        return SetTrial(SetEvidence(out, None, frozenset(missing)))


def asked(*sees: str, answer: str) -> CrossCheck:
    tester: Any = Half(*sees)
    return cross_check(SetTests(tester), frozenset(answer), RowStructure())


def test_what_both_halves_find_is_sure_from_rows_that_did_not_choose() -> None:
    found = asked("ab", "ab", answer="ab")
    assert found.chosen == (frozenset("ab"), frozenset("ab")) and found.agree_on(frozenset("ab"))
    assert found.p_values == {"a": 2 * SURE, "b": 2 * SURE, "c": 2 * UNSURE}


def test_what_one_half_finds_is_tested_by_the_other() -> None:
    found = asked("ab", "a", answer="ab")
    # The half that finds b is judged by the one that sees nothing of it.
    assert found.p_values == {"a": 2 * SURE, "b": 2 * UNSURE, "c": 2 * UNSURE}
    assert not found.agree_on(frozenset("ab"))


def test_what_neither_half_finds_has_no_evidence_of_its_own() -> None:
    found = asked("a", "a", answer="ab")
    assert found.p_values == {"a": 2 * SURE, "b": 1.0}, "c was removed from a set that no half chose"


def test_too_few_rows_are_not_divided() -> None:
    tester: Any = Half("a", "a")
    tester.parts = np.arange(100) % 2
    found = cross_check(SetTests(tester), frozenset("a"), RowStructure())
    assert found == CrossCheck((), {}) and not found.agree_on(frozenset("a"))


def small(effect: float, seed: int, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc"))
    return frame.assign(y=effect * frame["a"] + rng.normal(size=rows))


QUICK: dict[str, Any] = {"distilled": 200, "steps": 50, "subset_steps": 200}


@pytest.mark.parametrize(("effect", "chosen"), [(1.0, ("a",)), (0.0, ())])
def test_a_clear_answer_is_found_by_either_half(effect: float, chosen: tuple[str, ...]) -> None:
    found = fb.discover(small(effect, 0), "y", **QUICK)
    certificate = found.record.certificate("y")
    assert certificate is not None and certificate.kept == chosen
    assert certificate.halves == (chosen, chosen) and certificate.fresh
    frame = found.certificates["y"]
    fresh = frame["fresh_p"].to_dict()
    assert all(p < 1e-6 if name in chosen else p > 0.01 for name, p in fresh.items())
    told = found.to_dict()["targets"]["y"]
    assert told["fresh_rows"] and told["halves"] == [list(chosen)] * 2
    assert told["certificate"]["b"]["fresh_p"] == fresh["b"]
    adjusted = found.adjusted().set_index("candidate")
    assert adjusted["p_value"].to_dict() == fresh


def test_rows_that_hang_together_stay_in_one_half() -> None:
    frame = small(1.0, 1).assign(machine=np.repeat(np.arange(40), 10))
    found = fb.discover(frame, "y", rows="machine", **QUICK)
    certificate = found.record.certificate("y")
    assert certificate is not None and certificate.kept == ("a",) and certificate.halves == (("a",), ("a",))


@pytest.mark.slow
def test_the_p_value_of_a_useless_input_holds_its_level_after_the_search() -> None:
    """Of pure noise: how often is a p-value from rows that did not choose below 0.1?"""
    low = []
    for seed in range(40):
        frame = fb.discover(small(0.0, 100 + seed, 300), "y", **QUICK).certificates["y"]
        low += [float(p) < 0.1 for p in frame["fresh_p"]]
    assert np.mean(low) < 0.2
