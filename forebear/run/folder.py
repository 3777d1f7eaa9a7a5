"""A run folder: every finished piece is there at once and whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from forebear._checks import InputError
from forebear.data.table import Table


def write_json(file: Path, content: Any) -> None:
    """Write, flush to disk, then rename into place: a crash leaves the old file or the new one.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(Path(folder) / "a" / "b.json", {"x": 1.5})
    ...     read_json(Path(folder) / "a" / "b.json")
    {'x': 1.5}
    """
    write_bytes(file, json.dumps(content, indent=1, allow_nan=False).encode())


def write_bytes(file: Path, content: bytes) -> None:
    """As `write_json`, for any content."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(scratch, file)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{file.parent}: cannot write there ({error.strerror}): choose another folder") from None


def read_json(file: Path, remedy: str = "run the discovery again") -> Any:
    """The content of a file, or an `InputError` that names it and ends with the remedy."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(f"{file}: not a JSON file, or damaged: {remedy}") from None


def fingerprint(table: Table) -> str:
    """A hash of the names, kinds and values of the columns in use.

    >>> from forebear.data.table import read_columns
    >>> import pandas as pd
    >>> a, b = (read_columns(pd.DataFrame({"x": [1.0, v]}), "t", ["x"]) for v in (2.0, 3.0))
    >>> fingerprint(a) == fingerprint(a), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    digest = hashlib.sha256()
    for name, column in table.columns.items():
        digest.update(repr((name, column.kind, column.period, column.levels)).encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    return digest.hexdigest()


class RunFolder:
    """Pieces of one run, kept under the settings they belong to.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = RunFolder(folder, {"seed": 0})
    ...     run.put(3, [1, 2])
    ...     again = RunFolder(folder, {"seed": 0})
    ...     again.get(3), again.get(4)
    ([1, 2], None)
    """

    def __init__(self, folder: str | Path, settings: dict[str, Any]):
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder}: not a folder: choose another one for the run")
        record = self.folder / "run.json"
        plain = json.loads(json.dumps(settings))
        if record.is_file():
            _check_same(self.folder, read_json(record), plain)
        else:
            write_json(record, plain)

    def get(self, piece: int | str) -> Any | None:
        """A piece that an earlier, interrupted run has finished."""
        file = self._file(piece)
        return read_json(file) if file.is_file() else None

    def put(self, piece: int | str, content: Any) -> None:
        """Keep a finished piece."""
        write_json(self._file(piece), content)

    def _file(self, piece: int | str) -> Path:
        name = piece if isinstance(piece, str) else f"{piece:05d}"
        return self.folder / "pieces" / f"{name}.json"


def _check_same(folder: Path, before: Any, now: dict[str, Any]) -> None:
    if not isinstance(before, dict):
        raise InputError(f"{folder / 'run.json'}: not a forebear run, or damaged: choose another folder")
    for name in [*now, *before]:
        if before.get(name) != now.get(name):
            raise InputError(
                f"{folder}: holds a run with another '{name}' ({_short(before.get(name))}, now "
                f"{_short(now.get(name))}): choose another folder, or the old {name} to resume"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
