"""Tables as spreadsheets and loggers write them: read as they are meant, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.source import open_frame
from forebear.data.times import read_times
from forebear.data.written import as_numbers, tidy
from forebear.errors import InputError

ROWS = 60
PLAIN = pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 3)).round(3), columns=["a", "b", "y"])
LINES = PLAIN.to_csv(index=False).splitlines()


def read(folder: Path, text: str, name: str = "data.csv", encoding: str = "utf-8") -> pd.DataFrame:
    (folder / name).write_bytes(text.encode(encoding))
    return open_frame(folder / name).frame


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,234.5", "900", "1.25"], [1234.5, 900.0, 1.25]),
        (["1,234,567", "900"], [1234567.0, 900.0]),
        (["1 234", "900", "12 000.5"], [1234.0, 900.0, 12000.5]),
        (["1'234", "1’234.5"], [1234.0, 1234.5]),
        (["52.3%", "7%"], [52.3, 7.0]),
        (["$5,283.71", "-$12.00"], [5283.71, -12.0]),
        (["12 €", "1.5 €"], [12.0, 1.5]),
        (["−0.5", "2"], [-0.5, 2.0]),
        (["1.5E-3", "2e4"], [0.0015, 2e4]),
        (["0,126", "1,013"], [0.126, 1.013]),
        (["1,5", "2"], [1.5, 2.0]),
    ],
)
def test_written_numbers_are_numbers(texts: list[str], values: list[float]) -> None:
    written = as_numbers(pd.Series(texts))
    assert written is not None and written.values.tolist() == values


@pytest.mark.parametrize(
    "texts",
    [
        ["1,234", "2,900"],  # thousands, or three decimals
        ["low", "1.5"],
        ["12 %", "$7"],
        ["-", "?"],
        ["3.5 kg", "2"],
        ["1,23,456"],
        ["12.01.2026"],
        [""],
    ],
)
def test_what_is_no_number_or_two_is_left_as_it_is(texts: list[str]) -> None:
    assert as_numbers(pd.Series(texts)) is None


def test_points_are_thousands_where_commas_are_decimal() -> None:
    written = as_numbers(pd.Series(["1.234,5", "12.000", "0,5"]), ",")
    assert written is not None and written.values.tolist() == [1234.5, 12000.0, 0.5]


def test_labels_beside_numbers_stay_labels() -> None:
    frame = pd.DataFrame({"grade": ["a", "-", "b"], "x": ["1", "-", "3"]})
    tidied = tidy(frame)
    assert tidied.frame["grade"].tolist() == ["a", "-", "b"] and tidied.marks == ("-",)
    assert np.isnan(tidied.frame["x"][1])


@pytest.mark.parametrize("mark", ["-", "---", "?", "#DIV/0!", "#VALUE!"])
def test_a_sign_for_no_value_is_a_gap_and_told(tmp_path: Path, mark: str) -> None:
    text = PLAIN.astype(object).assign(a=[mark, *PLAIN["a"][1:]]).to_csv(index=False)
    with pytest.warns(UserWarning, match="among numbers was read as a missing value"):
        frame = read(tmp_path, text)
    assert np.isnan(frame["a"].to_numpy(float)).sum() == 1


def test_a_word_for_no_value_is_one_line(tmp_path: Path) -> None:
    read(tmp_path, PLAIN.astype(object).assign(a=["broken", *PLAIN["a"][1:]]).to_csv(index=False))
    (problem,) = fb.check(tmp_path / "data.csv", "y").problems
    assert "'broken' in row 1: make every cell a number, empty those without a value" in problem


def test_a_line_of_units_is_taken_for_one_and_told(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"holds no numbers \('bar', '-', 'kW'\) and was taken for units"):
        frame = read(tmp_path, "\n".join([LINES[0], "bar,-,kW", *LINES[1:]]))
    assert np.allclose(frame, PLAIN)


def test_one_column_of_text_above_numbers_is_no_line_of_units(tmp_path: Path) -> None:
    frame = read(tmp_path, "\n".join([LINES[0], "bar,1.5,2.5", *LINES[1:]]))
    assert frame["a"].tolist()[0] == "bar" and len(frame) == ROWS + 1


def test_decimal_commas_beside_whole_thousands_with_points(tmp_path: Path) -> None:
    loads = [f"{1_000 + 7 * row:,}".replace(",", ".") for row in range(ROWS)]
    frame = read(tmp_path, PLAIN.assign(load=loads).to_csv(index=False, sep=";", decimal=","))
    assert np.allclose(frame[["a", "b", "y"]], PLAIN) and frame["load"].tolist()[1] == 1007


def test_quoted_decimal_commas_between_commas(tmp_path: Path) -> None:
    rows = [",".join('"' + cell.replace(".", ",") + '"' for cell in line.split(",")) for line in LINES[1:]]
    assert np.allclose(read(tmp_path, "\n".join([LINES[0], *rows])), PLAIN)


def test_a_sign_behind_the_last_cell_makes_no_column(tmp_path: Path) -> None:
    assert list(read(tmp_path, "\n".join(line + "," for line in LINES))) == ["a", "b", "y"]


@pytest.mark.parametrize("ending", [".tsv", ".txt", ".tab", ".csv"])
def test_text_with_tabs_is_read_whatever_its_ending(tmp_path: Path, ending: str) -> None:
    assert np.allclose(read(tmp_path, "\n".join(LINES).replace(",", "\t"), f"data{ending}"), PLAIN)


@pytest.mark.parametrize("above", ["Export of plant 7\nmade 2026-01-01\n\n", "# one line\n"])
def test_lines_above_the_names_are_named(tmp_path: Path, above: str) -> None:
    with pytest.raises(InputError, match=r"starts with '.*above the names of its columns: drop what stands above"):
        read(tmp_path, above + "\n".join(LINES))


def test_a_workbook_tells_which_sheet_was_read(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        PLAIN.to_excel(book, sheet_name="record", index=False)
        pd.DataFrame({"note": ["x"]}).to_excel(book, sheet_name="notes", index=False)
    with pytest.warns(UserWarning, match="has 2 sheets, and the first, 'record', was read"):
        assert np.allclose(open_frame(tmp_path / "two.xlsx").frame, PLAIN)


@pytest.mark.parametrize(
    "text", ["31-Jan-2026 08:30:00", "Jan 31, 2026", "31 January 2026", "31.01.26 08:30", "31.01.2026"]
)
def test_dates_as_people_write_them(text: str) -> None:
    times = read_times(pd.Series([text]))
    assert times is not None and (times.dt.year[0], times.dt.month[0], times.dt.day[0]) == (2026, 1, 31)


def test_check_asks_about_a_number_that_may_stand_for_no_value() -> None:
    checked = fb.check(PLAIN.assign(a=PLAIN["a"].mask(PLAIN.index % 9 == 0, -999.0)), "y")
    assert checked.columns.loc["a", "mark"] == -999
    told = " ".join(checked.text().split())
    assert "-999 lies far outside of all else in 'a': if it stands for no value, empty those cells" in told


def test_the_next_command_says_all_that_was_asked(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    PLAIN.assign(w=1.0, day=range(ROWS)).to_csv(file, index=False)
    checked = fb.check(file, "y", ["a"], keep=["b"], exclude=["day"], weights="w", missing="drop", rows="ordered")
    assert checked.command == (
        f"forebear discover {file} --target y --candidate a --keep b --exclude day --missing drop --rows ordered "
        "--weights w --out run"
    )
    assert fb.check(PLAIN, "y", ["a"]).command == "fb.discover(table, 'y', candidates=['a'])"
