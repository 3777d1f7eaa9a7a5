"""Arrays on disk as safetensors, and the table of a run: whole or not at all, and nothing in them can run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from forebear._checks import InputError
from forebear.data.table import Column, Table
from forebear.run.folder import fingerprint, write_bytes

TABLE_FILE = "data.safetensors"
_FORMAT = 1


def save_arrays(file: Path, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> None:
    """Write arrays, with a JSON document beside them in the same file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_arrays(Path(folder) / "a.safetensors", {"x": np.arange(2.0)}, {"unit": "m"})
    ...     load_arrays(Path(folder) / "a.safetensors", "write it again")
    ({'x': array([0., 1.])}, {'unit': 'm'})
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_bytes(file, save(plain, {"about": json.dumps(about, default=str)}))


def load_arrays(file: Path, remedy: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_arrays` wrote, or an `InputError` that ends with the remedy."""
    try:
        with safe_open(os.fspath(file), "numpy") as opened:
            about = json.loads((opened.metadata() or {})["about"])
            return {name: opened.get_tensor(name) for name in opened.keys()}, about
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or 'truncated'}): {remedy}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError, MemoryError, OverflowError):
        raise InputError(f"{file}: not written by forebear, or damaged: {remedy}") from None


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
        table = _table(arrays, about)
        whole = fingerprint(table) == about["fingerprint"]
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
