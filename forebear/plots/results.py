"""Figures of a result, in one look: each takes an axis and gives it back."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from forebear.discovery.found import Found

# Colour-blind safe (Okabe and Ito): blue for what is kept, vermilion for the jump, grey for what is gone.
KEPT, JUMP, GONE, INK = "#0072B2", "#D55E00", "#9A9A9A", "#222222"

_MOST_PATHS = 12
_LONGEST_LABELS = 24


def overview(found: Found) -> Figure:
    """The graph on the left, the pruning path of each target on the right."""
    targets = found.targets[:_MOST_PATHS]
    columns = 1 if len(targets) <= 3 else math.ceil(len(targets) / 4)
    rows = math.ceil(len(targets) / columns)
    height = max(3.2, 2.4 * rows, 0.32 * _tallest(found))
    figure = plt.figure(figsize=(4.6 + 4.4 * columns, height), layout="constrained")
    grid = figure.add_gridspec(rows, columns + 1, width_ratios=[1.05] + [1.0] * columns)
    graph_figure(found, figure.add_subplot(grid[:, 0]))
    for number, target in enumerate(targets):
        row, column = number % rows, number // rows
        axis = path_figure(found, target, figure.add_subplot(grid[row, column + 1]))
        if row < rows - 1:
            axis.set_xlabel("")
        if column:
            axis.set_ylabel("")
    return figure


def _tallest(found: Found) -> int:
    inputs = {unit for target in found.targets for unit in found._places(target)}
    return max(len(inputs), len(found.targets))


def path_figure(found: Found, target: str, ax: Axes | None = None) -> Axes:
    """Noise-to-signal ratio as units go, one thin line a run; the chosen set is marked on the first."""
    axis = ax if ax is not None else plt.subplots(figsize=(5, 3), layout="constrained")[1]
    path, chosen = found.runs[0][target], set(found.choices[0][target])
    steps = range(len(path.nsr))
    for run in found.runs[1:]:
        axis.plot(steps, run[target].nsr, color=GONE, lw=0.8, alpha=0.6, zorder=1)
    axis.plot(steps, path.nsr, color=INK, lw=1.4, zorder=2)
    colours = [KEPT if set(path.remaining(step)) >= chosen else JUMP for step in steps]
    axis.scatter(steps, path.nsr, c=colours, s=26, zorder=3)
    stop = len(path.units) - len(chosen)
    if set(path.remaining(stop)) == chosen:
        axis.axvline(stop, color=KEPT, lw=1, ls=":", zorder=0)
    labels = ["all", *(f"− {unit}" for unit in path.removed)]
    if len(labels) <= _LONGEST_LABELS:
        slant = 0 if sum(map(len, labels)) <= 36 else 45
        align = "center" if slant == 0 else "right"
        axis.set_xticks(steps, labels, rotation=slant, ha=align, fontsize=8)
    else:
        axis.set_xlabel("inputs removed", fontsize=9)
    axis.set_ylim(-0.04, 1.04)
    axis.set_ylabel("noise / (signal + noise)", fontsize=9)
    answer = ", ".join(found.ancestors[target]) or "none"
    axis.set_title(f"{target} ← {_cut(answer, 46)}", fontsize=10, loc="left", color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    return axis


def scores_figure(found: Found, target: str, ax: Axes | None = None) -> Axes:
    """Bars of the scores while every unit is there, the highest on top; the chosen ones in blue."""
    path, chosen = found.runs[0][target], set(found.choices[0][target])
    scores = found._first_scores(target)
    ranked = sorted(path.units, key=lambda unit: scores[unit])[-_LONGEST_LABELS:]
    height = max(1.6, 0.28 * len(ranked) + 0.8)
    axis = ax if ax is not None else plt.subplots(figsize=(5, height), layout="constrained")[1]
    places = range(len(ranked))
    axis.barh(places, [scores[unit] for unit in ranked], color=[KEPT if u in chosen else GONE for u in ranked])
    axis.set_yticks(places, [_cut(unit, 24) for unit in ranked], fontsize=8)
    axis.set_xlabel("share of the signal", fontsize=9)
    axis.set_title(f"{_cut(target, 40)}: scores", fontsize=10, loc="left", color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    return axis


def graph_figure(found: Found, ax: Axes | None = None) -> Axes:
    """Inputs on the left, targets on the right, an arrow for every ancestor; its shade is its frequency."""
    axis = ax if ax is not None else plt.subplots(figsize=(4, 4), layout="constrained")[1]
    graph = found.graph
    inputs = list(dict.fromkeys(unit for target in found.targets for unit in found._places(target)))
    left, right = _heights(inputs), _heights(list(found.targets))
    for unit, target, edge in graph.edges(data=True):
        arrow = FancyArrowPatch(
            (0.0, left[unit]),
            (1.0, right[target]),
            arrowstyle="-|>",
            mutation_scale=11,
            shrinkA=4,
            shrinkB=4,
            lw=1.5,
            color=GONE if edge["kept"] else KEPT,
            alpha=0.25 + 0.75 * edge["frequency"],
        )
        axis.add_patch(arrow)
    used = {unit for unit, _ in graph.edges()}
    size = 10 if max(len(inputs), len(right)) <= 24 else 6
    for unit, height in left.items():
        colour = INK if unit in used else GONE
        axis.plot(0, height, "o", ms=5, color=colour)
        axis.text(-0.06, height, _cut(unit, 18), ha="right", va="center", fontsize=size, color=colour)
    for target, height in right.items():
        axis.plot(1, height, "o", ms=5, color=INK)
        axis.text(1.06, height, _cut(target, 18), ha="left", va="center", fontsize=size, color=INK)
    axis.set_xlim(-0.7, 1.7)
    axis.set_ylim(-0.06, 1.06)
    axis.set_title("inputs → laws they shape", fontsize=10, color=INK)
    axis.set_axis_off()
    return axis


def _heights(names: list[str]) -> dict[str, float]:
    if len(names) == 1:
        return {names[0]: 0.5}
    return {name: 1 - place / (len(names) - 1) for place, name in enumerate(names)}


def _cut(text: str, most: int) -> str:
    # A dollar sign would start a formula.
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.replace("$", r"\$")
