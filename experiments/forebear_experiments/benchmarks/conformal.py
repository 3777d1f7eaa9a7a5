"""Intervals with a guarantee: ours beside conformalised quantile regression (MAPIE), on splits of small real tables.

Both keep the same share of the training rows aside and promise that the 90% interval holds 90% of new rows, over all
rows together. What is counted is how often it does, and how wide it is.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.table import read_columns
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.uci_tables import BESIDE, Split, check_tables, load, splits_of

TABLES = ("yacht", "energy", "concrete", "wine")
LEVEL, ASIDE = 0.9, 0.2
_DATA = "FOREBEAR_UCI"


def run(
    tables: Sequence[str] = TABLES,
    splits: int = 20,
    workers: int = 1,
    out: str | Path | None = None,
    data: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per table and method: coverage over all splits with its standard error, and mean width."""
    folder = Path(data) if data is not None else BESIDE
    check_tables(folder)
    os.environ[_DATA] = str(folder)
    pieces = [
        (name, split, method)
        for split in range(splits)
        for name in tables
        for method in METHODS
        if split < splits_of(folder, name)
    ]
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for (name, _, method), told in resumed(answer_piece, pieces, workers, out):
        for word, own in (told or {}).items():
            found.setdefault((name, word or method), []).append(own)
    return [table_row(name, word, own) for (name, word), own in sorted(found.items(), key=_place)]


def _place(item: tuple[tuple[str, str], Any]) -> tuple[int, str]:
    (name, word), _ = item
    return TABLES.index(name), word


def table_row(name: str, method: str, splits: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Shares over all test rows of all splits; the error is that of the mean over splits."""
    covered = [own["covered"] for own in splits]
    return {
        "what": f"{name}: {method}",
        "splits": len(splits),
        "cover_90": float(np.mean(covered)),
        "cover_error": float(np.std(covered, ddof=1) / np.sqrt(len(covered))) if len(covered) > 1 else None,
        "width": float(np.mean([own["width"] for own in splits])),
    }


def answer_piece(piece: tuple[str, int, str]) -> dict[str, dict[str, float]] | None:
    """Coverage and width of one method on one split; None if its package is not installed."""
    name, split, method = piece
    data = load(Path(os.environ.get(_DATA, str(BESIDE))), name, split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            told = METHODS[method](data, split)
        except ImportError:
            return None
    return {word: judged(low, high, data.y_test) for word, (low, high) in told.items()}


def judged(low: np.ndarray, high: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """How often intervals (rows,) hold observations (rows,), and how wide they are.

    >>> judged(np.array([0.0, 0.0]), np.array([1.0, 2.0]), np.array([0.5, 3.0]))
    {'covered': 0.5, 'width': 1.5}
    """
    return {"covered": float(np.mean((low <= y) & (y <= high))), "width": float(np.mean(high - low))}


Ends = tuple[np.ndarray, np.ndarray]


def ours(split: Split, seed: int) -> dict[str, Ends]:
    """A twin at its defaults with rows set aside: its intervals with a guarantee, and its plain ones."""
    varies = np.ptp(split.x, axis=0) > 0
    names = [f"x{i}" for i in np.flatnonzero(varies)]
    frame = pd.DataFrame(split.x[:, varies], columns=names).assign(y=split.y)
    table = read_columns(frame, "the table", frame.columns)
    settings = TwinSettings.resolve({"test": ASIDE})
    twin = fit_twin(table, {"y": names}, joint=False, settings=settings, seed=seed)
    given = split.x_test[:, varies]
    found = {}
    for word, guarantee in (("forebear, guarantee", True), ("forebear, no guarantee", False)):
        low, high = twin.interval(given, LEVEL, guarantee=guarantee, outside="ignore")[..., 0]
        found[word] = (low, high)
    return found


def mapie(split: Split, seed: int) -> dict[str, Ends]:
    """Conformalised quantile regression on boosted trees, as MAPIE has it."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import train_test_split

    learner = import_module("mapie.regression").ConformalizedQuantileRegressor
    x, aside, y, y_aside = train_test_split(split.x, split.y, test_size=ASIDE, random_state=seed)
    quantiles = HistGradientBoostingRegressor(loss="quantile", quantile=0.5, random_state=seed)
    model = learner(estimator=quantiles, confidence_level=LEVEL).fit(x, y).conformalize(aside, y_aside)
    _, ends = model.predict_interval(split.x_test)
    return {"MAPIE, CQR on boosted trees": (ends[:, 0, 0], ends[:, 1, 0])}


METHODS: Mapping[str, Callable[[Split, int], dict[str, Ends]]] = {"forebear": ours, "mapie": mapie}
