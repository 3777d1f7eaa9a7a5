"""Planted laws on real inputs: columns that somebody measured, and a target that is drawn given a few of them.

What inputs are like, how they hang together and how they were rounded is then real, and the truth is known. Which
inputs act is drawn with the seed. They act through normal scores of their ranks, so that a law is about as strong on
one table as on another; how much the other columns know of an input is what its table makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear_experiments.benchmarks.support.uci_tables import BESIDE as UCI
from forebear_experiments.benchmarks.support.varied import Kind, VariedTable, autoregressive

Rng = np.random.Generator
BESIDE = UCI.parent


class Source(NamedTuple):
    """A real table: its file, the column that was its target, and the rows used: all, neighbours, or any."""

    file: str
    target: str
    rows: int | None = None
    neighbours: bool = False


SOURCES = {
    "house": Source("appliances/energydata.csv", "Appliances", 6_000, neighbours=True),
    "cells": Source("sachs/sachs_obs_853x11.csv", ""),
    "concrete": Source("uci/concrete.csv", "strength"),
    "wine": Source("uci/wine.csv", "quality"),
    "arm": Source("uci/kin8nm.csv", "distance", 4_000),
    "plant": Source("uci/power.csv", "output", 3_000),
    "protein": Source("uci/protein.csv", "rmsd", 12_000),
}


def _moves(a: np.ndarray, b: np.ndarray, rng: Rng) -> np.ndarray:
    return 0.7 * a + 0.5 * a * b + rng.normal(size=len(a))


def _widens(a: np.ndarray, b: np.ndarray, rng: Rng) -> np.ndarray:
    return 0.6 * a + np.exp(0.5 * b) * rng.normal(size=len(a))


def _splits(a: np.ndarray, b: np.ndarray, rng: Rng) -> np.ndarray:
    side = np.where(rng.uniform(size=len(a)) < 1 / (1 + np.exp(-1.2 * a)), 1.0, -1.0)
    return side * (1 + 0.5 * np.tanh(b)) + 0.4 * rng.normal(size=len(a))


def _skews(a: np.ndarray, b: np.ndarray, rng: Rng) -> np.ndarray:
    shape = np.exp(0.5 + 0.7 * a)
    return 0.5 * b + rng.gamma(shape) / shape


def _counts(a: np.ndarray, b: np.ndarray, rng: Rng) -> np.ndarray:
    return rng.poisson(np.exp(0.8 + 0.5 * a - 0.4 * b)).astype(float)


def _slow(a: np.ndarray, b: np.ndarray, rng: Rng) -> np.ndarray:
    return 0.7 * a + 0.5 * a * b + autoregressive(rng, len(a), 0.9)


LAWS: dict[str, Callable[[np.ndarray, np.ndarray, Rng], np.ndarray]] = {
    "moves": _moves,
    "widens": _widens,
    "splits": _splits,
    "skews": _skews,
    "counts": _counts,
}
SLOW = "moves, slow noise"
"""a law whose noise remembers: for the table whose rows follow one another"""


def check_sources(data: Path) -> None:
    """Refuse a folder that lacks one of the tables."""
    for source in SOURCES.values():
        if not (data / source.file).is_file():
            raise InputError(
                f"{data / source.file}: no such file: planted laws need real inputs, the tables of the UCI Machine "
                "Learning Repository (https://archive.ics.uci.edu) and of Sachs and others (Science 308, 2005)"
            )


@cache
def real_inputs(name: str, data: Path = BESIDE) -> pd.DataFrame:
    """The inputs of a table, without constants, text and copies."""
    source = SOURCES[name]
    frame = pd.read_csv(data / source.file).drop(columns=[source.target] if source.target else [])
    frame = frame.select_dtypes("number").loc[:, lambda own: own.nunique() > 1]
    return frame.loc[:, ~frame.T.duplicated().to_numpy()]


def _draw(name: str, law: str, rng: Rng) -> VariedTable:
    source, whole = SOURCES[name], real_inputs(name)
    if source.rows is None:
        frame = whole
    elif source.neighbours:
        first = int(rng.integers(len(whole) - source.rows))
        frame = whole.iloc[first : first + source.rows]
    else:
        frame = whole.iloc[rng.choice(len(whole), source.rows, replace=False)]
    frame = frame.reset_index(drop=True)
    return plant(frame.loc[:, frame.nunique() > 1], law, rng)


def plant(inputs: pd.DataFrame, law: str, rng: Rng) -> VariedTable:
    """A target beside some inputs, two of which act."""
    acting = [str(column) for column in rng.choice(list(inputs), 2, replace=False)]
    a, b = (normal_scores(inputs[column].to_numpy(float)) for column in acting)
    return VariedTable(inputs.assign(y=_LAWS[law](a, b, rng)), ("y",), {"y": frozenset(acting)})


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Ranks as quantiles of a normal law, with deviation one; ties share their middle.

    >>> normal_scores(np.array([3.0, 1.0, 1.0])).round(2).tolist()
    [1.41, -0.71, -0.71]
    """
    from scipy.stats import norm, rankdata

    scores = norm.ppf((rankdata(values) - 0.5) / len(values))
    return (scores - scores.mean()) / scores.std()


_LAWS = {**LAWS, SLOW: _slow}
_PAIRS = [*((name, law) for name in SOURCES for law in LAWS), ("house", SLOW)]
PLANTED: dict[str, Kind] = {
    f"{name}, {law}": Kind(f"{name}, {law}", partial(_draw, name, law)) for name, law in _PAIRS
}
"""name -> the kind, which gives the table of a seed"""
