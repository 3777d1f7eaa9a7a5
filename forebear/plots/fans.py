"""The law of a quantity along one of its inputs, as a figure: median, middle half, 90% range, and the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forebear.plots.style import INK, KEPT, beside, cut, folded, plain

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""of the quantiles that are drawn"""
# Okabe and Ito's, as in `forebear.plots.laws`.
_COLOURS = (KEPT, "#D55E00", "#009E73", "#CC79A7", "#222222")
_NINETY, _HALF = 0.16, 0.3
_BEYOND = 0.5
"""of the law's own height: how much room rows beyond it get, at either end"""
# A hole of so few points between others is chance.
_HOLE = 4


class Fan(NamedTuple):
    """The law of a target at points along an input."""

    target: str
    """as it stands on the axis"""
    input: str
    at: np.ndarray
    """(points,); of a category its codes"""
    labels: Sequence[str]
    """of a category, one for each point; else empty"""
    quantiles: np.ndarray
    """(points, 5), at `LEVELS`"""
    seen: np.ndarray
    """(points,) whether the data lies there: elsewhere nothing is drawn"""
    rows: np.ndarray = np.zeros((0, 2))
    """(rows, 2) of the data: input and target"""
    near: np.ndarray | None = None
    """(rows,) whether their other inputs are near the setting; the rest is drawn faintly"""
    period: float | None = None
    """of an angle"""
    sides: np.ndarray | None = None
    """(points, 2, 3) of a law with two peaks: quartiles below the trough and above it; NaN where it has one"""

    def middles(self) -> list[np.ndarray]:
        """The quartiles (points, 3) to draw: of the whole law where it has one peak, else of either side; NaN where
        there is nothing to draw."""
        whole = self.quantiles[:, 1:4]
        if self.sides is None:
            return [whole]
        two = ~np.isnan(self.sides[:, :1, 0])
        return [np.where(two, np.nan, whole), self.sides[:, 0], self.sides[:, 1]]


class Chances(NamedTuple):
    """The probabilities of a few labels along an input."""

    target: str
    input: str
    at: np.ndarray
    labels: Sequence[str]
    """of the input, if it is a category"""
    values: Sequence[str]
    chances: np.ndarray
    """(points, values)"""
    seen: np.ndarray
    period: float | None = None


def fan_figure(fan: Fan, ax: Axes | None = None) -> Axes:
    """Bands and the median along a number or an angle; boxes for the labels of a category."""
    axis = _axis(ax)
    if fan.labels:
        _boxes(fan, axis)
    else:
        _points(axis, fan.rows, fan.near)
        for run in stretches(fan.seen):
            low, high = fan.quantiles[run, 0], fan.quantiles[run, 4]
            axis.fill_between(fan.at[run], low, high, color=KEPT, alpha=_NINETY, lw=0, label="90% range")
            for quartiles in fan.middles():
                left, middle, right = quartiles[run].T
                axis.fill_between(fan.at[run], left, right, color=KEPT, alpha=_HALF, lw=0, label="middle half")
                axis.plot(fan.at[run], middle, color=KEPT, lw=2, label="median")
    axis.set_ylabel(folded(fan.target, 26), fontsize=9, color=INK)
    _limit(axis, fan)
    return _finish(axis, fan.input, fan.at, fan.labels, fan.period)


def chances_figure(told: Chances, ax: Axes | None = None) -> Axes:
    """A line, or for a category groups of bars, for each label of the target."""
    axis = _axis(ax)
    count = len(told.values)
    for place, value in enumerate(told.values):
        colour, name = _COLOURS[place % len(_COLOURS)], cut(value, 24)
        if told.labels:
            width = 0.8 / count
            axis.bar(
                told.at + (place - (count - 1) / 2) * width, told.chances[:, place], width, color=colour, label=name
            )
        else:
            for run in stretches(told.seen):
                axis.plot(told.at[run], told.chances[run, place], color=colour, lw=2, label=name)
    axis.set_ylim(0, 1.02)
    axis.set_ylabel(folded(f"probability of {told.target}", 26), fontsize=9, color=INK)
    return _finish(axis, told.input, told.at, told.labels, told.period)


def panels(draw: Sequence[Callable[[Axes], Axes]]) -> Figure:
    """Several charts side by side, three in a row, with one legend for all at the end of the first row."""
    columns = min(3, len(draw))
    rows = -(-len(draw) // columns)
    size = (3.4 * columns + 1.2, 2.7 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for place, chart in enumerate(draw):
        legend = chart(axes.flat[place]).get_legend()
        if legend is not None and place != columns - 1:
            legend.remove()
    for axis in axes.flat[len(draw) :]:
        axis.set_axis_off()
    return figure


def stretches(seen: np.ndarray) -> list[np.ndarray]:
    """Where the data lies, a run of places each; small holes are passed over.

    >>> [run.tolist() for run in stretches(np.array([1, 1, 0, 1, 0, 0, 0, 0, 1], bool))]
    [[0, 1, 2, 3], [8]]
    """
    places = np.flatnonzero(seen)
    if not len(places):
        return []
    cuts = np.flatnonzero(np.diff(places) > _HOLE) + 1
    return [np.arange(run[0], run[-1] + 1) for run in np.split(places, cuts)]


def _boxes(fan: Fan, axis: Axes) -> None:
    if len(fan.rows):
        shift = (np.arange(len(fan.rows)) * 0.618034) % 1 - 0.5
        _points(axis, np.column_stack([fan.rows[:, 0] + 0.4 * shift, fan.rows[:, 1]]), fan.near)
    for place in np.flatnonzero(fan.seen):
        at, low, high = fan.at[place], fan.quantiles[place, 0], fan.quantiles[place, 4]
        axis.bar(at, high - low, 0.56, low, color=KEPT, alpha=_NINETY, label="90% range")
        for quartiles in fan.middles():
            left, middle, right = quartiles[place]
            if not np.isnan(middle):
                axis.bar(at, right - left, 0.56, left, color=KEPT, alpha=_HALF, label="middle half")
                axis.hlines(middle, at - 0.28, at + 0.28, color=KEPT, lw=2, label="median")


def _points(axis: Axes, rows: np.ndarray, near: np.ndarray | None) -> None:
    """Rows near the setting in full, the others faintly, as on the page."""
    strong = np.ones(len(rows), bool) if near is None else near
    for chosen, alpha, name in ((~strong, 0.12, "other rows"), (strong, 0.5, "rows of the data")):
        if chosen.any():
            told = name if strong.all() or name == "other rows" else "rows near the setting"
            x, y = rows[chosen].T
            axis.plot(x, y, ".", ms=4, color=INK, alpha=alpha, mew=0, label=told, zorder=1)


def _limit(axis: Axes, fan: Fan) -> None:
    """Room for the law and for the rows near the setting: a few rows elsewhere must not press it flat, nor must a few
    that are near and far out, as in a long tail."""
    strong = fan.rows[:, 1] if fan.near is None else fan.rows[fan.near, 1]
    if not len(strong):
        return
    law = (fan.quantiles[fan.seen] if fan.seen.any() else fan.quantiles)[:, [0, 4]]
    room = _BEYOND * np.ptp(law)
    far = np.quantile(strong, [0.005, 0.995])
    if room > 0:
        far = far.clip(law.min() - room, law.max() + room)
    ends = np.concatenate([law.ravel(), far])
    margin = 0.05 * np.ptp(ends)
    if margin > 0:
        axis.set_ylim(ends.min() - margin, ends.max() + margin)


def _axis(ax: Axes | None) -> Axes:
    return ax if ax is not None else plt.subplots(figsize=(6, 3.2), layout="constrained")[1]


def _finish(axis: Axes, name: str, at: np.ndarray, labels: Sequence[str], period: float | None) -> Axes:
    axis.set_xlabel(folded(name, 34), fontsize=9, color=INK)
    if labels:
        slant = {"rotation": 30, "ha": "right"} if sum(map(len, labels)) > 36 else {}
        axis.set_xticks(at, [cut(label, 16) for label in labels], **slant)
    if period is not None:
        axis.set_xticks(at[0] + period * np.arange(5) / 4)
    beside(axis)
    return plain(axis)
