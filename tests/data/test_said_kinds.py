"""What a user says a column is: from the question through the law to rows that come later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.column import cells_of, read_column
from forebear.data.said_kinds import with_kinds
from forebear.data.source import Opened, open_frame

TINY: dict[str, Any] = {"steps": 60, "width": 8, "depth": 1, "distilled": 200, "folds": 1}
SHIFT = np.array([0.0, 3.0, -3.0, 2.0])


def plant(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """y jumps from grade to grade, in no order; the size is a number that was written as text."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"grade": rng.integers(0, 4, rows), "x": rng.normal(size=rows)})
    table["size"] = [f" {value:.1f}" for value in rng.normal(size=rows)]
    table["y"] = SHIFT[table["grade"]] + 0.3 * rng.normal(size=rows)
    return table


def taken(cells: list[Any], kind: str) -> pd.Series:
    return cells_of(with_kinds(Opened(pd.DataFrame({"a": cells}), "a.csv"), {"a": kind}).frame, "a")


@pytest.mark.parametrize(
    ("cells", "levels"),
    [
        ([3, 1, 3], [1, 3]),
        ([3.0, None, 1.0], [1, 3]),
        ([0.5, 2.0], [0.5, 2]),
        (["A1", "2", None], ["2", "A1"]),
        (["A1", 2], ["2", "A1"]),
        (pd.array([3, None, 1], "Int64"), [1, 3]),
    ],
)
def test_numbers_become_labels(cells: list[Any], levels: list[object]) -> None:
    told = taken(cells, "category")
    assert list(told.cat.categories) == levels
    assert told.isna().tolist() == pd.Series(cells).isna().tolist()
    assert told.cat.codes.iloc[0] == levels.index(str(cells[0]) if isinstance(levels[0], str) else cells[0])


@pytest.mark.parametrize("cells", [["b", "a"], [True, False], pd.Categorical(["u", "v"])])
def test_labels_stay_labels(cells: Any) -> None:
    told, before = (read_column(one, "a.csv", "a") for one in (taken(cells, "category"), pd.Series(cells)))
    assert told.kind == "category" and told.levels == before.levels
    np.testing.assert_array_equal(told.values, before.values)


def test_numbers_with_a_few_letters_among_them_can_be_labels() -> None:
    table = pd.DataFrame({"code": ["1", "2", "3", "B"] * 20, "x": np.arange(80.0), "y": np.arange(80.0) ** 2})
    assert "text among its numbers" in fb.check(table, "y").problems[0]
    assert fb.check(table, "y", kinds={"code": "category"}).ok


def test_labels_become_numbers() -> None:
    assert taken(["1.5", " 2", None], "real").tolist()[:2] == [1.5, 2.0]
    assert taken([True, False], "real").tolist() == [1.0, 0.0]
    assert taken([1, 2], "real").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("kinds", "line"),
    [
        ({"grad": "category"}, "the table: no column 'grad' (named in kinds). Did you mean 'grade'?"),
        ({"grade": "catgory"}, "kinds: 'grade' cannot be taken as 'catgory'. Did you mean 'category'?"),
        ({"grade": "categorical"}, "kinds: 'grade' cannot be taken as 'categorical'. Write 'category'."),
        ({"grade": 3}, "kinds: 'grade' cannot be taken as 3. Known: 'category', 'real'."),
        ({"x": "periodic"}, "kinds: 'x' is an angle by its period: give it in periodic, such as {'x': 360}"),
        ({"x": "category"}, "the table: column 'x' has 600 different values in 600 rows, too many for a category"),
        (["grade"], "kinds must map columns to kinds, like {'grade': 'category'}; got ['grade']"),
        ({"n*": "category"}, "the table: no column matches 'n*' (named in kinds): check the pattern"),
    ],
)
def test_what_cannot_be_is_one_line(kinds: Any, line: str) -> None:
    with pytest.raises(ValueError) as told:
        fb.discover(plant(), "y", kinds=kinds, **TINY)
    assert str(told.value).startswith(line) and "\n" not in str(told.value)
    assert any(problem.startswith(line) for problem in fb.check(plant(), "y", kinds=kinds).problems)


def test_a_cell_that_is_no_number_is_named() -> None:
    table = plant().assign(size=["XL"] + ["1", "2"] * 299 + ["3"])
    with pytest.raises(ValueError, match="column 'size' cannot be taken as real: it holds 'XL' in row 1. Make every"):
        with_kinds(open_frame(table), {"size": "real"})


def test_check_says_the_same_kinds_and_the_command() -> None:
    checked = fb.check(plant(), "y", kinds={"grade": "category", "size": "real"})
    assert checked.columns["kind"].to_dict() == {"grade": "category", "x": "real", "size": "real", "y": "real"}
    assert checked.command == "fb.discover(table, 'y', kinds={'grade': 'category', 'size': 'real'})"


def test_from_a_file_to_a_law_and_back(tmp_path: Path) -> None:
    """Kept in the run, taken up with it, and rows to come are read as the first ones were."""
    plant().to_csv(tmp_path / "data.csv", index=False)
    asked: dict[str, Any] = {"kinds": {"grade": "category"}, "rule": lambda path: ["grade"], "progress": False}
    found = fb.discover(tmp_path / "data.csv", "y", out=tmp_path / "run", **asked, **TINY)
    assert found.settings["kinds"] == {"grade": "category"} and found.columns.loc["grade", "kind"] == "category"
    twin = found.twin(steps=400, width=16, depth=1)
    means = twin.mean({"grade": [0, 1, 2, 3]})[:, 0]
    np.testing.assert_allclose(means, SHIFT, atol=0.6)  # no line through the grades could do that
    twin.save(tmp_path / "twin")
    again = fb.load_twin(tmp_path / "twin")
    np.testing.assert_array_equal(again.mean({"grade": [0.0, 1.0, 2.0, 3.0]})[:, 0], means)
    with pytest.raises(ValueError, match="column 'grade' holds 7 in row 1, never seen in the data"):
        twin.mean({"grade": [7]})
    plant(300, seed=1).to_csv(tmp_path / "new.csv", index=False)
    assert again.monitor(tmp_path / "new.csv").verdict == "holds"
    other = fb.load(tmp_path / "run")
    assert other.twin(data=plant(seed=2), steps=20, width=8, depth=1).columns[0].levels == (0, 1, 2, 3)


def test_kept_in_what_was_asked_and_part_of_a_run(tmp_path: Path) -> None:
    plant().to_csv(tmp_path / "data.csv", index=False)
    asked: dict[str, Any] = {"rule": "nsr-jump", "progress": False, "out": tmp_path / "run", **TINY}
    kinds = {"grade": "category"}
    fb.discover(tmp_path / "data.csv", "y", kinds=kinds, **asked)
    assert json.loads((tmp_path / "run" / "asked.json").read_text())["kinds"] == kinds
    fb.discover(tmp_path / "data.csv", "y", kinds=kinds, **asked)  # goes on: nothing is left to do
    with pytest.raises(ValueError, match="kinds"):
        fb.discover(tmp_path / "data.csv", "y", **asked)


def test_of_trajectories() -> None:
    table = {"x": np.arange(6.0), "mode": [1, 2, 1, 2, 2, 1]}
    made = fb.lagged(table, "x", "mode", lags=1, kinds={"mode": "category"})
    assert isinstance(made.table["mode_1"].dtype, pd.CategoricalDtype)
    with pytest.raises(ValueError, match="column 'x' must hold numbers"):
        fb.lagged(table, "x", "mode", lags=1, kinds={"x": "category"})
