"""Kinds of table in which the order of the rows, or what rows share, matters: sweeps, series, machines, batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from forebear_experiments.benchmarks.support.varied import (
    VariedTable,
    autoregressive,
    normals,
    runs,
    varied,
    walk,
)

Rng = np.random.Generator


def _sweep(rng: Rng, shuffled: bool, spread: bool) -> VariedTable:
    """One input is swept from its least to its largest value; it moves the mean or the spread, and nothing else."""
    rows = 1_000
    x = normals(rng, rows, 3)
    x["x1"] = np.linspace(-np.sqrt(3), np.sqrt(3), rows)
    noise = rng.normal(size=rows)
    table = varied(x, np.exp(0.3 * x["x1"]) * noise if spread else 0.3 * x["x1"] + noise, "x1")
    if not shuffled:
        return table
    return VariedTable(table.frame.iloc[rng.permutation(rows)].reset_index(drop=True), table.targets, table.truth)


def _triangle(rows: int, period: float) -> np.ndarray:
    """Ramps up and down between -1 and 1, of standard deviation 1 after scaling."""
    phase = (np.arange(rows) / period) % 1.0
    return np.sqrt(3) * (4 * np.abs(phase - 0.5) - 1)


def _ramps(rng: Rng) -> VariedTable:
    rows = 1_200
    x = {"x1": _triangle(rows, 600), "x2": _triangle(rows, 1_200 / 5), "x3": rng.normal(size=rows)}
    return varied(x, 0.3 * x["x1"] + rng.normal(size=rows), "x1")


def _ramps_of_the_spread(rng: Rng) -> VariedTable:
    rows = 1_500
    x = {"x1": _triangle(rows, 500), "x2": np.linspace(1.7, -1.7, rows), "x3": rng.normal(size=rows)}
    return varied(x, np.exp(0.3 * x["x1"]) * rng.normal(size=rows), "x1")


def _walks(rng: Rng) -> VariedTable:
    rows = 1_000
    return varied({f"x{i}": walk(rng, rows) for i in (1, 2, 3)}, walk(rng, rows), undecidable=True)


def _slow_and_short(rng: Rng) -> VariedTable:
    rows = 500
    x = {name: autoregressive(rng, rows, 0.995) for name in ("x1", "x2")}
    return varied(x, autoregressive(rng, rows, 0.995), undecidable=True)


def _trends(rng: Rng) -> VariedTable:
    """The meter drifts, and so does an input: whether one moves the other is not in the rows."""
    rows = 800
    time = np.linspace(-1.7, 1.7, rows)
    x = {"x1": rng.normal(size=rows), "x2": time + 0.05 * rng.normal(size=rows), "x3": rng.normal(size=rows)}
    return varied(x, 0.5 * x["x1"] + 0.7 * time + rng.normal(size=rows), "x1", undecidable=True)


def _machines(rng: Rng, declared: bool) -> VariedTable:
    """Machines differ by what nobody measured; their nameplates say nothing of it, and are constant per machine."""
    rows, number = 4_000, 20
    machine = runs(rows, number)
    x = normals(rng, rows, 2)
    x["plate1"], x["plate2"] = rng.normal(size=number)[machine], rng.uniform(size=number)[machine]
    y = 0.4 * x["x1"] + rng.normal(size=number)[machine] + rng.normal(size=rows)
    if not declared:
        return varied(x, y, "x1")
    named = {**x, "machine": np.array([f"M{m:02d}" for m in machine])}
    return varied(named, y, "x1", rows="machine", candidates=list(x))


def _panel(rng: Rng, declared: bool) -> VariedTable:
    rows, number = 2_000, 40
    cluster = runs(rows, number)
    x = normals(rng, rows, 3)
    x["level"] = rng.normal(size=number)[cluster]
    y = 0.4 * x["x1"] + rng.normal(size=number)[cluster] + rng.normal(size=rows)
    options = {"rows": "cluster", "candidates": list(x)} if declared else {}
    return varied({**x, "cluster": cluster} if declared else x, y, "x1", **options)


def _driven_clusters(rng: Rng) -> VariedTable:
    """What moves the target is the same for all rows of a cluster, and strong enough for sixty of them."""
    rows, number = 1_800, 60
    cluster = runs(rows, number)
    x = {
        "plate1": rng.normal(size=number)[cluster],
        "plate2": rng.normal(size=number)[cluster],
        **normals(rng, rows, 2),
    }
    y = 1.2 * x["plate1"] + 0.8 * rng.normal(size=number)[cluster] + rng.normal(size=rows)
    return varied({**x, "cluster": cluster}, y, "plate1", rows="cluster", candidates=list(x))


def _serial(rng: Rng, rows: int) -> VariedTable:
    """A driver among inputs that are as slow as the noise."""
    x = {"x1": autoregressive(rng, rows, 0.5), **{f"x{i}": autoregressive(rng, rows, 0.9) for i in (2, 3)}}
    return varied(x, 0.7 * x["x1"] + autoregressive(rng, rows, 0.9), "x1")


def _slow_state(rng: Rng) -> VariedTable:
    """A temperature read so often that a reading hardly differs from the last; a heater and the air move the rest."""
    rows = 4_000
    heater = (autoregressive(rng, rows, 0.99) > 0).astype(float)
    ambient, humidity = autoregressive(rng, rows, 0.995), autoregressive(rng, rows, 0.99)
    kick = 0.003 * rng.normal(size=rows)
    now = np.zeros(rows + 1)
    for t in range(rows):
        now[t + 1] = now[t] + 0.005 * (0.6 * ambient[t] - now[t]) + 0.005 * (heater[t] - 0.5) + kick[t]
    x = {"temperature": now[:-1], "heater": heater, "ambient": ambient, "humidity": humidity}
    return varied(x, now[1:], "temperature heater ambient")


def _lagged(rng: Rng) -> VariedTable:
    """An autoregression with a delayed input; the input has a memory of its own, so that its lags resemble each
    other."""
    rows, lags = 3_000, 4
    u = autoregressive(rng, rows + 100, 0.8)
    y, noise = np.zeros(len(u)), rng.normal(size=len(u))
    for t in range(lags, len(u)):
        y[t] = 0.5 * y[t - 1] - 0.3 * y[t - 3] + 0.5 * u[t - 2] + noise[t]
    at = np.arange(100, len(u))
    x = {f"y_{lag}": y[at - lag] for lag in range(1, lags + 1)} | {f"u_{lag}": u[at - lag] for lag in range(lags)}
    return varied(x, y[at], "y_1 y_3 u_2")


def _seasonal(rng: Rng) -> VariedTable:
    """Eight years of days; the pressure has a season of its own, and does nothing."""
    rows, period = 3_000, 365.25
    day = np.arange(rows) % period
    angle = 2 * np.pi * day / period
    x = {
        "day": day,
        "wind": rng.gamma(2.0, size=rows),
        "pressure": 0.7 * np.cos(angle) + 0.7 * autoregressive(rng, rows, 0.8),
        "clouds": rng.uniform(size=rows),
    }
    y = np.sin(angle - 1.4) - 0.25 * x["wind"] + 0.8 * rng.normal(size=rows)
    return varied(x, y, "day wind", periodic={"day": period})


def _batches(rng: Rng) -> VariedTable:
    rows = 2_000
    supplier = runs(rows, 5)
    x = {"supplier": np.array(list("ABCDE"))[supplier], **normals(rng, rows, 3)}
    y = np.array([0.0, 0.5, -0.4, 0.3, -0.6])[supplier] + 0.4 * x["x1"] + rng.normal(size=rows)
    return varied(x, y, "supplier x1")


def _factorial(rng: Rng) -> VariedTable:
    """Four factors on two levels each, forty replicates of every setting, in the order of the plan."""
    setting = np.repeat(np.arange(16), 40)
    x = {name: 2.0 * (setting >> place & 1) - 1 for place, name in enumerate("ABCD")}
    return varied(x, 0.5 * x["A"] + 0.5 * x["B"] * x["C"] + rng.normal(size=len(setting)), "A B C")


def _hidden_slow(rng: Rng) -> VariedTable:
    """What drives the target is slow and not in the table; what is in the table does nothing."""
    rows = 2_000
    return varied(normals(rng, rows, 4), 1.5 * autoregressive(rng, rows, 0.98) + rng.normal(size=rows))


def _changed_midway(rng: Rng) -> VariedTable:
    """A worse meter is put in halfway, which no column says."""
    rows = 2_000
    x = normals(rng, rows, 4)
    return varied(x, 0.4 * x["x1"] + (1.0 + 1.5 * runs(rows, 2)) * rng.normal(size=rows), "x1")


def _episodes(rng: Rng) -> VariedTable:
    """A damped oscillator, pushed at random, in episodes that start anywhere."""
    number, steps, rows = 50, 60, 50 * 60
    place, speed = rng.normal(size=(2, number))
    told: dict[str, list[np.ndarray]] = {name: [] for name in ("place", "speed", "push", "light", "y")}
    for _ in range(steps):
        push = rng.normal(size=number)
        change = -0.4 * place - 0.2 * speed + 0.3 * push + 0.2 * rng.normal(size=number)
        for name, values in zip(told, (place, speed, push, rng.uniform(size=number), change), strict=True):
            told[name].append(values)
        place, speed = place + 0.3 * speed, speed + change
    x = {name: np.stack(values, axis=1).reshape(rows) for name, values in told.items()}
    y = x.pop("y")
    return varied({**x, "episode": runs(rows, number)}, y, "place speed push", rows="episode", candidates=list(x))


def _shift_work(rng: Rng) -> VariedTable:
    """Many small batches, each with its own offset; the oven of a batch moves the spread within it."""
    rows, number = 3_000, 150
    batch = runs(rows, number)
    x = {"oven": rng.normal(size=number)[batch], **normals(rng, rows, 3)}
    y = 0.3 * x["x1"] + 0.5 * rng.normal(size=number)[batch] + np.exp(0.4 * x["oven"]) * rng.normal(size=rows)
    named = {**x, "batch": pd.Series(batch).map("B{:03d}".format).to_numpy(str)}
    return varied(named, y, "oven x1", rows="batch", candidates=list(x))


ORDERED: dict[str, Callable[[Rng], VariedTable]] = {
    "sweep": lambda rng: _sweep(rng, shuffled=False, spread=False),
    "sweep, shuffled": lambda rng: _sweep(rng, shuffled=True, spread=False),
    "sweep of the spread": lambda rng: _sweep(rng, shuffled=False, spread=True),
    "sweep of the spread, shuffled": lambda rng: _sweep(rng, shuffled=True, spread=True),
    "ramps up and down": _ramps,
    "ramps of the spread": _ramps_of_the_spread,
    "random walks": _walks,
    "AR 0.995, few rows": _slow_and_short,
    "trend against trend": _trends,
    "20 machines, declared": lambda rng: _machines(rng, declared=True),
    "20 machines, not declared": lambda rng: _machines(rng, declared=False),
    "40 clusters, declared": lambda rng: _panel(rng, declared=True),
    "40 clusters, not declared": lambda rng: _panel(rng, declared=False),
    "driver of 60 clusters": _driven_clusters,
    "AR 0.9 noise, 500 rows": lambda rng: _serial(rng, 500),
    "AR 0.9 noise, 2,000 rows": lambda rng: _serial(rng, 2_000),
    "AR 0.9 noise, 10,000 rows": lambda rng: _serial(rng, 10_000),
    "slow state": _slow_state,
    "lagged inputs": _lagged,
    "seasons": _seasonal,
    "batches by category": _batches,
    "factorial experiment": _factorial,
    "hidden slow driver": _hidden_slow,
    "changed midway": _changed_midway,
    "episodes": _episodes,
    "small batches": _shift_work,
}
"""name -> what draws one"""
