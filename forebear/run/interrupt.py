"""Ctrl-C is answered at once, also while compiled code runs, which Python itself cannot interrupt."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STATUS = 130
_sentences: list[Callable[[], str]] = []


@contextmanager
def saying(sentence: Callable[[], str]) -> Iterator[None]:
    """What to tell a user who presses Ctrl-C within.

    >>> with saying(lambda: "interrupted: everything was saved"):
    ...     sentence()
    'interrupted: everything was saved'
    """
    _sentences.append(sentence)
    try:
        yield
    finally:
        _sentences.pop()


def sentence() -> str:
    """What is to be told now."""
    return _sentences[-1]() if _sentences else "interrupted: nothing was saved"


def watch() -> None:
    """From now on Ctrl-C ends this process with one line, whatever it is doing; for a program's main thread to call.

    Everything in a run folder is written whole or not at all, worker processes end with their parent, and so does a
    lock: nothing has to be cleared away. A KeyboardInterrupt would come when compiled code returns, seconds later,
    wherever the main thread is then; some places print it and go on.
    """
    told, hears = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda number, frame: None)
    threading.Thread(target=_listen, args=(hears,), daemon=True).start()


@contextmanager
def unwatched() -> Iterator[None]:
    """Within, Ctrl-C is left to somebody else's handler, such as that of a server, which ends by itself.

    >>> with unwatched():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)


def _listen(hears: socket.socket) -> None:
    while signal.SIGINT not in hears.recv(16):
        pass
    # A progress bar hides the cursor and does not come to give it back; its line goes.
    # While it is there, what goes to sys.stderr is shown above it, and the bar again below.
    stream = sys.__stderr__ or sys.stderr
    before = "\r\x1b[2K\x1b[?25h" if stream.isatty() else ""
    print(f"{before}forebear: {sentence()}\n", end="", file=stream, flush=True)
    for worker in multiprocessing.active_children():
        worker.kill()
    os._exit(STATUS)
