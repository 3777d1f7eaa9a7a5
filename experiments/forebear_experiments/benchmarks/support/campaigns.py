"""Tables of several regimes whose laws are known: which are the same in all of them, and which change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import forebear as fb

INPUTS = ("u", "v", "w")
REGIME = "campaign"
_LABELS = ("spring", "summer", "autumn")


class Made(NamedTuple):
    """A table, and what is true of it."""

    data: Any
    """a frame, or what `forebear.lagged` made"""
    changes: Mapping[str, bool]
    """target -> whether its law changes with the regime"""
    only: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    """target -> inputs that matter in some regimes only, and in which"""


def _inputs(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    regimes = np.repeat(_LABELS, -(-rows // len(_LABELS)))[:rows]
    return pd.DataFrame(rng.normal(size=(rows, 3)), columns=list(INPUTS)).assign(**{REGIME: regimes})


def _in(table: pd.DataFrame, label: str = "autumn") -> np.ndarray:
    return (table[REGIME] == label).to_numpy()


def _law(table: pd.DataFrame, noise: np.ndarray) -> Any:
    return np.sin(table["u"]) + 0.5 * table["v"] + 0.5 * noise


def _other_mix(rows: int, rng: np.random.Generator) -> Made:
    """Inputs lie elsewhere, and hang together otherwise, in each regime; no law changes."""
    table = _inputs(rows, rng)
    summer, autumn = _in(table, "summer"), _in(table)
    table["u"] += 0.8 * summer
    table.loc[autumn, "v"] = 0.7 * table["v"][autumn] + 0.7 * table["u"][autumn]
    return Made(table.assign(y=_law(table, rng.normal(size=rows))), {"y": False})


def _interventions(rows: int, rng: np.random.Generator) -> Made:
    """v follows u, until summer sets it at random over a wide range, and autumn holds u; the law of y stays."""
    table = _inputs(rows, rng)
    summer, autumn = _in(table, "summer"), _in(table)
    table["v"] = np.where(summer, rng.uniform(-2, 2, rows), 0.8 * table["u"] + 0.6 * table["v"])
    table.loc[autumn, "u"] = 0.2 * rng.normal(size=autumn.sum())
    return Made(table.assign(y=_law(table, rng.normal(size=rows))), {"y": False})


def _of_an_effect(rows: int, rng: np.random.Generator) -> Made:
    """u is an effect of y, until autumn sets it: the law of y given u does change."""
    table = _inputs(rows, rng)
    y = table["v"] + 0.7 * rng.normal(size=rows)
    table["u"] = np.where(_in(table), 1.5 * table["u"], y + 0.7 * table["u"])
    return Made(table.assign(y=y), {"y": True})


def _mean(rows: int, rng: np.random.Generator) -> Made:
    """The mean moves by 0.6 deviations of the noise in autumn."""
    table = _inputs(rows, rng)
    return Made(table.assign(y=_law(table, rng.normal(size=rows) + 0.6 * _in(table))), {"y": True})


def _spread(rows: int, rng: np.random.Generator) -> Made:
    """The noise is 1.6 times as wide in autumn."""
    table = _inputs(rows, rng)
    return Made(table.assign(y=_law(table, rng.normal(size=rows) * np.where(_in(table), 1.6, 1.0))), {"y": True})


def _tail(rows: int, rng: np.random.Generator) -> Made:
    """In autumn the noise has Student's law with two and a half degrees of freedom, its middle half as before."""
    table = _inputs(rows, rng)
    heavy = rng.standard_t(2.5, rows) * 0.6745 / 0.7812
    return Made(table.assign(y=_law(table, np.where(_in(table), heavy, rng.normal(size=rows)))), {"y": True})


def _one_regime(rows: int, rng: np.random.Generator) -> Made:
    """w acts in autumn alone."""
    table = _inputs(rows, rng)
    y = table["u"] + 1.2 * _in(table) * table["w"] + 0.5 * rng.normal(size=rows)
    return Made(table.assign(y=y), {"y": True}, {"y": {"w": ("autumn",)}})


def _one_regime_spread(rows: int, rng: np.random.Generator) -> Made:
    """w moves the spread, in autumn alone."""
    table = _inputs(rows, rng)
    y = table["u"] + 0.5 * np.exp(0.8 * _in(table) * table["w"]) * rng.normal(size=rows)
    return Made(table.assign(y=y), {"y": True}, {"y": {"w": ("autumn",)}})


def _record(rows: int, rng: np.random.Generator, change: float) -> Made:
    """A state that decays and is driven, in three campaigns one after the other."""
    table: Any = _inputs(rows, rng)[["u", REGIME]]
    gain = 0.3 + change * _in(table)
    x, noise = np.zeros(rows), 0.2 * rng.normal(size=rows)
    for row in range(rows - 1):
        x[row + 1] = 0.8 * x[row] + gain[row] * table["u"][row] + noise[row]
    made = fb.lagged(table.assign(x=x), state="x", action="u", lags=2, regime=REGIME)
    return Made(made, {"d_x": change != 0})


def _many(rows: int, rng: np.random.Generator) -> Made:
    """Ten targets, of which the first two change."""
    table = _inputs(rows, rng)
    drawn = {}
    for number in range(10):
        noise = rng.normal(size=rows) + (0.8 * _in(table) if number < 2 else 0.0)
        drawn[f"y{number}"] = _law(table, noise)
    return Made(table.assign(**drawn), {name: name in ("y0", "y1") for name in drawn})


def _small(rows: int, rng: np.random.Generator, change: float) -> Made:
    """Forty rows of each regime."""
    del rows
    table = _inputs(120, rng)
    return Made(table.assign(y=_law(table, rng.normal(size=120) + change * _in(table))), {"y": change != 0})


TABLES: Mapping[str, Callable[[int, np.random.Generator], Made]] = {
    "other mix of inputs": _other_mix,
    "inputs are set": _interventions,
    "a record, the same": lambda rows, rng: _record(rows, rng, 0.0),
    "small regimes, the same": lambda rows, rng: _small(rows, rng, 0.0),
    "ten targets, two change": _many,
    "an effect is set": _of_an_effect,
    "the mean": _mean,
    "the spread": _spread,
    "the tails": _tail,
    "an input of one regime": _one_regime,
    "its spread, in one regime": _one_regime_spread,
    "a record, another gain": lambda rows, rng: _record(rows, rng, 0.3),
    "small regimes, the mean": lambda rows, rng: _small(rows, rng, 1.5),
}
"""by what happens; the names of those in which a law changes say which part of it does"""


def tied(rows: int, rng: np.random.Generator, set_rows: int) -> pd.DataFrame:
    """Two readings of one thing, of which y follows the first; in the last `set_rows` both are set, each alone.

    A third of the rows that are merely seen would do to learn the law, but not to tell which of the two it needs.
    """
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["u", "v", "w"])
    seen = np.arange(rows) < rows - set_rows
    table["v"] = np.where(seen, table["u"] + 0.1 * table["v"], table["v"])
    table["y"] = np.sin(table["u"]) + 0.7 * rng.normal(size=rows)
    return table.assign(**{REGIME: np.where(seen, "seen", "set")})
