"""The table of a run on disk: the columns that were used, as safetensors with a fingerprint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forebear.data.table import Column, Table, fingerprint
from forebear.errors import InputError
from forebear.kinds import check_kinds
from forebear.storage.arrays import load_arrays, save_arrays

TABLE_FILE = "data.safetensors"
_FORMAT = 1


def save_table(folder: Path, table: Table) -> None:
    """Keep the columns that a run used."""
    columns = list(table.columns.values())
    about = {
        "format": _FORMAT,
        "source": table.source,
        "columns": [{"name": c.name, "kind": c.kind, "levels": c.levels, "period": c.period} for c in columns],
    }
    # Labels that JSON does not know are kept as text, so the fingerprint is that of the table as it is read back.
    as_read = json.loads(json.dumps(about, default=str))
    arrays = {str(place): column.values for place, column in enumerate(columns)}
    about["fingerprint"] = fingerprint(_table(arrays, as_read))
    save_arrays(folder / TABLE_FILE, arrays, about)


def load_table(folder: Path) -> Table | None:
    """The columns of a saved run; None if it was saved without them."""
    file = folder / TABLE_FILE
    if not file.is_file():
        return None
    arrays, about = load_arrays(file, "run the discovery again")
    if about.get("format", 0) > _FORMAT:
        raise InputError(f"{file}: written by a newer forebear (format {about['format']}): update this one")
    try:
        check_kinds((c["kind"] for c in about["columns"]), str(file))
        table = _table(arrays, about)
        whole = fingerprint(table) == about["fingerprint"]
    except InputError:
        raise
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise InputError(f"{file}: not the table that was saved there: run the discovery again")
    return table


def _table(arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> Table:
    columns = [
        Column(c["name"], c["kind"], arrays[str(place)], tuple(c["levels"]), c["period"])
        for place, c in enumerate(about["columns"])
    ]
    return Table({column.name: column for column in columns}, len(arrays["0"]), about["source"])
