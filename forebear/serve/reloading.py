"""Twins that are replaced under a running server: read again on SIGHUP, or as soon as their folder holds another."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection

from forebear.serve.twins import ServedTwin

_EVERY = 1.0
"""seconds between two looks at the folders"""


class Reloader:
    """A thread that reads twins again.

    Arguments:
        twins: those that are served.
        look: whether to look at their folders, every second.
        tell: is given a line about every twin that was read.
    """

    def __init__(self, twins: Collection[ServedTwin], look: bool, tell: Callable[[str], None]):
        self._twins, self._look, self._tell = twins, look, tell
        self._asked, self._end = threading.Event(), threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="forebear-reload", daemon=True)

    def start(self) -> None:
        """From now on; SIGHUP asks for all twins to be read, where there is such a signal."""
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGHUP, lambda *_: self.ask())
        self._thread.start()

    def ask(self) -> None:
        """Read all of them now."""
        self._asked.set()
        self._wake.set()

    def stop(self) -> None:
        """No more."""
        self._end.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._end.is_set():
            self._wake.wait(_EVERY if self._look else None)
            self._wake.clear()
            every = self._asked.is_set()
            self._asked.clear()
            for twin in self._twins:
                if not self._end.is_set() and (every or (self._look and twin.changed)):
                    self._tell(twin.reload())
