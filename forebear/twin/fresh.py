"""New rows as a twin learns from them: which can be used, which are of the law that holds now, which judge it.

And old rows, with the chance that the law of today is still theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from forebear.data.weights import read_weights, scaled
from forebear.discovery.structure import GROUPED, ORDERED, RowStructure
from forebear.errors import InputError
from forebear.twin.aside import divided
from forebear.twin.given import raw_frame
from forebear.twin.new_rows import UNKNOWN, NewTable
from forebear.watch.faults import faulty_rows
from forebear.watch.holding import still_holds
from forebear.watch.laws import LawVerdict
from forebear.watch.result import CHANGED

if TYPE_CHECKING:
    from forebear.twin.twin import Twin
    from forebear.watch.result import Monitored

FEWEST = 20
"""rows below which there is nothing to learn"""
LIKELY = 0.5
"""chance above which a law is taken to hold still"""
# Share of the new rows that judges when the twin does not say; at most so many.
_TEST, _MOST_JUDGES = 0.2, 2_000


class Asked(NamedTuple):
    """The arguments of `Twin.update`."""

    old: Any
    since: int | None
    weights: str | None
    rediscover: bool
    level: float
    seed: int


@dataclass(frozen=True, eq=False)
class Known:
    """Old rows, and how likely the law of each target still holds at them."""

    x: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, "rows targets"]
    holds: Float[np.ndarray, "rows targets"]
    other: Float[np.ndarray, "rows others"] | None = None
    """of the columns beside them that the twin's reference has; None: not known"""

    def frame(self, twin: Twin) -> pd.DataFrame:
        """With labels, by name."""
        told = raw_frame(twin.columns, self.x) | raw_frame(twin.outputs, self.y)
        if self.other is not None:
            told |= raw_frame(twin.reference.others, self.other)
        return pd.DataFrame(told, index=pd.RangeIndex(len(self.x)))


@dataclass(frozen=True, eq=False)
class Fresh:
    """New rows that can be learned from, and what the monitor says of them."""

    table: NewTable
    places: np.ndarray
    """numbers of these rows in the user's table, from 0"""
    told: Monitored
    counts: Float[np.ndarray, " rows"]
    new: Bool[np.ndarray, "rows targets"]
    """rows of the law that holds now"""
    gone: Bool[np.ndarray, " rows"]
    """rows of a change that has ended: of no law that was, or is"""
    since: Mapping[str, int | None]
    judges: Bool[np.ndarray, " rows"]
    """set aside"""

    @property
    def x(self) -> np.ndarray:
        """Their inputs."""
        return self.table.x[self.places]

    @property
    def y(self) -> np.ndarray:
        """Their targets."""
        return self.table.y[self.places]

    def frame(self, some: np.ndarray) -> pd.DataFrame:
        """Some of them as the user gave them."""
        return self.table.frame.iloc[self.places[some]].reset_index(drop=True)

    def verdict(self, target: str) -> LawVerdict:
        """What the monitor says of a law."""
        return self.told.targets[target]


def fresh_rows(twin: Twin, table: NewTable, asked: Asked, rng: np.random.Generator) -> tuple[Fresh, list[str]]:
    """The rows that can be learned from: inside the old range or beyond it, but without gaps, strange labels and
    sensors that are stuck."""
    strange = np.zeros(len(table.x), bool)
    for values, columns in ((table.x, twin.columns), (table.y, twin.outputs)):
        for place, column in enumerate(columns):
            strange |= bool(column.levels) & (values[:, place] == UNKNOWN)
    usable = ~table.lacking & ~strange
    notes = [] if usable.all() else [f"{int((~usable).sum()):,} rows have gaps or labels the twin does not know"]
    told = _monitored(twin, table, usable, asked)
    stuck = np.zeros(len(usable), bool)
    stuck[np.flatnonzero(usable)] = faulty_rows(told.faults, int(usable.sum()))
    if stuck.any():
        names = sorted({fault.column for fault in told.faults if fault.kind == "stuck"})
        notes.append(f"{int(stuck.sum()):,} rows in which {' and '.join(names)} is stuck are left out")
        usable &= ~stuck
        told = _monitored(twin, table, usable, asked)
    places = np.flatnonzero(usable)
    counts = np.ones(len(places))
    if asked.weights is not None:
        counts = scaled(read_weights(table.frame, asked.weights, "rows"))[places]
    new, gone, since = _stretches(twin, told, places, asked.since)
    for target, verdict in told.targets.items():
        if verdict.verdict == CHANGED and verdict.until is not None and asked.since is None:
            ends = f"{places[verdict.since - 1] + 1:,} to {places[verdict.until - 1] + 1:,}" if verdict.since else ""
            notes.append(f"{target}: a change in rows {ends} has ended, and is not learned")
    if (new & ~gone[:, None]).any(axis=1).sum() < FEWEST:
        raise InputError(
            f"rows: {int((new & ~gone[:, None]).any(axis=1).sum())} of {len(table.x)} rows can be learned from, and "
            f"{FEWEST} are needed: give more rows, or an earlier since="
        )
    some, _ = divided(len(places), _judges(twin, len(places)), rng, structure_of_new(twin, table, places))
    judges = np.zeros(len(places), bool)
    judges[some] = True
    return Fresh(table, places, told, counts, new, gone, since, judges & ~gone), notes


def _monitored(twin: Twin, table: NewTable, usable: np.ndarray, asked: Asked) -> Monitored:
    if usable.sum() < FEWEST:
        raise InputError(
            f"rows: {int(usable.sum())} of {len(table.x)} rows have no gaps, known labels and sensors that move, and "
            f"{FEWEST} are needed: give more rows"
        )
    frame = table.frame.iloc[np.flatnonzero(usable)].reset_index(drop=True)
    return twin.monitor(frame, level=asked.level, seed=asked.seed)


def _stretches(
    twin: Twin, told: Monitored, places: np.ndarray, since: int | None
) -> tuple[np.ndarray, np.ndarray, dict[str, int | None]]:
    """Which rows are of the law that holds now, and which of a change that has ended."""
    new, gone = np.ones((len(places), len(twin.targets)), bool), np.zeros(len(places), bool)
    begins: dict[str, int | None] = {}
    for place, target in enumerate(twin.targets):
        verdict = told.targets[target]
        begins[target] = None
        if since is not None:
            new[:, place], begins[target] = places >= since - 1, int(since)
        elif verdict.verdict == CHANGED and verdict.since is not None:
            # Where it may as well have begun with the first row, it has.
            at_once = verdict.since_interval is not None and verdict.since_interval[0] == 1
            first, last = 0 if at_once else verdict.since - 1, verdict.until
            if last is None:
                new[:first, place], begins[target] = False, int(places[first]) + 1
            else:
                gone[first:last] = True
    return new, gone, begins


def _judges(twin: Twin, rows: int) -> int:
    return int(min(_MOST_JUDGES, round((twin.settings.test or _TEST) * rows)))


def structure_of_new(twin: Twin, table: NewTable, places: np.ndarray) -> RowStructure:
    """How the new rows hang together: as those of the twin did."""
    column = twin.reference.column
    if column and column in table.frame.columns:
        codes = np.asarray(pd.factorize(table.frame[column])[0])[places]
        return RowStructure(GROUPED, groups=np.unique(codes, return_inverse=True)[1], column=column)
    return RowStructure(ORDERED) if twin.reference.ordered else RowStructure()


def _may_have_changed(twin: Twin, fresh: Fresh, place: int, asked_since: bool) -> bool:
    """Whether the law of a target may have changed for good."""
    verdict = fresh.verdict(twin.targets[place])
    return asked_since or (verdict.verdict == CHANGED and verdict.until is None)


def holding(twin: Twin, fresh: Fresh, x: np.ndarray) -> np.ndarray:
    """How likely the law of each target still holds at some inputs (rows, targets)."""
    found = np.ones((len(x), len(twin.targets)))
    features, own = twin.encoder.single(x), twin.encoder.single(fresh.x)
    numbers = fresh.told.numbers - 1
    for place, target in enumerate(twin.targets):
        if not _may_have_changed(twin, fresh, place, fresh.since[target] is not None):
            continue
        seen = twin.encoder.mask(twin.ancestors[target]) > 0
        now = fresh.new[numbers, place]
        if now.sum() < FEWEST:
            continue
        z = fresh.told.latents[now, place]
        found[:, place] = still_holds(z, own[numbers[now]][:, seen], features[:, seen])
    return np.tile(found.min(axis=1, keepdims=True), (1, found.shape[1])) if twin.joint else found
