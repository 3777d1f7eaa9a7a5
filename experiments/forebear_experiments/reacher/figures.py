"""Figures of learning: what each trial was paid, and the best so far, over repeated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (INK, JUMP, KEPT, "#7a5195", "#bc8f3a")
_WINDOW = 10
"""trials in a moving mean, at most"""


def learning_curves(returns: Mapping[str, Sequence[Sequence[float]]], title: str, idle: float) -> Figure:
    """For each name, runs of the same length: mean over runs, and the range of the runs behind it.

    Arguments:
        idle: what doing nothing is paid.
    """
    drawn = Figure(figsize=(11, 4), layout="constrained")
    best, recent = drawn.subplots(1, 2)
    trials = max(len(runs[0]) for runs in returns.values())
    window = max(1, min(_WINDOW, trials // 4))
    for colour, (name, runs) in zip(_COLOURS, returns.items(), strict=False):
        table = np.array(runs)
        _curve(best, np.maximum.accumulate(table, axis=1), name, colour)
        _curve(recent, _moving(table, window), name, colour)
    # The first trials are paid so little that nothing else could be seen.
    floor = 1.6 * idle
    for axis, what in (
        (best, "best return so far"),
        (recent, "return" if window == 1 else f"return, mean of {window} trials"),
    ):
        axis.axhline(idle, color=GONE, linewidth=1, linestyle=":", label="doing nothing")
        axis.set_xlabel("trial")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylabel(what)
        axis.set_ylim(floor, 0)
    best.legend(loc="lower right", frameon=False)
    drawn.suptitle(title, fontsize=12, color=INK, x=0.01, ha="left")
    return drawn


def _curve(axis: Axes, table: np.ndarray, name: str, colour: str) -> None:
    trials = np.arange(1, table.shape[1] + 1)
    axis.fill_between(trials, table.min(axis=0), table.max(axis=0), color=colour, alpha=0.12, linewidth=0)
    axis.plot(trials, table.mean(axis=0), color=colour, label=name)


def _moving(table: np.ndarray, window: int) -> np.ndarray:
    """Means of the last trials up to each; of fewer at the beginning."""
    total = np.cumsum(table, axis=1)
    total[:, window:] -= total[:, :-window].copy()
    return total / np.minimum(np.arange(1, table.shape[1] + 1), window)
