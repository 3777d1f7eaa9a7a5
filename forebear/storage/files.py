"""Files that are there at once and whole, or not at all."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forebear.errors import InputError
from forebear.storage.memory import check_file


def write_json(file: Path, content: Any) -> None:
    """Write, flush to disk, then rename into place: a crash leaves the old file or the new one.

    >>> import tempfile
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
        scratch = scratch_for(file)
        try:
            with open(scratch, "xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(scratch, file)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        _settle(file.parent)
    except OSError as error:
        raise unwritable(file.parent, error) from None


def scratch_for(place: Path) -> Path:
    """A new name beside a file or folder that is to be written. What is made under it has the rights that the user's
    umask gives, which the files of `tempfile` do not.

    >>> scratch_for(Path("run/found.json")).name.startswith(".found.json.")
    True
    """
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}{SCRATCH}")


def check_output(
    file: str | Path, endings: Sequence[str], option: str = "", *, made_later: Path | None = None
) -> Path:
    """Refuse a file that could not be written, before the long work starts.

    Arguments:
        endings: those it may have; a short form, such as .htm beside .html, is taken and not told.
        option: what the user wrote the name after, such as "--out ".
        made_later: a folder that need not be there yet.

    >>> check_output("found.xlsx", (".csv", ".parquet", ".json"), "--table ")
    Traceback (most recent call last):
    forebear.errors.InputError: --table found.xlsx: the ending must be .csv, .parquet or .json
    """
    place, name = Path(file), f"{option}{file}"
    if place.suffix.lower() not in endings:
        *others, last = [e for e in endings if not any(o[:-1] == e for o in endings)]
        told = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{name}: the ending must be {told}")
    if place.is_dir():
        raise InputError(f"{name}: this is a folder: name a file in it")
    folder = place.parent
    if not folder.is_dir() and not (made_later is not None and folder.absolute() == made_later.absolute()):
        raise InputError(f"{name}: there is no folder {folder}: make it first")
    if folder.is_dir() and not os.access(folder, os.W_OK):
        raise InputError(f"{name}: the folder {folder} is not writable: choose another one")
    return place


SCRATCH = ".scratch"
"""ending of what is half written"""


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
