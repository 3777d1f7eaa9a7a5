"""Is a law calibrated? Its PIT values and the coverage of its intervals, in one figure."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forebear.plots.style import GONE, INK, KEPT, beside, cut, plain

_BINS = 20
_MOST_TARGETS = 8
_COLOURS = (KEPT, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#8A6D00")


def calibration_figure(pit: Mapping[str, np.ndarray]) -> Figure:
    """One row per target: the histogram of its PIT values, and the share of observations inside each central
    interval."""
    shown = dict(list(pit.items())[:_MOST_TARGETS])
    size = (8, 2.4 * len(shown) + 0.4)
    figure, axes = plt.subplots(len(shown), 2, figsize=size, layout="constrained", squeeze=False)
    for row, (target, values) in enumerate(shown.items()):
        pit_histogram(values, axes[row, 0])
        coverage_curve(values, axes[row, 1])
        axes[row, 0].set_title(cut(target, 44), fontsize=10, loc="left", color=INK)
    axes[-1, 0].set_xlabel("PIT value", fontsize=9)
    axes[-1, 1].set_xlabel("level of the central interval", fontsize=9)
    return figure


def coverage_figure(pit: Mapping[str, np.ndarray], ax: Axes | None = None) -> Axes:
    """The coverage curves of several targets in one axis."""
    axis = ax if ax is not None else plt.subplots(figsize=(4.6, 3.2), layout="constrained")[1]
    for number, (name, values) in enumerate(list(pit.items())[:_MOST_TARGETS]):
        coverage_curve(values, axis)
        axis.lines[-1].set(color=_COLOURS[number % len(_COLOURS)], label=cut(name, 24))
    axis.set_xlabel("level of the central interval", fontsize=9)
    beside(axis)
    return axis


def pit_histogram(pit: np.ndarray, axis: Axes) -> Axes:
    """Flat when the law is right; the band holds 95% of the bars of one that is."""
    axis.hist(pit, bins=_BINS, range=(0, 1), density=True, color=KEPT, alpha=0.8)
    band = 1.96 * np.sqrt(_BINS / len(pit))
    axis.axhspan(1 - band, 1 + band, color=GONE, alpha=0.3, zorder=0)
    axis.axhline(1, color=INK, lw=1)
    axis.set_ylabel("density", fontsize=9)
    return plain(axis)


def coverage_curve(pit: np.ndarray, axis: Axes) -> Axes:
    """Share of observations inside the central interval of each level; the diagonal when the law is right."""
    levels = np.linspace(0, 1, 101)
    inside = np.searchsorted(np.sort(np.abs(2 * pit - 1)), levels, side="right") / len(pit)
    axis.plot(levels, levels, color=GONE, lw=1)
    axis.plot(levels, inside, color=KEPT, lw=1.6)
    axis.set_ylabel("observed inside", fontsize=9)
    return plain(axis)
