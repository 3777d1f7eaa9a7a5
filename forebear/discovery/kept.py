"""The stages of a study as they are kept in a run folder, to be taken up where they were left."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from forebear.discovery.distil import Draws
from forebear.discovery.path import Fit, Path
from forebear.discovery.search import Evidence
from forebear.run.parts import Parts
from forebear.storage.records import RecordError, from_record, to_record

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError)


class Drawn(NamedTuple):
    """What the samplers of a study drew."""

    draws: Draws
    notes: tuple[str, ...]

    def keep(self, parts: Parts) -> None:
        """As safetensors."""
        parts.keep_arrays("draws", self.draws._asdict(), {"notes": self.notes})

    @classmethod
    def kept(cls, parts: Parts) -> Drawn | None:
        """What `keep` kept."""
        found = parts.get_arrays("draws")
        if found is None:
            return None
        arrays, about = found
        try:
            return cls(Draws(**arrays), tuple(about["notes"]))
        except _DAMAGED:
            return None


class Traced(NamedTuple):
    """The paths of targets that were traced together."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]

    def keep(self, parts: Parts, number: int) -> None:
        """As JSON, which loses nothing."""
        parts.keep(f"path-{number}", to_record(self))

    @classmethod
    def kept(cls, parts: Parts, number: int) -> Traced | None:
        """What `keep` kept."""
        found = parts.get(f"path-{number}")
        try:
            return None if found is None else from_record(cls, found)
        except RecordError:
            return None


class _Known(dict[Any, Any]):
    """What is known, by some key; what an earlier process has found out is there from the start.

    Kept now and then: often enough to lose seconds, rarely enough to cost next to nothing. What `update` brings in is
    not kept. `record` makes plain lists and numbers of key and value; `restored` is the way back.
    """

    def __init__(
        self, parts: Parts, name: str, record: Callable[[Any, Any], Any], restored: Callable[[Any], tuple[Any, Any]]
    ):
        super().__init__()
        self.parts, self.name, self.record = parts, name, record
        self._again = 0.0
        for kept in parts.get(name) or ():
            try:
                key, value = restored(kept)
                super().__setitem__(key, value)
            except _DAMAGED:
                self.clear()
                break
        self._own = dict(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._own[key] = value
        now = time.monotonic()
        if self.parts.folder is not None and now >= self._again:
            with suppress(ValueError):  # a number that JSON does not have: found out again, then
                self.parts.keep(self.name, [self.record(*item) for item in self._own.items()])
            done = time.monotonic()
            self._again = done + max(1.0, 20 * (done - now))


def known_fits(parts: Parts, name: str) -> dict[tuple[int, ...], Fit]:
    """The fits of one walk down, by the numbers of the units that are left."""
    return _Known(
        parts,
        name,
        lambda units, fit: to_record((units, fit)),
        lambda record: from_record(tuple[tuple[int, ...], Fit], record),
    )


def known_sets(parts: Parts, number: int) -> dict[frozenset[str], Evidence]:
    """The sets that were examined for one target.

    A second look brings its own in by `update`: its flow is trained again (or remembered) before it is asked.
    """
    return _Known(
        parts,
        f"examined-{number}",
        lambda kept, evidence: to_record((kept, evidence)),
        lambda record: from_record(tuple[frozenset[str], Evidence], record),
    )
