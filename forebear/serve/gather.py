"""Questions of requests that come at the same time, gathered into one call: no request waits for another's turn.

A request runs the twin's own methods in a thread of its own, on a twin whose law is a `GatheredLaw`: what it asks
of the law waits until everybody who is at work has asked, or for a moment at most, and is answered together. What
comes in meanwhile makes the next call. Whoever is alone waits for nobody: its question is answered in its own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple, final

import numpy as np

from forebear.twin.law import Part, TwinLaw
from forebear.twin.together import Ask, Kind, Together

# How long a question waits at most for those of others who are at work.
_LINGER = 0.002


class _Waiting(NamedTuple):
    ask: Ask
    answer: Future[np.ndarray]


class Gatherer:
    """One thread that answers what many ask.

    Arguments:
        together: the law.
        most: questions in one call.
        tell: is told of each call how many it answered.
    """

    def __init__(self, together: Together, most: int, tell: Callable[[int], None] = lambda asked: None):
        self._together, self._most, self._tell = together, most, tell
        self._waiting: list[_Waiting] = []
        self._at_work, self._closed, self._ended = 0, False, False
        self._busy = False
        """whether questions are being answered"""
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="forebear-gather", daemon=True)
        self._thread.start()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around the work of a request: others wait for its question, for a moment."""
        with self._change:
            self._at_work += 1
        try:
            yield
        finally:
            with self._change:
                self._at_work -= 1
                self._wake()

    def ask(self, ask: Ask) -> np.ndarray:
        """The answer, once it is there."""
        waiting = _Waiting(ask, Future())
        with self._change:
            if self._ended:  # a request that was taken in just before its twin was replaced
                return self._together.answer([ask])[0]
            alone = self._at_work <= 1 and not self._waiting and not self._busy
            if alone:
                self._busy = True
            else:
                self._waiting.append(waiting)
                self._change.notify_all()
        if alone:
            self._tell(1)
            with self._done():
                return self._together.answer([ask])[0]
        return waiting.answer.result()

    @contextmanager
    def _done(self) -> Iterator[None]:
        """Around answers; afterwards it is the turn of those who came meanwhile."""
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            with self._change:
                self._busy = False
                self._wake()

    def _wake(self) -> None:
        """Where there is something to do: a thread that wakes for nothing holds up the others."""
        if self._waiting or self._closed:
            self._change.notify_all()

    def close(self) -> None:
        """No more questions come once those at work are done."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(self._has_to_act)
                if not self._waiting:
                    self._ended = True
                    return
                self._linger()
                now, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                self._busy = True
            self._tell(len(now))
            with self._done():
                self._answer(now)

    def _has_to_act(self) -> bool:
        if self._busy:
            return False
        return bool(self._waiting) or (self._closed and not self._at_work)

    def _linger(self) -> None:
        end = perf_counter() + _LINGER
        while len(self._waiting) < min(self._at_work, self._most):
            left = end - perf_counter()
            if left <= 0 or not self._change.wait(left):
                return

    def _answer(self, now: list[_Waiting]) -> None:
        try:
            told = self._together.answer([waiting.ask for waiting in now])
        except Exception as error:  # a law that fails, memory: whoever caused it is found by asking one by one
            if len(now) == 1:
                now[0].answer.set_exception(error)
            else:
                for waiting in now:
                    self._answer([waiting])
            return
        for waiting, answer in zip(now, told, strict=True):
            waiting.answer.set_result(answer)


@final
@dataclass(frozen=True, eq=False)
class GatheredLaw(TwinLaw):
    """A law that hands every question on."""

    law: TwinLaw
    gatherer: Gatherer

    @property
    def latents(self) -> int:
        """Those of the law."""
        return self.law.latents

    @property
    def lacks(self) -> Mapping[Part, str]:
        """What the law lacks."""
        return self.law.lacks

    @property
    def rises(self) -> bool | None:
        """As the law knows."""
        return self.law.rises

    def push(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Together with what others push."""
        return self._ask("push", x, z)

    def pull(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Together with what others pull."""
        return self._ask("pull", x, y)

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Together with the densities that others ask for."""
        return self._ask("density", x, y)

    def _ask(self, kind: Kind, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        return self.gatherer.ask(Ask(kind, np.asarray(x, float), np.asarray(at)))
