"""What a survey makes of columns: used, left out with a reason, or in the way, and all problems at once."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.look import look
from forebear.data.source import open_frame
from forebear.data.survey import Roles, Survey, survey
from forebear.data.times import read_times, sampling

ROWS = 120


@pytest.fixture
def messy() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["T [°C]", "p [bar]", "y"])
    table["T [°F]"] = 32 + 1.8 * table["T [°C]"]
    table["time"] = pd.date_range("2026-01-01", periods=ROWS, freq="h").strftime("%Y-%m-%dT%H:%M:%S+01:00")
    table["batch_id"] = [f"B-{i:04d}" for i in range(ROWS)]
    table["row"] = range(1_000, 1_000 + ROWS)
    table["plant"] = "north"
    table["note"] = [f"the operator saw nothing strange in shift {i}" for i in range(ROWS)]
    table["empty"] = None
    table["grade"] = rng.choice(["a", "b"], ROWS)
    return table


def surveyed(table: pd.DataFrame, **roles: Any) -> Survey:
    return survey(open_frame(table), Roles(**roles), everything=True)


def roles_of(found: Survey) -> dict[str, tuple[str, str]]:
    return {use.name: (use.role, use.why) for use in found.uses}


def test_every_column_is_used_or_left_out_with_a_reason(messy: pd.DataFrame) -> None:
    found = surveyed(messy, targets="y")
    assert found.problems == ()
    assert roles_of(found) == {
        "T [°C]": ("candidate", ""),
        "p [bar]": ("candidate", ""),
        "y": ("target", ""),
        "T [°F]": ("left out", "copy of 'T [°C]'"),
        "time": ("left out", "timestamp, every 1 h"),
        "batch_id": ("left out", "identifier"),
        "row": ("left out", "identifier"),
        "plant": ("left out", "constant"),
        "note": ("left out", "free text"),
        "empty": ("left out", "empty"),
        "grade": ("candidate", ""),
    }
    assert found.questions[0].inputs == ("T [°C]", "p [bar]", "grade")


def test_what_is_named_and_cannot_be_used_is_told_together(messy: pd.DataFrame) -> None:
    found = surveyed(messy, targets=["y", "z"], candidates=["plant", "batch_id", "T [C]", "grade"])
    assert len(found.problems) == 4
    for words in (("'z'",), ("'plant'", "constant"), ("'batch_id'", "identifier"), ("'T [C]'", "'T [°C]'")):
        assert any(all(word in problem for word in words) for problem in found.problems), words
    with pytest.raises(fb.InputError, match="4 problems") as caught:
        found.require()
    assert "\n" not in str(caught.value)


def test_patterns_are_no_names(messy: pd.DataFrame) -> None:
    found = surveyed(messy, targets="y", candidates=["p*", "T*"])
    assert found.problems == () and found.questions[0].inputs == ("T [°C]", "p [bar]")


def test_a_named_copy_stays_and_the_other_goes(messy: pd.DataFrame) -> None:
    found = surveyed(messy, targets="y", keep=["T [°F]"])
    assert roles_of(found)["T [°C]"] == ("left out", "copy of 'T [°F]'")
    found = surveyed(messy, targets="T [°F]")
    assert roles_of(found)["T [°C]"] == ("left out", "copy of 'T [°F]'")
    found = surveyed(messy, targets="y", candidates=["T [°C]", "T [°F]"])
    assert "hold the same values" in found.problems[0]


def test_a_running_number_is_used_when_it_is_asked_for(messy: pd.DataFrame) -> None:
    assert surveyed(messy, targets="y", candidates=["row", "grade"]).questions[0].inputs == ("row", "grade")
    only = pd.DataFrame({"x": range(ROWS), "y": np.random.default_rng(0).normal(size=ROWS)})
    assert surveyed(only, targets="y").questions[0].inputs == ("x",)


def test_excluded_columns_are_gone(messy: pd.DataFrame) -> None:
    found = surveyed(messy, targets="y", exclude=["T*", "grade"])
    assert found.questions[0].inputs == ("p [bar]",)
    assert roles_of(found)["grade"] == ("excluded", "")
    assert "exclude" in surveyed(messy, targets="y", exclude="y").problems[0]


def test_cells_to_be_mended_are_told_and_not_left_out(messy: pd.DataFrame) -> None:
    messy["load"] = ["3.5 kg" if i % 2 else f"{i} kg" for i in range(ROWS)]
    messy.loc[5, "p [bar]"] = np.inf
    found = surveyed(messy, targets="y")
    assert len(found.problems) == 2
    assert "infinite in row 6" in found.problems[0] and "'load'" in found.problems[1]


def test_rows_without_gaps_remain_when_gaps_are_dropped(messy: pd.DataFrame) -> None:
    messy.loc[3, "p [bar]"] = np.nan
    messy.loc[4, "note"] = None
    table, _ = surveyed(messy, targets="y", missing="drop").require()
    assert table.rows == ROWS - 1
    assert "row 4" in surveyed(messy, targets="y", missing="refuse").problems[0]


def test_times_become_inputs_and_order_the_rows(messy: pd.DataFrame) -> None:
    found = surveyed(messy.iloc[::-1].reset_index(drop=True), targets="y", time="time")
    table, questions = found.require()
    assert {"time: hour of day", "time: days since start"} <= set(questions[0].inputs)
    assert table.columns["time: hour of day"].period == 24.0
    assert (np.diff(table.columns["time: days since start"].values) > 0).all()
    assert np.array_equal(table.columns["y"].values, messy["y"].to_numpy())


@pytest.mark.parametrize(
    "cells, hour",
    [
        (["2026-03-01T12:00:00Z"], 12),
        (["2026-03-01 12:00:00+05:30"], 6),
        (["01.03.2026 12:00"], 12),
        (["03/01/2026 12:00", "03/21/2026 12:00"], 12),
        (["2026/03/01 12:00"], 12),
    ],
)
def test_timestamps_as_people_write_them(cells: list[str], hour: int) -> None:
    times = read_times(pd.Series(cells))
    assert times is not None and times.dt.hour.tolist() == [hour] * len(cells)
    assert set(times.dt.month) == {3}


@pytest.mark.parametrize("cells", [["12:00:01"], ["1.5"], ["2026"], ["a-b"], ["2026-13-45"]])
def test_other_texts_are_no_timestamps(cells: list[str]) -> None:
    assert read_times(pd.Series(cells)) is None


def test_gaps_in_the_times_are_seen() -> None:
    at = np.concatenate([np.arange(0.0, 600.0, 60.0), np.arange(7_200.0, 7_800.0, 60.0)])
    seen = sampling(at)
    assert seen is not None and seen.step == 60.0 and seen.longest == 6_660.0
    assert "longest gap" in seen.describe()


def test_resolution_range_and_gaps_of_a_column() -> None:
    profile = look(pd.Series([0.5, None, 2.0, 7.5]), "t", "x").profile
    assert (profile.missing, profile.distinct, profile.range, profile.resolution) == (1, 3, "0.5 to 7.5", 0.5)


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        ({"target": "y"}, "there is no argument 'target': write targets='y'"),
        ({"drop": ["id"]}, "write exclude="),
        ({"seed": 1}, "check has no argument 'seed': it looks at the table and trains nothing"),
    ],
)
def test_check_answers_the_slips_that_discover_answers(messy: pd.DataFrame, slip: dict[str, Any], told: str) -> None:
    with pytest.raises(fb.InputError, match=re.escape(told)):
        fb.check(messy, **slip)


def test_check_names_all_of_its_arguments(messy: pd.DataFrame) -> None:
    names = [name for name in inspect.signature(fb.check).parameters if name != "others"]
    with pytest.raises(fb.InputError, match=", ".join(names)):
        fb.check(messy, out="run")


def test_a_notebook_goes_on_in_python_and_a_terminal_with_a_command(messy: pd.DataFrame, tmp_path: Path) -> None:
    messy.to_csv(tmp_path / "data.csv", index=False)
    checked = fb.check(str(tmp_path / "data.csv"), "y")
    assert checked.command.startswith("forebear discover ") and checked.call.startswith("fb.discover(")
    assert "<code>fb.discover(" in checked._repr_html_() and checked.text().splitlines()[-1].startswith(
        "Next: forebear"
    )


def test_check_prints_within_eighty_letters_and_goes_on(messy: pd.DataFrame) -> None:
    checked = fb.check(messy, "y")
    assert checked.ok and max(map(len, checked.text(80).splitlines())) <= 80
    assert checked.text(80).splitlines()[-1] == "Next: fb.discover(table, 'y')"
    assert "copy of &#x27;T [°C]&#x27;" in checked._repr_html_()
    assert "makes inputs of it: hour of day" in checked._repr_html_()  # what the terminal says, a notebook says too
    assert checked.columns.loc["T [°F]", "copy_of"] == "T [°C]"
    assert not fb.check(messy, "q").ok


@pytest.mark.parametrize(
    "slip, meant",
    [
        ({"target": "y"}, "targets='y'"),
        ({"random_state": 1}, "seed=1"),
        ({"n_jobs": 2}, "jobs=2"),
        ({"verbose": 1}, "progress=1"),
    ],
)
def test_slips_are_answered_with_the_right_name(messy: pd.DataFrame, slip: dict[str, Any], meant: str) -> None:
    with pytest.raises(fb.InputError, match=f"write {meant}"):
        fb.discover(messy, **slip)


def test_a_second_table_is_answered(messy: pd.DataFrame) -> None:
    with pytest.raises(fb.InputError, match="table.assign"):
        fb.discover(messy, cast(Any, messy["y"]))
