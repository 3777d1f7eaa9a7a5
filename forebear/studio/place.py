"""The folders that the studio works in, and the only ones: every path of a request is looked up here."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from forebear.data.formats import FORMATS
from forebear.data.records import suffix_of
from forebear.errors import InputError
from forebear.storage.files import unwritable
from forebear.web.answers import Refused

ENDINGS = (".csv", ".parquet", ".pq", *FORMATS)
"""of the names of files that may be chosen"""
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_MOST_LISTED = 2_000


@dataclass(frozen=True)
class Place:
    """Where uploads and runs are kept, and where files may be chosen from; all of them without symbolic links."""

    root: Path
    folders: tuple[Path, ...]

    @property
    def uploads(self) -> Path:
        """Of files that were dropped on the page."""
        return self.root / "uploads"

    @property
    def runs(self) -> Path:
        """Of the runs that were started here."""
        return self.root / "runs"

    def file(self, text: str) -> Path:
        """The file that a request names, if it is a table in one of the folders, or a link to one within them."""
        place = self._inside(text)
        if not place.is_file():
            raise Refused(404, f"{text}: no such file. Check the spelling and the folder")
        if not is_table(place.name):
            raise Refused(400, f"{text}: the ending must be .csv, .parquet or another that forebear reads")
        return place

    def listing(self, text: str) -> dict[str, Any]:
        """What can be chosen in a folder: its folders and its tables, hidden ones left out."""
        here = self._inside(text) if text else self.folders[0]
        if not here.is_dir():
            raise Refused(404, f"{text}: no such folder")
        entries = sorted(os.scandir(here), key=lambda entry: entry.name.casefold())
        shown = [told for entry in entries[:_MOST_LISTED] if (told := self._told(entry)) is not None]
        up = here.parent if here not in self.folders and self._holds(here.parent) else None
        return {
            "folder": str(here),
            "up": None if up is None else str(up),
            "roots": [str(folder) for folder in self.folders],
            "entries": sorted(shown, key=lambda one: one["kind"] == "file"),
        }

    def new_upload(self, name: str) -> Path:
        """A place for a file that somebody drops. What it was called is shown, and used for nothing."""
        ending = _ending(name)
        if not ending:
            raise Refused(400, f"{name}: the ending must be .csv, .parquet or another that forebear reads")
        return self._made(self.uploads) / f"{slug(name)}-{secrets.token_hex(3)}{ending}"

    def new_run(self, name: str) -> Path:
        """A folder for a run, which is not there yet."""
        stamp = datetime.now().strftime("%Y-%m-%d-%H%M")
        return self._made(self.runs) / f"{stamp}-{slug(name)}-{secrets.token_hex(2)}"

    def _made(self, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from None
        return folder

    def _inside(self, text: str) -> Path:
        if "\0" in text:
            raise Refused(400, "this is not a path")
        try:
            place = (self.folders[0] / text).resolve(strict=True)
        except (OSError, RuntimeError):  # not there, not to be read, or links in a circle
            place = None
        # What is not there and what lies elsewhere are answered alike: nobody learns which files there are.
        if place is None or not self._holds(place):
            raise Refused(404, f"{text}: not in a folder of this studio: `--folder` adds one when it is started")
        return place

    def _holds(self, place: Path) -> bool:
        return any(place.is_relative_to(folder) for folder in (*self.folders, self.uploads))

    def _told(self, entry: os.DirEntry[str]) -> dict[str, Any] | None:
        try:
            place = Path(entry.path).resolve(strict=True)
            if entry.name.startswith(".") or not self._holds(place) or place == self.root:
                return None
            if place.is_dir():
                return {"kind": "folder", "name": entry.name, "path": str(place)}
            if not (place.is_file() and is_table(place.name)):
                return None
            about = place.stat()
        except (OSError, RuntimeError):
            return None
        return {
            "kind": "file",
            "name": entry.name,
            "path": str(place),
            "size": about.st_size,
            "changed": about.st_mtime,
        }


def open_place(root: Path, folders: Sequence[Path]) -> Place:
    """The folders as they are asked for on the command line; the first of `folders` is where choosing begins."""
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"--folder {folder}: no such folder")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(root, error) from None
    return Place(root.resolve(), tuple(dict.fromkeys(folder.resolve() for folder in folders)))


def is_table(name: str) -> bool:
    """Whether a file is one that forebear reads, by the ending of its name.

    >>> [is_table(name) for name in ("a.csv", "a.CSV.gz", "a.parquet", "a.py", "csv")]
    [True, True, True, False, False]
    """
    return suffix_of(Path(name)) in ENDINGS


def _ending(name: str) -> str:
    """
    >>> _ending("../../plant data.CSV.gz"), _ending("a.exe")
    ('.csv.gz', '')
    """
    if not is_table(name):
        return ""
    lowered = name.lower()
    packed = next((end for end in _PACKED if lowered.endswith(end)), "")
    return f"{suffix_of(Path(lowered))}{packed}"


def slug(name: str) -> str:
    """Letters, digits and hyphens that remind of a name, for use in one that we make.

    >>> slug("../../etc/Plant Ä (2024).csv"), slug("..."), slug("雪.csv")
    ('plant-a-2024', 'table', 'table')
    """
    base = re.split(r"[/\\\\]", name)[-1].partition(".")[0]
    plain = unicodedata.normalize("NFKD", base).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "table"


def free_bytes(folder: Path) -> int:
    """On the disk of a folder."""
    return shutil.disk_usage(folder).free
