"""Figures of policies: how they learned, and what they are paid in the true system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (INK, KEPT, JUMP, "#7a5195", "#bc8f3a", "#4c9f70", GONE)


def returns_figure(
    rows: Sequence[Mapping[str, Any]], title: str, *, line: tuple[str, float], thousands: str = "thousand transitions"
) -> Figure:
    """Learning curves at the left; at the right the returns of every policy, as boxes from 5 to 95 per cent.

    Arguments:
        rows: of each policy: its `regime`, `curve`, and `returns` in the true system; several of one regime share a
            colour, and are numbered.
        line: a return to compare with, and its name.
    """
    drawn = Figure(figsize=(11, 0.45 * len(rows) + 2.4), layout="constrained")
    left, right = drawn.subplots(1, 2)
    for row, colour in zip(rows, _colours(rows), strict=True):
        if row["curve"]:
            steps = [one["timesteps"] / 1_000 for one in row["curve"]]
            left.plot(steps, [one["mean"] for one in row["curve"]], color=colour, label=row["regime"])
    left.set_xlabel(thousands)
    left.set_ylabel("mean return while training")
    handles, names = left.get_legend_handles_labels()
    once = dict(zip(names, handles, strict=True))
    drawn.legend(once.values(), once.keys(), loc="outside lower left", ncols=6, frameon=False, fontsize=8)
    _boxes(right, rows)
    name, value = line
    right.axvline(value, color=GONE, linewidth=1, linestyle=":")
    right.annotate(f"{name}: {value:g}", (value, 1.01), xycoords=("data", "axes fraction"), fontsize=8, ha="center")
    drawn.suptitle(title, fontsize=12, color=INK, x=0.01, ha="left")
    return drawn


def _colours(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One per regime."""
    regimes = list(dict.fromkeys(row["regime"] for row in rows))
    return [_COLOURS[regimes.index(row["regime"]) % len(_COLOURS)] for row in rows]


def _boxes(axis: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    places = np.arange(len(rows))[::-1]
    found = axis.boxplot(
        [row["returns"] for row in rows],
        positions=places,
        orientation="horizontal",
        widths=0.55,
        whis=(5, 95),
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        medianprops={"color": INK},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": INK, "markeredgecolor": INK},
    )
    for box, colour in zip(found["boxes"], _colours(rows), strict=True):
        box.set(facecolor=colour, alpha=0.35)
    regimes = [row["regime"] for row in rows]
    counted = [f" {regimes[: n + 1].count(name)}" * (regimes.count(name) > 1) for n, name in enumerate(regimes)]
    axis.set_yticks(places, [name + number for name, number in zip(regimes, counted, strict=True)])
    axis.set_xlabel("return in the true system; the diamond is the mean")
