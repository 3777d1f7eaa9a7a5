"""The picture of the README: two laws of the test rig that ships with forebear, as a twin has learned them.

`python docs/making/law_picture.py docs/law.png` finds the inputs of each, trains a twin on them alone, with all rows
(`test=0`; two minutes on two cores), and draws what it learned together with the rows of the table.
"""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import forebear as fb

INPUTS = ["load", "speed", "temperature", "humidity", "oil"]
UNITS = {"load": "kN", "speed": "thousand turns per minute", "torque_ripple": "N m", "vibration": "mm"}
INK, POINT, MEAN = "#222222", "#333333", "#C44E00"
DARK, LIGHT = "#5BA3D0", "#C9E1F0"
PLACES, VALUES = 121, 301


def mass_above(density: np.ndarray) -> np.ndarray:
    """For densities (values, places): how much of the law of a place lies where it is at least as dense as here.

    >>> mass_above(np.array([[1.0], [3.0], [0.0], [4.0]])).ravel()
    array([1.   , 0.875, 1.   , 0.5  ])
    """
    order = np.argsort(-density, axis=0)
    mass = np.cumsum(np.take_along_axis(density, order, axis=0), axis=0)
    above = np.empty_like(density)
    np.put_along_axis(above, order, mass / mass[-1], axis=0)
    return above


def law(rows: pd.DataFrame, target: str, given: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    """Densities (values, rows of `given`) of a target, by a twin on the inputs that shape it."""
    twin = fb.discover(rows, target, candidates=INPUTS, progress=False).twin(test=0, progress=False)
    assert set(twin.inputs) <= set(given.columns), twin.inputs
    every = given.loc[given.index.repeat(len(values)), list(twin.inputs)]
    observed = pd.DataFrame({target: np.tile(values, len(given))})
    return np.exp(twin.log_prob(every, observed)).reshape(len(given), len(values)).T


def draw(axis: Axes, rows: pd.DataFrame, target: str, along: str, what: str, oil: str | None = None) -> None:
    """The law of one target along one input, half of it in the darker area, 90% in both; a linear fit beside it."""
    shown = rows if oil is None else rows[rows["oil"] == oil]
    x = np.linspace(rows[along].min(), rows[along].max(), PLACES)
    top = 1.1 * shown[target].abs().max()
    y = np.linspace(-top, top, VALUES)
    density = law(rows, target, pd.DataFrame({along: x, "oil": oil or "A"}), y)
    axis.contourf(x, y, mass_above(density), levels=[0, 0.5, 0.9], colors=[DARK, LIGHT])
    axis.scatter(shown[along], shown[target], s=4, color=POINT, alpha=0.45, lw=0)
    line = np.polynomial.Polynomial.fit(shown[along], shown[target], 1)
    axis.plot(x, line(x), color=MEAN, lw=2.2, ls=(0, (4, 2)))
    axis.set(xlim=(x[0], x[-1]), ylim=(-top, top))
    axis.set_xlabel(f"{along} ({UNITS[along]})", fontsize=12.5, color=INK)
    axis.set_title(f"{target} ({UNITS[target]})\n{what}", fontsize=12.5, color=INK, loc="left", linespacing=1.3)
    axis.tick_params(labelsize=11, colors=INK)
    axis.spines[["top", "right"]].set_visible(False)


def main(file: Path) -> None:
    """Draw both laws side by side."""
    with as_file(files("forebear") / "examples" / "rig.csv") as table:
        rows = pd.read_csv(table)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 4.1), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # type: ignore[union-attr]
    draw(left, rows, "torque_ripple", "load", "its spread grows with load")
    draw(right, rows, "vibration", "speed", "oil B: two states, parted by speed", oil="B")
    handles = [
        plt.Line2D([], [], ls="", marker="o", ms=4, color=POINT, alpha=0.6, label="rows"),
        plt.Rectangle((0, 0), 1, 1, color=DARK, label="half of the law"),
        plt.Rectangle((0, 0), 1, 1, color=LIGHT, label="90% (both areas)"),
        plt.Line2D([], [], color=MEAN, lw=2.2, ls=(0, (4, 2)), label="mean (linear fit)"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=11, frameon=False, columnspacing=1.5)
    figure.savefig(file, dpi=160, facecolor="white")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
