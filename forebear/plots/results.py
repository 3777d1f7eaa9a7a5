"""Figures of a result: its graph, pruning paths and scores. Each takes an axis and gives it back."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import networkx as nx
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from forebear.plots.style import ACTS, GONE, INK, JUMP, KEPT, cut, plain

_MOST_PATHS = 12
_LONGEST_LABELS = 24


class Pruning(NamedTuple):
    """The pruning paths of one target, as they are drawn."""

    target: str
    removed: Sequence[str]
    """in the first run, in order"""
    nsr: Sequence[Sequence[float]]
    """noise-to-signal ratio at every step, for each run"""
    enough: Sequence[bool]
    """whether what is left at a step of the first run holds all that was chosen"""
    stop: int | None
    """the step at which exactly the chosen ones are left; None where they are not on the path"""
    answer: Sequence[str]
    """the ancestors"""


def overview(graph: nx.DiGraph, inputs: Sequence[str], targets: Sequence[str], prunings: Sequence[Pruning]) -> Figure:
    """The graph on the left, the pruning path of each target on the right."""
    shown = prunings[:_MOST_PATHS]
    columns = 1 if len(shown) <= 3 else math.ceil(len(shown) / 4)
    rows = math.ceil(len(shown) / columns)
    height = max(3.2, 2.4 * rows, 0.32 * max(len(inputs), len(targets)))
    figure = plt.figure(figsize=(4.6 + 4.4 * columns, height), layout="constrained")
    grid = figure.add_gridspec(rows, columns + 1, width_ratios=[1.05] + [1.0] * columns)
    graph_figure(graph, inputs, targets, figure.add_subplot(grid[:, 0]))
    for number, pruning in enumerate(shown):
        row, column = number % rows, number // rows
        axis = path_figure(pruning, figure.add_subplot(grid[row, column + 1]))
        if row < rows - 1:
            axis.set_xlabel("")
        if column:
            axis.set_ylabel("")
    return figure


def path_figure(pruning: Pruning, ax: Axes | None = None) -> Axes:
    """Noise-to-signal ratio as candidates go, one thin line per run; the chosen set is marked on the first."""
    axis = ax if ax is not None else plt.subplots(figsize=(5, 3), layout="constrained")[1]
    first, *others = pruning.nsr
    steps = range(len(first))
    for nsr in others:
        axis.plot(steps, nsr, color=GONE, lw=0.8, alpha=0.6, zorder=1)
    axis.plot(steps, first, color=INK, lw=1.4, zorder=2)
    axis.scatter(steps, first, c=[KEPT if enough else JUMP for enough in pruning.enough], s=26, zorder=3)
    if pruning.stop is not None:
        axis.axvline(pruning.stop, color=KEPT, lw=1, ls=":", zorder=0)
    labels = ["all", *(f"− {cut(unit, 16)}" for unit in pruning.removed)]
    if len(labels) <= _LONGEST_LABELS:
        slant = 0 if sum(map(len, labels)) <= 36 else 45
        align = "center" if slant == 0 else "right"
        axis.set_xticks(steps, labels, rotation=slant, ha=align, fontsize=8)
    else:
        axis.set_xlabel("inputs removed", fontsize=9)
    axis.set_ylim(-0.04, 1.04)
    axis.set_ylabel("noise / (signal + noise)", fontsize=9)
    answer = ", ".join(pruning.answer) or "none"
    axis.set_title(f"{cut(pruning.target, 20)} ← {cut(answer, 24)}", fontsize=9, loc="left", color=INK)
    return plain(axis)


def scores_figure(
    target: str, scores: Mapping[str, float], chosen: Collection[str], ax: Axes | None = None, of: str = "signal"
) -> Axes:
    """Bars of the scores, the highest on top, as shares of something; the chosen ones in blue."""
    ranked = sorted(scores, key=lambda unit: scores[unit])[-_LONGEST_LABELS:]
    height = max(1.6, 0.28 * len(ranked) + 0.8)
    axis = ax if ax is not None else plt.subplots(figsize=(5, height), layout="constrained")[1]
    places = range(len(ranked))
    axis.barh(places, [scores[unit] for unit in ranked], color=[KEPT if u in chosen else GONE for u in ranked])
    axis.set_yticks(places, [cut(unit, 24) for unit in ranked], fontsize=8)
    axis.set_xlabel(f"share of the {of}", fontsize=9)
    axis.set_title(f"{cut(target, 32)}: scores", fontsize=10, loc="left", color=INK)
    return plain(axis)


def graph_figure(graph: nx.DiGraph, inputs: Sequence[str], targets: Sequence[str], ax: Axes | None = None) -> Axes:
    """Inputs on the left, targets on the right, an arrow for every edge; its shade is its `frequency`.

    An edge has the colour and dash of what it mostly does to the law (`acts`, as on the page of a report), told below
    where edges differ; one that is there by request (`by_request`) is grey.
    """
    lines = max(len(inputs), len(targets))
    size = 10 if lines <= 24 else 6
    # A name needs its line: 72 points are an inch.
    tall = max(4.0, 1.5 * size / 72 * lines + 0.8)
    axis = ax if ax is not None else plt.subplots(figsize=(5, tall), layout="constrained")[1]
    left, right = _heights(inputs), _heights(targets)
    for unit, target, edge in graph.edges(data=True):
        colour, dash = _look(edge)
        arrow = FancyArrowPatch(
            (0.0, left[unit]),
            (1.0, right[target]),
            arrowstyle="-|>",
            mutation_scale=11,
            shrinkA=4,
            shrinkB=4,
            lw=1.5,
            color=colour,
            ls=dash,
            alpha=0.25 + 0.75 * edge["frequency"],
        )
        axis.add_patch(arrow)
    used = {unit for unit, _ in graph.edges()}
    for unit, height in left.items():
        colour = INK if unit in used else GONE
        axis.plot(0, height, "o", ms=5, color=colour)
        axis.text(-0.06, height, cut(unit, 18), ha="right", va="center", fontsize=size, color=colour)
    for target, height in right.items():
        axis.plot(1, height, "o", ms=5, color=INK)
        axis.text(1.06, height, cut(target, 18), ha="left", va="center", fontsize=size, color=INK)
    axis.set_xlim(-0.7, 1.7)
    axis.set_ylim(-0.06, 1.06)
    axis.set_title("inputs → laws they shape", fontsize=10, color=INK)
    axis.set_axis_off()
    _meanings(axis, [edge for *_, edge in graph.edges(data=True)])
    return axis


def _look(edge: Mapping[str, Any]) -> tuple[str, str]:
    colour, dash, _ = ACTS.get(edge.get("acts") or "", (KEPT, "-", ""))
    return (GONE, "-") if edge["by_request"] else (colour, dash)


def _meanings(axis: Axes, edges: Sequence[Mapping[str, Any]]) -> None:
    """What the looks of the edges mean, below the graph."""
    seen = [acts for acts in ACTS if any(edge.get("acts") == acts and not edge["by_request"] for edge in edges)]
    lines = [Line2D([], [], color=ACTS[acts][0], ls=ACTS[acts][1], lw=1.5, label=ACTS[acts][2]) for acts in seen]
    if lines:
        axis.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=7, frameon=False)


def _heights(names: Sequence[str]) -> dict[str, float]:
    if len(names) == 1:
        return {names[0]: 0.5}
    return {name: 1 - place / (len(names) - 1) for place, name in enumerate(names)}
