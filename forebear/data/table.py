"""The table as the pipeline sees it: checked columns of known kinds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from forebear.data.column import Column as Column
from forebear.data.column import cells_of, read_column
from forebear.data.names import pick_names, pick_periods
from forebear.data.source import open_frame as open_frame
from forebear.kinds import kind_named


@dataclass(frozen=True)
class Table:
    """Checked columns in table order, only those that were asked for.

    `source` is the file's name, or "the table"; messages start with it.

    >>> table = read_columns(pd.DataFrame({"x": [1, 2], "on": [True, False]}), "the table", ["on", "x"])
    >>> list(table.columns), table.rows, table.columns["on"].levels
    (['x', 'on'], 2, (False, True))
    """

    columns: Mapping[str, Column]
    rows: int
    source: str

    def take(self, rows: np.ndarray) -> Table:
        """The table of some of the rows."""
        columns = {name: replace(c, values=c.values[rows]) for name, c in self.columns.items()}
        return Table(columns, len(rows), self.source)

    def with_values(self, names: Iterable[str]) -> Table:
        """The table of the rows on which none of these columns has a gap."""
        gaps = np.any([self.columns[name].gaps for name in names], axis=0)
        return self.take(np.flatnonzero(~gaps)) if np.any(gaps) else self

    def periods(self) -> dict[str, float]:
        """Column -> period of the angles."""
        return {name: column.period for name, column in self.columns.items() if column.period is not None}

    def frame(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """The raw columns for samplers that users write: numbers as float64, categories with their labels.

        >>> read_columns(pd.DataFrame({"x": ["b", "a"]}), "the table", ["x"]).frame()["x"].tolist()
        ['b', 'a']
        """
        chosen = list(self.columns) if names is None else list(names)
        cells = {name: _cells(self.columns[name]) for name in chosen}
        return pd.DataFrame(cells, index=pd.RangeIndex(self.rows))

    def matrix(self, names: Iterable[str]) -> np.ndarray:
        """Raw numbers (rows, columns), a category as its code.

        >>> read_columns(pd.DataFrame({"x": ["b", "a"]}), "the table", ["x"]).matrix(["x"]).tolist()
        [[1.0], [0.0]]
        """
        values = [self.columns[name].values for name in names]
        return np.stack(values, axis=1) if values else np.zeros((self.rows, 0))


def read_columns(
    frame: pd.DataFrame,
    source: str,
    names: Iterable[str],
    periodic: Mapping[str, float] | None = None,
    gaps: bool = False,
) -> Table:
    """Check the cells of these columns and decide their kinds; other columns are not looked at.

    Floats and integers are real; booleans, text and pandas categories are categories; the columns in
    `periodic` are angles. Raises `InputError` on the first cell that cannot be used; with `gaps`, cells may
    be missing.

    >>> read_columns(pd.DataFrame({"x": [1.0, 1.0]}), "data.csv", ["x"])
    Traceback (most recent call last):
    forebear.errors.UnusableColumn: data.csv: column 'x' is constant (every value is 1.0): leave it out
    """
    columns = list(frame.columns)
    periods = pick_periods(periodic, columns, source)
    wanted = set(pick_names(names, columns, source, "the columns to read"))
    read = {
        name: read_column(cells_of(frame, name), source, name, periods.get(name), gaps)
        for name in columns
        if name in wanted
    }
    return Table(read, len(frame), source)


def _cells(column: Column) -> pd.Series:
    gaps, kind = column.gaps, kind_named(column.kind)
    if not gaps.any():
        return kind.cells(column.values, column)
    filled = np.where(gaps, column.present[0], column.values)
    return kind.cells(filled, column).mask(gaps)


def fingerprint(table: Table) -> str:
    """A hash of the names, kinds and values of the columns in use.

    >>> a, b = (read_columns(pd.DataFrame({"x": [1.0, v]}), "t", ["x"]) for v in (2.0, 3.0))
    >>> fingerprint(a) == fingerprint(a), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    digest = hashlib.sha256()
    for name, column in table.columns.items():
        digest.update(repr((name, column.kind, column.period, column.levels)).encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    return digest.hexdigest()
