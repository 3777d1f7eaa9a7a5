"""The lock of a run folder: one process at a time, told who, and free again afterwards."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forebear.errors import InputError
from forebear.storage.lock import alone_in


class _Windows(SimpleNamespace):
    """What Windows documents of msvcrt.locking, in one process: bytes from where the file stands, until unlocked.

    Not Windows itself: nothing here stops a reader, so it is the test that looks whether a locked byte is ever read.
    """

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], int] = {}

    def locking(self, file: int, how: int, count: int) -> None:
        place = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        assert count == 1
        if how == self.LK_NBLCK and place not in self.held:
            self.held[place] = file
        elif how == self.LK_UNLCK and self.held.get(place) == file:
            del self.held[place]
        else:
            raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture(params=["here", "Windows", "neither"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """This system's own lock, one by the rules of Windows, or none at all."""
    if request.param == "here":
        return request.param
    windows = _Windows()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows if request.param == "Windows" else None)
    return windows if request.param == "Windows" else request.param


def test_a_folder_is_for_one_at_a_time(system: Any, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("12345678901234567890")  # of one that died
    with alone_in(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())
        if system == "neither":
            with alone_in(tmp_path):
                pass
            return
        with pytest.raises(InputError, match=f"process {os.getpid()} is at work in this folder: wait for it"):
            with alone_in(tmp_path):
                pytest.fail("two at once")
        if isinstance(system, _Windows):
            [(_, place)] = system.held
            assert place > (tmp_path / "lock").stat().st_size  # so that the owner's number can be read
    with alone_in(tmp_path):
        pass
    assert not isinstance(system, _Windows) or not system.held


def test_a_file_system_without_locks_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "no locks here")

    windows = _Windows()
    monkeypatch.setattr(windows, "locking", none)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    for unix in (SimpleNamespace(flock=none, LOCK_EX=2, LOCK_NB=4), None):
        monkeypatch.setitem(sys.modules, "fcntl", unix)
        with alone_in(tmp_path), alone_in(tmp_path):
            assert (tmp_path / "lock").read_text() == str(os.getpid())
