"""Tests of independence that users have today, asked about any table: each input given all the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from forebear_experiments.benchmarks.support.pcm import pcm
from forebear_experiments.benchmarks.support.varied import VariedTable

LEVEL = 0.01
"""over all candidates of a target, that is after Bonferroni: the level at which ours is asked"""
_MOST_ROWS_OF_RCIT = 20_000

Test = Callable[..., list[float]]
"""(blocks of columns, one per candidate; target; seed; kept columns) -> p-values"""


def rcit(blocks: Sequence[np.ndarray], y: np.ndarray, seed: int, kept: np.ndarray | None = None) -> list[float]:
    """Random-feature conditional independence (causal-learn) of the target and each block, given all the others."""
    from causallearn.utils.RCIT.RCIT import RCIT, RIT  # pyright: ignore[reportMissingImports]

    rows = np.random.default_rng(seed).permutation(len(y))[:_MOST_ROWS_OF_RCIT]
    np.random.seed(seed)  # the package has no other way to be seeded
    base = [] if kept is None else [kept]
    p_values = []
    for number, block in enumerate(blocks):
        rest = [*base, *(other for place, other in enumerate(blocks) if place != number)]
        others = _varying(np.hstack(rest)[rows]) if rest else np.zeros((len(rows), 0))
        own, aim = _varying(block[rows]), y[rows][:, None]
        p = RCIT().compute_pvalue(own, aim, others)[0] if others.shape[1] else RIT().compute_pvalue(own, aim)[0]
        p_values.append(float(p))
    return p_values


def _varying(x: np.ndarray) -> np.ndarray:
    """Without columns that are constant on these rows, by whose deviation the package would divide."""
    return x[:, x.std(axis=0) > 0]


RIVALS: dict[str, Test] = {"RCIT": rcit, "PCM": pcm}
"""name -> test; one whose package is not installed raises ImportError"""


def chosen_by(test: Test, table: VariedTable, target: str, seed: int) -> frozenset[str]:
    """The candidates of a target that a test rejects, at the level divided by their number."""
    periods = table.options.get("periodic", {})
    candidates = table.candidates(target)
    blocks = [encoded(table.frame, columns, periods) for columns in candidates.values()]
    kept = encoded(table.frame, table.kept(), periods) if table.kept() else None
    p_values = test(blocks, table.frame[target].to_numpy(float), seed, kept)
    return frozenset(
        name for name, p in zip(candidates, p_values, strict=True) if p < LEVEL / len(candidates)
    )  # a p-value that is no number rejects nothing


def encoded(frame: pd.DataFrame, columns: Sequence[str], periods: Mapping[str, float]) -> np.ndarray:
    """Columns as numbers: an angle as cosine and sine, a category as one column per level but the first.

    >>> encoded(pd.DataFrame({"a": ["u", "v", "u"], "b": [0.0, 0.5, 1.0]}), ["a", "b"], {"b": 2.0}).round(6).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, -1.0, 0.0]]
    """
    return np.hstack([_encoded(frame.loc[:, name], periods.get(name)) for name in columns])


def _encoded(cells: pd.Series, period: float | None) -> np.ndarray:
    if period is not None:
        angle = 2 * np.pi * cells.to_numpy(float) / period
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
        return cells.to_numpy(float)[:, None]
    return pd.get_dummies(cells, drop_first=True).to_numpy(float)
