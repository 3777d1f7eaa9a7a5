"""False alarms, detection, delay and the input named: `Twin.monitor` and `Twin.watch` on rigs whose laws are known.

Every kind of rows has twins of its own, each trained on another table, and each is asked about many new tables, so
that the chance of the training is part of what is counted. Beside them stand what people use instead: river's ADWIN
on absolute errors of the twin's median, and a Kolmogorov-Smirnov test of each column at the level divided by their
number, as drift reports make it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from forebear.data.table import read_columns
from forebear.discovery.structure import ORDERED, RowStructure
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin
from forebear_experiments.benchmarks.support.operation import CHANGES, KINDS, NOTHING, OWN, Event, Rows, rig

_QUICK: dict[str, Any] = {"test": 0.25, "steps": 1_500, "width": 32, "depth": 2, "batch": 1_024}
_TRAINED = 6_000
LEVEL = 0.05


def run(
    kinds: Sequence[str] = tuple(KINDS),
    twins: int = 3,
    tables: int = 102,
    changed: int = 10,
    sizes: Sequence[int] = (2_000,),
    others: Sequence[tuple[int, int]] = ((100, 60), (20_000, 4)),
    streams: int = 0,
) -> Iterator[dict[str, Any]]:
    """Rows for false alarms of one batch, for detection and names, and for streams.

    `others` has further sizes for false alarms, with the tables of each; `streams` is how many streams of 5,000 rows
    without a change, and a third of that with each change (0 leaves them out, as they take an hour). Of rows that
    depend on one another there are a third of the tables without a change, and half of the others.
    """
    for name in kinds:
        kind = KINDS[name]
        made = [_twin(kind, seed, _QUICK) for seed in range(twins)]
        dependent = bool(kind.inputs or kind.noise)
        for event in NOTHING:
            for size, count in (*((size, tables) for size in sizes), *others):
                yield _alarms(made, name, event, size, -(-count // 3) if dependent else count)
        for event in CHANGES:
            for size in sizes:
                yield _found(made, name, event, size, -(-changed // 2) if dependent else changed)
        if streams:
            yield from _streams(made, name, streams)


def _twin(kind: Rows, seed: int, settings: dict[str, Any]) -> Twin:
    frame = rig(_TRAINED, kind, np.random.default_rng([1, seed]))
    structure = RowStructure(ORDERED) if kind.inputs or kind.noise else RowStructure()
    table = read_columns(frame, "the table", list(frame))
    made = TwinSettings.resolve(settings)
    return fit_twin(table, {"y": list(OWN)}, joint=False, settings=made, seed=seed, structure=structure)


def _new(kind: str, event: Event, size: int, number: int, since: int = 0) -> pd.DataFrame:
    return rig(size, KINDS[kind], np.random.default_rng([2, size, number, since]), event, since)


def _alarms(twins: Sequence[Twin], kind: str, event: str, size: int, count: int) -> dict[str, Any]:
    """How often something is said of tables of which there is nothing to say."""
    alarms, unknown, marginal, started = 0, 0, 0, time.perf_counter()
    for number in range(count):
        twin = twins[number % len(twins)]
        rows = _new(kind, NOTHING[event], size, number)
        told = twin.monitor(rows, level=LEVEL)
        alarms += told.changed
        unknown += told.targets["y"].verdict == "cannot tell"
        marginal += drifted(_reference(twin), rows)
    return {
        "what": f"{kind}: {event}, {size:,} rows",
        "ours_s": (time.perf_counter() - started) / count,
        "alarms": alarms,
        "of": count,
        "cannot_tell": unknown,
        "alarms_of_column_tests": marginal,
    }


def _found(twins: Sequence[Twin], kind: str, event: str, size: int, count: int) -> dict[str, Any]:
    """How often a change in the second half of a table is found, and its input named."""
    found, named, unknown, off = 0, 0, 0, []
    for number in range(count):
        rows = _new(kind, CHANGES[event], size, number, since=size // 2)
        told = twins[number % len(twins)].monitor(rows, level=LEVEL).targets["y"]
        found += told.verdict == "changed"
        unknown += told.verdict == "cannot tell"
        if told.verdict == "changed" and told.since is not None:
            named += told.follows == CHANGES[event].follows
            off.append(abs(told.since - 1 - size // 2))
    return {
        "what": f"{kind}: {event} in the second half of {size:,} rows",
        "found": found,
        "of": count,
        "cannot_tell": unknown,
        "named_rightly": named,
        "rows_off": float(np.median(off)) if off else None,
    }


def _streams(twins: Sequence[Twin], kind: str, count: int) -> Iterator[dict[str, Any]]:
    """Rows one after the other: alarms in 5,000 rows without a change, and rows from a change to the alarm."""
    for event in NOTHING:
        told = [
            _watched(twins[n % len(twins)], _new(kind, NOTHING[event], 5_000, n, since=1_000)) for n in range(count)
        ]
        yield {
            "what": f"{kind}: stream of 5,000 rows, {event} from row 1,001",
            "alarms": sum(own is not None for own, _ in told),
            "alarms_of_adwin": sum(other is not None for _, other in told),
            "of": count,
        }
    for event in CHANGES:
        some = range(count // 3)
        told = [_watched(twins[n % len(twins)], _new(kind, CHANGES[event], 5_000, n, since=1_000)) for n in some]
        late = [[one for one in side if one is not None and one > 1_000] for side in zip(*told, strict=True)]
        delays = [float(np.median(own)) - 1_000 if own else None for own in late]
        yield {
            "what": f"{kind}: stream of 5,000 rows, {event} from row 1,001",
            "found": len(late[0]),
            "delay": delays[0],
            "found_by_adwin": len(late[1]),
            "delay_of_adwin": delays[1],
            "of": len(some),
        }


def _watched(twin: Twin, rows: pd.DataFrame) -> tuple[int | None, int | None]:
    """The row of the first alarm of ours, and of ADWIN."""
    watch, alarm = twin.watch(level=LEVEL), None
    for start in range(0, len(rows), 100):
        if watch.add(rows.iloc[start : start + 100]).changed:
            alarm = start + 100
            break
    return alarm, adwin(np.abs(rows["y"].to_numpy() - twin.quantile(rows, 0.5, outside="ignore")[:, 0]))


def adwin(errors: np.ndarray) -> int | None:
    """The row of the first alarm, at the same level; None if there is none, or river is not installed."""
    try:
        detector = import_module("river.drift").ADWIN(delta=LEVEL)
    except ImportError:
        return None
    for row, error in enumerate(errors):
        detector.update(float(error))
        if detector.drift_detected:
            return row + 1
    return None


def drifted(known: pd.DataFrame, new: pd.DataFrame) -> bool:
    """Whether a Kolmogorov-Smirnov test of any column says so."""
    told = [tuple(ks_2samp(known[name], new[name]))[1] for name in known.columns]
    return min(told) < LEVEL / len(told)


def _reference(twin: Twin) -> pd.DataFrame:
    kept = twin.reference
    columns = dict(zip((*twin.inputs, *twin.targets), np.column_stack([kept.x, kept.y]).T, strict=True))
    others = {one.name: kept.other[:, place] for place, one in enumerate(kept.others)}
    return pd.DataFrame({**columns, **others})
