"""The structure of rows of a saved run: the settings name it, and a file has the group of each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.table import Table
from forebear.data.weights import read_weights, scaled
from forebear.discovery.structure import GROUPED, INDEPENDENT, ORDERED, RowStructure
from forebear.storage.arrays import load_arrays, save_arrays

ROWS_FILE = "rows.safetensors"
_FORMAT = 1


def save_structure(folder: Path, structure: RowStructure) -> None:
    """Keep the group and the weight of each row: the columns that tell them are no inputs, and not in the table that
    is kept."""
    file, arrays = folder / ROWS_FILE, {}
    if structure.groups is not None:
        arrays["groups"] = np.asarray(structure.groups, np.int64)
    if structure.weights is not None:
        arrays["weights"] = np.asarray(structure.weights, float)
    if arrays:
        save_arrays(file, arrays, {"format": _FORMAT})
    else:
        file.unlink(missing_ok=True)  # of another result, which this one replaces


def load_structure(folder: Path, settings: Mapping[str, Any], table: Table | None) -> RowStructure:
    """How the rows of a saved run's table hang together; as far as the table tells, where versions before 0.4 have
    kept no groups."""
    file, structure = folder / ROWS_FILE, structure_of(settings, table)
    if table is None or not file.is_file():
        return structure
    kept = {
        name: array
        for name, array in load_arrays(file, "run the discovery again")[0].items()
        if array.shape == (table.rows,)
    }
    column = str(settings.get("rows", INDEPENDENT))
    if column not in (INDEPENDENT, ORDERED) and "groups" in kept:
        why, named = str(settings.get("rows_why", "")), None if column == GROUPED else column
        structure = RowStructure(GROUPED, kept["groups"], named, why)
    return replace(structure, weights=kept.get("weights"))


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
    name, column = str(settings.get("rows", INDEPENDENT)), settings.get("weights")
    weights = None
    if frame is not None and column in frame.columns:
        weights = scaled(read_weights(frame, str(column), "the table"))
    if name == ORDERED:
        return RowStructure(ORDERED, why=str(settings.get("rows_why", "")), weights=weights)
    if name == INDEPENDENT or frame is None or name not in frame.columns:
        return RowStructure(weights=weights)
    groups = np.asarray(pd.factorize(frame[name], use_na_sentinel=False)[0])
    return RowStructure(GROUPED, groups, name, weights=weights)
