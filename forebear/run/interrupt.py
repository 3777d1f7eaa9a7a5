"""Ctrl-C is answered within a second, also while compiled code runs, which Python itself cannot interrupt."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STATUS = 130
_PATIENCE = 0.5
"""seconds that the main thread has to end by itself"""
_answered, _watching = threading.Lock(), threading.Event()
_sentences: list[Callable[[], str]] = []


@contextmanager
def saying(sentence: Callable[[], str]) -> Iterator[None]:
    """What to tell a user who presses Ctrl-C within.

    >>> with saying(lambda: "interrupted: nothing was saved"):
    ...     sentence()
    'interrupted: nothing was saved'
    """
    _sentences.append(sentence)
    try:
        yield
    finally:
        _sentences.pop()


def sentence() -> str:
    """What is to be told now."""
    return _sentences[-1]() if _sentences else "interrupted: nothing was saved"


def may_answer() -> bool:
    """True for the first who asks: an interrupt is answered by one line, from the main thread or from the watch.

    Without a watch there is only the main thread, which may always answer.
    """
    return _answered.acquire(blocking=False) or not _watching.is_set()


def wait_for_the_end() -> None:
    """For the main thread when the watch has begun to answer, which ends the process."""
    time.sleep(2 * _PATIENCE)


def watch() -> None:
    """From now on this process ends soon after Ctrl-C, whatever it is doing; for a program's main thread to call.

    Everything in a run folder is written whole or not at all, and worker processes end with their parent, so the
    process can go at once.
    """
    _watching.set()
    told, hears = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(hears,), daemon=True).start()


def _listen(hears: socket.socket) -> None:
    while signal.SIGINT not in hears.recv(16):
        pass
    line = sentence()  # of the moment it was pressed
    time.sleep(_PATIENCE)
    if may_answer():
        print(f"forebear: {line}", file=sys.stderr, flush=True)
        os._exit(STATUS)
