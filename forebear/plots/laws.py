"""The law of a quantity under several conditions, as a figure: densities, or bars of probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from forebear.plots.style import GONE, INK, KEPT, beside, cut, folded, plain

# Okabe and Ito's, in an order in which neighbours differ in brightness too; the dashes serve those who see no colour.
_LOOKS = ((KEPT, "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#CC79A7", "-."), ("#222222", (0, (6, 2))))
MOST_LAWS = len(_LOOKS)
"""that one figure can tell apart"""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""of the quantiles drawn below the densities"""


class Curve(NamedTuple):
    """A density."""

    label: str
    points: np.ndarray
    density: np.ndarray
    quantiles: np.ndarray
    """at `LEVELS`"""


class Bars(NamedTuple):
    """The probabilities of a few values."""

    label: str
    chances: np.ndarray


def densities_figure(name: str, curves: Sequence[Curve], ax: Axes | None = None) -> Axes:
    """One line per law; medians, and the middle 50% and 90%, below."""
    axis = _axis(ax)
    # A needle is cut rather than making every other law flat.
    top = max(min(c.density.max(), 4 * float(np.quantile(c.density, 0.9))) for c in curves)
    for curve, (colour, dash) in zip(curves, _LOOKS, strict=False):
        axis.plot(curve.points, curve.density, color=colour, ls=dash, lw=1.6, label=curve.label)
    for number, curve in enumerate(curves):
        low, left, middle, right, high = curve.quantiles
        height = -0.06 * top * (number + 1)
        axis.plot([low, high], [height, height], color=_LOOKS[number][0], lw=1)
        axis.plot([left, right], [height, height], color=_LOOKS[number][0], lw=3.5, solid_capstyle="round")
        axis.plot(middle, height, "o", ms=4, mfc="white", mec=_LOOKS[number][0], zorder=3)
    axis.axhline(0, color=GONE, lw=0.8)
    axis.set_ylim(-0.06 * top * (len(curves) + 1), 1.06 * top)
    axis.set_yticks([tick for tick in axis.get_yticks() if 0 <= tick <= 1.06 * top])
    axis.set_ylabel("density", fontsize=9, color=INK)
    return _finish(axis, name, [curve.label for curve in curves])


def bars_figure(name: str, values: Sequence[str], bars: Sequence[Bars], ax: Axes | None = None) -> Axes:
    """One bar per value and law."""
    axis = _axis(ax)
    width = 0.8 / len(bars)
    for number, one in enumerate(bars):
        places = np.arange(len(values)) + (number - (len(bars) - 1) / 2) * width
        axis.bar(places, one.chances, width, color=_LOOKS[number][0], label=one.label)
    every = max(1, len(values) // 12)
    axis.set_xticks(np.arange(len(values))[::every], [cut(value, 12) for value in values][::every])
    axis.set_ylabel("probability", fontsize=9, color=INK)
    return _finish(axis, name, [one.label for one in bars])


def _axis(ax: Axes | None) -> Axes:
    return ax if ax is not None else plt.subplots(figsize=(6, 3.2), layout="constrained")[1]


def _finish(axis: Axes, name: str, labels: Sequence[str]) -> Axes:
    axis.set_xlabel(folded(name, 40), fontsize=9)
    if len(labels) > 1 or labels[0]:
        beside(axis)
    return plain(axis)
