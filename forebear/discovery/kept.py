"""The stages of a study as they are kept in a run folder, to be taken up where they were left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from forebear.discovery.dependence import Verdict
from forebear.discovery.distil import Draws
from forebear.discovery.path import Path
from forebear.discovery.search import Evidence
from forebear.run.parts import Parts

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError)


class Drawn(NamedTuple):
    """What the samplers of a study drew."""

    draws: tuple[Draws, ...]
    """one for each law"""
    state: Mapping[str, Any]
    """of numpy's generator, where the next stage takes it up"""
    notes: tuple[str, ...]

    def keep(self, parts: Parts) -> None:
        """As safetensors."""
        arrays = {
            f"{number}.{name}": array
            for number, draws in enumerate(self.draws)
            for name, array in draws._asdict().items()
        }
        about = {"laws": len(self.draws), "state": self.state, "notes": self.notes}
        parts.keep_arrays("draws", arrays, about)

    @classmethod
    def kept(cls, parts: Parts) -> Drawn | None:
        """What `keep` kept."""
        found = parts.get_arrays("draws")
        if found is None:
            return None
        arrays, about = found
        try:
            draws = [Draws(*(arrays[f"{n}.{name}"] for name in Draws._fields)) for n in range(about["laws"])]
            generator = np.random.default_rng()
            generator.bit_generator.state = about["state"]
            return cls(tuple(draws), about["state"], tuple(about["notes"]))
        except _DAMAGED:
            return None


class Traced(NamedTuple):
    """The paths from one law: one a target."""

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


class Rounds(dict[frozenset[str], Evidence]):
    """The sets that were examined for one target; what an earlier process has examined is there from the start.

    Kept now and then: often enough to lose seconds, rarely enough to cost next to nothing. What `update` brings in is
    not kept: it comes from a second look, whose flow is trained again (or remembered) before it is asked.
    """

    def __init__(self, parts: Parts, number: int):
        super().__init__()
        self.parts, self.name = parts, f"examined-{number}"
        self._again, self._own = 0.0, {}
        for record in parts.get(self.name) or ():
            try:
                super().__setitem__(frozenset(record["kept"]), _restore(record))
            except _DAMAGED:
                self.clear()
                break
        self._own = dict(self)

    def __setitem__(self, kept: frozenset[str], evidence: Evidence) -> None:
        super().__setitem__(kept, evidence)
        self._own[kept] = evidence
        now = time.monotonic()
        if self.parts.folder is not None and now >= self._again:
            with suppress(ValueError):  # a number that JSON does not have: examined again, then
                self.parts.keep(self.name, [_record(*item) for item in self._own.items()])
            done = time.monotonic()
            self._again = done + max(1.0, 20 * (done - now))


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
