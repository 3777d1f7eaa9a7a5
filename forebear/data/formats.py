"""Files that other libraries know how to read: Excel, JSON lines, Feather, HDF5, NetCDF."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.data.delimited import told_tidy
from forebear.data.records import chosen_rows, count_records, is_packed, pick_records
from forebear.errors import InputError, listed
from forebear.storage.memory import check_file, check_room

LINES = (".jsonl", ".ndjson")
"""a record in each line, as JSON"""
# Of a file's size, while it becomes columns: these are compressed.
_COPIES, _COPIES_OF_PACKED = 10.0, 40.0


class Format(NamedTuple):
    """How a kind of file is read, and what that needs."""

    read: Callable[[Path], pd.DataFrame]
    needs: str = ""
    packed: bool = False
    """whether it may be packed by gzip"""


def read_format(path: Path, suffix: str) -> pd.DataFrame:
    """The table in a file with one of the endings of `FORMATS`."""
    form = FORMATS[suffix]
    check_file(path, _COPIES_OF_PACKED if is_packed(path) else _COPIES)
    try:
        return form.read(path)
    except InputError:
        raise
    except ImportError:
        raise InputError(
            f"{path} needs {form.needs} to be read: run `pip install forebear[formats]`, or save it as .csv or "
            ".parquet"
        ) from None
    except Exception as error:  # whatever the reader trips over, the file is not a table it can read
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InputError(
            f"{path} is not a readable {suffix} file ({reason}): write it again, or as .csv or .parquet"
        ) from error


def draw_lines(path: Path, most: int, seed: int) -> tuple[pd.DataFrame, int] | None:
    """So many rows of JSON lines, drawn by the seed, and how many there are; None where there are no more."""
    total = count_records(path, quoted=False)
    rows = chosen_rows(total, most, seed)
    if rows is None:
        return None
    return _json(BytesIO(pick_records(path, rows, quoted=False, header=False))), total


def _json(source: Any) -> pd.DataFrame:
    how: dict[str, Any] = {"lines": True, "dtype": False}  # dates stay text, which is read as times later
    return pd.read_json(source, **how)


def _excel(path: Path) -> pd.DataFrame:
    with pd.ExcelFile(path) as book:
        first, *others = [str(name) for name in book.sheet_names]
        made: Any = pd.read_excel(book, sheet_name=first)
    if others:
        warnings.warn(
            f"{path} has {len(others) + 1} sheets, and the first, '{first}', was read: move the table there, or save "
            f"its sheet as .csv",
            stacklevel=2,
        )
    return told_tidy(path, made)


def _feather(path: Path) -> pd.DataFrame:
    made: Any = pd.read_feather(path)
    return made


def _netcdf(path: Path) -> pd.DataFrame:
    """The variables of a file along all their dimensions; coordinates are not kept."""
    import xarray

    try:
        opened = xarray.open_dataset(path)
    except ValueError as error:  # no library at hand that reads it
        if "engine" in str(error) or "backend" in str(error):
            raise ImportError(str(error)) from error
        raise
    with opened as data:
        rows = int(np.prod(list(data.sizes.values()))) if data.sizes else 0
        check_room(f"{path}: reading {rows:,} rows", rows * max(1, len(data.data_vars)))
        frame: Any = data.to_dataframe()[[str(name) for name in data.data_vars]]
        return frame


def _hdf5(path: Path) -> pd.DataFrame:
    """Arrays of one length side by side in a group, a table of records, or a matrix."""
    import h5py

    with h5py.File(path) as file:
        group: Any = file
        while True:
            if "pandas_type" in group.attrs:
                # These may hold pickles, which run whatever code is in them.
                raise InputError(f"{path} was written by pandas' to_hdf: save it as .parquet or .csv")
            arrays = {name: one for name, one in group.items() if isinstance(one, h5py.Dataset)}
            inside = [one for one in group.values() if isinstance(one, h5py.Group)]
            if arrays or len(inside) != 1:
                break
            group = inside[0]
        if not arrays:
            raise InputError(f"{path} holds no array that is a table: put columns of one length into one group")
        check_room(f"{path}: reading it", sum(int(np.prod(one.shape)) for one in arrays.values()))
        return _side_by_side(path, arrays)


def _side_by_side(path: Path, arrays: Mapping[str, Any]) -> pd.DataFrame:
    if len(arrays) == 1:
        cells = next(iter(arrays.values()))[()]
        if cells.dtype.names:
            return pd.DataFrame({name: _text(cells[name]) for name in cells.dtype.names})
        if cells.ndim == 2:
            return pd.DataFrame(cells, columns=pd.Index([f"x{i}" for i in range(cells.shape[1])]))
    lengths = {name: one.shape for name, one in arrays.items()}
    if len(set(lengths.values())) > 1 or len(next(iter(lengths.values()))) != 1:
        shown = listed([f"{name} {shape}" for name, shape in lengths.items()], 3)
        raise InputError(f"{path} holds arrays of different shapes ({shown}): a table has columns of one length")
    return pd.DataFrame({name: _text(one[()]) for name, one in arrays.items()})


def _text(cells: np.ndarray) -> Any:
    """Labels are kept as bytes there."""
    if cells.dtype.kind not in "SO":
        return cells
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in cells]


FORMATS: dict[str, Format] = {
    ".xlsx": Format(_excel, "openpyxl"),
    **{ending: Format(_json, packed=True) for ending in LINES},
    ".feather": Format(_feather, "pyarrow"),
    ".arrow": Format(_feather, "pyarrow"),
    **{ending: Format(_hdf5, "h5py") for ending in (".h5", ".hdf5")},
    **{ending: Format(_netcdf, "xarray and netCDF4") for ending in (".nc", ".nc4")},
}
"""by ending"""
