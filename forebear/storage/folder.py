"""A run folder: finished pieces of one run, under the settings they belong to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forebear.errors import InputError
from forebear.storage.files import SCRATCH, read_json, write_json
from forebear.storage.lock import alone_in


@contextmanager
def open_run(out: str | Path, identity: dict[str, Any]) -> Iterator[RunFolder]:
    """A run folder, for this process alone until the block is left; one that holds another run is refused."""
    check_run(Path(out), identity)
    with alone_in(out):
        folder = RunFolder(out, identity)
        folder.tidy()
        yield folder


class RunFolder:
    """Pieces of one run, kept under the settings they belong to.

    >>> import tempfile
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
        for scratch in self.folder.rglob(f".*{SCRATCH}"):
            shutil.rmtree(scratch) if scratch.is_dir() else scratch.unlink(missing_ok=True)

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
RESULT = "found.json"
"""the result of a finished run, in its folder"""


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
