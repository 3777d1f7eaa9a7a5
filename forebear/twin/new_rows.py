"""New rows as a twin in operation meets them: with gaps, new labels, values beyond the data, and more columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from forebear.data.column import cells_of
from forebear.data.lagged import Lagged
from forebear.data.scaling import ColumnCode
from forebear.data.source import open_frame
from forebear.errors import InputError, near_miss
from forebear.kinds import kind_named
from forebear.kinds.cells import number_cells, tamed
from forebear.twin.given import Described
from forebear.twin.intervals import FAR, diagonals, units_of

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

UNKNOWN = -1.0
"""code of a label that the data of the twin does not have"""


@dataclass(frozen=True, eq=False)
class NewTable:
    """All rows as raw numbers; NaN is a gap, and `UNKNOWN` a label never seen."""

    frame: pd.DataFrame
    x: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, "rows targets"]
    other: dict[str, Float[np.ndarray, " rows"]]
    """columns beside them that the reference has"""
    beyond: dict[str, Bool[np.ndarray, " rows"]]
    """input or target -> rows in which it is outside what the twin has seen"""
    lacking: Bool[np.ndarray, " rows"]
    """rows with a gap that no law can answer for"""

    @property
    def inside(self) -> np.ndarray:
        """Numbers of the rows on which the laws can be asked."""
        outside = np.any([self.lacking, *self.beyond.values()], axis=0)
        return np.flatnonzero(~outside)


def read_new(twin: Twin, rows: Any, others: Sequence[ColumnCode], what: str = "rows") -> NewTable:
    """Read by name; a column of the twin that is not there is an error, others may be missing."""
    frame, source = open_frame(rows.table if isinstance(rows, Lagged) else rows)
    where = source if isinstance(rows, str) or hasattr(rows, "suffix") else what
    for column in (*twin.columns, *twin.outputs):
        if column.name not in frame.columns:
            raise InputError(f"{where}: no column '{column.name}'. {near_miss(column.name, frame.columns)}")
    x, y = (_matrix(frame, columns, where) for columns in (twin.columns, twin.outputs))
    other = {one.name: _cells(frame, one, where) for one in others if one.name in frame.columns}
    lacking = np.asarray(np.isnan(y).any(axis=1))
    for place, column in enumerate(twin.columns):
        if not column.gaps:
            lacking |= np.isnan(x[:, place])
    return NewTable(frame, x, y, other, _beyond(twin, x, y), lacking)


def _matrix(frame: pd.DataFrame, columns: Sequence[ColumnCode] | Sequence[Any], where: str) -> np.ndarray:
    read = [_cells(frame, column, where) for column in columns]
    return np.stack(read, axis=1) if read else np.zeros((len(frame), 0))


def _cells(frame: pd.DataFrame, column: Described, where: str) -> np.ndarray:
    cells = tamed(cells_of(frame, column.name))
    missing = cells.isna().to_numpy()
    whole = np.full(len(cells), np.nan)
    if missing.all():
        return whole
    present = pd.Series(cells[~missing])
    if column.levels:
        kind = kind_named(column.kind if isinstance(column, ColumnCode) else "category")
        whole[~missing] = kind.numbers(present, column)  # type: ignore[arg-type]
    else:
        whole[~missing] = number_cells(present, f"{where}: column '{column.name}'")
    return whole


def _beyond(twin: Twin, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Which input, or target, takes a row out of what the twin has seen."""
    low, high = twin.ends
    scale = np.array([column.scale for column in twin.columns])
    with np.errstate(invalid="ignore"):
        far = np.maximum(low - x, x - high) / scale > FAR
    far |= np.array([bool(column.levels) for column in twin.columns], bool) & (x == UNKNOWN)
    found = {name: far[:, place] for place, name in enumerate(twin.inputs)}
    for names, rows in _corners(twin, x, far.any(axis=1)):
        for name in names:
            found[name] = found[name] | rows
    for place, target in enumerate(twin.outputs):
        if target.levels:
            found[target.name] = y[:, place] == UNKNOWN
    return {name: rows for name, rows in found.items() if rows.any()}


def _corners(twin: Twin, x: np.ndarray, far: np.ndarray) -> list[tuple[tuple[str, str], np.ndarray]]:
    """Pairs of inputs that do not occur together in the data, and the rows that have them."""
    places, extents = twin.corners
    units, found = units_of(twin, x, places), []
    for i, j, low, high in extents:
        both = diagonals(units, i, j)
        with np.errstate(invalid="ignore"):
            empty = (np.maximum(low - both, both - high).max(axis=0) > FAR) & ~far
        if empty.any():
            found.append(((twin.inputs[places[i]], twin.inputs[places[j]]), empty))
    return found
