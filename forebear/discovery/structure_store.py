"""The structure of rows of a saved run: the settings name it, and a file has the group of each row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.table import Table
from forebear.discovery.structure import GROUPED, INDEPENDENT, ORDERED, RowStructure
from forebear.storage.arrays import load_arrays, save_arrays

ROWS_FILE = "rows.safetensors"
_FORMAT = 1


def save_structure(folder: Path, structure: RowStructure) -> None:
    """Keep the group of each row: the column that tells it is no input, and not in the table that is kept."""
    file = folder / ROWS_FILE
    if structure.groups is None:
        file.unlink(missing_ok=True)  # of another result, which this one replaces
    else:
        save_arrays(file, {"groups": np.asarray(structure.groups, np.int64)}, {"format": _FORMAT})


def load_structure(folder: Path, settings: Mapping[str, Any], table: Table | None) -> RowStructure:
    """How the rows of a saved run's table hang together; as far as the table tells, where versions before 0.4 have
    kept no groups."""
    file = folder / ROWS_FILE
    if table is None or not file.is_file() or str(settings.get("rows", INDEPENDENT)) in (INDEPENDENT, ORDERED):
        return structure_of(settings, table)
    groups = load_arrays(file, "run the discovery again")[0].get("groups")
    if groups is None or groups.shape != (table.rows,):
        return structure_of(settings, table)
    column = str(settings["rows"])
    return RowStructure(GROUPED, groups, None if column == GROUPED else column, str(settings.get("rows_why", "")))


def structure_of(settings: Mapping[str, Any], table: Table | None) -> RowStructure:
    """The structure that settings name, of a table's rows, as far as the table tells."""
    name = str(settings.get("rows", INDEPENDENT))
    return structure_named(settings, table.frame([name]) if table is not None and name in table.columns else None)


def structure_named(settings: Mapping[str, Any], frame: pd.DataFrame | None) -> RowStructure:
    """The structure that settings name, of the rows of a frame: groups only if it has their column, each row with an
    empty cell there in the group of such rows.

    >>> structure_named({"rows": "machine"}, pd.DataFrame({"machine": ["b", "a", "b"]})).groups.tolist()
    [0, 1, 0]
    >>> structure_named({"rows": "machine"}, pd.DataFrame({"x": [1.0]})).kind
    'independent'
    """
    name = str(settings.get("rows", INDEPENDENT))
    if name == ORDERED:
        return RowStructure(ORDERED, why=str(settings.get("rows_why", "")))
    if name == INDEPENDENT or frame is None or name not in frame.columns:
        return RowStructure()
    return RowStructure(GROUPED, np.asarray(pd.factorize(frame[name], use_na_sentinel=False)[0]), name)
