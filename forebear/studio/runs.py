"""One run: what was asked, of which file, and how it stands; kept in a small file of its run folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forebear.errors import InputError
from forebear.storage.files import read_json, write_json
from forebear.storage.folder import RESULT
from forebear.storage.records import RecordError, from_record, to_record
from forebear.studio.asked import KNOWN, LISTS

WAITING, RUNNING, DONE, FAILED, CANCELLED, UNFINISHED = (
    "waiting",
    "running",
    "done",
    "failed",
    "cancelled",
    "unfinished",
)
"""how a run can stand; "unfinished": begun elsewhere, such as on the command line"""
FILE = "studio.json"
_ENDS = 1_000_000


@dataclass(frozen=True)
class Seen:
    """What a file looked like: its size, the time of its last change, and a hash of both its ends."""

    size: int
    changed: int
    hash: str

    @classmethod
    def of(cls, file: Path) -> Seen:
        """As it is now; of a file of any size, two megabytes are read."""
        try:
            about = file.stat()
            with open(file, "rb") as opened:
                digest = hashlib.sha256(opened.read(_ENDS))
                opened.seek(max(0, about.st_size - _ENDS))
                digest.update(opened.read(_ENDS))
        except OSError as error:
            reason = error.strerror or "it is gone"
            raise InputError(f"{file}: cannot be read ({reason}): put it back") from None
        return cls(about.st_size, about.st_mtime_ns, digest.hexdigest())

    def same_content(self, other: Seen) -> bool:
        """Whether a copy that was made at another time would do."""
        return (self.size, self.hash) == (other.size, other.hash)


@dataclass(frozen=True)
class Run:
    """A run as the studio knows it."""

    name: str
    """of the file, as its owner called it"""
    file: str
    asked: dict[str, Any]
    state: str = WAITING
    seen: Seen | None = None
    """the file when the run was set up"""
    created: str = ""
    started: str = ""
    ended: str = ""
    seconds: float = 0.0
    """of the search"""
    error: str = ""
    notes: tuple[str, ...] = ()
    answers: tuple[dict[str, Any], ...] = ()
    """of each target what shapes it, and the verdict"""
    estimate: dict[str, Any] = field(default_factory=dict)
    """as it was told before the start"""
    laws: bool = True
    """whether the report is to have the laws, with sliders; fitting them takes about as long as the search"""
    reported: bool = False
    elsewhere: bool = False
    """whether something other than the studio began it"""

    def save(self, folder: Path) -> None:
        """Whole or not at all."""
        write_json(folder / FILE, {"format": 1, **to_record(self)})

    def with_notes(self, *notes: str) -> Run:
        """With these in addition, each once."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))


def load_run(folder: Path) -> Run | None:
    """What is known of the run in a folder; None if there is none.

    One that was begun elsewhere is unfinished, or done; so is one of ours that somebody has finished elsewhere.
    """
    if (folder / FILE).is_file():
        try:
            record = read_json(folder / FILE)
            run = from_record(Run, {name: value for name, value in record.items() if name != "format"})
        except (InputError, RecordError, AttributeError):
            run = None
        if run is not None and run.state not in (WAITING, RUNNING, DONE) and _finished_since(folder):
            return replace(run, state=DONE, error="", reported=(folder / "report.html").is_file())
        if run is not None:
            return run
    if (folder / RESULT).is_file() or (folder / "run.json").is_file():
        return _from_elsewhere(folder)
    return None


def _finished_since(folder: Path) -> bool:
    """Whether there is a result that is newer than what the studio last wrote: somebody has finished it elsewhere."""
    result = folder / RESULT
    return result.is_file() and result.stat().st_mtime_ns > (folder / FILE).stat().st_mtime_ns


def _from_elsewhere(folder: Path) -> Run:
    from forebear.api.asked import asked_of

    asked = asked_of(folder) or {}
    file = str(asked.pop("data", ""))
    known = (*KNOWN, "joint", "sampler", "screen")
    mark = next(place for place in (folder / "run.json", folder / RESULT) if place.is_file())
    changed = datetime.fromtimestamp(mark.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return Run(
        Path(file).name or folder.name,
        file,
        # In Python a single name may stand for a list.
        {
            name: [value] if name in LISTS and isinstance(value, str) else value
            for name, value in asked.items()
            if name in known
        },
        DONE if (folder / RESULT).is_file() else UNFINISHED,
        created=changed,
        reported=(folder / "report.html").is_file(),
        elsewhere=True,
    )


def now() -> str:
    """The time, for a record."""
    return datetime.now(UTC).isoformat(timespec="seconds")
