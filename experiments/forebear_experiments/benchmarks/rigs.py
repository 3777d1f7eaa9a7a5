"""What the monitor says of sixteen rigs that it was not made on: alarms, inputs named, faults of sensors told.

Generators, seeds and right answers (`support/rigs.py`) were written down before anything was asked of them. A twin is
made as a user would make it, `fb.discover` at the defaults and a small flow, and is asked about new tables of which
the event is in the second half, once as a batch and, where `streams` says so, row by row as `Twin.watch` sees them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import forebear as fb
from forebear.twin.twin import Twin
from forebear.watch.result import Monitored
from forebear_experiments.benchmarks.support.rigs import RIGS, Event, Rig, table

_SMALL: dict[str, Any] = {"steps": 1_500, "width": 32, "depth": 2, "batch": 1_024}
_MADE, _ASKED, _TRAINED_ON, _PART = 41, 42, 2_000, 100


def run(
    rigs: Sequence[str] = tuple(RIGS),
    tables: int = 4,
    rows: int = 1_000,
    streams: int = 0,
    seed: int = 0,
    small: bool = True,
) -> Iterator[dict[str, Any]]:
    """A row per rig and event, of so many tables of so many rows, and of so many streams; `small=False` takes twins
    at their defaults, which are slower."""
    for name in rigs:
        rig = RIGS[name]
        twin = made(rig, seed, small)
        for event in rig.events:
            yield _asked(twin, rig, name, event, tables, rows, streams, seed)


def made(rig: Rig, seed: int, small: bool = True) -> Twin:
    """Discovered at the defaults, on 2,000 rows of the rig."""
    known = table(rig, _TRAINED_ON, np.random.default_rng([_MADE, *_number(rig), seed]))
    found = fb.discover(known, list(rig.targets), rows=rig.rows, seed=seed, progress=False)
    return found.twin(progress=False, **(_SMALL if small else {}))


def _number(rig: Rig) -> list[int]:
    return [list(RIGS.values()).index(rig)]


def _asked(
    twin: Twin, rig: Rig, name: str, event: str, tables: int, rows: int, streams: int, seed: int
) -> dict[str, Any]:
    truth, started = rig.events[event], time.perf_counter()
    told = [twin.monitor(_table(rig, event, rows, seed, number)) for number in range(tables)]
    row = {
        "what": f"{name}: {event}",
        "inputs_of_the_twin": list(twin.inputs),
        "of": tables,
        "ours_s": (time.perf_counter() - started) / tables,
        _counted(truth): sum(_alarm(one, truth) for one in told),
        "cannot_tell": sum(any(law.verdict == "cannot tell" for law in one.targets.values()) for one in told),
        "named": [_named(one) for one in told],
        **({"named_rightly": sum(_rightly(one, truth) for one in told)} if truth.changes else {}),
        "faults_rightly": sum(
            {(one.column, one.kind) for one in told_.faults} == set(truth.faults) for told_ in told
        ),
        "outside": float(np.mean([one.outside.rows / one.rows for one in told])),
    }
    if truth.clean:
        row["holds_without_faults"] = sum(
            one.without_faults is not None and set(one.without_faults.values()) == {"holds"} for one in told
        )
    if streams:
        row |= _watched(twin, rig, event, rows, streams, seed)
    return row


def _counted(truth: Event) -> str:
    """What alarms are called: false ones, changes found, or neither where it cannot be told from the rows."""
    if truth.pairs or truth.changes:
        return "found"
    return "said_changed" if truth.changes is None else "alarms"


def _table(rig: Rig, event: str, rows: int, seed: int, number: int) -> Any:
    place = list(rig.events).index(event)
    return table(rig, rows, np.random.default_rng([_ASKED, *_number(rig), place, seed, number]), event, rows // 2)


def _alarm(told: Monitored, truth: Event) -> bool:
    return told.changed if not truth.pairs else any(one.adjusted <= told.level for one in told.together)


def _named(told: Monitored) -> list[str]:
    return sorted({name for law in told.targets.values() if law.verdict == "changed" for name in law.follows})


def _rightly(told: Monitored, truth: Event) -> bool:
    """Where a law changed and an alarm was given: whether the inputs that it follows are among those that it may."""
    named = set(_named(told))
    return told.changed and set(truth.must) <= named <= {*truth.must, *truth.may}


def _watched(twin: Twin, rig: Rig, event: str, rows: int, streams: int, seed: int) -> dict[str, Any]:
    alarms, early, delays = 0, 0, []
    for number in range(streams):
        new, watch = _table(rig, event, 2 * rows, seed, 1_000 + number), twin.watch()
        for start in range(0, len(new), _PART):
            if watch.add(new.iloc[start : start + _PART]).changed:
                alarms += 1
                early += start + _PART <= rows
                delays.append(start + _PART - rows)
                break
    late = [one for one in delays if one > 0]
    return {
        "streams": streams,
        "streams_alarmed": alarms,
        "streams_alarmed_before": early,
        "rows_to_alarm": float(np.median(late)) if late else None,
    }
