"""The law of a twin along one input, as the plain numbers that a fan chart draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.data.source import open_frame
from forebear.errors import InputError, near_miss
from forebear.plots.fans import LEVELS, Chances, Fan, chances_figure, fan_figure
from forebear.twin import peaks
from forebear.twin.given import read_matrix
from forebear.twin.shown import target_of
from forebear.twin.sweep import Sweep, chances, sweep, typical

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebear.twin.twin import Twin

_POINTS, _ENDS = 61, (0.01, 0.99)
# Rows of the data that are drawn; labels of a target, those whose chances move most.
_MOST_ROWS, _MOST_LABELS = 400, 5


def plot_fan(twin: Twin, name: str, target: str | None, given: Any, data: Any, ax: Axes | None) -> Axes:
    """The work of `Twin.plot_fan`."""
    shown = target_of(twin, target)
    _check_input(twin, shown, name)
    setting = _row(twin, given)
    along = sweep(twin, shown, name, peaks.LEVELS, row=setting, points=_POINTS, ends=_ENDS, exact=True)
    column, output = twin.columns[twin.inputs.index(name)], twin.outputs[twin.targets.index(shown)]
    across, up = _with_unit(twin, name), _with_unit(twin, shown)
    if not output.levels:
        rows, near = (np.zeros((0, 2)), None) if data is None else _rows(twin, data, name, shown, setting)
        quantiles = along.quantiles[:, np.searchsorted(peaks.LEVELS, np.array(LEVELS) - 1e-9)]
        smooth = output.dequantiser.kind == "continuous"
        own = np.stack([peaks.sides(law) for law in along.quantiles]) if smooth else None
        fan = Fan(up, across, along.at, along.labels, quantiles, along.seen, rows, near, column.period, own)
        return fan_figure(fan, ax)
    found = chances(twin, shown, along.rows)
    most = np.sort(np.argsort(-np.ptp(found, axis=0), kind="stable")[:_MOST_LABELS])
    values = [str(output.levels[place]) for place in most]
    return chances_figure(
        Chances(up, across, along.at, along.labels, values, found[:, most], _seen(along), column.period), ax
    )


def _seen(along: Sweep) -> np.ndarray:
    return along.seen if along.seen.any() else np.ones_like(along.seen)


def _check_input(twin: Twin, target: str, name: str) -> None:
    own = twin.ancestors[target]
    if name in own:
        return
    if not own:
        raise InputError(f"input: no input shapes '{target}': its law is the same everywhere")
    if name in twin.inputs:
        raise InputError(
            f"input: '{name}' does not shape '{target}', which depends on {list(own)}: name one of these"
        )
    raise InputError(f"input: '{name}' is not an input of this twin. {near_miss(name, own)}")


def _row(twin: Twin, given: Any) -> np.ndarray:
    """The setting of the other inputs: what is given of it, and what is typical."""
    row = typical(twin).copy()
    if given is None:
        return row
    if not isinstance(given, dict):
        raise InputError(f"given must be a dict {{input: value}} of the other inputs; got {type(given).__name__}")
    for name, value in given.items():
        if name not in twin.inputs:
            raise InputError(f"given: '{name}' is not an input of this twin. {near_miss(str(name), twin.inputs)}")
        place = twin.inputs.index(name)
        row[place] = read_matrix({name: [value]}, [twin.columns[place]], "given")[0, 0]
    return row


def _rows(twin: Twin, data: Any, name: str, target: str, setting: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Input and target of some rows of a table, spread evenly over it, and which of them are near the setting in the
    other inputs; rows with a gap in either are left out."""
    frame, _ = open_frame(data)
    both = [twin.columns[twin.inputs.index(name)], twin.outputs[twin.targets.index(target)]]
    for column in both:
        if column.name not in frame.columns:
            raise InputError(f"data: no column '{column.name}'. {near_miss(column.name, frame.columns)}")
    whole = frame.dropna(subset=[name, target])
    some = whole.iloc[np.unique(np.linspace(0, len(whole) - 1, min(len(whole), _MOST_ROWS)).astype(int))]
    rows = read_matrix(some, both, "data")
    period = both[0].period if hasattr(both[0], "period") else None
    if period is not None:
        start = -period / 2 if (rows[:, 0] < 0).any() else 0.0
        rows[:, 0] = (rows[:, 0] - start) % period + start
    return rows, _near(twin, some, [other for other in twin.ancestors[target] if other != name], setting)


def _near(twin: Twin, frame: pd.DataFrame, others: list[str], setting: np.ndarray) -> np.ndarray | None:
    """The quarter of the rows whose other inputs are nearest to the setting; None where that means nothing."""
    if not others or not len(frame) or any(other not in frame.columns for other in others):
        return None
    places = [twin.inputs.index(other) for other in others]
    there = np.tile(setting, (len(frame), 1))
    there[:, places] = read_matrix(frame[others], [twin.columns[place] for place in places], "data")
    far = ((twin.encoder(there) - twin.encoder(setting[None])) ** 2).sum(axis=1)
    far[np.isnan(far) | np.isnan(there[:, places]).any(axis=1)] = np.inf
    return far <= np.sort(far)[len(far) // 4]


def _with_unit(twin: Twin, name: str) -> str:
    return f"{name} ({twin.units[name]})" if name in twin.units else name
