"""The reader of tables: numbers come back to the bit, and whatever else there is is read or refused in a line."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings, target
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forebear.data.source import open_frame
from forebear.data.table import read_columns
from forebear.errors import InputError

NUMBERS = st.floats(-1e140, 1e140, allow_subnormal=False)
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1
).filter(lambda name: name.strip() == name and bool(name) and not name.startswith(("\ufeff", '"')))


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(float, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=NUMBERS),
    st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ".")]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_numbers_come_back_to_the_bit(values: np.ndarray, signs: tuple[str, str], encoding: str, end: str) -> None:
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])
    text = frame.to_csv(index=False, sep=signs[0], decimal=signs[1], lineterminator=end)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.csv"
        file.write_bytes(text.encode(encoding))
        back, _ = open_frame(file)
    assert list(back.columns) == list(frame.columns)
    np.testing.assert_array_equal(back.to_numpy(float), values)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=4, unique=True))
def test_names_come_back(names: list[str]) -> None:
    frame = pd.DataFrame(np.arange(3.0 * len(names)).reshape(3, -1) + 0.5, columns=names)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.csv"
        frame.to_csv(file, index=False)
        try:
            back, _ = open_frame(file)
        except InputError as error:  # names that are all numbers look like a row of data
            assert "\n" not in str(error)
            return
    assert list(back.columns) == names


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.binary(max_size=200), st.text(alphabet='ab1.5e-,;|\t"\n\r \ufeffé\0', max_size=200).map(str.encode))
)
def test_any_bytes_are_read_or_refused_in_a_line(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of encodings that are guessed
        file = Path(folder) / "a.csv"
        file.write_bytes(content)
        try:
            frame, source = open_frame(file)
            target(float(frame.size))
            for name in frame.columns:
                read_columns(frame, source, [name])
        except InputError as error:
            assert str(error).isprintable() and "a.csv" in str(error)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(), st.integers(), st.booleans(), st.text(max_size=5), st.none(), st.dates(), st.decimals(),
            st.fractions(), st.complex_numbers(), st.binary(max_size=3), st.tuples(st.integers()),
        ),
        min_size=1,
        max_size=8,
    )
)  # fmt: skip
def test_any_cells_are_a_column_or_refused_in_a_line(cells: list[object]) -> None:
    try:
        frame, source = open_frame({"x": pd.Series(cells, dtype=object)})
        column = read_columns(frame, source, ["x"]).columns["x"]
    except InputError as error:
        assert str(error).isprintable() and "'x'" in str(error)
    else:
        assert np.isfinite(column.values).all() and column.values.std() > 0
