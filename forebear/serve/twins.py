"""Twins that are served, and read again when their folder holds another one."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import Any

from forebear.errors import InputError
from forebear.serve.gather import GatheredLaw, Gatherer
from forebear.serve.limits import Limits
from forebear.serve.metrics import Metrics
from forebear.twin.load import load_twin
from forebear.twin.store import ABOUT, ARRAYS
from forebear.twin.together import Together
from forebear.twin.twin import Twin

_ATTEMPTS = 5


@dataclass(frozen=True, eq=False)
class Current:
    """The twin that a request is answered with, from its first question to its last."""

    twin: Twin
    asked: Twin
    """the same twin, whose law gathers what several requests ask"""
    gatherer: Gatherer | None
    since: float

    def at_work(self) -> AbstractContextManager[None]:
        """Around the questions of a request."""
        return nullcontext() if self.gatherer is None else self.gatherer.at_work()


class ServedTwin:
    """A twin in a folder, under a name."""

    def __init__(self, name: str, folder: Path, limits: Limits, metrics: Metrics, twin: Twin | None = None):
        self.name, self.folder = name, folder
        self._limits, self._metrics = limits, metrics
        self._read = signature_of(folder)
        self.current = self._made(load_whole(folder) if twin is None else twin)

    @property
    def changed(self) -> bool:
        """Whether another twin is in the folder; while one is being put there, not yet."""
        now = signature_of(self.folder)
        return now is not None and now != self._read

    def reload(self) -> str:
        """Read the folder again; what is under way ends with the twin it began with. A twin that cannot be read
        changes nothing. What there is to say about it, in one line."""
        self._read = signature_of(self.folder)
        try:
            fresh = self._made(load_whole(self.folder))
        except InputError as error:
            self._metrics.reloaded(self.name, "failed")
            return f"{self.name}: the twin of before is kept: {error}"
        before, self.current = self.current, fresh
        if before.gatherer is not None:
            before.gatherer.close()
        self._metrics.reloaded(self.name, "done")
        return f"{self.name}: the twin in {self.folder} was read again"

    def close(self) -> None:
        """No more requests come."""
        if self.current.gatherer is not None:
            self.current.gatherer.close()

    def _made(self, twin: Twin) -> Current:
        # What is computed once for a twin is computed before anybody waits for it.
        twin.corners  # noqa: B018
        if self._limits.together == 1:
            return Current(twin, twin, None, time())
        together = Together(twin.law)
        together.warm(twin.rows)
        gatherer = Gatherer(together, self._limits.together, self._metrics.computed)
        asked = replace(twin, model=GatheredLaw(twin.law, gatherer))  # type: ignore[arg-type]
        asked.corners  # noqa: B018
        return Current(twin, asked, gatherer, time())


def signature_of(folder: Path) -> Any:
    """Tells one twin in a folder from another without reading it; None where there is none."""
    try:
        told = [os.stat(folder / name) for name in (ABOUT, ARRAYS)]
    except OSError:
        return None
    return [(one.st_ino, one.st_mtime_ns, one.st_size) for one in told]


def load_whole(folder: Path) -> Twin:
    """The twin in a folder, both files of the same one, even while another takes its place."""
    for _ in range(_ATTEMPTS):
        before = signature_of(folder)
        try:
            twin = load_twin(folder)
        except InputError:
            if signature_of(folder) == before:
                raise
            continue
        if signature_of(folder) == before:
            return twin
    raise InputError(f"{folder}: the twin in this folder changes while it is read: try again")
