"""More kinds of table that no rule of the method was chosen by, written after those of `varied_unseen`.

They are borrowed from other trades: panels, enzymes, credit, houses, spins, epidemics, auctions, wear. Their answers
were looked at once, on a method that had been frozen before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forebear_experiments.benchmarks.support.varied import Kind, VariedTable, autoregressive, normals, runs, varied

Rng = np.random.Generator


def _panel(rng: Rng) -> VariedTable:
    """Power of a solar panel: wind cools it, and says nothing beyond the temperature."""
    rows = 2_000
    x = {"sun": rng.uniform(100, 1_000, rows), "wind": rng.gamma(2, 2, rows), "humidity": rng.uniform(20, 90, rows)}
    x["celsius"] = 15 + 0.03 * x["sun"] - 1.2 * x["wind"] + 3 * rng.normal(size=rows)
    power = 0.2 * x["sun"] * (1 - 0.01 * (x["celsius"] - 25))
    return varied(x, power + (0.01 * x["sun"]) * rng.normal(size=rows), "sun celsius")


def _enzyme(rng: Rng) -> VariedTable:
    rows = 400
    x = {"substrate": rng.uniform(0.1, 10, rows), "inhibitor": rng.uniform(0, 5, rows), **normals(rng, rows, 3)}
    rate = x["substrate"] / (2 * (1 + x["inhibitor"]) + x["substrate"])
    return varied(x, rate * np.exp(0.15 * rng.normal(size=rows)), "substrate inhibitor")


def _default(rng: Rng) -> VariedTable:
    """Whether a loan fails hangs on debt over income."""
    rows = 4_000
    x = {"income": np.exp(0.6 * rng.normal(size=rows)), "debt": np.exp(0.6 * rng.normal(size=rows))}
    fails = rng.uniform(size=rows) < 1 / (1 + np.exp(1 - 1.5 * np.log(x["debt"] / x["income"])))
    return varied({**x, **normals(rng, rows, 3)}, fails.astype(float), "income debt")


def _houses(rng: Rng) -> VariedTable:
    """Prices by size and quarter of a town, of which there are twelve."""
    rows = 1_500
    own, worth = rng.integers(12, size=rows), 0.3 * rng.normal(size=12)
    x = {"size": rng.gamma(6, 20, rows), "quarter": np.array([f"q{i:02d}" for i in range(12)])[own]}
    y = 0.8 * np.log(x["size"]) + worth[own] + 0.25 * rng.normal(size=rows)
    return varied({**x, **normals(rng, rows, 3)}, y, "size quarter")


def _spins(rng: Rng) -> VariedTable:
    """A spin turns as its two neighbours say, of six spins around it."""
    rows = 3_000
    x = {f"s{i}": rng.choice([-1.0, 1.0], size=rows) for i in range(1, 7)}
    up = rng.uniform(size=rows) < 1 / (1 + np.exp(-0.8 * (x["s2"] + x["s3"])))
    return varied(x, np.where(up, 1.0, -1.0), "s2 s3")


def _dispersed(rng: Rng) -> VariedTable:
    """Counts: one input moves their mean, another only how much they scatter."""
    rows = 5_000
    x = normals(rng, rows, 5)
    size = np.exp(1 - 1.2 * np.tanh(x["x2"]))
    mean = np.exp(1.5 + 0.3 * x["x1"])
    return varied(x, rng.poisson(mean * rng.gamma(size, 1 / size)).astype(float), "x1 x2")


def _epidemic(rng: Rng) -> VariedTable:
    """New infections; those who may fall ill, are ill and are well again add up, so any two columns will do."""
    rows = 2_000
    ill = rng.integers(10, 300, rows)
    may = rng.integers(100, 700, rows)
    x = {"may": may.astype(float), "ill": ill.astype(float), "well": 1_000.0 - may - ill, **normals(rng, rows, 2)}
    y = rng.binomial(may, 1 - np.exp(-0.6 * ill / 1_000)).astype(float)
    pairs = tuple(frozenset(pair.split()) for pair in ("may ill", "may well", "ill well"))
    table = varied(x, y, "may ill")
    return VariedTable(table.frame, table.targets, {"y": pairs})


def _lags(rng: Rng) -> VariedTable:
    """The first and the third of six lags."""
    rows, y = 1_500, np.zeros(1_560)
    for t in range(3, len(y)):
        y[t] = 0.5 * y[t - 1] - 0.4 * y[t - 3] + rng.normal()
    y = y[-rows - 6 :]
    return varied({f"lag{k}": y[6 - k : len(y) - k] for k in range(1, 7)}, y[6:], "lag1 lag3")


def _volatile(rng: Rng) -> VariedTable:
    """Volatility that follows the last two returns of five."""
    rows, r = 6_000, np.zeros(6_060)
    for t in range(2, len(r)):
        r[t] = np.sqrt(0.3 + 0.35 * min(r[t - 1] ** 2, 9.0) + 0.3 * min(r[t - 2] ** 2, 9.0)) * rng.normal()
    r = r[-rows - 5 :]
    return varied({f"r{k}": r[5 - k : len(r) - k] for k in range(1, 6)}, r[5:], "r1 r2")


def _hinge(rng: Rng) -> VariedTable:
    x = normals(rng, 1_500, 6)
    return varied(x, 1.5 * np.maximum(0, x["x1"] - 0.8) + 0.6 * rng.normal(size=1_500), "x1")


def _blend(rng: Rng) -> VariedTable:
    """Three shares of a blend, any two of which tell the third."""
    rows = 1_200
    parts = rng.dirichlet([3, 3, 3], rows)
    x = dict(zip("abc", parts.T, strict=True))
    pairs = tuple(frozenset(pair) for pair in ("ab", "ac", "bc"))
    table = varied({**x, **normals(rng, rows, 3)}, np.log(x["a"] / x["b"]) + 0.4 * rng.normal(size=rows), "a b")
    return VariedTable(table.frame, table.targets, {"y": pairs})


def _map(rng: Rng) -> VariedTable:
    """How far from the centre of a map."""
    rows = 1_000
    x = {"north": rng.uniform(-1, 1, rows), "east": rng.uniform(-1, 1, rows), **normals(rng, rows, 4)}
    return varied(x, np.hypot(x["north"], x["east"]) + 0.15 * rng.normal(size=rows), "north east")


def _wear(rng: Rng) -> VariedTable:
    """Wear between two inspections: a gamma process of load and time."""
    rows = 2_000
    x = {"load": rng.uniform(0.5, 2, rows), "days": rng.uniform(1, 10, rows), **normals(rng, rows, 3)}
    return varied(x, rng.gamma(x["load"] * x["days"], 0.2), "load days")


def _photons(rng: Rng) -> VariedTable:
    rows = 800
    x = {"exposure": rng.uniform(0.5, 3, rows), "density": rng.uniform(0, 2, rows), **normals(rng, rows, 4)}
    y = rng.poisson(x["exposure"] * (1 + 20 * np.exp(-x["density"]))).astype(float)
    return varied(x, y, "exposure density")


def _kurtosis(rng: Rng) -> VariedTable:
    """Mean and variance stay as they are; the tails of one half are those of Student's t."""
    rows = 20_000
    x = normals(rng, rows, 4)
    heavy = rng.standard_t(3, rows) / np.sqrt(3)
    return varied(x, np.where(x["x1"] > 0, heavy, rng.normal(size=rows)), "x1")


def _weak_product(rng: Rng) -> VariedTable:
    rows = 100_000
    x = normals(rng, rows, 6)
    return varied(x, 0.05 * x["x1"] * x["x2"] + rng.normal(size=rows), "x1 x2")


def _either_mode(rng: Rng) -> VariedTable:
    rows = 1_000
    x = normals(rng, rows, 5)
    mode = np.where(rng.uniform(size=rows) < 1 / (1 + np.exp(-x["x1"])), 1.5, -1.5)
    return varied(x, mode + 0.5 * rng.normal(size=rows), "x1")


def _firms(rng: Rng) -> VariedTable:
    """Sixty firms of twenty years; what a firm is like is hidden, and its branch says nothing of it."""
    rows = 1_200
    firm = runs(rows, 60)
    x = {"firm": np.array([f"f{i:02d}" for i in range(60)])[firm], **normals(rng, rows, 3)}
    x["staff"] = rng.normal(size=60)[firm]
    y = 0.5 * x["x1"] + rng.normal(size=60)[firm] + rng.normal(size=rows)
    return varied(x, y, "x1", rows="firm", candidates=["x1", "x2", "x3", "staff"])


def _weekdays(rng: Rng) -> VariedTable:
    rows = 1_400
    day = np.arange(rows) % 7
    x = {"day": np.array(["mo", "tu", "we", "th", "fr", "sa", "su"])[day], **normals(rng, rows, 4)}
    return varied(x, 0.8 * (day >= 5) + 0.5 * x["x1"] + rng.normal(size=rows), "day x1")


def _wheel(rng: Rng) -> VariedTable:
    """A spread that goes round three times a turn."""
    rows = 3_000
    x = {"angle": rng.uniform(0, 2 * np.pi, rows), **normals(rng, rows, 4)}
    y = np.exp(0.4 * np.cos(3 * x["angle"])) * rng.normal(size=rows)
    return varied(x, y, "angle", periodic={"angle": 2 * np.pi})


def _auction(rng: Rng) -> VariedTable:
    """The highest of two to eight bids, and never less than the reserve."""
    rows = 2_000
    bidders = rng.integers(2, 9, rows)
    bids = np.where(np.arange(8) < bidders[:, None], rng.gamma(4, 1, (rows, 8)), 0.0)
    x = {"bidders": bidders.astype(float), "reserve": rng.uniform(1, 6, rows), **normals(rng, rows, 4)}
    return varied(x, np.maximum(bids.max(axis=1), x["reserve"]), "bidders reserve")


def _thermostat(rng: Rng) -> VariedTable:
    """A room with a heater that switches on below 19 and off above 21 degrees."""
    rows = 4_000
    outside = 5 + 5 * autoregressive(rng, rows, 0.98)
    room, heater = np.full(rows + 1, 20.0), np.zeros(rows)
    for t in range(rows):
        before = heater[t - 1] if t else 0.0
        heater[t] = 1.0 if room[t] < 19 else 0.0 if room[t] > 21 else before
        room[t + 1] = room[t] + 0.03 * (outside[t] - room[t]) + 1.2 * heater[t] + 0.15 * rng.normal()
    x = {"room": room[:-1], "heater": heater, "outside": outside, **normals(rng, rows, 3)}
    return varied(x, room[1:], "room heater outside")


def _cubic(rng: Rng) -> VariedTable:
    """One of 24 inputs, by its cube."""
    x = normals(rng, 500, 24)
    return varied(x, 0.25 * x["x1"] ** 3 + rng.normal(size=500), "x1")


def _ranks(rng: Rng) -> VariedTable:
    """Inputs that are ranks from 1 to 100."""
    x = {f"r{i}": rng.integers(1, 101, 900).astype(float) for i in range(1, 7)}
    return varied(x, 0.5 * np.log(x["r1"]) + 0.5 * rng.normal(size=900), "r1")


_DRAWS: dict[str, Callable[[Rng], VariedTable]] = {
    "solar panel": _panel,
    "enzyme with inhibitor": _enzyme,
    "loans that fail": _default,
    "houses by quarter": _houses,
    "spins": _spins,
    "scatter of counts": _dispersed,
    "epidemic": _epidemic,
    "two of six lags": _lags,
    "volatility of two returns": _volatile,
    "hinge": _hinge,
    "shares of a blend": _blend,
    "distance on a map": _map,
    "wear": _wear,
    "photons": _photons,
    "tails alone": _kurtosis,
    "weak product, 100,000 rows": _weak_product,
    "share of two modes": _either_mode,
    "firms": _firms,
    "days of the week": _weekdays,
    "three times a turn": _wheel,
    "auction": _auction,
    "thermostat": _thermostat,
    "cube, 24 inputs": _cubic,
    "ranks": _ranks,
}
LATER: dict[str, Kind] = {name: Kind(name, draw) for name, draw in _DRAWS.items()}
"""name -> the kind, which gives the table of a seed"""
