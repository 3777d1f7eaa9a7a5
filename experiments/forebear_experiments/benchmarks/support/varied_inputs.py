"""Kinds of table whose inputs are the trouble: proxies, copies, children, many columns, few rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forebear_experiments.benchmarks.support.varied import VariedTable, normals, varied

Rng = np.random.Generator


def _correlated(rng: Rng, rows: int, number: int, share: float) -> dict[str, np.ndarray]:
    """Normal inputs of which any two have this correlation."""
    common = rng.normal(size=rows)
    return {
        name: np.sqrt(share) * common + np.sqrt(1 - share) * own for name, own in normals(rng, rows, number).items()
    }


def _many_kept(rng: Rng) -> VariedTable:
    rows = 150
    kept = {f"k{i + 1}": rng.normal(size=rows) for i in range(16)}
    x = normals(rng, rows, 3)
    return varied({**kept, **x}, 0.9 * x["x1"] + rng.normal(size=rows), "x1", keep=list(kept))


def _product_proxy(rng: Rng) -> VariedTable:
    """One column nearly says what two causes say together, and a smaller set with it is nearly enough."""
    rows = 500
    x = normals(rng, rows, 4)
    both = x["x1"] * x["x2"]
    x["proxy"] = both + 0.4 * rng.normal(size=rows)
    return varied(x, both + 0.5 * rng.normal(size=rows), "x1 x2")


def _sensors(rng: Rng) -> VariedTable:
    x = _correlated(rng, 3_000, 8, 0.9)
    return varied(x, 0.6 * x["x1"] + 0.6 * x["x4"] + 0.5 * rng.normal(size=3_000), "x1 x4")


def _chain_of_sensors(rng: Rng) -> VariedTable:
    """Twelve sensors in a row, each much like the next; one moves the mean, another the spread."""
    rows, number = 4_000, 12
    place = np.arange(number)
    root = np.linalg.cholesky(0.85 ** np.abs(place[:, None] - place))
    values = rng.normal(size=(rows, number)) @ root.T
    x = {f"s{i + 1}": values[:, i] for i in range(number)}
    return varied(x, 0.5 * x["s3"] + np.exp(0.4 * x["s9"]) * rng.normal(size=rows), "s3 s9")


def _simpson(rng: Rng) -> VariedTable:
    """A cause of both an input and the target turns the sign of what is seen when it is left out."""
    rows = 1_500
    cause = rng.normal(size=rows)
    x = {"dose": cause + 0.6 * rng.normal(size=rows), "age": cause, "weight": cause + 0.5 * rng.normal(size=rows)}
    x["x4"] = rng.normal(size=rows)
    return varied(x, 1.5 * cause - 0.5 * x["dose"] + rng.normal(size=rows), "dose age")


def _child(rng: Rng) -> VariedTable:
    """What the target causes, and the other cause of that, belong to the law of the target given the rest."""
    rows = 1_500
    x = normals(rng, rows, 4)
    y = 0.6 * x["x1"] + rng.normal(size=rows)
    x["child"] = y + x["x2"] + 0.7 * rng.normal(size=rows)
    return varied(x, y, "x1 x2 child")


def _collider(rng: Rng) -> VariedTable:
    """A column that two causes of the target move as well, and that does nothing itself."""
    rows = 1_500
    x = normals(rng, rows, 4)
    x["both"] = x["x1"] + x["x2"] + 0.3 * rng.normal(size=rows)
    return varied(x, 0.5 * x["x1"] + 0.5 * x["x2"] + 0.7 * rng.normal(size=rows), "x1 x2")


def _two_sensors(rng: Rng) -> VariedTable:
    """Two noisy readings of a cause that is not in the table: both are needed."""
    rows = 1_000
    cause = rng.normal(size=rows)
    x = {"first": cause + 0.5 * rng.normal(size=rows), "second": cause + 0.5 * rng.normal(size=rows)}
    return varied({**x, **normals(rng, rows, 2)}, cause + 0.5 * rng.normal(size=rows), "first second")


def _mediator(rng: Rng) -> VariedTable:
    """A cause acts through a column alone, so that it is not needed beside it."""
    rows = 1_200
    x = normals(rng, rows, 3)
    x["middle"] = 0.9 * x["x1"] + 0.5 * rng.normal(size=rows)
    return varied(x, 0.8 * x["middle"] + rng.normal(size=rows), "middle")


def _copies(rng: Rng) -> VariedTable:
    """Two readings of the cause that differ in the third digit: either is right, both are one too many."""
    rows = 1_500
    cause = rng.normal(size=rows)
    x = {"first": cause + 2e-3 * rng.normal(size=rows), "second": cause + 2e-3 * rng.normal(size=rows)}
    table = varied({**x, **normals(rng, rows, 2)}, 0.8 * cause + rng.normal(size=rows))
    return replace(table, truth={"y": (frozenset({"first"}), frozenset({"second"}))})


def _near_copies(rng: Rng) -> VariedTable:
    """A cause and a reading of it, and too few rows to say which of the two it is."""
    rows = 200
    x = normals(rng, rows, 2)
    x["reading"] = x["x1"] + 0.1 * rng.normal(size=rows)
    table = varied(x, 0.7 * x["x1"] + rng.normal(size=rows), undecidable=True)
    return replace(table, truth={"y": (frozenset({"x1"}), frozenset({"reading"}))})


def _parts(rng: Rng) -> VariedTable:
    """Parts of a whole, which sum to one: any of them follows from the others."""
    rows = 1_500
    a, b, c, d = rng.dirichlet([2.0, 2.0, 2.0, 2.0], size=rows).T
    return varied({"a": a, "b": b, "c": c, "d": d}, 4 * a + 0.6 * rng.normal(size=rows), "a")


def _noise(rng: Rng) -> VariedTable:
    x = _correlated(rng, 600, 10, 0.6)
    return varied(x, rng.standard_t(4, size=600))


def _wide(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 60)
    return varied(x, 0.5 * x["x1"] + 0.5 * x["x2"] - 0.4 * x["x3"] + rng.normal(size=1_000), "x1 x2 x3")


def _plain(rng: Rng) -> VariedTable:
    """Two inputs that explain a fifth of the variance each."""
    x = normals(rng, 300, 5)
    return varied(x, 0.577 * x["x1"] + 0.577 * x["x2"] + rng.normal(size=300), "x1 x2")


def _twice_the_spread(rng: Rng) -> VariedTable:
    rows = 300
    night = rng.integers(2, size=rows)
    x = {"shift": np.where(night, "night", "day"), **normals(rng, rows, 3)}
    return varied(x, np.where(night, 2.0, 1.0) * rng.normal(size=rows), "shift")


def _mixed(rng: Rng) -> VariedTable:
    rows = 2_000
    colour, site = rng.integers(4, size=rows), rng.integers(3, size=rows)
    x = {
        "colour": np.array(["red", "green", "blue", "grey"])[colour],
        "site": np.array(["a", "b", "c"])[site],
        "on": rng.uniform(size=rows) < 0.4,
        **normals(rng, rows, 3),
    }
    y = np.array([0.0, 0.4, -0.4, 0.6])[colour] + 0.5 * x["x1"] * x["on"] + rng.normal(size=rows)
    return varied(x, y, "colour on x1")


def _strong(rng: Rng) -> VariedTable:
    x = normals(rng, 150, 4)
    return varied(x, 1.5 * x["x1"] + rng.normal(size=150), "x1")


def _too_few(rng: Rng) -> VariedTable:
    """An effect that a regression which knows it finds with t = 1.5."""
    x = normals(rng, 150, 4)
    return varied(x, 0.12 * x["x1"] + rng.normal(size=150), "x1", undecidable=True)


def _too_few_for_a_spread(rng: Rng) -> VariedTable:
    x = normals(rng, 250, 4)
    return varied(x, np.exp(0.07 * x["x1"]) * rng.normal(size=250), "x1", undecidable=True)


def _groups(rng: Rng) -> VariedTable:
    """Coordinates that belong together: the distance of one point matters, the other point does not."""
    rows = 1_500
    points = {f"{point}_{axis}": rng.normal(size=rows) for point in ("tip", "base") for axis in "xyz"}
    far = np.sqrt(sum(points[f"tip_{axis}"] ** 2 for axis in "xyz"))
    groups = {point: [f"{point}_{axis}" for axis in "xyz"] for point in ("tip", "base")}
    x = {**points, "x1": rng.normal(size=rows)}
    return varied(x, far + 0.5 * x["x1"] + 0.6 * rng.normal(size=rows), "tip x1", groups=groups)


def _many_levels(rng: Rng) -> VariedTable:
    rows, levels = 4_000, 40
    part = rng.integers(levels, size=rows)
    x = {"part": np.array([f"p{i:02d}" for i in range(levels)])[part], **normals(rng, rows, 3)}
    return varied(x, 0.6 * rng.normal(size=levels)[part] + rng.normal(size=rows), "part")


def _decades(rng: Rng) -> VariedTable:
    """Inputs over four decades; the target follows the logarithm of one of them."""
    x = {f"x{i}": 10 ** rng.uniform(-2, 2, 1_500) for i in (1, 2, 3, 4)}
    return varied(x, 0.5 * np.log10(x["x1"]) + rng.normal(size=1_500), "x1")


def _whole_numbers(rng: Rng) -> VariedTable:
    """Settings that are small whole numbers."""
    rows = 1_200
    x = {f"n{i}": rng.integers(1, 6, size=rows) for i in (1, 2, 3, 4)}
    return varied(x, 0.25 * x["n1"] + np.where(x["n2"] == 3, 1.8, 1.0) * rng.normal(size=rows), "n1 n2")


def _exposed(rng: Rng) -> VariedTable:
    """Inputs with outliers: a few values a hundred times as large as the others."""
    x = {f"x{i}": rng.standard_t(1.5, size=2_000) for i in (1, 2, 3, 4)}
    return varied(x, np.tanh(x["x1"]) + 0.8 * rng.normal(size=2_000), "x1")


OF_INPUTS: dict[str, Callable[[Rng], VariedTable]] = {
    "16 kept columns, 150 rows": _many_kept,
    "proxy of a product": _product_proxy,
    "correlated sensors": _sensors,
    "chain of sensors": _chain_of_sensors,
    "Simpson": _simpson,
    "child and spouse": _child,
    "collider": _collider,
    "two noisy sensors": _two_sensors,
    "mediator": _mediator,
    "two copies": _copies,
    "near copies, few rows": _near_copies,
    "parts of a whole": _parts,
    "noise, correlated inputs": _noise,
    "60 inputs": _wide,
    "plain effects, 300 rows": _plain,
    "twice the spread, 300 rows": _twice_the_spread,
    "categories and numbers": _mixed,
    "strong effect, 150 rows": _strong,
    "too few rows": _too_few,
    "too few rows for a spread": _too_few_for_a_spread,
    "groups": _groups,
    "40 levels": _many_levels,
    "four decades": _decades,
    "whole numbers": _whole_numbers,
    "outlying inputs": _exposed,
}
"""name -> what draws one"""
