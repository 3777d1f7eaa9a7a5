"""Some rows of the data, to be drawn into the fan charts of a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebear.data.column import Column
from forebear.data.table import Table
from forebear.report.weights import pack
from forebear.twin.twin import Twin

_MOST = 300
# Of very many columns fewer rows go along, so that a page stays small.
_MOST_NUMBERS = 60_000


def data_points(twin: Twin, table: Table) -> dict[str, Any] | None:
    """Rows spread evenly over the table: the inputs and the targets of the twin, categories as its codes, gaps as
    NaN. None where the table lacks one of them."""
    described = {**{c.name: c.levels for c in twin.columns}, **{t.name: t.levels for t in twin.outputs}}
    if not described or any(name not in table.columns for name in described):
        return None
    most = max(40, min(_MOST, _MOST_NUMBERS // len(described)))
    rows = np.unique(np.linspace(0, table.rows - 1, min(table.rows, most)).astype(int))
    return {
        "rows": len(rows),
        "columns": {name: pack(codes(table.columns[name], levels)[rows]) for name, levels in described.items()},
    }


def codes(column: Column, levels: tuple[object, ...]) -> np.ndarray:
    """The cells of a column as numbers, labels by their places in `levels`; NaN for one that is not there.

    >>> codes(Column("a", "category", np.array([0.0, 1.0]), ("u", "v")), ("v", "w")).tolist()
    [nan, 0.0]
    """
    if not levels or not column.levels:
        return column.values
    places = np.array([levels.index(level) if level in levels else np.nan for level in column.levels], float)
    known = np.full(len(column.values), np.nan)
    known[~column.gaps] = places[column.values[~column.gaps].astype(int)]
    return known
