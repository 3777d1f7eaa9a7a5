"""Kinds of table in which an input acts in an uncommon way: angles, levels, corners, tails, interactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forebear_experiments.benchmarks.support.varied import VariedTable, normals, varied

Rng = np.random.Generator


def _angles(rng: Rng, rows: int) -> dict[str, np.ndarray]:
    return {"theta": rng.uniform(0, 2 * np.pi, rows), "load": rng.uniform(0.5, 2.0, rows), **normals(rng, rows, 2)}


def _wave(rng: Rng, wave: Callable[[np.ndarray], np.ndarray]) -> VariedTable:
    x = _angles(rng, 2_000)
    return varied(x, wave(x["theta"]) + 0.7 * rng.normal(size=2_000), "theta", periodic={"theta": 2 * np.pi})


def _wave_of_a_load(rng: Rng) -> VariedTable:
    x = _angles(rng, 2_000)
    y = x["load"] * np.sin(2 * x["theta"]) + 0.5 * rng.normal(size=2_000)
    return varied(x, y, "theta load", periodic={"theta": 2 * np.pi})


def _wave_of_the_spread(rng: Rng) -> VariedTable:
    """An angle in degrees that moves the spread alone."""
    x = _angles(rng, 3_000)
    x["theta"] = np.degrees(x["theta"])
    y = np.exp(0.4 * np.cos(2 * np.radians(x["theta"]))) * rng.normal(size=3_000)
    return varied(x, y, "theta", periodic={"theta": 360.0})


def _rare_level(rng: Rng) -> VariedTable:
    """Ten levels, of which the rarest, with 1.5% of the rows, is the only one that acts."""
    rows = 4_000
    share = np.array([0.2, 0.18, 0.15, 0.12, 0.1, 0.09, 0.07, 0.045, 0.03, 0.015])
    part = rng.choice(10, size=rows, p=share)
    x = {"part": np.array([f"p{i}" for i in range(10)])[part], **normals(rng, rows, 3)}
    return varied(x, 1.5 * (part == 9) + rng.normal(size=rows), "part")


def _noisy_supplier(rng: Rng) -> VariedTable:
    rows = 2_000
    supplier = rng.integers(8, size=rows)
    x = {"supplier": np.array(list("ABCDEFGH"))[supplier], **normals(rng, rows, 3)}
    return varied(x, np.where(supplier == 5, 2.0, 1.0) * rng.normal(size=rows), "supplier")


def _exclusive(rng: Rng, keep: Sequence[str] = ()) -> VariedTable:
    x = normals(rng, 2_000, 5)
    y = np.sign(x["x1"] * x["x2"] * x["x3"]) + 0.7 * rng.normal(size=2_000)
    return varied(x, y, "x1 x2 x3", keep=list(keep))


def _switches(rng: Rng) -> VariedTable:
    """Exclusive or of three switches that are written as words."""
    rows = 1_500
    on = rng.integers(2, size=(5, rows))
    x = {f"s{i + 1}": np.where(on[i], "on", "off") for i in range(5)}
    return varied(x, on[:3].sum(axis=0) % 2 + 0.6 * rng.normal(size=rows), "s1 s2 s3")


def _stretched(rng: Rng, side: int) -> VariedTable:
    """Beyond the outer 3% on one side the law is stretched by an input; below that nothing changes."""
    rows, edge = 10_000, 1.8807936
    x, y = normals(rng, rows, 4), rng.normal(size=rows)
    return varied(x, side * np.where(y > edge, edge + (y - edge) * np.exp(0.7 * x["x1"]), y), "x1")


def _kurtosis(rng: Rng) -> VariedTable:
    """Heavy tails on one side of an input, none on the other; mean and variance are the same."""
    rows = 10_000
    x = normals(rng, rows, 4)
    heavy = rng.standard_t(4, size=rows) / np.sqrt(2)
    return varied(x, np.where(x["x1"] > 0, heavy, rng.normal(size=rows)), "x1")


def _skewed(rng: Rng) -> VariedTable:
    """A skew normal whose slant follows an input, centred and scaled so that mean and variance do not."""
    rows = 8_000
    x = normals(rng, rows, 4)
    slant = 0.97 * np.tanh(1.5 * x["x1"])
    raw = slant * np.abs(rng.normal(size=rows)) + np.sqrt(1 - slant**2) * rng.normal(size=rows)
    middle = slant * np.sqrt(2 / np.pi)
    return varied(x, (raw - middle) / np.sqrt(1 - middle**2), "x1")


def _two_modes(rng: Rng) -> VariedTable:
    """An input decides how often the law is one of two modes in place of one; mean and variance stay."""
    rows = 4_000
    x = normals(rng, rows, 4)
    split = rng.uniform(size=rows) < 1 / (1 + np.exp(-2 * x["x1"]))
    pair = rng.choice([-1.0, 1.0], size=rows) + 0.35 * rng.normal(size=rows)
    return varied(x, np.where(split, pair, np.sqrt(1 + 0.35**2) * rng.normal(size=rows)), "x1")


def _mixing(rng: Rng) -> VariedTable:
    """An input decides in which of two modes a row lies, another moves both."""
    rows = 2_000
    x = normals(rng, rows, 4)
    up = rng.uniform(size=rows) < 1 / (1 + np.exp(-x["x1"]))
    return varied(x, np.where(up, 2.0, -2.0) + 0.3 * x["x2"] + 0.6 * rng.normal(size=rows), "x1 x2")


def _many_rows(rng: Rng) -> VariedTable:
    """So many rows that a regression sees both effects with t = 19, though either is small."""
    rows = 200_000
    x = normals(rng, rows, 5)
    return varied(x, 0.0425 * x["x1"] + np.exp(0.03 * x["x2"]) * rng.normal(size=rows), "x1 x2")


def _oscillation(rng: Rng) -> VariedTable:
    x = {f"x{i}": rng.uniform(-1, 1, 2_000) for i in (1, 2, 3)}
    return varied(x, np.sin(12 * x["x1"]) + 0.5 * rng.normal(size=2_000), "x1")


def _corner(rng: Rng) -> VariedTable:
    """Two inputs act where both are high, in 1.4% of the rows."""
    x = {f"x{i}": rng.uniform(size=5_000) for i in (1, 2, 3, 4)}
    return varied(x, 2.0 * ((x["x1"] > 0.88) & (x["x2"] > 0.88)) + rng.normal(size=5_000), "x1 x2")


def _step(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 4)
    return varied(x, 1.0 * (x["x1"] > 1.0) + rng.normal(size=1_000), "x1")


def _largest(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 4)
    return varied(x, np.maximum(x["x1"], x["x2"]) + 0.5 * rng.normal(size=1_000), "x1 x2")


def _ratio(rng: Rng) -> VariedTable:
    x = {"mass": rng.uniform(1, 3, 1_000), "volume": rng.uniform(0.5, 2, 1_000), **normals(rng, 1_000, 2)}
    return varied(x, x["mass"] / x["volume"] + 0.3 * rng.normal(size=1_000), "mass volume")


def _product(rng: Rng) -> VariedTable:
    x = normals(rng, 800, 4)
    return varied(x, 0.5 * x["x1"] * x["x2"] + rng.normal(size=800), "x1 x2")


def _slope_by_site(rng: Rng) -> VariedTable:
    """The slope of an input depends on the site, and is none on average."""
    rows = 1_500
    site = rng.integers(3, size=rows)
    x = {"site": np.array(["north", "south", "west"])[site], **normals(rng, rows, 3)}
    return varied(x, np.array([0.6, -0.6, 0.0])[site] * x["x1"] + rng.normal(size=rows), "site x1")


def _spread_of_a_pair(rng: Rng) -> VariedTable:
    x = normals(rng, 3_000, 4)
    pair = np.clip(x["x1"] * x["x2"], -3, 3)
    return varied(x, np.exp(0.35 * pair) * rng.normal(size=3_000), "x1 x2")


def _bowl(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 4)
    return varied(x, 0.4 * x["x1"] ** 2 + rng.normal(size=1_000), "x1")


def _lognormal(rng: Rng) -> VariedTable:
    """Everything multiplies, the noise too."""
    x = normals(rng, 1_000, 4)
    return varied(x, np.exp(0.35 * x["x1"] - 0.3 * x["x2"] + 0.8 * rng.normal(size=1_000)), "x1 x2")


def _cauchy(rng: Rng) -> VariedTable:
    x = normals(rng, 2_000, 4)
    return varied(x, 0.5 * x["x1"] + rng.standard_cauchy(2_000), "x1")


def _student(rng: Rng) -> VariedTable:
    """Noise without a variance, whose width an input moves."""
    x = normals(rng, 3_000, 4)
    return varied(x, 0.4 * x["x1"] + np.exp(0.3 * x["x2"]) * rng.standard_t(2, size=3_000), "x1 x2")


def _exact(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 4)
    return varied(x, x["x1"] ** 2 + np.sin(x["x2"]), "x1 x2")


def _nearly_exact(rng: Rng) -> VariedTable:
    x = normals(rng, 1_500, 5)
    return varied(x, x["x1"] * x["x2"] + 0.5 * x["x3"] + 1e-3 * rng.normal(size=1_500), "x1 x2 x3")


SHAPED: dict[str, Callable[[Rng], VariedTable]] = {
    "sin 3 theta": lambda rng: _wave(rng, lambda theta: np.sin(3 * theta)),
    "cos 4 theta": lambda rng: _wave(rng, lambda theta: np.cos(4 * theta)),
    "sin 2 theta times a load": _wave_of_a_load,
    "angle that moves the spread": _wave_of_the_spread,
    "rare level": _rare_level,
    "noisy supplier": _noisy_supplier,
    "exclusive or of three": _exclusive,
    "exclusive or of three, two kept": lambda rng: _exclusive(rng, keep=["x1", "x2"]),
    "exclusive or of three switches": _switches,
    "upper tail": lambda rng: _stretched(rng, 1),
    "lower tail": lambda rng: _stretched(rng, -1),
    "heavy tails on one side": _kurtosis,
    "skewness": _skewed,
    "two modes in place of one": _two_modes,
    "which of two modes": _mixing,
    "200,000 rows": _many_rows,
    "sin 12 x": _oscillation,
    "rare corner": _corner,
    "step": _step,
    "maximum of two": _largest,
    "ratio": _ratio,
    "product": _product,
    "slope by site": _slope_by_site,
    "spread of a pair": _spread_of_a_pair,
    "bowl": _bowl,
    "log-normal": _lognormal,
    "Cauchy noise": _cauchy,
    "Student 2 noise": _student,
    "no noise": _exact,
    "hardly any noise": _nearly_exact,
}
"""name -> what draws one"""
