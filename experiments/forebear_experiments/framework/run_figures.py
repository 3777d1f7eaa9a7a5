"""Figures of repeated runs: the graph, the pruning path with error bars, what each input adds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULES = {"nsr-jump": JUMP, "certified": KEPT}
"""rule -> its colour"""
_MOST_TARGETS = 4
"""with paths of their own; the graph shows all of them"""
_MOST_LABELS = 24

Records = Sequence[Mapping[str, Any]]
"""one per run; "targets" holds for each target: kept, units, nsr, scores, and the set that each rule chose"""


def save_figure(drawn: Figure, file: Path) -> None:
    """Write a figure as SVG and PNG, beside each other; `file` has no ending."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # The same figure gives the same file.
    with matplotlib.rc_context({"svg.hashsalt": "forebear"}):
        for kind, stamp in (("svg", {"Date": None}), ("png", {"Software": None})):
            drawn.savefig(file.with_name(f"{file.name}.{kind}"), dpi=110, metadata=stamp)


def figure(records: Records, title: str) -> Figure:
    """Rows of targets: the noise-to-signal ratio and its increments, and the scores; the graph at the left."""
    targets = list(records[0]["targets"])
    shown = targets[:_MOST_TARGETS]
    inputs = _inputs(records)
    tall = 0.24 * max(len(inputs) if len(inputs) <= 60 else 0, len(targets)) + 1.6
    drawn = Figure(figsize=(12.5, max(2.5 * len(shown), tall, 3.0)), layout="constrained")
    grid = drawn.add_gridspec(len(shown), 3, width_ratios=[1.0, 1.15, 1.0])
    _graph(drawn.add_subplot(grid[:, 0]), records, inputs)
    for row, target in enumerate(shown):
        told = [record["targets"][target] for record in records]
        path, bars = drawn.add_subplot(grid[row, 1]), drawn.add_subplot(grid[row, 2])
        _path(path, target, told)
        _bars(bars, target, told)
        if row < len(shown) - 1:
            path.set_xlabel("")
            bars.set_xlabel("")
    runs = len(records)
    drawn.suptitle(f"{title} ({runs} run{'s' if runs > 1 else ''})", fontsize=12, color=INK, x=0.01, ha="left")
    return drawn


def _inputs(records: Records) -> list[str]:
    """Everything that a target could depend on, by number where names have one."""
    names = {u for told in records[0]["targets"].values() for u in (*told["kept"], *told["units"])}
    return sorted(names, key=_natural)


def _natural(name: str) -> tuple[str, list[int]]:
    """So that x10 comes after x9.

    >>> sorted(["x10", "x9", "u", "10-day", "5-day"], key=_natural)
    ['5-day', '10-day', 'u', 'x9', 'x10']
    """
    return re.sub(r"\d+", "", name), [int(number) for number in re.findall(r"\d+", name)]


def _graph(axis: Axes, records: Records, inputs: Sequence[str]) -> None:
    """How often each rule chose an input for a target: one dot per rule, larger and darker the more often."""
    targets = list(records[0]["targets"])
    often = {
        rule: np.array([[np.mean([u in r["targets"][t][rule] for r in records]) for t in targets] for u in inputs])
        for rule in RULES
    }
    if len(inputs) > 60:  # too many to name: show those that any rule chose
        kept = [k for k in range(len(inputs)) if any(often[rule][k].any() for rule in RULES)]
        inputs = [inputs[k] for k in kept]
        often = {rule: shares[kept] for rule, shares in often.items()}
    for row, unit in enumerate(inputs):
        for column, target in enumerate(targets):
            given = unit in records[0]["targets"][target]["kept"]
            possible = given or unit in records[0]["targets"][target]["units"]
            for shift, (rule, own) in zip((-0.21, 0.21), RULES.items(), strict=True):
                share = float(often[rule][row, column])
                colour = GONE if given else own
                if share > 0:
                    axis.scatter(column + shift, row, s=18 + 70 * share, color=colour, alpha=0.3 + 0.7 * share, lw=0)
                elif possible:
                    axis.scatter(column + shift, row, s=5, color=GONE, alpha=0.5, lw=0)
    size = 9 if len(inputs) <= 25 else 6
    axis.set_yticks(range(len(inputs)), [_plain(name) for name in inputs], fontsize=size)
    slant = 0 if len(targets) <= 6 else 60
    axis.set_xticks(range(len(targets)), [_plain(name) for name in targets], fontsize=9, rotation=slant)
    axis.set_xlim(-0.7, len(targets) - 0.3)
    axis.set_ylim(len(inputs) - 0.4, -0.6)
    axis.set_xlabel("target", fontsize=9)
    axis.set_title("chosen by the published (orange) and certified rule (blue)", fontsize=9, loc="left", color=INK)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_axisbelow(True)
    axis.grid(color="#eeeeee")


def _path(axis: Axes, target: str, told: Sequence[Mapping[str, Any]]) -> None:
    """Against how many inputs are left: which went differs from run to run, how many does not."""
    ratios = np.array([t["nsr"] for t in told])
    left = np.arange(ratios.shape[1])[::-1]
    rises = np.diff(ratios, axis=1)
    axis.bar(left[:-1], rises.mean(axis=0), width=0.6, color=JUMP, alpha=0.55, label="rise on losing one more")
    several = len(told) > 1
    if several:
        axis.errorbar(left[:-1], rises.mean(axis=0), rises.std(axis=0), fmt="none", ecolor=JUMP, capsize=2, lw=1)
    axis.errorbar(
        left,
        ratios.mean(axis=0),
        ratios.std(axis=0) if several else None,
        color=INK,
        marker="o",
        ms=3.5 if len(left) <= 30 else 1.5,
        lw=1.2,
        capsize=2,
        label="noise / (signal + noise)",
    )
    axis.invert_xaxis()
    axis.set_ylim(min(-0.04, 1.1 * float(rises.mean(axis=0).min())), 1.04)
    if len(left) <= _MOST_LABELS:
        axis.set_xticks(left)
    axis.set_xlabel("inputs left", fontsize=9)
    axis.set_title(_plain(target), fontsize=10, loc="left", color=INK)
    axis.legend(fontsize=7, framealpha=0.8, edgecolor="none", loc="best")
    _tidy(axis)


def _bars(axis: Axes, target: str, told: Sequence[Mapping[str, Any]]) -> None:
    """Share of the signal that runs through each input when all are there; those most often chosen in blue."""
    units = sorted(told[0]["scores"], key=_natural)
    scores = np.array([[t["scores"][unit] for unit in units] for t in told])
    often = np.array([np.mean([unit in t["certified"] for t in told]) for unit in units])
    if len(units) > _MOST_LABELS:  # the largest
        place = np.sort(np.argsort(-scores.mean(axis=0))[:_MOST_LABELS])
        units, scores, often = [units[k] for k in place], scores[:, place], often[place]
    colours = [KEPT if share > 0.5 else GONE for share in often]
    spread = scores.std(axis=0) if len(told) > 1 else None
    axis.bar(range(len(units)), scores.mean(axis=0), yerr=spread, color=colours, capsize=2, error_kw={"lw": 1})
    slant = 0 if len(units) * max(map(len, units)) <= 40 else 60
    names = [_plain(unit) for unit in units]
    axis.set_xticks(range(len(units)), names, rotation=slant, ha="center" if slant == 0 else "right", fontsize=8)
    if slant:
        for label in axis.get_xticklabels():
            label.set_rotation_mode("anchor")
    axis.set_title(f"{_plain(target)}: score with all inputs present", fontsize=9, loc="left", color=INK)
    _tidy(axis)


def _tidy(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)


def _plain(name: str) -> str:
    return name.replace("$", r"\$")
