"""Kinds of table that no rule of the method was chosen by, looked at once: what `bench unseen` asks about.

They are borrowed from the trades that use such tables: pipes, reactions, queues, returns, doses, lifetimes, panels.
Whoever changes the method because of what they show should write others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forebear_experiments.benchmarks.support.varied import (
    Kind,
    VariedTable,
    autoregressive,
    normals,
    runs,
    varied,
    walk,
)

Rng = np.random.Generator


def _pipe(rng: Rng) -> VariedTable:
    """Friction in a pipe: one law below a Reynolds number of 2,300, another above."""
    rows = 2_000
    x = {"speed": rng.uniform(0.05, 2, rows), "width": rng.uniform(0.01, 0.05, rows), **normals(rng, rows, 2)}
    x["viscosity"] = rng.uniform(1e-6, 2e-5, rows)
    reynolds = x["speed"] * x["width"] / x["viscosity"]
    friction = np.where(reynolds < 2_300, 64 / reynolds, 0.316 / reynolds**0.25)
    return varied(x, np.log(friction) + 0.2 * rng.normal(size=rows), "speed width viscosity")


def _reaction(rng: Rng) -> VariedTable:
    rows = 1_500
    x = {"kelvin": rng.uniform(300, 400, rows), "dose": rng.uniform(0.5, 2, rows), **normals(rng, rows, 3)}
    return varied(x, x["dose"] * np.exp(-3_000 / x["kelvin"] + 8 + 0.3 * rng.normal(size=rows)), "kelvin dose")


def _queue(rng: Rng) -> VariedTable:
    rows = 3_000
    x = {"arrivals": rng.uniform(0.2, 0.8, rows), "servers": rng.uniform(1, 1.5, rows), **normals(rng, rows, 3)}
    return varied(x, rng.exponential(1 / (x["servers"] - x["arrivals"])), "arrivals servers")


def _returns(rng: Rng) -> VariedTable:
    """Volatility that follows the last return, and nothing else."""
    rows = 5_000
    r = np.zeros(rows + 1)
    for t in range(rows):
        r[t + 1] = np.sqrt(0.4 + 0.5 * min(r[t] ** 2, 20.0)) * rng.normal()
    x = {"yesterday": r[:-1], "volume": np.exp(rng.normal(size=rows)), **normals(rng, rows, 2)}
    return varied(x, r[1:], "yesterday")


def _regimes(rng: Rng) -> VariedTable:
    """A switch decides how the last value acts."""
    rows = 3_000
    switch, y = np.where(autoregressive(rng, rows, 0.5) > 0, "heat", "cool"), np.zeros(rows + 1)
    for t in range(rows):
        y[t + 1] = (0.6 if switch[t] == "heat" else -0.4) * y[t] + rng.normal()
    return varied({"last": y[:-1], "mode": switch, **normals(rng, rows, 3)}, y[1:], "last mode")


def _plateau(rng: Rng) -> VariedTable:
    rows = 800
    x = {"dose": rng.uniform(0, 10, rows), "weight": rng.normal(70, 12, rows), **normals(rng, rows, 3)}
    per = 70 * x["dose"] / x["weight"]
    return varied(x, 8 * per / (2 + per) + rng.normal(size=rows), "dose weight")


def _ranges(rng: Rng) -> VariedTable:
    """A gauge with three ranges, which differ in their noise."""
    rows = 1_000
    own = rng.integers(3, size=rows)
    x = {"range": np.array(["low", "mid", "high"])[own], **normals(rng, rows, 4)}
    return varied(x, x["x1"] + np.array([0.3, 0.6, 1.2])[own] * rng.normal(size=rows), "range x1")


def _stuck(rng: Rng) -> VariedTable:
    """The warmer, the more often the reading is stuck at zero."""
    rows = 2_500
    x = normals(rng, rows, 5)
    fails = rng.uniform(size=rows) < 1 / (1 + np.exp(2 - x["x2"]))
    return varied(x, np.where(fails, 0.0, 2 + x["x1"] + 0.5 * rng.normal(size=rows)), "x1 x2")


def _sine_of_a_product(rng: Rng) -> VariedTable:
    x = {f"x{i}": rng.uniform(-2, 2, 2_000) for i in range(1, 6)}
    return varied(x, np.sin(x["x1"] * x["x2"]) + 0.5 * rng.normal(size=2_000), "x1 x2")


def _hours(rng: Rng) -> VariedTable:
    rows = 2_000
    x = {"hour": rng.uniform(0, 24, rows), **normals(rng, rows, 3)}
    angle = 2 * np.pi * x["hour"] / 24
    y = 0.5 * x["x1"] + np.exp(0.5 * np.sin(angle)) * rng.normal(size=rows)
    return varied(x, y, "hour x1", periodic={"hour": 24.0})


def _shifts(rng: Rng) -> VariedTable:
    """Shift and machine act only in combination: every row and column of the table of means adds up to none."""
    rows = 2_000
    shift, machine = rng.integers(3, size=rows), rng.integers(3, size=rows)
    square = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]])
    x = {"shift": np.array(list("ENL"))[shift], "machine": np.array(["m1", "m2", "m3"])[machine]}
    return varied(
        {**x, **normals(rng, rows, 3)}, 0.8 * square[shift, machine] + rng.normal(size=rows), "shift machine"
    )


def _successes(rng: Rng) -> VariedTable:
    """Successes of twenty trials."""
    rows = 1_000
    x = normals(rng, rows, 5)
    return varied(x, rng.binomial(20, 1 / (1 + np.exp(-0.5 * x["x1"] + 0.4 * x["x2"]))).astype(float), "x1 x2")


def _lifetimes(rng: Rng) -> VariedTable:
    """One input moves the shape of a Weibull law, another its scale."""
    rows = 2_500
    x = normals(rng, rows, 4)
    return varied(x, np.exp(0.3 * x["x2"]) * rng.weibull(np.exp(0.4 + 0.3 * np.tanh(x["x1"]))), "x1 x2")


def _floods(rng: Rng) -> VariedTable:
    x = normals(rng, 2_000, 5)
    return varied(x, rng.gumbel(0.4 * x["x1"], np.exp(0.3 * x["x2"])), "x1 x2")


def _spectrum(rng: Rng) -> VariedTable:
    """Twelve channels, each like its neighbours; three matter."""
    rows = 1_500
    level = np.stack([autoregressive(rng, 12, 0.7) for _ in range(rows)])
    x = {f"c{i + 1}": level[:, i] for i in range(12)}
    return varied(x, 0.6 * x["c2"] - 0.6 * x["c6"] + 0.6 * x["c11"] + rng.normal(size=rows), "c2 c6 c11")


def _fan(rng: Rng) -> VariedTable:
    x = normals(rng, 600, 5)
    return varied(x, x["x1"] + (0.3 + np.abs(x["x2"])) * rng.normal(size=600), "x1 x2")


def _five_of_ten(rng: Rng) -> VariedTable:
    x = normals(rng, 700, 10)
    return varied(x, 0.35 * sum(x[f"x{i}"] for i in range(1, 6)) + rng.normal(size=700), "x1 x2 x3 x4 x5")


def _log_ratio(rng: Rng) -> VariedTable:
    x = {"out": np.exp(rng.normal(size=800)), "into": np.exp(rng.normal(size=800)), **normals(rng, 800, 3)}
    return varied(x, 0.6 * np.log(x["out"] / x["into"]) + rng.normal(size=800), "out into")


def _stations(rng: Rng) -> VariedTable:
    """Eighty stations, each with a level of its own."""
    rows = 2_400
    station = runs(rows, 80)
    x = {"station": np.array([f"s{i:02d}" for i in range(80)])[station], **normals(rng, rows, 4)}
    y = 0.5 * x["x1"] + rng.normal(size=80)[station] + rng.normal(size=rows)
    return varied(x, y, "x1", rows="station", candidates=["x1", "x2", "x3", "x4"])


def _drifting_sensor(rng: Rng) -> VariedTable:
    """An input that drifts all the way, beside a target that does not."""
    rows = 2_000
    x = {"worn": np.linspace(0, 3, rows) + 0.3 * rng.normal(size=rows), **normals(rng, rows, 3)}
    return varied(x, 0.6 * x["x1"] + rng.normal(size=rows), "x1")


def _swing(rng: Rng) -> VariedTable:
    """A pendulum with noisy pushes: the next angle from angle and speed, beside older ones."""
    rows = 4_000
    angle, speed = np.zeros(rows + 3), np.zeros(rows + 3)
    for t in range(rows + 2):
        speed[t + 1] = 0.98 * speed[t] - 0.2 * np.sin(angle[t]) + 0.25 * rng.normal()
        angle[t + 1] = angle[t] + 0.2 * speed[t + 1]
    x = {"angle": angle[1:-2], "speed": speed[1:-2], "pressure": rng.normal(size=rows), "x1": rng.normal(size=rows)}
    return varied(x, speed[2:-1], "angle speed")


def _grid(rng: Rng) -> VariedTable:
    """A full grid of three factors with four settings, twelve of each, in random order."""
    levels = np.stack(np.meshgrid(*[np.arange(4.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    rows = rng.permutation(np.repeat(levels, 12, axis=0))
    a, b, c = rows.T
    y = 0.5 * (a - 1.5) ** 2 + 0.4 * b + rng.normal(size=len(rows))
    return varied({"a": a, "b": b, "c": c, **normals(rng, len(rows), 1)}, y, "a b")


def _rain(rng: Rng) -> VariedTable:
    """An input that is mostly zero; only whether it is counts."""
    rows = 1_500
    x = {"rain": np.where(rng.uniform(size=rows) < 0.7, 0.0, rng.exponential(size=rows)), **normals(rng, rows, 4)}
    return varied(x, 0.7 * (x["rain"] > 0) + rng.normal(size=rows), "rain")


def _middle(rng: Rng) -> VariedTable:
    """Only the middle of the law moves; its tails stay where they are."""
    rows = 6_000
    x, e = normals(rng, rows, 4), rng.normal(size=rows)
    return varied(x, e + 0.5 * np.tanh(x["x1"]) * np.exp(-2 * e**2), "x1")


def _either_tail(rng: Rng) -> VariedTable:
    """One input stretches the upper tenth of the law, another the lower."""
    rows, edge = 8_000, 1.2815516
    x, e = normals(rng, rows, 5), rng.normal(size=rows)
    upper = edge + (e - edge) * np.exp(0.6 * x["x1"])
    lower = -edge + (e + edge) * np.exp(0.6 * x["x2"])
    return varied(x, np.where(e > edge, upper, np.where(e < -edge, lower, e)), "x1 x2")


def _ten_inputs(rng: Rng) -> VariedTable:
    x = normals(rng, 300, 10)
    return varied(x, x["x1"] + 0.8 * x["x2"] + rng.normal(size=300), "x1 x2")


def _beside_walks(rng: Rng) -> VariedTable:
    """White noise beside inputs that wander: nothing acts, and nothing hides."""
    rows = 2_000
    return varied({f"w{i}": walk(rng, rows) for i in range(1, 4)}, rng.normal(size=rows))


def _days(rng: Rng) -> VariedTable:
    """A hundred days with a shock each, hidden; twenty rows a day."""
    rows = 2_000
    day = runs(rows, 100)
    x = {"day": np.array([f"d{i:03d}" for i in range(100)])[day], **normals(rng, rows, 3)}
    x["weather"] = rng.normal(size=100)[day]
    y = 0.4 * x["x1"] + 0.8 * rng.normal(size=100)[day] + rng.normal(size=rows)
    return varied(x, y, "x1", rows="day", candidates=["x1", "x2", "x3", "weather"])


def _signs(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 5)
    return varied(x, 0.7 * x["x1"] * np.sign(x["x2"]) + rng.normal(size=1_000), "x1 x2")


def _saddle(rng: Rng) -> VariedTable:
    """Four inputs in two products."""
    x = normals(rng, 3_000, 7)
    return varied(x, 0.5 * x["x1"] * x["x2"] - 0.5 * x["x3"] * x["x4"] + rng.normal(size=3_000), "x1 x2 x3 x4")


_DRAWS: dict[str, Callable[[Rng], VariedTable]] = {
    "pipe friction": _pipe,
    "reaction rate": _reaction,
    "queue": _queue,
    "returns": _returns,
    "heating and cooling": _regimes,
    "dose with a plateau": _plateau,
    "ranges of a gauge": _ranges,
    "stuck readings": _stuck,
    "sine of a product": _sine_of_a_product,
    "hours of the spread": _hours,
    "shift by machine": _shifts,
    "successes": _successes,
    "lifetimes": _lifetimes,
    "floods": _floods,
    "spectrum": _spectrum,
    "fan, 600 rows": _fan,
    "five of ten": _five_of_ten,
    "log ratio": _log_ratio,
    "stations": _stations,
    "drifting sensor": _drifting_sensor,
    "swing": _swing,
    "grid": _grid,
    "rain or not": _rain,
    "middle of the law": _middle,
    "either tail": _either_tail,
    "ten inputs, 300 rows": _ten_inputs,
    "noise beside walks": _beside_walks,
    "days with shocks": _days,
    "sign of another": _signs,
    "two products": _saddle,
}
UNSEEN: dict[str, Kind] = {name: Kind(name, draw) for name, draw in _DRAWS.items()}
"""name -> the kind, which gives the table of a seed"""
