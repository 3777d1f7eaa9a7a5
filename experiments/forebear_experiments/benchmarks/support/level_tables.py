"""Tables with one strong driver and two useless inputs each, on which a test must hold its level."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from forebear_experiments.benchmarks.support.varied import autoregressive, runs, walk

Rng = np.random.Generator
CLUSTER = "cluster"
"""the column that says which rows belong together, where that is declared"""


class LevelTable(NamedTuple):
    """One table: what moves the target, and what does not. Each has a column for each of its inputs."""

    drivers: np.ndarray
    useless: np.ndarray
    y: np.ndarray


class Setting(NamedTuple):
    """A sort of table, of any number of rows."""

    draw: Callable[[Rng, int], LevelTable]
    clusters: int | None = None
    """the rows are of so many clusters, which `discover` is told"""
    share: Callable[[int], float] | None = None
    """of what the driver leaves open, that the first "useless" input explains after all, for so many rows: whether
    the reported limit is above it is what is asked then"""


def _columns(*columns: np.ndarray) -> np.ndarray:
    return np.stack(columns, axis=1)


def _noise_of(x: np.ndarray, rng: Rng) -> np.ndarray:
    """Normal noise whose spread the driver moves too."""
    return np.exp(0.3 * x) * rng.normal(size=len(x))


def _independent(rng: Rng, rows: int) -> LevelTable:
    x = rng.normal(size=rows)
    return LevelTable(_columns(x), rng.normal(size=(rows, 2)), 2 * x + _noise_of(x, rng))


def _proxies(rng: Rng, rows: int) -> LevelTable:
    x = rng.normal(size=rows)
    return LevelTable(_columns(x), x[:, None] + 0.3 * rng.normal(size=(rows, 2)), 2 * x + _noise_of(x, rng))


def _correlated(rng: Rng, rows: int) -> LevelTable:
    x = np.sqrt(0.8) * rng.normal(size=(rows, 1)) + np.sqrt(0.2) * rng.normal(size=(rows, 3))
    return LevelTable(x[:, :1], x[:, 1:], 2 * x[:, 0] + _noise_of(x[:, 0], rng))


def _heavy(rng: Rng, rows: int) -> LevelTable:
    """All inputs have tails without a variance."""
    x = rng.standard_t(1.5, size=rows)
    return LevelTable(_columns(x), rng.standard_t(1.5, size=(rows, 2)), 3 * np.tanh(x) + rng.normal(size=rows))


def _serial(rng: Rng, rows: int, memory: float) -> LevelTable:
    """Slow noise beside useless inputs that are as slow, and a driver that is not."""
    x = rng.normal(size=rows)
    useless = _columns(*(autoregressive(rng, rows, memory) for _ in range(2)))
    return LevelTable(_columns(x), useless, 2 * x + autoregressive(rng, rows, memory))


def _walks(rng: Rng, rows: int) -> LevelTable:
    x = rng.normal(size=rows)
    return LevelTable(_columns(x), _columns(walk(rng, rows), walk(rng, rows)), 2 * x + walk(rng, rows))


def _clusters(rng: Rng, rows: int, number: int) -> LevelTable:
    """A hidden effect of the cluster beside inputs that are the same for all its rows, and useless."""
    cluster, x = runs(rows, number), rng.normal(size=rows)
    y = 2 * x + rng.normal(size=number)[cluster] + rng.normal(size=rows)
    return LevelTable(_columns(x), rng.normal(size=(number, 2))[cluster], y)


def _weak(rng: Rng, rows: int) -> LevelTable:
    """The first useless input moves the mean a little: about every other search finds it."""
    x, w = rng.normal(size=rows), rng.normal(size=(rows, 2))
    return LevelTable(_columns(x), w, 2 * x + _WEAK / np.sqrt(rows) * w[:, 0] + rng.normal(size=rows))


_WEAK = 3.5
# The squared correlation of a normal variable with its rank.
_OF_RANKS = 3 / np.pi


def _weak_share(rows: int) -> float:
    return float(_OF_RANKS * _WEAK**2 / (rows + _WEAK**2))


def _lorenz63(rng: Rng, rows: int) -> LevelTable:
    from forebear.systems import lorenz63

    table = lorenz63(trajectories=2, steps=rows // 2, seed=int(rng.integers(2**31))).table
    return LevelTable(table[["x1", "x2"]].to_numpy(), table[["x3"]].to_numpy(), table["dx1"].to_numpy())


SETTINGS: dict[str, Setting] = {
    "independent": Setting(_independent),
    "proxies": Setting(_proxies),
    "correlated normals": Setting(_correlated),
    "heavy inputs": Setting(_heavy),
    "AR 0.9": Setting(lambda rng, rows: _serial(rng, rows, 0.9)),
    "AR 0.99": Setting(lambda rng, rows: _serial(rng, rows, 0.99)),
    "AR 0.995": Setting(lambda rng, rows: _serial(rng, rows, 0.995)),
    "random walks": Setting(_walks),
    "20 clusters, declared": Setting(lambda rng, rows: _clusters(rng, rows, 20), 20),
    "20 clusters, not declared": Setting(lambda rng, rows: _clusters(rng, rows, 20)),
    "40 clusters, declared": Setting(lambda rng, rows: _clusters(rng, rows, 40), 40),
    "40 clusters, not declared": Setting(lambda rng, rows: _clusters(rng, rows, 40)),
    "a weak input": Setting(_weak, share=_weak_share),
    "Lorenz-63": Setting(_lorenz63),
}
"""name -> what draws the tables"""


class NamedTable(NamedTuple):
    """A table as `discover` takes it, with the target `y`."""

    frame: pd.DataFrame
    drivers: list[str]
    """the inputs that move the target"""
    useless: list[str]
    """those that do not; the first is the one whose p-value counts"""


def named_table(name: str, rows: int, seed: int) -> NamedTable:
    """The table of a seed. Useless inputs come first, so that ties are in their favour, if in anyone's.

    >>> table = named_table("proxies", 50, seed=1_000)
    >>> list(table.frame), table.drivers, table.useless
    (['z0', 'z1', 'x0', 'y'], ['x0'], ['z0', 'z1'])
    """
    setting = SETTINGS[name]
    table = setting.draw(np.random.default_rng([seed, rows, *name.encode()]), rows)
    useless = {f"z{i}": column for i, column in enumerate(table.useless.T)}
    drivers = {f"x{i}": column for i, column in enumerate(table.drivers.T)}
    frame = pd.DataFrame({**useless, **drivers, "y": table.y})
    if setting.clusters is not None:
        frame[CLUSTER] = runs(rows, setting.clusters)
    return NamedTable(frame, list(drivers), list(useless))
