"""Kinds of table that were answered wrongly when they were first tried, with "certified" beside it or for no reason.

They were found by trying what no benchmark had. The method was then mended, so that they show that it stays so, and
nothing about what has not been tried.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from forebear_experiments.benchmarks.support.varied import VariedTable, normals, varied

Rng = np.random.Generator


def _rows_of(table: VariedTable, rows: np.ndarray) -> VariedTable:
    """Some rows of a table, in this order."""
    return VariedTable(table.frame.iloc[rows].reset_index(drop=True), table.targets, table.truth, table.options)


def _plain(rng: Rng, rows: int) -> VariedTable:
    x = normals(rng, rows, 6)
    return varied(x, 0.6 * x["x1"] + np.exp(0.4 * x["x2"]) * rng.normal(size=rows), "x1 x2")


def _thrice(rng: Rng) -> VariedTable:
    """Every row three times, shuffled, as after a join on a key that is not one."""
    x = normals(rng, 600, 8)
    table = varied(x, x["x1"] + rng.normal(size=600), "x1")
    return _rows_of(table, rng.permutation(np.tile(np.arange(600), 3)))


def _balanced(rng: Rng) -> VariedTable:
    """Rare failures, repeated until they are as many as the others."""
    x = normals(rng, 2_000, 6)
    fails = rng.uniform(size=2_000) < 1 / (1 + np.exp(3.0 - 1.2 * x["x1"] + x["x2"]))
    table = varied(x, fails.astype(int), "x1 x2")
    return _rows_of(table, rng.permutation(np.repeat(np.arange(2_000), np.where(fails, 8, 1))))


def _sorted(rng: Rng) -> VariedTable:
    """A spreadsheet that was sorted by what is to be explained."""
    table = _plain(rng, 1_500)
    return _rows_of(table, np.argsort(-table.frame["y"].to_numpy()))


def _sorted_labels(rng: Rng) -> VariedTable:
    """A labelled table, one label after another."""
    x = normals(rng, 1_500, 5)
    worth = pd.DataFrame({"ash": 0.8 * x["x1"], "elm": 0.8 * x["x2"], "oak": np.zeros(1_500)})
    label = np.asarray(worth.columns)[(worth.to_numpy() + rng.gumbel(size=(1_500, 3))).argmax(axis=1)]
    return _rows_of(varied(x, label.astype(str), "x1 x2"), np.argsort(label, kind="stable"))


def _some(rng: Rng, x: np.ndarray, share: float) -> np.ndarray:
    """Which rows have an event: about this share, and more of them for larger x."""
    return rng.uniform(size=len(x)) < 1 / (1 + np.exp(np.log(1 / share - 1) + 0.3 - 0.8 * x))


def _claims(rng: Rng, rows: int, share: float) -> VariedTable:
    """One input decides who has a claim, which few have, and another how large it is."""
    x = normals(rng, rows, 6)
    size = np.exp(7 + 0.5 * x["x2"] + 0.8 * rng.normal(size=rows))
    return varied(x, np.where(_some(rng, x["x1"], share), size, 0.0), "x1 x2")


def _modes(rng: Rng) -> VariedTable:
    """A machine is mostly fine; one input decides how often it is not, another what it is that fails."""
    x = normals(rng, 4_000, 6)
    mode = np.where(x["x2"] + 0.6 * rng.logistic(size=4_000) > 0, "bearing", "seal")
    return varied(x, np.where(_some(rng, x["x1"], 0.05), mode, "fine"), "x1 x2")


def _visits(rng: Rng) -> VariedTable:
    """Most never come; one input decides who does, another how often."""
    x = normals(rng, 4_000, 6)
    often = 1 + rng.poisson(np.exp(0.8 + 0.5 * x["x2"]))
    return varied(x, np.where(_some(rng, x["x1"], 0.06), often, 0), "x1 x2")


MENDED: dict[str, Callable[[Rng], VariedTable]] = {
    "every row three times": _thrice,
    "rare rows repeated": _balanced,
    "sorted by the target": _sorted,
    "labels in order": _sorted_labels,
    "size of claims": lambda rng: _claims(rng, 2_500, 0.1),
    "size of rare claims": lambda rng: _claims(rng, 8_000, 0.03),
    "what fails": _modes,
    "number of visits": _visits,
}
"""name -> what draws one"""
