"""Laws of tables that no recipe was chosen by: the learners of `uci` again, on other data.

Diabetes comes with scikit-learn; the others are looked for beside the checkout (protein signalling in single cells;
electricity and climate of a house). Splits are drawn at random, one in ten rows to judge by.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear_experiments.benchmarks.support.laws import METHODS as LEARNERS
from forebear_experiments.benchmarks.support.laws import boosted_quantiles
from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.uci_tables import BESIDE, Split
from forebear_experiments.benchmarks.uci import scored_on, table_row

_PEERS = ("forebear", "ngboost", "quantile forest")
METHODS = {**{name: LEARNERS[name] for name in _PEERS}, "boosted quantiles": boosted_quantiles}
_DATA = "FOREBEAR_TABLES"


def _diabetes(folder: Path) -> pd.DataFrame:
    from sklearn.datasets import load_diabetes

    told: Any = load_diabetes(as_frame=True)
    return told.frame


def _cells(folder: Path) -> pd.DataFrame:
    """The protein erk from ten others, all conditions together."""
    frame = _read(folder / "sachs" / "sachs_7466x11.csv").drop(columns="condition")
    return _last(frame, "erk")


def _humidity(folder: Path) -> pd.DataFrame:
    """The humidity of the kitchen from the weather outside and the other rooms."""
    frame = _read(folder / "appliances" / "energydata.csv").drop(columns=["rv1", "rv2", "Appliances", "lights"])
    return _last(frame, "RH_1")


def _appliances(folder: Path) -> pd.DataFrame:
    """Electricity used within ten minutes."""
    return _read(folder / "appliances" / "energydata.csv").drop(columns=["rv1", "rv2"])


TABLES: Mapping[str, Callable[[Path], pd.DataFrame]] = {
    "diabetes": _diabetes,
    "cells": _cells,
    "humidity": _humidity,
    "appliances": _appliances,
}
"""name -> a frame of numbers, the target last"""


def _last(frame: pd.DataFrame, target: str) -> pd.DataFrame:
    """The frame with its target as the last column."""
    return frame.loc[:, [*(str(name) for name in frame.columns if name != target), target]]


def _read(file: Path) -> pd.DataFrame:
    if not file.is_file():
        raise InputError(f"{file}: not there: name the folder that holds {file.parent.name}/ with --data")
    return pd.read_csv(file)


def run(
    tables: Sequence[str] | None = None,
    splits: int = 1,
    methods: Sequence[str] | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    data: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per table and method."""
    os.environ[_DATA] = str(data if data is not None else BESIDE.parent)
    names, chosen = list(tables or TABLES), list(methods or METHODS)
    for asked, known, what in ((names, TABLES, "table"), (chosen, METHODS, "method")):
        for word in asked:
            if word not in known:
                raise InputError(f"there is no {what} '{word}' in this benchmark: {', '.join(known)}")
    pieces = [(name, split, method) for name in names for method in chosen for split in range(splits)]
    found: dict[tuple[str, str], list[Any]] = {}
    for (name, _, method), told in resumed(answer_piece, pieces, workers, out):
        for word, own in (told or {}).items():
            if word in ("", method):
                found.setdefault((name, method), []).append(own)
    return [table_row(name, method, own) for (name, method), own in found.items()]


def answer_piece(piece: tuple[str, int, str]) -> dict[str, Any] | None:
    """The scores of one method on one split; None if its package is not installed."""
    name, number, method = piece
    split = drawn(TABLES[name](Path(os.environ[_DATA])), number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return scored_on(split, METHODS[method](split, number))
        except ImportError:
            return None


def drawn(frame: pd.DataFrame, number: int) -> Split:
    """One row in ten to judge by, the others to learn from.

    >>> split = drawn(pd.DataFrame({"x": range(100), "y": range(100)}), 0)
    >>> split.x.shape, split.y_test.shape
    ((90, 1), (10,))
    """
    cells = frame.to_numpy(float)
    test = np.zeros(len(cells), bool)
    test[np.random.default_rng(number).permutation(len(cells))[: len(cells) // 10]] = True
    return Split(cells[~test, :-1], cells[~test, -1], cells[test, :-1], cells[test, -1])
