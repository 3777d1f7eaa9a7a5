"""One column: what kind it is, and its cells as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from forebear.errors import UnusableColumn
from forebear.kinds import recognise
from forebear.kinds.cells import tamed


@dataclass(frozen=True)
class Column:
    """One column of the table, its cells as float64.

    A category holds codes 0..k-1 that point into `levels`; a periodic column holds the raw angle.

    >>> Column("x", "real", np.array([1.0, 2.0])).kind
    'real'
    """

    name: str
    kind: str
    """the word of `forebear.kinds`"""
    values: np.ndarray
    levels: tuple[object, ...] = ()
    period: float | None = None

    @property
    def gaps(self) -> np.ndarray:
        """(rows,) where a cell is missing: its value is NaN."""
        return np.isnan(self.values)

    @property
    def present(self) -> np.ndarray:
        """The values that are there."""
        missing = self.gaps
        return self.values[~missing] if missing.any() else self.values


def read_column(cells: pd.Series, source: str, name: str, period: float | None = None, gaps: bool = False) -> Column:
    """The column in a form the rest can compute with, or an `InputError` that says what to do about it.

    Numbers become a real column (a periodic one when a period is given); booleans, text and pandas
    categories become a category. With `gaps`, cells may be missing: they become NaN.

    >>> read_column(pd.Series(["b", "a", "b"]), "the table", "x")
    Column(name='x', kind='category', values=array([1., 0., 1.]), levels=('a', 'b'), period=None)
    """
    where = f"{source}: column '{name}'"
    cells = tamed(cells)
    missing = cells.isna().to_numpy() if gaps else np.zeros(0, bool)
    present = cast(pd.Series, cells[~missing]) if missing.any() else cells
    if gaps and not len(present):
        raise UnusableColumn(where, "is empty (no row has a value)")
    kind = recognise(present, where, period)
    values, levels = kind.read(present, where)
    if len(present) < len(cells):
        whole = np.full(len(cells), np.nan)
        whole[~missing] = values
        values = whole
    return Column(name, kind.name, _frozen(values), levels, period)


def cells_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """One column of a frame whose names are known to differ, so that it is a series and never a frame.

    >>> cells_of(pd.DataFrame({"x": [1, 2]}), "x").tolist()
    [1, 2]
    """
    return cast(pd.Series, frame[name])


def _frozen(values: np.ndarray) -> np.ndarray:
    # A view where the table allows it: nothing may write through it into the user's own data.
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view
