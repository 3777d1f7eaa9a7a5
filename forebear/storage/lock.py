"""One process at a time in a run folder: the locks of the operating system, which end with the process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
    place = Path(folder) / "lock"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = open(place, "r+b", buffering=0, opener=lambda path, flags: os.open(path, flags | os.O_CREAT, 0o666))
    except OSError as error:
        raise unwritable(folder, error) from None
    with file:
        try:
            let_go = _take(file.fileno())
        except BlockingIOError:
            owner = file.read().decode("ascii", "replace").strip()
            raise InputError(
                f"{folder}: process {owner or '?'} is at work in this folder: wait for it, or choose another folder"
            ) from None
        with suppress(OSError):  # on a full disk the lock holds without its owner's number
            # Cut after writing: ext4 waits for the disk when a file that was cut to nothing is closed.
            file.truncate(file.write(str(os.getpid()).encode("ascii")))
        try:
            yield
        finally:
            let_go()


# Windows lets nobody read what is locked: a byte far behind the owner's number is, which need not exist.
_FAR = 2**20


def _take(file: int) -> Callable[[], object]:
    """Lock a file, by its number; how to let it go again. BlockingIOError: another process has it.

    Without effect where the system, or the file system, has no locks.
    """
    with suppress(ImportError):
        import fcntl

        return _take_on_unix(file, fcntl)
    with suppress(ImportError):
        import msvcrt

        return _take_on_windows(file, msvcrt)
    return lambda: None


def _take_on_unix(file: int, fcntl: Any) -> Callable[[], object]:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass
    return lambda: None  # closing the file does it


def _take_on_windows(file: int, msvcrt: Any) -> Callable[[], object]:
    def change(how: int) -> None:
        before = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, how, 1)
        finally:
            os.lseek(file, before, os.SEEK_SET)

    try:
        change(msvcrt.LK_NBLCK)
    except PermissionError as error:
        raise BlockingIOError(*error.args) from None
    except OSError:
        return lambda: None
    # Closing the file would do it too, but not at once.
    return lambda: change(msvcrt.LK_UNLCK)
