"""The stages of a study as they are kept in a run folder, to be taken up where they were left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from forebear.discovery.dependence import Verdict
from forebear.discovery.distil import Draws
from forebear.discovery.path import Fit, Path
from forebear.discovery.search import Evidence
from forebear.run.parts import Parts

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
        parts.keep(f"path-{number}", {"paths": [path.record() for path in self.paths], "notes": self.notes})

    @classmethod
    def kept(cls, parts: Parts, number: int) -> Traced | None:
        """What `keep` kept."""
        found = parts.get(f"path-{number}")
        try:
            return None if found is None else cls(tuple(map(Path.restore, found["paths"])), tuple(found["notes"]))
        except _DAMAGED:
            return None


class _Kept(dict[Any, Any]):
    """What is known, by some key; what an earlier process has found out is there from the start.

    Kept now and then: often enough to lose seconds, rarely enough to cost next to nothing.
    """

    def __init__(self, parts: Parts, name: str):
        super().__init__()
        self.parts, self.name = parts, name
        self._again, self._own = 0.0, {}
        for record in parts.get(self.name) or ():
            try:
                key, value = self.restored(record)
                super().__setitem__(key, value)
            except _DAMAGED:
                self.clear()
                break
        self._own = dict(self)

    @staticmethod
    def record(key: Any, value: Any) -> Any:
        """Plain lists and numbers; `restored` is the way back."""
        raise NotImplementedError

    @staticmethod
    def restored(record: Any) -> tuple[Any, Any]:
        """Key and value that a record was made from."""
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._own[key] = value
        now = time.monotonic()
        if self.parts.folder is not None and now >= self._again:
            with suppress(ValueError):  # a number that JSON does not have: found out again, then
                self.parts.keep(self.name, [self.record(*item) for item in self._own.items()])
            done = time.monotonic()
            self._again = done + max(1.0, 20 * (done - now))


class Steps(_Kept):
    """The fits of one walk down, by the numbers of the units that are left."""

    @staticmethod
    def record(key: tuple[int, ...], value: Fit) -> dict[str, Any]:
        """As JSON, which loses nothing."""
        return {"units": key, **value._asdict()}

    @staticmethod
    def restored(record: dict[str, Any]) -> tuple[tuple[int, ...], Fit]:
        """What `record` recorded."""
        return tuple(record.pop("units")), Fit(**record)


class Rounds(_Kept):
    """The sets that were examined for one target.

    What `update` brings in is not kept: it comes from a second look, whose flow is trained again (or remembered)
    before it is asked.
    """

    def __init__(self, parts: Parts, number: int):
        super().__init__(parts, f"examined-{number}")

    @staticmethod
    def record(key: frozenset[str], value: Evidence) -> dict[str, Any]:
        """As JSON, which loses nothing."""
        return _record(key, value)

    @staticmethod
    def restored(record: dict[str, Any]) -> tuple[frozenset[str], Evidence]:
        """What `record` recorded."""
        return frozenset(record["kept"]), _restore(record)


def _record(kept: frozenset[str], evidence: Evidence) -> dict[str, Any]:
    return {
        "kept": sorted(kept),
        "verdicts": {unit: verdict._asdict() for unit, verdict in evidence.verdicts.items()},
        "jointly": None if evidence.jointly is None else evidence.jointly._asdict(),
        "rejected": sorted(evidence.rejected),
    }


def _restore(record: Mapping[str, Any]) -> Evidence:
    jointly = record["jointly"]
    return Evidence(
        {unit: _verdict(verdict) for unit, verdict in record["verdicts"].items()},
        None if jointly is None else _verdict(jointly),
        frozenset(record["rejected"]),
    )


def _verdict(record: Mapping[str, Any]) -> Verdict:
    return Verdict(**{**record, "units": tuple(record["units"])})
