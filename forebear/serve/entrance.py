"""Who is taken in: a bounded number of requests, and a bounded amount of numbers in their answers.

The others are told at once to come again, before their body is read: a queue that grows without end answers nobody
in time and ends in a lack of memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from forebear.web.answers import Refused

RETRY_SECONDS = 1


class Busy(Refused):
    """Come again."""

    def __init__(self, why: str):
        super().__init__(503, f"{why}: send the request again in {RETRY_SECONDS} s")


class Entrance:
    """A bounded number of places.

    >>> entrance = Entrance(1)
    >>> place = entrance.enter()
    >>> entrance.enter()
    Traceback (most recent call last):
    forebear.serve.entrance.Busy: busy with 1 request: send the request again in 1 s
    >>> place.leave()
    >>> entrance.taken
    0
    """

    def __init__(self, most: int):
        self._lock = threading.Lock()
        self.most, self.taken, self.refused = most, 0, 0

    def enter(self) -> Place:
        """A place, or `Busy`."""
        with self._lock:
            if self.taken >= self.most:
                self.refused += 1
                raise Busy(f"busy with {self.taken} request{'s' if self.taken > 1 else ''}")
            self.taken += 1
        return Place(self)

    def _left(self) -> None:
        with self._lock:
            self.taken -= 1


class Place:
    """A place, held by all who use it: the work of a request may last longer than its sender waits."""

    def __init__(self, entrance: Entrance):
        self._entrance, self._lock, self._holders = entrance, threading.Lock(), 1

    def share(self) -> None:
        """One more holder, who leaves too."""
        with self._lock:
            self._holders += 1

    def leave(self) -> None:
        """The last who leaves frees it."""
        with self._lock:
            self._holders -= 1
            free = self._holders == 0
        if free:
            self._entrance._left()


class Room:
    """A bounded amount of numbers, of which a request takes as many as it works with."""

    def __init__(self, most: int):
        self._lock = threading.Lock()
        self.most, self.held = most, 0

    @contextmanager
    def hold(self, numbers: int) -> Iterator[None]:
        """So many, or `Busy`; one request alone may take more than there is room for others beside it."""
        with self._lock:
            if self.held and self.held + numbers > self.most:
                raise Busy("busy with large requests")
            self.held += numbers
        try:
            yield
        finally:
            with self._lock:
                self.held -= numbers
