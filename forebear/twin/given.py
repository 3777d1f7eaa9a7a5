"""What users hand to a twin, as a checked matrix of raw numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from forebear.data.column import cells_of
from forebear.data.source import open_frame
from forebear.errors import InputError, listed, near_miss
from forebear.kinds.cells import check_present, number_cells


class Described(Protocol):
    """A column whose name and, for a category, levels are known."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[object, ...]: ...


def _may_lack(column: Described) -> bool:
    """Whether the law of the column was learned from rows with gaps in it, and so knows what to say there."""
    return bool(getattr(column, "gaps", False))


def read_matrix(data: Any, columns: Sequence[Described], what: str) -> np.ndarray:
    """Raw numbers (rows, columns) in float64; `what` opens the messages.

    A data frame, a dict of columns or a file is read by name, whatever else it holds; an array (rows, columns) by
    place. Categories become codes: a frame holds their labels, an array of numbers the codes themselves.

    >>> from forebear.data.scaling import ColumnCode
    >>> columns = [ColumnCode("a", "real"), ColumnCode("b", "category", levels=("u", "v"))]
    >>> read_matrix({"b": ["v", "u"], "a": [1, 2]}, columns, "given").tolist()
    [[1.0, 1.0], [2.0, 0.0]]
    >>> read_matrix({"b": ["v"], "A": [1]}, columns, "given")
    Traceback (most recent call last):
    forebear.errors.InputError: given: no column 'a'. Did you mean 'A'?
    """
    if _is_array(data):
        return _from_array(data, columns, what)
    if isinstance(data, Mapping):
        data = _listed(data)
    if isinstance(data, pd.Series) and len(columns) == 1:
        data = {columns[0].name: data}
    if not columns and isinstance(data, pd.DataFrame):
        return np.zeros((len(data), 0))
    if not columns and isinstance(data, Mapping):
        return np.zeros((max((len(cells) for cells in data.values()), default=1), 0))
    frame, source = open_frame(data)
    where = source if isinstance(data, str) or hasattr(data, "suffix") else what
    for column in columns:
        if column.name not in frame.columns:
            raise InputError(f"{where}: no column '{column.name}'. {near_miss(column.name, frame.columns)}")
    read = [_numbers(cells_of(frame, c.name), c, f"{where}: column '{c.name}'") for c in columns]
    return np.stack(read, axis=1) if read else np.zeros((len(frame), 0))


def _listed(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A dict of columns, a single value standing for as many as the others have.

    >>> _listed({"a": 1.0, "b": [2, 3]})
    {'a': [1.0, 1.0], 'b': [2, 3]}
    """
    single = [name for name, cells in data.items() if np.ndim(cells) == 0]
    rows = max((len(cells) for name, cells in data.items() if name not in single), default=1)
    return {name: [cells] * rows if name in single else cells for name, cells in data.items()} if single else data


def _is_array(data: Any) -> bool:
    frame = isinstance(data, str | pd.DataFrame | pd.Series | Mapping) or hasattr(data, "get_columns")
    return isinstance(data, list | tuple) or (not frame and hasattr(data, "__array__"))


def _from_array(data: Any, columns: Sequence[Described], what: str) -> np.ndarray:
    try:
        array = np.asarray(data)
    except ValueError:
        raise InputError(f"{what}: the rows have different lengths: give each {len(columns)} numbers") from None
    if array.ndim == 1 and len(columns) == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != len(columns):
        names = listed([column.name for column in columns]) or "no column at all"
        raise InputError(f"{what}: an array must have shape (rows, {len(columns)}), for {names}; got {array.shape}")
    if array.dtype.kind not in "fiub":
        cells = [pd.Series(array[:, i]).infer_objects() for i in range(array.shape[1])]
        read = [_numbers(c, own, f"{what}: column '{own.name}'") for c, own in zip(cells, columns, strict=True)]
        return np.stack(read, axis=1) if read else np.zeros(array.shape)
    matrix = array.astype(float)
    for place, column in enumerate(columns):
        _check_numbers(matrix[:, place], column, f"{what}: column '{column.name}'")
    return matrix


def _check_numbers(cells: np.ndarray, column: Described, where: str) -> None:
    if _may_lack(column):
        cells = cells[~np.isnan(cells)]
    if not np.isfinite(cells).all():
        number_cells(pd.Series(cells), where)
    if column.levels:
        strange = ~np.isin(cells, np.arange(len(column.levels)))
        if strange.any():
            row = int(np.argmax(strange))
            raise InputError(
                f"{where} holds {cells[row]:g} in row {row + 1}: an array gives a category by its code, 0 to "
                f"{len(column.levels) - 1} for {listed(column.levels)}"
            )


def _numbers(cells: pd.Series, column: Described, where: str) -> np.ndarray:
    if _may_lack(column) and cells.isna().any():
        whole = np.full(len(cells), np.nan)
        here = ~cells.isna().to_numpy()
        whole[here] = _numbers(pd.Series(cells[here]), column, where) if here.any() else 0.0
        return whole
    if not column.levels:
        return number_cells(cells, where)
    check_present(cells, where)
    codes = pd.Index(column.levels, dtype=object).get_indexer(pd.Index(cells.astype(object)))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        label = cells.iloc[row]
        label, known = (
            (label.item() if isinstance(label, np.generic) else label),
            [str(level) for level in column.levels],
        )
        raise InputError(
            f"{where} holds {label!r} in row {row + 1}, never seen in the data. {near_miss(label, known)}"
        )
    return codes.astype(float)


def raw_frame(columns: Sequence[Described], values: np.ndarray) -> dict[str, Any]:
    """The way back from a matrix of raw numbers: cells by name, categories with their labels, gaps empty.

    >>> from forebear.data.scaling import ColumnCode
    >>> raw_frame([ColumnCode("b", "category", levels=("u", "v"))], np.array([[1.0], [0.0]]))["b"].tolist()
    ['v', 'u']
    """
    found: dict[str, Any] = {}
    for place, column in enumerate(columns):
        own = values[:, place]
        if column.levels:
            labels = np.array([*column.levels, None], dtype=object)
            known = np.isfinite(own) & (own >= 0)
            found[column.name] = pd.Series(labels[np.where(known, own, len(column.levels)).astype(int)])
        else:
            found[column.name] = own
    return found
