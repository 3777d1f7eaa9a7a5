"""Reading tables: kinds of columns, sources, and what bad input is told."""

from __future__ import annotations

import builtins
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forebear.data.source import open_frame
from forebear.data.table import Table, read_columns
from forebear.errors import InputError


def read(data: Any, names: list[str] | None = None, periodic: dict[str, float] | None = None) -> Table:
    frame, source = open_frame(data)
    return read_columns(frame, source, list(frame.columns) if names is None else names, periodic)


def complaint(data: Any, **options: Any) -> str:
    """The message that bad input gets, which is always one line."""
    with pytest.raises(InputError) as caught:
        read(data, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- kinds


NUMBERS = {
    "float64": pd.Series([1.5, 2.0, 3.0]),
    "float32": pd.Series([1.5, 2.0, 3.0], dtype="float32"),
    "int8": pd.Series([1, 2, 3], dtype="int8"),
    "uint64": pd.Series([1, 2, 3], dtype="uint64"),
    "nullable integer": pd.Series([1, 2, 3], dtype="Int64"),
    "nullable float": pd.Series([1.5, 2, 3], dtype="Float64"),
    "arrow float": pd.Series([1.5, 2, 3], dtype="double[pyarrow]"),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0, 2.0, 0.0])),
    "decimal": pd.Series([Decimal("1.5"), Decimal(2), Decimal(3)]),
    "fractions, integers and floats": pd.Series([Fraction(3, 2), 2, 3.0], dtype=object),
}
LABELS = {
    "bool": (pd.Series([True, False, True]), (False, True)),
    "nullable boolean": (pd.Series([True, False, True], dtype="boolean"), (False, True)),
    "boolean objects": (pd.Series([True, False, True], dtype=object), (False, True)),
    "text": (pd.Series(["b", "a", "b"]), ("a", "b")),
    "text objects": (pd.Series(["b", "a", "b"], dtype=object), ("a", "b")),
    "nullable string": (pd.Series(["b", "a", "b"], dtype="string"), ("a", "b")),
    "digits as text": (pd.Series(["2", "1", "2"]), ("1", "2")),
    "mostly text": (pd.Series(["b", "a", "b", 3], dtype=object), (3, "a", "b")),
    "category, order kept, unused level dropped": (
        pd.Series(pd.Categorical(["lo", "hi", "lo"], ["lo", "mid", "hi"])),
        ("lo", "hi"),
    ),
    "category of integers": (pd.Series(pd.Categorical([7, 3, 7])), (3, 7)),
}


@pytest.mark.parametrize("cells", NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_real(cells: pd.Series) -> None:
    column = read({"x": cells}).columns["x"]
    assert (column.kind, column.levels, column.period) == ("real", (), None)
    assert column.values.dtype == np.float64
    assert column.values.tolist() == [float(cell) for cell in cells]


@pytest.mark.parametrize("cells, levels", LABELS.values(), ids=LABELS)
def test_labels_are_a_category(cells: pd.Series, levels: tuple[object, ...]) -> None:
    table = read({"x": cells})
    column = table.columns["x"]
    assert column.kind == "category"
    assert column.levels == levels and [type(a) for a in column.levels] == [type(b) for b in levels]
    assert [levels[int(code)] for code in column.values] == list(cells)
    assert isinstance(table.frame()["x"].dtype, pd.CategoricalDtype)
    assert table.frame()["x"].tolist() == list(cells)


def test_a_period_makes_a_column_periodic() -> None:
    column = read({"x": [0, 90, 720]}, periodic={"x": 360}).columns["x"]
    assert (column.kind, column.period, column.values.tolist()) == ("periodic", 360.0, [0.0, 90.0, 720.0])


def test_only_the_columns_asked_for_are_looked_at_in_table_order() -> None:
    table = read({"a": [1, 2], "bad": [None, 1], "b": [3, 5], "c": [1, 1]}, names=["b", "a"])
    assert list(table.columns) == ["a", "b"] and table.rows == 2
    assert list(table.frame(["b"])) == ["b"]


def test_columns_cannot_be_written_through_to_the_users_data() -> None:
    mine = np.array([1.0, 2.0])
    values = read({"x": mine}).columns["x"].values
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 9.0
    mine[0] = 0.5  # and the user's own array stays writable


# ---------------------------------------------------------------- sources


SAME = {"x": [1.5, 2.0, -3.25], "n": [1, 2, 3], "t": ["u", "v", "u"], "on": [True, False, True]}


def sources(folder: Path) -> dict[str, Any]:
    frame = pd.DataFrame(SAME)
    frame.to_csv(folder / "data.csv", index=False)
    frame.to_parquet(folder / "data.parquet")
    return {
        "pandas": frame.set_index(pd.Index([5, 5, 1])),
        "polars": pl.DataFrame(SAME),
        "polars lazy": pl.LazyFrame(SAME),
        "polars category": pl.DataFrame(SAME).with_columns(pl.col("t").cast(pl.Categorical)),
        "dict of lists": SAME,
        "dict of arrays": {name: np.array(cells) for name, cells in SAME.items()},
        "dict of series with different indexes": {
            name: pd.Series(cells, index=np.roll([0, 1, 2], i)) for i, (name, cells) in enumerate(SAME.items())
        },
        "dict of polars series": {name: pl.Series(cells) for name, cells in SAME.items()},
        "structured array": frame.astype({"t": object}).to_records(index=False),
        "arrow": __import__("pyarrow").table(SAME),
        "csv": folder / "data.csv",
        "csv as str": str(folder / "data.csv"),
        "parquet": folder / "data.parquet",
    }


def test_every_source_gives_the_same_table(tmp_path: Path) -> None:
    for name, data in sources(tmp_path).items():
        table = read(data)
        assert list(table.columns) == list(SAME), name
        assert [column.kind for column in table.columns.values()] == [
            "real",
            "real",
            "category",
            "category",
        ], name
        for column in SAME:
            assert table.frame()[column].tolist() == SAME[column], (name, column)
        assert table.source == (str(data) if isinstance(data, (str, Path)) else "the table"), name


def test_polars_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert read(pl.DataFrame(SAME)).frame()["t"].tolist() == SAME["t"]


def test_a_matrix_gets_names() -> None:
    table = read(np.array([[1.0, 2.0], [3.0, 5.0]]))
    assert list(table.columns) == ["x0", "x1"] and table.columns["x1"].values.tolist() == [2.0, 5.0]


def test_labels_of_columns_become_strings() -> None:
    frame = pd.DataFrame([[1, 2.0], [2, 3.0]])
    assert list(read(frame).columns) == ["0", "1"]
    assert list(frame.columns) == [0, 1], "the user's frame is left alone"
    assert list(read({3: [1, 2], ("a", 1): [2, 1]}).columns) == ["3", "('a', 1)"]


def test_csv_details(tmp_path: Path) -> None:
    path = tmp_path / "data.CSV"
    path.write_bytes("\ufeff\n a, ü\n1, x\n\n2, y\n".encode())
    table = read(path)
    assert list(table.columns) == ["a", "ü"] and table.columns["ü"].levels == ("x", "y")


finite = st.floats(-1e150, 1e150, allow_subnormal=False)


def spread_out(cells: np.ndarray) -> bool:
    scale = np.abs(cells).max() or 1.0
    return np.ptp(cells) > 1e-6 * scale and np.ptp(cells) > 1e-140


matrices = hnp.arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 3)), elements=finite).filter(
    lambda m: all(spread_out(column) for column in m.T)
)


@given(matrices)
def test_floats_come_back_exactly(matrix: np.ndarray) -> None:
    table = read(matrix)
    np.testing.assert_array_equal(np.column_stack([c.values for c in table.columns.values()]), matrix)
    np.testing.assert_array_equal(table.frame().to_numpy(), matrix)


@given(matrices)
def test_floats_come_back_exactly_from_csv(tmp_path_factory: pytest.TempPathFactory, matrix: np.ndarray) -> None:
    path = tmp_path_factory.getbasetemp() / "exact.csv"
    pd.DataFrame(matrix).add_prefix("c").to_csv(path, index=False)
    np.testing.assert_array_equal(read(path).frame().to_numpy(), matrix)


plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
strange = st.one_of(st.dates(), st.complex_numbers(), st.decimals(allow_nan=False), st.lists(st.integers()))


@given(st.lists(st.one_of(plain, strange), min_size=1, max_size=8) | st.lists(plain, min_size=1, max_size=8))
def test_any_cells_are_read_or_refused_in_one_line(cells: list[Any]) -> None:
    try:
        column = read({"x": cells}).columns["x"]
    except InputError as refusal:
        assert str(refusal).startswith("the table: column 'x' ") and "\n" not in str(refusal)
    else:
        assert len(column.values) == len(cells) and np.isfinite(column.values).all()


# ---------------------------------------------------------------- bad cells


BAD_CELLS: dict[str, tuple[Any, str]] = {
    "nan": (
        [1.0, np.nan, 2.0, np.nan, np.nan],
        "has no value in row 2 and 2 more rows: drop or fill those rows",
    ),
    "None": ([1, 2, None], "has no value in row 3: drop or fill those rows"),
    "NA": (pd.Series([1, pd.NA], dtype="Int64"), "has no value in row 2: drop or fill those rows"),
    "None in text": (["a", None, "b"], "has no value in row 2: drop or fill those rows"),
    "missing category": (pd.Categorical(["a", None, "b"]), "has no value in row 2: drop or fill those rows"),
    "missing boolean": (
        pd.Series([True, None], dtype="boolean"),
        "has no value in row 2: drop or fill those rows",
    ),
    "only missing": ([None, None], "has no value in row 1 and 1 more row: drop or fill those rows"),
    "inf": ([1.0, -np.inf, np.inf], "is infinite in row 2 and 1 more row: drop or replace those rows"),
    "text among numbers": (
        ["1", "2.5", "n/a", "?"],
        "has text among its numbers, 'n/a' in row 3 and 1 more row: make every cell a number, "
        "empty those without a value, or drop those rows",
    ),
    "text among numbers, with a gap": (
        [1, None, "three", 4],
        "has text among its numbers, 'three' in row 3: make every cell a number, "
        "empty those without a value, or drop those rows",
    ),
    "constant": ([3, 3, 3], "is constant (every value is 3.0): leave it out"),
    "constant text": (["a", "a"], "is constant (every value is 'a'): leave it out"),
    "one row": ([3.5], "is constant (every value is 3.5): leave it out"),
    "complex": ([1j, 2.0], "holds complex numbers: convert it to a number, or leave it out"),
    "dates": (
        pd.date_range("2020-01-01", periods=2, tz="UTC"),
        "holds dates: convert it to a number, or leave it out",
    ),
    "durations": (
        pd.to_timedelta([1, 2], unit="s"),
        "holds durations: convert it to a number, or leave it out",
    ),
    "lists": (
        [None, [1, 2], [3]],
        "holds a value of type list in row 2: convert it to a number or to text, or leave it out",
    ),
    "bytes": (
        [b"a", b"b"],
        "holds a value of type bytes in row 1: convert it to a number or to text, or leave it out",
    ),
    "identifier": (
        [f"id {i}" for i in range(60)],
        "has 60 different labels in 60 rows, so it looks like an identifier: leave it out, or convert "
        "it if it is "
        "numbers written as text",
    ),
    "too large": (
        [1.0, -2e200, 1e300],
        "is -2e+200, too large to be squared in double precision, in row 2 and 1 more row: rescale the column",
    ),
    "too small": (
        [1e-200, 2e-200],
        "varies by only 1e-200, too little to be squared in double precision: rescale the column",
    ),
    "nearly constant": (
        [1e9, 1e9 + 1e-5, 1e9],
        "is nearly constant (it varies by 4.7e-06 around 1e+09, less than double precision resolves): "
        "subtract its "
        "mean at the source, or leave it out",
    ),
    "wide integers": (
        [1, 2**53 + 1],
        "is 9007199254740993, an integer past 2**53 that a double cannot hold, in row 2: subtract an "
        "offset, or "
        "leave the column out if it is an identifier",
    ),
    "wider integers": (
        [-(10**30), 1],
        "is -1000000000000000000000000000000, an integer past 2**53 that a double cannot hold, in row "
        "1: subtract "
        "an offset, or leave the column out if it is an identifier",
    ),
}


@pytest.mark.parametrize("cells, told", BAD_CELLS.values(), ids=BAD_CELLS)
def test_bad_cells(cells: Any, told: str) -> None:
    assert complaint({"x": cells}) == f"the table: column 'x' {told}"


def test_a_nan_that_a_nullable_float_hides() -> None:
    cells = pd.Series([0.0, 1.0, 2.0], dtype="Float64") / pd.Series([0.0, 1.0, 1.0], dtype="Float64")
    assert "in row 1: drop or fill those rows" in complaint({"x": cells})


def test_many_labels_are_fine_when_rows_are_many_more() -> None:
    cells = [f"site {i % 60}" for i in range(600)]
    assert len(read({"x": cells}).columns["x"].levels) == 60


def test_the_file_opens_the_message(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n2,\n")
    assert complaint(path) == f"{path}: column 'b' has no value in row 2: drop or fill those rows"


def test_bad_periods() -> None:
    table = {"angle": [1.0, 2.0], "t": ["a", "b"]}
    remedy = "give the length of one full turn, 6.2832 for radians"
    for period in (0, -1.0, np.inf, np.nan, "360", True, None):
        told = complaint(table, periodic={"angle": period})
        what = "the period of column 'angle' must be a finite number above 0"
        assert told == f"periodic: {what}; got {period!r}: {remedy}"
    assert complaint(table, periodic={"angel": 1.0}) == (
        "the table: no column 'angel' (named in periodic). Did you mean 'angle'?"
    )
    assert complaint(table, periodic={"t": 1.0}) == (
        "the table: column 't' must hold numbers but holds labels such as 'a': convert it to numbers"
    )
    assert complaint(table, periodic="angle").startswith("periodic must map columns to periods, like {'angle': 6.2")  # type: ignore[arg-type]


def test_unknown_column() -> None:
    assert "no column 'yy' (named in the columns to read). Did you mean 'y'?" in complaint(
        {"x": [1, 2], "y": [2, 1]}, names=["yy"]
    )


# ---------------------------------------------------------------- files as people have them


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiter_and_encoding_are_found(tmp_path: Path, delimiter: str, encoding: str) -> None:
    lines = [["größe", "y"], ["1.5", "a, b; c"], ["-2e3", "d"]]
    text = "\n".join(delimiter.join(f'"{cell}"' if cell == "a, b; c" else cell for cell in line) for line in lines)
    file = tmp_path / "data.csv"
    file.write_bytes(text.encode(encoding))
    frame, _ = open_frame(file)
    assert list(frame) == ["größe", "y"] and frame["größe"].tolist() == [1.5, -2000.0]
    assert frame["y"].tolist() == ["a, b; c", "d"]


def test_decimal_commas(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("x;y\n1,5;2\n-0,25;3\n")
    assert open_frame(file)[0].to_dict("list") == {"x": [1.5, -0.25], "y": [2, 3]}


def test_names_with_other_delimiters(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a;b,c\n1,2\n3,4\n")
    assert list(open_frame(file)[0]) == ["a;b", "c"]


def test_western_files_are_read_and_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes("ü,b\n1,2\n".encode("latin-1"))
    with pytest.warns(UserWarning, match="data.csv is not UTF-8 and was read as Windows-1252"):
        assert list(open_frame(file)[0]) == ["ü", "b"]


def test_xarray_datasets() -> None:
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"x": ("time", [1.0, 2.0]), "y": ("time", [3.0, 4.0])}, coords={"time": [10, 20]})
    assert open_frame(data)[0].to_dict("list") == {"x": [1.0, 2.0], "y": [3.0, 4.0]}


def test_arrow_tables() -> None:
    arrow = pytest.importorskip("pyarrow")
    assert open_frame(arrow.table({"x": [1.0, 2.0]}))[0].to_dict("list") == {"x": [1.0, 2.0]}


# ---------------------------------------------------------------- bad sources


BAD_FILES: dict[str, tuple[str, bytes | None, str]] = {
    "missing": ("no.csv", None, ": no such file. Check the spelling and the folder you are in"),
    "suffix": ("data.xlsx", b"a", " ends in '.xlsx': save the table as .csv or .parquet"),
    "no suffix": ("data", b"a", " has no ending: save the table as .csv or .parquet"),
    "empty": ("data.csv", b"", " is empty: it needs a line of column names and rows of values"),
    "blank": ("data.csv", b"\n\n", " is empty: it needs a line of column names and rows of values"),
    "header only": ("data.csv", b"a,b\n", " has no rows: give at least one row of values below the names"),
    "binary": ("data.csv", b"\x89PNG\0\0", " holds binary data, not text: save it as a CSV in UTF-8"),
    "utf-16 without a mark": (
        "data.csv",
        "a,b\n1,2".encode("utf-16-le"),
        " holds binary data, not text: save it as a CSV in UTF-8",
    ),
    "ragged": (
        "data.csv",
        b"a,b\n1,2\n1,2,3\n",
        " is not a well-formed CSV (Expected 2 fields in line 3, saw 3): mend or drop that line",
    ),
    "an index without a name": (
        "data.csv",
        b"a,b\n0,1,2\n1,3,4\n2,7,8\n",
        " has more cells in a row than names in its header: give every column a name",
    ),
    "more cells than names": (
        "data.csv",
        b"a,b\n1,2,3\n4,5,6\n",
        " has more cells in a row than names in its header: give every column a name",
    ),
    "open quote": (
        "data.csv",
        b'a,b\n1,"2\n3,4\n',
        " is not a well-formed CSV (EOF inside string starting at row 1): mend or drop that line",
    ),
    "no header, decimal commas": (
        "data.csv",
        b"0,5;1,5\n1;2\n",
        " starts with a line of numbers ('0,5', '1,5'): put column names there",
    ),
    "no header": (
        "data.csv",
        b"0.5,1.5\n1,2\n",
        " starts with a line of numbers ('0.5', '1.5'): put column names there",
    ),
    "same name twice": (
        "data.csv",
        b"a,b,a\n1,2,3\n",
        ": more than one column is named 'a': give each its own name",
    ),
    "no name": (
        "data.csv",
        b",a\n0,1\n",
        ": column 1 has no name: name it (an index saved by pandas has none; save with index=False)",
    ),
}


@pytest.mark.parametrize("name, content, told", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(tmp_path: Path, name: str, content: bytes | None, told: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert complaint(path) == f"{path}{told}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    told = complaint(tmp_path)
    assert told == f"{tmp_path} is a folder: give the path of a .csv or .parquet file in it"


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n")

    def denied(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    told = f"{path} cannot be read (Permission denied): check the file and its permissions"
    assert complaint(path) == told


def test_bad_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.parquet"
    path.write_bytes(b"junk that is no parquet")
    told = complaint(path)
    assert told.startswith(f"{path} is not a readable parquet file (") and told.endswith("): write it again")

    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    remedy = "run `pip install forebear[parquet]`, or save it as .csv"
    assert complaint(path) == f"{path} needs pyarrow to be read: {remedy}"


BAD_TABLES: dict[str, tuple[Any, str]] = {
    "names twice": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        "the table: more than one column is named 'a': give each its own name",
    ),
    "names equal as strings": (
        {1: [1, 2], "1": [2, 3]},
        "the table: more than one column is named '1': give each its own name",
    ),
    "blank name": (
        {" ": [1, 2]},
        "the table: column 1 has no name: name it (an index saved by pandas has none; save with index=False)",
    ),
    "nan as a name": (
        pd.DataFrame([[1, 2]], columns=["a", np.nan]),
        "the table: column 2 has no name: name it (an index saved by pandas has none; save with index=False)",
    ),
    "no columns": ({}, "the table has no columns: give a table with a target and its candidates"),
    "no rows": (
        pd.DataFrame({"a": []}),
        "the table has no rows: give at least one row of values below the names",
    ),
    "lengths": (
        {"a": [1, 2, 3], "b": [1, 2]},
        "the table: column 'b' has 2 rows and column 'a' has 3: give every column the same number of rows",
    ),
    "scalar": (
        {"a": [1, 2], "b": 3.0},
        "the table: column 'b' must be one value per row; got an array of shape (): give each of its "
        "columns a name "
        "of its own",
    ),
    "matrix in a dict": (
        {"a": np.ones((2, 3))},
        "the table: column 'a' must be one value per row; got an array of shape (2, 3): give each of its "
        "columns a "
        "name of its own",
    ),
    "vector": (
        np.ones(3),
        "the table: an array must have two axes, rows and columns; got shape (3,)",
    ),
    "something else": (
        42,
        "a table cannot be made from int: give a pandas or polars frame, a dict of arrays, a matrix, or "
        "a path to "
        "a .csv or .parquet file",
    ),
}


@pytest.mark.parametrize("data, told", BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(data: Any, told: str) -> None:
    assert complaint(data) == told
