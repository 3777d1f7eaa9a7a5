"""Where a table comes from: a file, a data frame, a dict of arrays, a matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.data.delimited import SMALL, read_delimited
from forebear.data.formats import FORMATS, LINES, draw_lines, read_format
from forebear.data.large import Pick, draw_rows, is_large
from forebear.data.records import chosen_rows, is_packed, suffix_of
from forebear.errors import InputError, listed
from forebear.storage.memory import check_room

IN_MEMORY = "the table"
TEXT = (".csv", ".tsv", ".tab", ".txt")
"""endings of text with a cell behind the other; the sign between them is found"""


class Opened(NamedTuple):
    """A table that has been read, with its names checked."""

    frame: pd.DataFrame
    source: str
    """what to call it in messages: the name of its file, or `IN_MEMORY`"""


def open_frame(data: Any) -> Opened:
    """The table as a pandas frame with checked names, and what to call it in messages.

    `data` is a path to a .csv or .parquet file, or one of `forebear.data.formats`; a pandas, polars or pyarrow table,
    an xarray dataset, a dict of arrays, or a matrix with one row per observation (its columns become x0, x1, ...).
    Cells are checked later, for the columns that are used. The index of a pandas frame and the coordinates of a
    dataset are dropped. A table that has been opened already is given back as it is, under the name that it has.

    >>> frame, source = open_frame({"x": [1, 2], "y": [0.5, 0.25]})
    >>> list(frame), len(frame), source
    (['x', 'y'], 2, 'the table')
    """
    if isinstance(data, Opened):
        return data
    if isinstance(data, (str, Path)):
        frame, source = _read_file(Path(data)), str(data)
    else:
        frame, source = _from_memory(data), IN_MEMORY
    return _checked(frame, source)


class Sampled(NamedTuple):
    """A table that has been read, as a whole or in part."""

    opened: Opened
    total: int
    """rows that were there"""
    sampled: bool


def open_sample(data: Any, pick: Pick = list, most: int | None = None, seed: int = 0) -> Sampled:
    """The table, or so many of its rows at most, drawn by the seed in one pass that holds few of them at a time.

    Of sources that can be read in parts (`forebear.data.large`) only the columns that `pick` names are read.

    >>> sampled = open_sample({"x": np.arange(1_000.0)}, most=200)
    >>> len(sampled.opened.frame), sampled.total, sampled.sampled
    (200, 1000, True)
    """
    if not isinstance(data, Opened) and is_large(data) and _there(data):
        # What a query is called would be its answer.
        source = str(data) if isinstance(data, (str, Path)) else IN_MEMORY
        frame, total = draw_rows(data, lambda names: pick(_checked_names(names, source)), most, seed)
        return Sampled(_checked(frame, source), total, len(frame) < total)
    drawn = _read_text(Path(data), most, seed) if isinstance(data, (str, Path)) and most is not None else None
    if drawn is not None:
        frame, total = drawn
        if len(frame) < total:
            return Sampled(_checked(frame, str(data)), total, True)
        data = _checked(frame, str(data))
    opened = open_frame(data)
    total = len(opened.frame)
    rows = chosen_rows(total, most, seed)
    if rows is None:
        return Sampled(opened, total, False)
    return Sampled(Opened(opened.frame.iloc[rows].reset_index(drop=True), opened.source), total, True)


def _there(data: Any) -> bool:
    return not isinstance(data, (str, Path)) or Path(data).exists()


def _checked(frame: pd.DataFrame, source: str) -> Opened:
    names = _checked_names(frame.columns, source)
    if not names:
        raise InputError(f"{source} has no columns: give a table with a target and its candidates")
    if not len(frame):
        raise InputError(f"{source} has no rows: give at least one row of values below the names")
    frame = frame.reset_index(drop=True)
    frame.columns = pd.Index(names, dtype=object)
    return Opened(frame, source)


def _read_file(path: Path) -> pd.DataFrame:
    try:
        if path.is_dir() and is_large(path):
            return draw_rows(path, list, None, 0).frame
        if path.is_dir():
            raise InputError(f"{path} is a folder: give the path of a .csv or .parquet file in it")
        if not path.exists():
            raise InputError(f"{path}: no such file. Check the spelling and the folder you are in")
        suffix = suffix_of(path)
        if suffix in TEXT:
            return _read_csv(path)[0]
        if suffix in (".parquet", ".pq") and not is_packed(path):
            return _read_parquet(path)
        if suffix in FORMATS and (FORMATS[suffix].packed or not is_packed(path)):
            if suffix != ".xlsx" or _is_zip(path):
                return read_format(path, suffix)
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read ({reason}): check the file and its permissions") from error
    ending = f"ends in '{path.suffix}'" if path.suffix else "has no ending"
    raise InputError(f"{path} {ending}: save the table as .csv or .parquet")


def _is_zip(path: Path) -> bool:
    """As a workbook is; others only bear the name."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _read_csv(path: Path, most: int | None = None, seed: int = 0) -> tuple[pd.DataFrame, int]:
    header, frame, total = read_delimited(path, most, seed)
    frame.columns = pd.Index(_checked_names(header, str(path)), dtype=object)
    return frame, total


def _read_text(path: Path, most: int, seed: int) -> tuple[pd.DataFrame, int] | None:
    """Rows that are drawn of a text file, and how many it has; None where it is no such file, or small enough."""
    try:
        if not path.is_file() or path.stat().st_size < SMALL:
            return None
        suffix = suffix_of(path)
        if suffix in TEXT:
            return _read_csv(path, most, seed)
        return draw_lines(path, most, seed) if suffix in LINES else None
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read ({reason}): check the file and its permissions") from error


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            # A few bytes can stand for any number of equal cells.
            about = file.metadata
            check_room(f"{path}: reading {about.num_rows} rows", about.num_rows * max(1, about.num_columns))
        return pd.read_parquet(path)
    except InputError:
        raise
    except ImportError as error:
        raise InputError(
            f"{path} needs pyarrow to be read: run `pip install forebear[parquet]`, or save it as .csv"
        ) from error
    except Exception as error:  # whatever the reader trips over, the file is not a table it can read
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} is not a readable parquet file ({reason}): write it again") from error


def _from_memory(data: Any) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data
    if hasattr(data, "data_vars"):
        return data.to_dataframe()[list(data.data_vars)]  # an xarray dataset; it is a mapping too
    if isinstance(data, Mapping):
        return _from_arrays(data)
    if isinstance(data, np.ndarray):
        return _from_matrix(data)
    if is_large(data):
        return draw_rows(data, list, None, 0).frame
    if hasattr(data, "collect") and not hasattr(data, "get_columns"):
        data = data.collect()  # a lazy polars frame
    if hasattr(data, "get_columns"):
        # Column by column, since polars' own conversion of a whole frame needs pyarrow.
        return _from_arrays({column.name: column for column in data.get_columns()})
    if hasattr(data, "to_pandas"):
        converted = data.to_pandas()
        if isinstance(converted, pd.DataFrame):
            return converted
    raise InputError(
        f"a table cannot be made from {type(data).__name__}: give a pandas or polars frame, a dict of "
        "arrays, a matrix, or a path to a .csv or .parquet file"
    )


def _from_matrix(data: np.ndarray) -> pd.DataFrame:
    if data.dtype.names:
        return _from_arrays({name: data[name] for name in data.dtype.names})
    if data.ndim != 2:
        raise InputError(f"{IN_MEMORY}: an array must have two axes, rows and columns; got shape {data.shape}")
    return pd.DataFrame(data, columns=pd.Index([f"x{i}" for i in range(data.shape[1])]))


def _from_arrays(data: Mapping[Any, Any]) -> pd.DataFrame:
    names = _checked_names(data, IN_MEMORY)
    columns = {name: _one_axis(name, cells) for name, cells in zip(names, data.values(), strict=True)}
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise InputError(
            f"{IN_MEMORY}: column '{short}' has {lengths[short]} rows and column '{long}' has {lengths[long]}"
            ": give every column the same number of rows"
        )
    return pd.DataFrame(columns)


def _one_axis(name: str, cells: Any) -> pd.Series:
    if isinstance(cells, (pd.Series, pd.Index)):
        return pd.Series(cells).reset_index(drop=True)  # an index would align rows by label, not by place
    if isinstance(cells, (list, tuple, pd.api.extensions.ExtensionArray)):
        return pd.Series(cells)
    array = cells.to_numpy() if hasattr(cells, "to_numpy") else np.asarray(cells)
    if array.ndim != 1:
        raise InputError(
            f"{IN_MEMORY}: column '{name}' must be one value per row; got an array of shape {array.shape}: "
            "give each of its columns a name of its own"
        )
    return pd.Series(array)


def _checked_names(labels: Iterable[Any], source: str) -> list[str]:
    names = ["" if _is_blank(label) else str(label) for label in labels]
    for place, name in enumerate(names, start=1):
        if not name:
            raise InputError(
                f"{source}: column {place} has no name: name it (an index saved by pandas has none; "
                "save with index=False)"
            )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"{source}: more than one column is named {listed(twice)}: give each its own name")
    return names


def _is_blank(label: object) -> bool:
    return label is None or label != label or not str(label).strip()
