"""Figures of controllers: what each paid, and how soon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT


def cost_figure(rows: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """The cost of every trial, one line of dots per controller with its mean; the mean cost by step at the right.

    Arguments:
        rows: one per controller, with "controller", "cost" (one number per trial) and "cost_by_step".
    """
    drawn = Figure(figsize=(11, 0.5 * len(rows) + 2.2), layout="constrained")
    grid = drawn.add_gridspec(1, 2, width_ratios=[1.3, 1.0])
    dots, lines = drawn.add_subplot(grid[0]), drawn.add_subplot(grid[1])
    for place, row in enumerate(rows):
        colour = _colour(row["controller"])
        costs = np.array(row["cost"])
        spread = 0.5 * (np.arange(len(costs)) % 7 - 3) / 7
        dots.scatter(costs, place + spread, s=9, color=colour, alpha=0.45, lw=0)
        dots.plot([costs.mean()] * 2, [place - 0.36, place + 0.36], color=INK, lw=2)
        dots.annotate(f"{costs.mean():.1f}", (costs.mean(), place - 0.38), fontsize=8, color=INK, ha="center")
        style = ":" if "full" in row["controller"] else "--" if "linear" in row["controller"] else "-"
        lines.plot(row["cost_by_step"], color=colour, ls=style, lw=1.3, label=row["controller"])
    dots.set_xscale("log")
    dots.set_yticks(range(len(rows)), [row["controller"] for row in rows], fontsize=9)
    dots.set_ylim(len(rows) - 0.4, -0.7)
    dots.set_xlabel("cost of a trial; the bar is the mean", fontsize=9)
    lines.set_yscale("log")
    lines.set_xlabel("step", fontsize=9)
    lines.set_title("mean cost of a step", fontsize=9, loc="left", color=INK)
    lines.legend(fontsize=7, framealpha=0.8, edgecolor="none")
    for axis in (dots, lines):
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    drawn.suptitle(title, fontsize=12, color=INK, x=0.01, ha="left")
    return drawn


def _colour(name: str) -> str:
    if "pruned" in name:
        return KEPT
    return JUMP if "full" in name else INK if "known" in name else GONE
