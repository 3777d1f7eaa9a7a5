"""The quick look at wide tables: what shapes the target stays, the rest is named."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.question import Question
from forebear.data.table import Table, read_columns
from forebear.discovery import prepare
from forebear.discovery.screen import Screened, screen_question
from forebear.errors import InputError
from forebear.report.provenance import call

WIDE = 400


def wide(rows: int = 500, seed: int = 0) -> pd.DataFrame:
    """x1 moves the location of y, x2 its spread, x3 times x4 the location."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(rows, WIDE)), columns=pd.Index([f"x{i}" for i in range(WIDE)]))
    noise = np.exp(0.7 * x["x2"]) * rng.normal(size=rows)
    return x.assign(y=0.7 * x["x1"] + 0.7 * x["x3"] * x["x4"] + noise)


def screened(frame: pd.DataFrame, most: int = 40) -> Screened:
    names = tuple(name for name in frame if name != "y")
    asked = Question("y", names, {name: (name,) for name in names}, ())
    return screen_question(read_columns(frame, "the table", list(frame), gaps=True), asked, most)


@pytest.mark.parametrize("seed", range(4))
def test_location_spread_and_interaction_stay(seed: int) -> None:
    left = screened(wide(seed=seed))
    assert {"x1", "x2", "x3", "x4"} <= set(left.question.candidates)
    assert len(left.question.candidates) == 40 and len(left.gone) == WIDE - 40
    assert set(left.question.inputs) == set(left.question.candidates)


def test_a_strong_input_does_not_hide_a_weak_one() -> None:
    """Beside x1, x5 is lost in the noise of the location; given x1 it stands out."""
    kept = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        frame = wide(seed=seed)
        frame["y"] = 8 * frame["x1"] + 0.5 * frame["x5"] + rng.normal(size=len(frame))
        kept += "x5" in screened(frame).question.candidates
    assert kept >= 3


def test_gaps_and_labels_are_looked_at_too() -> None:
    frame = wide()
    frame["label"] = np.where(frame["y"] > 0, "u", "v")
    frame.loc[::7, "x1"] = np.nan
    assert {"label", "x1"} <= set(screened(frame).question.candidates)


def test_what_was_set_aside_is_named() -> None:
    quick = {"steps": 40, "distilled": 60, "subset_steps": 40, "progress": False}
    found = fb.discover(wide(300), "y", screen=12, **quick)
    roles = found.columns["role"].value_counts().to_dict()
    assert roles == {"screened out": WIDE - 12, "candidate": 12, "target": 1}
    assert found.record.use is not None and "388 candidates of 'y' aside" in found.record.use.told()
    assert found.table is not None and len(found.table.columns) == 13
    assert len(found.certificates["y"]) == 12


def test_the_call_in_the_report_asks_for_all_that_the_quick_look_looked_at() -> None:
    frame = wide(300)
    quick = {"steps": 40, "distilled": 60, "subset_steps": 40, "progress": False}
    every = fb.discover(frame, "y", screen=12, **quick)
    assert "candidates=" not in call(every.record, every.table) and "screen=12" in call(every.record, every.table)
    some = [f"x{place}" for place in range(30)]
    told = call((found := fb.discover(frame, "y", some, screen=12, **quick)).record, found.table)
    asked = told.partition("candidates=")[2].partition("}")[0]
    assert set(re.findall(r"x\d+", asked)) == set(some)


def looked_past(monkeypatch: pytest.MonkeyPatch, missed: str) -> None:
    """A quick look that never leaves this candidate."""

    def looking(table: Table, question: Question, most: int, weights: np.ndarray | None = None) -> Screened:
        names = [name for name in question.candidates if name != missed]
        left = Question(question.target, tuple(names), {name: (name,) for name in names}, question.always)
        found = screen_question(table, left, most, weights)
        return Screened(found.question, (*found.gone, missed))

    monkeypatch.setattr(prepare, "screen_question", looking)


@pytest.mark.parametrize("missed", ["x1", "x2"])
def test_an_input_that_was_set_aside_and_still_shows_is_named(monkeypatch: pytest.MonkeyPatch, missed: str) -> None:
    """One that moves the location, and one that moves the spread alone."""
    looked_past(monkeypatch, missed)
    found = fb.discover(wide(600), "y", screen=12, progress=False)
    assert missed not in found.ancestors["y"]
    assert found.verdicts["y"] == "something is missing"
    assert found.why["y"][0].startswith(f"the latents still depend on '{missed}', which a quick look had set aside")


def test_useless_inputs_that_were_set_aside_leave_the_verdict_alone() -> None:
    found = fb.discover(wide(600), "y", screen=12, progress=False)
    assert {"x1", "x2"} <= set(found.ancestors["y"])
    assert not any("set aside" in reason for reason in found.why["y"])


def test_few_rows_will_do_for_many_candidates() -> None:
    assert fb.check(wide(400), "y").ok


@pytest.mark.parametrize("screen", [1, True, "some", 2.5])
def test_what_is_no_screen_is_refused(screen: object) -> None:
    with pytest.raises(InputError, match="screen must be 'auto', None"):
        fb.discover(wide(60), "y", screen=screen)  # type: ignore[arg-type]
