"""The law of a target at chosen inputs, as a figure."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from forebear.errors import InputError, near_miss
from forebear.report.figures import GONE, INK, KEPT, _cut
from forebear.twin.given import read_matrix
from forebear.twin.twin import Twin

# Okabe and Ito's, in an order in which neighbours differ in brightness too; the dashes serve those who see no colour.
_LOOKS = ((KEPT, "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#CC79A7", "-."), ("#222222", (0, (6, 2))))
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_POINTS, _DRAWS = 400, 2_000
_MOST_BARS = 40
# A lattice of more values is a number that was rounded: bars would show nothing but which values the data lacks.
_MOST_VALUES = 100


def law_figure(twin: Twin, given: Any, target: str | None = None, ax: Axes | None = None) -> Axes:
    """Densities, or bars of probability for a lattice, one look a row of `given`; medians and intervals below."""
    name = _target(twin, target)
    x = read_matrix(given, twin.columns, "given")
    if not 1 <= len(x) <= len(_LOOKS):
        raise InputError(f"given: a figure shows 1 to {len(_LOOKS)} rows, and these are {len(x)}: choose some")
    axis = ax if ax is not None else plt.subplots(figsize=(5, 3.2), layout="constrained")[1]
    place = twin.targets.index(name)
    labels = [_label(twin, row, twin.ancestors[name]) for row in x]
    if twin.outputs[place].dequantiser.kind == "lattice" and not _is_fine(twin, place):
        _bars(twin, x, place, labels, axis)
    else:
        _curves(twin, x, place, labels, axis)
    axis.set_xlabel(_cut(name, 40) + (f" ({twin.units[name]})" if name in twin.units else ""), fontsize=9)
    if len(x) > 1 or labels[0]:
        axis.legend(fontsize=7, frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    return axis


def _target(twin: Twin, target: str | None) -> str:
    names = list(twin.targets)
    if target is None:
        if len(names) > 1:
            raise InputError(f"target: this twin has several, {names}: name one")
        return names[0]
    if target not in twin.targets:
        raise InputError(f"target: '{target}' is not one of this twin. {near_miss(target, twin.targets)}")
    return target


def _label(twin: Twin, row: np.ndarray, names: tuple[str, ...]) -> str:
    told = []
    for column, value in zip(twin.columns, row, strict=True):
        if column.name in names:
            shown = column.levels[int(value)] if column.levels else f"{value:.4g}"
            told.append(f"{_cut(column.name, 18)} = {shown}")
    return ", ".join(told)


def _curves(twin: Twin, x: np.ndarray, place: int, labels: list[str], axis: Axes) -> None:
    tops = []
    for number, (row, label) in enumerate(zip(x, labels, strict=True)):
        colour, dash = _LOOKS[number]
        points, density = _density(twin, row, place)
        axis.plot(points, density, color=colour, ls=dash, lw=1.6, label=label)
        # A needle is cut rather than making every other law flat.
        tops.append(min(density.max(), 4 * float(np.quantile(density, 0.9))))
    top = max(tops)
    for number, row in enumerate(x):
        low, left, middle, right, high = twin.quantile(row[None], _LEVELS)[:, 0, place]
        height = -0.06 * top * (number + 1)
        axis.plot([low, high], [height, height], color=_LOOKS[number][0], lw=1)
        axis.plot([left, right], [height, height], color=_LOOKS[number][0], lw=3.5, solid_capstyle="round")
        axis.plot(middle, height, "o", ms=4, mfc="white", mec=_LOOKS[number][0], zorder=3)
    axis.axhline(0, color=GONE, lw=0.8)
    axis.set_ylim(-0.06 * top * (len(x) + 1), 1.06 * top)
    axis.set_yticks([tick for tick in axis.get_yticks() if 0 <= tick <= 1.06 * top])
    axis.set_ylabel("density", fontsize=9, color=INK)


def _density(twin: Twin, row: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and density; a histogram of draws of a joint twin, whose marginal densities nobody knows, and of
    rounded numbers."""
    if twin.joint or _is_fine(twin, place):
        draws = twin.sample(row[None], n=_DRAWS)[:, 0, place]
        height, edges = np.histogram(draws, 40, density=True)
        return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(height, 2), [0.0]])
    ends = twin.quantile(row[None], [0.001, 0.999])[:, 0, place]
    points = np.linspace(ends[0], ends[1], _POINTS)
    rows = np.repeat(row[None], _POINTS, axis=0)
    y = twin.quantile(row[None], 0.5)[0] * np.ones((_POINTS, 1))
    y[:, place] = points
    density = np.exp(twin.log_prob(rows, y)[:, place])
    atoms = np.isin(points, twin.outputs[place].dequantiser.values)
    return points[~atoms], density[~atoms]


def _is_fine(twin: Twin, place: int) -> bool:
    target = twin.outputs[place]
    cells = target.dequantiser
    return cells.kind == "lattice" and not target.levels and len(cells.values) > _MOST_VALUES


def _bars(twin: Twin, x: np.ndarray, place: int, labels: list[str], axis: Axes) -> None:
    target = twin.outputs[place]
    values = target.dequantiser.values
    if len(values) > _MOST_BARS:
        low, high = twin.quantile(x, [0.001, 0.999])[:, :, place].min(), twin.quantile(x, 0.999)[:, place].max()
        values = values[(values >= low) & (values <= high)]
    width = 0.8 / len(x)
    for number, (row, label) in enumerate(zip(x, labels, strict=True)):
        rows = np.repeat(row[None], len(values), axis=0)
        y = twin.quantile(row[None], 0.5)[0] * np.ones((len(values), 1))
        y[:, place] = values
        chances = _chances(twin, rows, y, place)
        places = np.arange(len(values)) + (number - (len(x) - 1) / 2) * width
        axis.bar(places, chances, width, color=_LOOKS[number][0], label=label)
    names = [str(target.levels[int(v)]) for v in values] if target.levels else [f"{v:.4g}" for v in values]
    every = max(1, len(names) // 12)
    axis.set_xticks(np.arange(len(names))[::every], [_cut(name, 12) for name in names][::every])
    axis.set_ylabel("probability", fontsize=9, color=INK)


def _chances(twin: Twin, rows: np.ndarray, y: np.ndarray, place: int) -> np.ndarray:
    if not twin.joint:
        return np.exp(twin.log_prob(rows, y)[:, place])
    draws = twin.sample(rows[:1], n=_DRAWS)[:, 0, place]
    return np.array([(draws == value).mean() for value in y[:, place]])
