"""A run folder: every finished piece is there at once and whole, or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from forebear._checks import InputError
from forebear.data.table import Table
from forebear.run.memory import check_file


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
        handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=_SCRATCH)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(scratch, file)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
        _settle(file.parent)
    except OSError as error:
        raise unwritable(file.parent, error) from None


_SCRATCH = ".scratch"


def unwritable(folder: str | Path, error: OSError) -> InputError:
    """What to say when nothing can be written to a folder.

    >>> str(unwritable("run", OSError(28, "No space left on device")))
    'run: the disk is full; what was saved before is whole: make room and run again, or choose another folder'
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return InputError(
            f"{folder}: the disk is full; what was saved before is whole: make room and run again, or choose another "
            "folder"
        )
    return InputError(f"{folder}: cannot write there ({error.strerror}): choose another folder")


def _settle(folder: Path) -> None:
    """The name of a new file is on disk only when its folder is."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # a file system that cannot
    finally:
        os.close(handle)


def read_json(file: Path, remedy: str = "run the discovery again") -> Any:
    """The content of a file, or an `InputError` that names it and ends with the remedy."""
    try:
        check_file(file, _JSON_COPIES)
        return json.loads(file.read_text(encoding="utf-8"))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):  # no text, no JSON, or brackets without end
        raise InputError(f"{file}: not a JSON file, or damaged: {remedy}") from None


# Of a file's size, while its text becomes lists and numbers.
_JSON_COPIES = 10.0


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
        if not check_run(self.folder, settings):
            write_json(self.folder / _RECORD, settings)

    def tidy(self) -> None:
        """Remove what a process that was killed left half written; only for the one process that holds the lock."""
        for scratch in self.folder.rglob(f".*{_SCRATCH}"):
            scratch.unlink(missing_ok=True)

    def get(self, piece: int | str) -> Any | None:
        """A piece that an earlier, interrupted run has finished."""
        file = self._file(piece)
        return read_json(file) if file.is_file() else None

    def put(self, piece: int | str, content: Any) -> None:
        """Keep a finished piece."""
        write_json(self._file(piece), content)

    def place_of_parts(self, piece: int) -> Path:
        """Where the parts of an unfinished piece are kept."""
        return self.folder / "parts" / f"{piece:05d}"

    def _file(self, piece: int | str) -> Path:
        name = piece if isinstance(piece, str) else f"{piece:05d}"
        return self.folder / "pieces" / f"{name}.json"


_RECORD = "run.json"


def check_run(folder: Path, settings: dict[str, Any]) -> bool:
    """Whether the folder holds a run; one with other settings is refused, with the difference named."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: not a folder: choose another one for the run")
    record = folder / _RECORD
    if not record.is_file():
        return False
    _check_same(folder, read_json(record, "choose another folder"), json.loads(json.dumps(settings)))
    return True


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
