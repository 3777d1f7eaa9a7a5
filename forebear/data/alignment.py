"""Clocks: tables joined as of a time, records put on a regular grid, and gaps that no window may cross."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.column import cells_of
from forebear.data.names import pick_names
from forebear.data.source import open_frame
from forebear.data.times import duration, parse_duration, read_times, sampling, seconds
from forebear.errors import InputError, listed
from forebear.kinds.cells import check_present, number_cells

# A step this many times as long as the usual one is a gap.
_GAP = 1.5
# Share of equal steps from which a record is regular, so that a longer one is a gap in it.
_REGULAR = 0.9


def clock_of(frame: pd.DataFrame, time: str, source: str) -> np.ndarray:
    """The times (rows,) of a column: seconds since 1970 for timestamps, numbers as they are.

    >>> clock_of(pd.DataFrame({"t": ["1970-01-01T00:01Z", "1970-01-01T00:02+00:00"]}), "t", "a.csv").tolist()
    [60.0, 120.0]
    """
    where, cells = f"{source}: column '{time}'", cells_of(frame, time)
    times = read_times(cells)
    if times is None:
        return number_cells(cells, where)
    check_present(times, where)
    return seconds(times)


def gaps_in_time(at: np.ndarray, runs: np.ndarray, name: str, source: str) -> np.ndarray:
    """The run (rows,) of each row, sorted by run and time, where a gap in a regular record starts a new run.

    >>> gaps_in_time(np.append(np.arange(20.0), 50.0), np.zeros(21, int), "t", "a.csv").tolist()[-3:]
    [0, 0, 1]
    """
    within = np.diff(runs) == 0
    seen = sampling(np.cumsum(np.append(0.0, np.where(within, np.diff(at), np.nan)[within])))
    if seen is None:
        return runs
    if seen.regular < _REGULAR:
        warnings.warn(
            f"{source}: the times in '{name}' are irregular ({seen.describe()}), so a lag is a row, not a length of "
            f"time: step='{duration(seen.step)}' puts them on a grid",
            stacklevel=4,
        )
        return runs
    breaks = np.append(False, ~within | (np.diff(at) > _GAP * seen.step))
    return np.cumsum(breaks)


def on_grid(
    frame: pd.DataFrame, episode: str | None, time: str, step: Any, tolerance: Any, source: str
) -> pd.DataFrame:
    """The record on a regular grid: at each time the last row before it that is no older than the tolerance.

    Times at which there is none are left out: they are gaps. The clock becomes a number of seconds.

    >>> record = pd.DataFrame({"t": [0.0, 0.9, 2.1, 9.0], "x": [1.0, 2.0, 3.0, 4.0]})
    >>> on_grid(record, None, "t", 1.0, 1.5, "a.csv")["x"].tolist()
    [1.0, 2.0, 2.0, 3.0, 4.0]
    """
    every = parse_duration(step, "step")
    oldest = every if tolerance is None else parse_duration(tolerance, "tolerance")
    at = clock_of(frame, time, source)
    codes = np.zeros(len(frame), int) if episode is None else pd.factorize(cells_of(frame, episode))[0]
    rows, ticks = [], []
    for code in range(int(codes.max()) + 1):
        own = np.flatnonzero(codes == code)
        own = own[np.argsort(at[own], kind="stable")]
        grid = np.arange(float(at[own[0]]), float(at[own[-1]]) + 1e-9 * every, every)
        place = np.searchsorted(at[own], grid + 1e-9 * every, side="right") - 1
        fresh = grid - at[own][place] <= oldest * (1 + 1e-9)
        rows.append(own[place[fresh]])
        ticks.append(grid[fresh])
    made = frame.iloc[np.concatenate(rows)].reset_index(drop=True)
    return made.assign(**{time: np.concatenate(ticks)})


def joined_as_of(tables: Sequence[Any], time: Any, tolerance: Any, episode: str | None) -> pd.DataFrame:
    """Tables with clocks of their own as one, on the times of the first.

    At each of its times every other table gives its last row before it, no older than the tolerance; where there is
    none, the cells are missing.

    >>> slow = {"t": [0.0, 10.0], "level": [1.0, 2.0]}
    >>> fast = {"t": [0.0, 4.0, 9.0, 12.0], "flow": [5.0, 6.0, 7.0, 8.0]}
    >>> joined_as_of([fast, slow], "t", 6, None)["level"].tolist()
    [1.0, 1.0, nan, 2.0]
    """
    if time is None or tolerance is None:
        raise InputError(
            "tables with clocks of their own need time=, the column of the clock, and tolerance=, how old a value "
            "may be"
        )
    opened = [open_frame(table) for table in tables]
    oldest = parse_duration(tolerance, "tolerance")
    (first, source), others = opened[0], opened[1:]
    keys = [] if episode is None else [episode]
    made = _clocked(first, source, time)
    for frame, other in others:
        own = _clocked(frame, other, time)
        twice = [name for name in own if name in made and name not in (time, *keys)]
        if twice:
            raise InputError(f"{other}: {listed(twice)} in more than one of the tables: rename a column")
        by = [key for key in keys if key in own]
        how: dict[str, Any] = {"by": by or None, "tolerance": oldest, "direction": "backward"}
        made = pd.merge_asof(made, own, on=time, **how)
    return made


def _clocked(frame: pd.DataFrame, source: str, time: Any) -> pd.DataFrame:
    """Rows in the order of time, the clock in seconds."""
    (name,) = pick_names(time, list(frame.columns), source, "time")[:1]
    at = clock_of(frame, name, source)
    return frame.assign(**{name: at}).sort_values(name, kind="stable").reset_index(drop=True)
