"""One process at a time in a run folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forebear.errors import InputError
from forebear.storage.files import unwritable


@contextmanager
def alone_in(folder: str | Path) -> Iterator[None]:
    """Refuse a folder in which another process is at work; one that dies, however it dies, leaves it free.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone_in(folder):
    ...     (Path(folder) / "lock").read_text() == str(os.getpid())
    True
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    place = Path(folder) / "lock"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = place.open("a+", encoding="ascii")
    except OSError as error:
        raise unwritable(folder, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise InputError(
                f"{folder}: process {file.read().strip() or '?'} is at work in this folder: wait for it, "
                "or choose another folder"
            ) from None
        except OSError:
            pass  # a file system without locks
        with suppress(OSError):  # on a full disk the lock holds without its owner's number
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        yield
