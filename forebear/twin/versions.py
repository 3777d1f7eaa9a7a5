"""The versions of a twin in its folder: the first as it was fitted, then one for each update that was saved there.

`twin.json` and `twin.safetensors` in the folder itself are version 1, `versions/0002` and so on hold the others, and
`versions/current.json` says which one is in use. Each is written beside its place and renamed into it, and only then
is it made the one in use: whoever is interrupted leaves the version before in use, and whole.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from forebear.errors import InputError, check_whole
from forebear.storage.files import SCRATCH, read_json, write_json
from forebear.storage.lock import alone_in

VERSIONS, CURRENT, ABOUT = "versions", "current.json", "twin.json"
_LONG_AGO = 3_600.0
"""seconds after which nobody is still writing"""
_NUMBER = re.compile(r"\d{4,}")


def version_numbers(folder: Path) -> list[int]:
    """Those that are there, in order; none where there is no twin."""
    if not (folder / ABOUT).is_file():
        return []
    later = [int(p.name) for p in _later(folder) if _NUMBER.fullmatch(p.name) and (p / ABOUT).is_file()]
    return [1, *sorted(number for number in later if number > 1)]


def _later(folder: Path) -> list[Path]:
    place = folder / VERSIONS
    return list(place.iterdir()) if place.is_dir() else []


def current_version(folder: Path) -> int:
    """The one in use: the first where nothing else was said."""
    pointer = folder / VERSIONS / CURRENT
    if not pointer.is_file():
        return 1
    said = read_json(pointer, "roll back to a version")
    number = said.get("version") if isinstance(said, dict) else None
    if number not in version_numbers(folder):
        raise InputError(f"{pointer}: names no version that is there: roll back to one of {_shown(folder)}")
    return int(number)


def place_of(folder: Path, version: int | None = None) -> Path:
    """Where a version is; None: the one in use."""
    number = current_version(folder) if version is None else _checked(folder, version)
    return folder if number == 1 else _place(folder, number)


def _place(folder: Path, number: int) -> Path:
    return folder / VERSIONS / f"{number:04d}"


def _checked(folder: Path, version: Any) -> int:
    check_whole("version", version, 1)
    if int(version) not in version_numbers(folder):
        raise InputError(f"{folder}: there is no version {version}: there are {_shown(folder)}")
    return int(version)


def _shown(folder: Path) -> str:
    return ", ".join(map(str, version_numbers(folder)))


def use(folder: Path, version: int) -> None:
    """Make a version the one in use."""
    with alone_in(folder / VERSIONS):
        write_json(folder / VERSIONS / CURRENT, {"version": version})


def add_version(folder: Path, written: Path) -> int:
    """Give a whole twin, written beside, the next number, and make it the one in use."""
    with alone_in(folder / VERSIONS):
        _tidy(folder, written)
        number = version_numbers(folder)[-1] + 1
        os.replace(written, _place(folder, number))
        write_json(folder / VERSIONS / CURRENT, {"version": number})
    return number


def _tidy(folder: Path, written: Path) -> None:
    """What someone who was interrupted has left long ago."""
    for scratch in folder.joinpath(VERSIONS).glob(f".*{SCRATCH}"):
        if scratch == written or time.time() - scratch.stat().st_mtime < _LONG_AGO:
            continue
        shutil.rmtree(scratch, ignore_errors=True) if scratch.is_dir() else scratch.unlink(missing_ok=True)


def twin_versions(folder: str | Path) -> pd.DataFrame:
    """The versions of a twin in its folder, a row each: which one is in use, when it was made and from how many rows,
    and what happened to its laws.

    >>> twin_versions("no/such/twin")
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/twin: there is no twin in this folder (twin.json is missing)
    """
    place = Path(folder)
    numbers = version_numbers(place)
    if not numbers:
        raise InputError(f"{folder}: there is no twin in this folder ({ABOUT} is missing)")
    used = current_version(place)
    rows = [{"version": n, "in_use": n == used, **_about(place_of(place, n))} for n in numbers]
    return pd.DataFrame(rows).set_index("version")


def _about(place: Path) -> dict[str, Any]:
    """Of the last update of a version; a first one has none."""
    record = read_json(place / ABOUT, "roll back to another version")
    entries = record.get("provenance") if isinstance(record, Mapping) else None
    last = entries[-1] if entries else {"when": "", "rows": None, "fingerprint": str(record.get("table", ""))}
    words = {target: told["law"] for target, told in last.get("targets", {}).items()}
    return {"when": last["when"], "rows": last["rows"], "fingerprint": last["fingerprint"][:12], "laws": words}


def roll_back(folder: str | Path, version: int) -> None:
    """Use an earlier, or a later, version of a twin from now on; none is lost.

    >>> roll_back("no/such/twin", 1)
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/twin: there is no twin in this folder (twin.json is missing)
    """
    place = Path(folder)
    if not version_numbers(place):
        raise InputError(f"{folder}: there is no twin in this folder ({ABOUT} is missing)")
    use(place, _checked(place, version))
