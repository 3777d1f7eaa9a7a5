"""Trajectories to a table with lag columns: what happens next, given now and the recent past."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.data.alignment import clock_of, gaps_in_time, joined_as_of, on_grid
from forebear.data.column import cells_of
from forebear.data.names import expand, pick_names, pick_periods
from forebear.data.said_kinds import with_kinds
from forebear.data.source import Opened, open_frame
from forebear.errors import InputError, listed
from forebear.kinds.cells import check_present, number_cells, tamed


class Lagged(NamedTuple):
    """A table with lag columns, and the options of `discover` that go with it.

    >>> made = lagged({"x": [1.0, 3.0, 4.0]}, state="x", lags=1)
    >>> made.groups
    {'lag 0': ('x_0',), 'lag 1': ('x_1',)}
    """

    table: pd.DataFrame
    targets: tuple[str, ...]
    candidates: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    periodic: dict[str, float]
    asked: Mapping[str, Any] = MappingProxyType({})
    """of a file: its path as "data", and the arguments that were given, so that a run folder can tell"""

    def options(
        self, targets: Any = None, candidates: Any = None, keep: Any = (), groups: Any = None, periodic: Any = None
    ) -> dict[str, Any]:
        """What `discover` is asked of this table: what was said, and of the rest what goes with it."""
        return {
            "targets": targets or self.targets,
            "candidates": candidates or self.candidates,
            "keep": keep,
            "groups": self.free_groups(keep) if groups is None else groups,
            "periodic": {**self.periodic, **(periodic or {})},
        }

    def free_groups(self, keep: Any = ()) -> dict[str, list[str]]:
        """The groups without what is kept, by name or pattern.

        >>> lagged({"x": [1.0, 3.0, 4.0]}, state="x", lags=1).free_groups("x_0")
        {'lag 1': ['x_1']}
        """
        lists = list(keep.values()) if isinstance(keep, Mapping) else [keep]
        texts = [text for some in lists for text in ([some] if isinstance(some, str) else some)]
        kept = set(expand([str(text) for text in texts], list(self.table.columns), "the lag table", "named in keep"))
        free = {name: [column for column in columns if column not in kept] for name, columns in self.groups.items()}
        return {name: columns for name, columns in free.items() if columns}


def lagged(
    table: Any,
    state: str | Sequence[str],
    action: str | Sequence[str] = (),
    lags: int = 9,
    episode: str | None = None,
    increments: bool = True,
    time: str | None = None,
    periodic: Mapping[str, float] | None = None,
    *,
    step: Any = None,
    tolerance: Any = None,
    missing: str = "refuse",
    regime: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Lagged:
    """One row a moment: each state's next change beside states and actions now and up to `lags` steps ago.

    Rows of one episode are in time order, or are sorted by the column `time`, numbers or timestamps; episodes may be
    interleaved. No window crosses the border of an episode, nor a gap in the times of a regular record, so a stretch
    of fewer than `lags + 2` rows gives none.

    With `step` (seconds, or "10 min"), a lag is that long whatever the rows: the record is put on a grid, where each
    time has the last row before it that is no older than `tolerance` (a step, by default). `table` may be a list of
    tables with clocks of their own in the column `time`: the others are joined to the first, as of its times, with
    values no older than `tolerance`. Cells may be missing with `missing="model"`, or where tables are joined: they
    stay missing.

    Column `{name}_{k}` is `name` k steps ago (k = 0 is now). The target of a state is `d_{name}`, next minus
    now, or with `increments=False` the next value itself, `next_{name}`. The change of a state in `periodic`
    is taken the short way round, in [-period/2, period/2). Group "lag k" holds all columns at lag k. The
    episode's id, when given, stays as a column that is neither target nor candidate, and so does `regime`, a column
    that says in which campaign or season a row was taken: its value now, for `discover(..., regime=)`. `kinds` are
    those of `discover`, such as an action that is a number and yet a label.

    >>> made = lagged({"x": [1.0, 3.0, 4.0, 9.0], "u": [0, 1, 0, 1]}, state="x", action="u", lags=1)
    >>> made.table.values.tolist(), list(made.table)
    ([[3.0, 1.0, 1.0, 0.0, 1.0], [4.0, 0.0, 3.0, 1.0, 5.0]], ['x_0', 'u_0', 'x_1', 'u_1', 'd_x'])
    """
    said = {name: value for name, value in locals().items() if name != "table"}
    asked = {"data": str(Path(table).absolute()), **said} if isinstance(table, (str, Path)) else {}
    if isinstance(table, (list, tuple)) and not isinstance(table, Opened):
        missing = "model"
        table = joined_as_of(table, time, tolerance, episode)
    frame, source = with_kinds(open_frame(table), kinds)
    columns = list(frame.columns)
    if step is not None:
        if time is None:
            raise InputError(f"{source}: step= needs time=, the column that says when a row was taken")
        clock = _one_name(time, frame, source, "time")
        frame = on_grid(frame, episode, clock, step, tolerance, source)
    states = pick_names(state, columns, source, "state")
    actions = pick_names(action, columns, source, "action")
    periods = pick_periods(periodic, columns, source)
    depth = _checked_lags(lags)
    _check_roles(states, actions, periods, {"episode": episode, "time": time, "regime": regime}, source)
    order, runs = _time_order(frame, episode, time, source)
    now = _window_ends(runs, depth, source)
    cells = _cells(frame, states, actions, source, missing != "refuse")

    back = {k: {f"{name}_{k}": cells[name].take(order[now - k]) for name in cells} for k in range(depth + 1)}
    ahead = _targets(cells, states, periods, order[now], order[now + 1], increments)
    labels = dict.fromkeys(str(name) for name in (episode, regime) if name is not None)
    label = {
        name: cells_of(frame, _one_name(name, frame, source, "regime")).take(order[now]).array for name in labels
    }
    return Lagged(
        table=_joined([label, *back.values(), ahead], source),
        targets=tuple(ahead),
        candidates=tuple(name for columns in back.values() for name in columns),
        groups={f"lag {k}": tuple(columns) for k, columns in back.items()},
        periodic={f"{name}_{k}": period for k in back for name, period in periods.items()},
        asked=asked,
    )


def _joined(parts: Sequence[Mapping[str, Any]], source: str) -> pd.DataFrame:
    names = Counter(name for part in parts for name in part)
    clashes = [name for name, times in names.items() if times > 1]
    if clashes:
        raise InputError(
            f"{source}: more than one column of the result would be named {listed(clashes)}: rename a column"
        )
    return pd.DataFrame({name: cells for part in parts for name, cells in part.items()}, copy=False)


def _targets(
    cells: Mapping[str, Any],
    states: Sequence[str],
    periods: Mapping[str, float],
    now: np.ndarray,
    after: np.ndarray,
    increments: bool,
) -> dict[str, np.ndarray]:
    if not increments:
        return {f"next_{name}": cells[name].take(after) for name in states}
    changes = {name: cells[name].take(after) - cells[name].take(now) for name in states}
    return {
        f"d_{name}": _short_way(change, periods[name]) if name in periods else change
        for name, change in changes.items()
    }


def _short_way(change: np.ndarray, period: float) -> np.ndarray:
    half = period / 2
    wrapped = np.mod(change + half, period) - half
    # The remainder of a tiny negative number rounds up to the period itself.
    return np.where(wrapped >= half, wrapped - period, wrapped)


def _time_order(
    frame: pd.DataFrame, episode: str | None, time: str | None, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """Rows sorted by episode (in order of first appearance) and time, and the episode of each sorted row."""
    codes = np.zeros(len(frame), dtype=np.int64)
    if episode is not None:
        episode = _one_name(episode, frame, source, "episode")
        check_present(cells_of(frame, episode), f"{source}: column '{episode}'")
        codes = np.asarray(pd.factorize(cells_of(frame, episode))[0])
    if time is None:
        order = np.argsort(codes, kind="stable")
        return order, codes[order]
    clock = clock_of(frame, _one_name(time, frame, source, "time"), source)
    order = np.lexsort((clock, codes))
    ticks, runs = clock[order], codes[order]
    tied = np.flatnonzero((ticks[1:] == ticks[:-1]) & (runs[1:] == runs[:-1]))
    if len(tied):
        rows = sorted(int(row) + 1 for row in order[tied[0] : tied[0] + 2])
        more = f" (and {len(tied) - 1} more such pairs)" if len(tied) > 1 else ""
        remedy = "drop one of the two" + (", or name the episodes" if episode is None else "")
        raise InputError(
            f"{source}: column '{time}' is the same in rows {rows[0]} and {rows[1]}"
            f"{'' if episode is None else ' of one episode'}{more}: {remedy}"
        )
    return order, gaps_in_time(ticks, runs, str(time), source)


def _one_name(value: object, frame: pd.DataFrame, source: str, option: str) -> str:
    names = pick_names(value, list(frame.columns), source, option)
    if len(names) != 1:
        raise InputError(f"{source}: {option} must name one column; got {value!r}")
    return names[0]


def _window_ends(runs: np.ndarray, depth: int, source: str) -> np.ndarray:
    """Places in the sorted rows that have `depth` rows of their episode before them and one after."""
    lengths = np.bincount(runs)
    starts = np.cumsum(lengths) - lengths
    since = np.arange(len(runs)) - starts[runs]
    now = np.flatnonzero((since >= depth) & (since < lengths[runs] - 1))
    if not len(now):
        what = "the longest episode" if len(lengths) > 1 else "the trajectory"
        raise InputError(
            f"{source}: {what} has {lengths.max()} row{'s' if lengths.max() > 1 else ''}, but lags={depth} "
            f"needs lags + 2 = {depth + 2}: lower lags, or record longer episodes"
        )
    return now


def _cells(
    frame: pd.DataFrame, states: Sequence[str], actions: Sequence[str], source: str, gaps: bool
) -> dict[str, Any]:
    """States as numbers; actions as numbers too, or with their labels when they are discrete."""
    taken: dict[str, Any] = {}
    for name in (*states, *actions):
        cells, where = cells_of(frame, name), f"{source}: column '{name}'"
        if name in actions and (isinstance(cells.dtype, pd.CategoricalDtype) or cells.dtype.kind in "bO"):
            if not gaps:
                check_present(cells, where)
            taken[name] = cells.array
        elif not gaps:
            taken[name] = number_cells(cells, where)
        else:
            missing = tamed(cells).isna().to_numpy()
            values = np.full(len(cells), np.nan)
            values[~missing] = number_cells(pd.Series(cells[~missing]), where) if (~missing).any() else 0.0
            taken[name] = values
    return taken


def _checked_lags(lags: object) -> int:
    try:
        depth = -1 if isinstance(lags, bool) else operator.index(lags)  # type: ignore[arg-type]
    except TypeError:
        depth = -1
    if depth < 0:
        raise InputError(f"lags must be a whole number, 0 or above; got {lags!r}: 9 means now and nine steps back")
    return depth


def _check_roles(
    states: Sequence[str],
    actions: Sequence[str],
    periods: Mapping[str, float],
    labels: Mapping[str, object],
    source: str,
) -> None:
    if not states:
        raise InputError(f"{source}: state is empty: name at least one column that the system moves")
    both = [name for name in states if name in actions]
    if both:
        raise InputError(f"{source}: {listed(both)} named in both state and action: name each in one of them")
    for option, value in labels.items():
        if value is not None and str(value) in (*states, *actions):
            raise InputError(f"{source}: column '{value}' is named in {option} and in state or action: choose one")
    strays = [name for name in periods if name not in (*states, *actions)]
    if strays:
        raise InputError(f"{source}: periodic names {listed(strays)}, neither a state nor an action: drop it")
