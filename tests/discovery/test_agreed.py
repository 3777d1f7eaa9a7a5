"""Several runs: the set that most of them chose has a certificate of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.discovery import agreed
from forebear.discovery.certify import begin_search, certify_given
from forebear.discovery.problem import Problem

QUICK: dict[str, Any] = {"distilled": 200, "steps": 50, "subset_steps": 300}


def table(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc"))
    return frame.assign(y=frame["a"] + rng.normal(size=rows))


def test_the_agreed_set_is_certified_on_all_rows(tmp_path: Path) -> None:
    found = fb.discover(table(), "y", runs=3, out=tmp_path / "run", **QUICK)
    own = found.record.certificate("y")
    assert found.ancestors == {"y": ("a",)} and own is not None and own.kept == ("a",)
    assert own.rows == 400 and {run["y"].rows for run in found.record.certified} == {320}
    assert own is found.record.agreed["y"]
    again = fb.load(tmp_path / "run")
    assert again.record.agreed == found.record.agreed and again.verdicts == found.verdicts


def test_a_run_that_is_resumed_does_not_certify_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fb.discover(table(), "y", runs=2, out=tmp_path / "run", **QUICK)

    def never(*arguments: object) -> None:
        raise AssertionError("it was certified before")

    monkeypatch.setattr(agreed, "certify_given", never)
    assert fb.discover(table(), "y", runs=2, out=tmp_path / "run", **QUICK).record.agreed == first.record.agreed


@pytest.mark.parametrize(
    ("sets", "word"),
    [({"y": frozenset("a")}, "certified"), ({"y": frozenset()}, "something is missing")],
    ids=["enough", "too little"],
)
def test_a_set_that_was_given_is_judged_as_it_is(
    sets: Mapping[str, frozenset[str]], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problem of a discovery, asked about a set that it did not choose."""
    problems: list[Problem] = []

    def keep(problem: Problem, *arguments: Any) -> dict[str, Any]:
        problems.append(problem)
        return {}

    monkeypatch.setattr("forebear.api.discover.certify_agreed", keep)
    fb.discover(table(1_500), "y", **QUICK)
    [certificate] = certify_given(begin_search(problems[0], 0), [sets["y"]])
    assert set(certificate.kept) == sets["y"] and certificate.verdict.word == word


def test_one_run_and_rules_without_certificates_have_none() -> None:
    assert fb.discover(table(), "y", **QUICK).record.agreed == {}
    assert fb.discover(table(), "y", runs=2, rule="nsr-jump", **QUICK).record.agreed == {}
