"""Outside the data: twins of real tables that have not seen an end of an input, or a corner of two, asked there.

What is left out is an end (the upper 15% of one input) or a corner (both of two inputs in their upper 35%); the
inputs are those that order the target best, turned so that it rises with them. Inside, a tenth of the other rows is
kept out as well. A law that knows its limits warns outside, is wider there than inside, and covers what it says, or
more.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.twin.fit import fit_twin
from forebear.twin.scores import coverage, crps, pit
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin
from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.uci_tables import BESIDE, check_tables, load_whole

TABLES = ("yacht", "concrete", "wine", "power")
KINDS = ("end", "corner")
_END, _CORNER, _KEPT_OUT = 0.85, 0.65, 0.1
_DATA = "FOREBEAR_UCI"


class Cut(NamedTuple):
    """Numbers of the rows: to learn from, kept out among them, and outside."""

    learn: np.ndarray
    inside: np.ndarray
    outside: np.ndarray


def run(
    tables: Sequence[str] = TABLES, workers: int = 1, out: str | Path | None = None, data: str | Path | None = None
) -> list[dict[str, Any]]:
    """One row per table and kind of corner."""
    folder = Path(data) if data is not None else BESIDE
    check_tables(folder)
    os.environ[_DATA] = str(folder)
    pieces = [(name, kind) for name in tables for kind in KINDS]
    told = dict(resumed(answer_piece, pieces, workers, out))
    return [{"what": f"{name}: {kind}", **told[name, kind]} for name, kind in pieces if (name, kind) in told]


def answer_piece(piece: tuple[str, str]) -> dict[str, Any]:
    """What a twin without one corner of a table says there, and elsewhere."""
    name, kind = piece
    x, y = load_whole(Path(os.environ.get(_DATA, str(BESIDE))), name)
    names = [f"x{i}" for i in range(x.shape[1])]
    frame = pd.DataFrame(x, columns=names).assign(y=y)
    own = cut(x, y, kind, np.random.default_rng(0))
    table = read_columns(frame.iloc[own.learn], "the table", [*names, "y"])
    twin = fit_twin(table, {"y": names}, joint=False, settings=TwinSettings.resolve({}), seed=0)
    return {
        "outside_rows": len(own.outside),
        **{f"inside_{key}": value for key, value in judged(twin, frame.iloc[own.inside]).items()},
        **{f"outside_{key}": value for key, value in judged(twin, frame.iloc[own.outside]).items()},
    }


def cut(x: np.ndarray, y: np.ndarray, kind: str, rng: np.random.Generator) -> Cut:
    """The rows of a table without an end of its best input, or without a corner of its best two.

    >>> x = np.random.default_rng(0).normal(size=(1_000, 3))
    >>> own = cut(x, x[:, 1], "end", np.random.default_rng(0))
    >>> len(own.outside), bool(x[own.learn, 1].max() < x[own.outside, 1].min())
    (150, True)
    """
    varied = np.flatnonzero(np.ptp(x, axis=0) > 0)
    ranks = np.corrcoef(rankdata(np.column_stack([x[:, varied], y]), axis=0), rowvar=False)[-1, :-1]
    best = np.argsort(np.abs(ranks))[::-1][: 1 if kind == "end" else 2]
    upwards = x[:, varied[best]] * np.sign(ranks[best])
    beyond = (upwards > np.quantile(upwards, _END if kind == "end" else _CORNER, axis=0)).all(axis=1)
    if not beyond.any():
        raise InputError("no row lies in this corner")
    rest = rng.permutation(np.flatnonzero(~beyond))
    kept = int(_KEPT_OUT * len(rest))
    return Cut(np.sort(rest[kept:]), np.sort(rest[:kept]), np.flatnonzero(beyond))


def judged(twin: Twin, rows: pd.DataFrame) -> dict[str, float]:
    """How often a twin warns of rows, how wide its 90% interval is, how often it holds them, and their CRPS."""
    y = rows["y"].to_numpy(float)
    draws = twin.sample(rows, n=500, seed=1, outside="ignore")[..., 0]
    low, high = twin.interval(rows, 0.9, outside="ignore")[..., 0]
    known = twin.outputs[0].dequantiser
    step = known.step if known.kind == "continuous" else 0.0
    return {
        "warned": float(np.mean([_warned(twin, rows.iloc[[i]]) for i in range(min(len(rows), 300))])),
        "width": float(np.mean(high - low)),
        "cover_90": coverage(pit(draws, y, np.random.default_rng(0), step))[0.9],
        "crps": float(crps(draws, y).mean()),
    }


def _warned(twin: Twin, row: pd.DataFrame) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        twin.quantile(row, 0.5)
    return bool(caught)
