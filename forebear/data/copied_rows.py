"""Rows that are copies of other rows: one observation, however often it stands in the table.

A table that was joined twice, or whose rare rows were repeated to balance it, has rows that agree in every column.
Taken as independent they make everything look certain, and a law is judged on rows that it has learned from. In a
table of few whole numbers rows agree by chance, and are no copies: there, rows with the same inputs differ in the
target.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int, UInt64

from forebear.data.column import Column

# Rows that repeat others, as a share of all, from which they matter.
_MATTERS = 0.01
# Rows are copies if, of the pairs with the same inputs, fewer than this share of what chance would have differ in the
# target.
_DIFFER = 0.1


def copied_rows(columns: Sequence[Column], targets: Collection[str]) -> Int[np.ndarray, " rows"] | None:
    """The number of the observation of each row, where rows were copied; None where they were not.

    >>> x = np.random.default_rng(0).normal(size=4)[[0, 1, 2, 1, 3, 0]]
    >>> copied_rows([Column("x", "real", x), Column("y", "real", x**2)], ["y"]).tolist()
    [0, 1, 2, 1, 3, 0]
    >>> rain = Column("rain", "real", np.array([0.0, 1.0, 0.0, 0.0]))
    >>> copied_rows([rain, Column("y", "real", np.array([0.0, 1.0, 0.0, 2.0]))], ["y"]) is None
    True
    """
    factors = np.random.default_rng(0).integers(2**63, size=len(columns), dtype=np.uint64) * 2 + 1
    marks = {column.name: _numbered(column) * factor for column, factor in zip(columns, factors, strict=True)}
    # Sums of large odd multiples differ where any column does, and a column can be taken out of them again.
    whole = np.stack(list(marks.values())).sum(axis=0)
    observation = pd.factorize(whole)[0]
    counts = np.bincount(observation)
    if len(whole) - len(counts) < _MATTERS * len(whole):
        return None
    once = np.unique(observation, return_index=True)[1]
    agree = _pairs(counts)
    for target in targets:
        same_inputs = _pairs(_counts(whole - marks[target]))
        by_chance = float(np.square(_counts(marks[target][once]) / len(once)).sum())
        if same_inputs - agree > _DIFFER * (1 - by_chance) * same_inputs:
            return None
    return observation


def _numbered(column: Column) -> UInt64[np.ndarray, " rows"]:
    """The number of each distinct value; a gap is a value."""
    return pd.factorize(np.asarray(column.values, float), use_na_sentinel=False)[0].astype(np.uint64)


def _counts(values: UInt64[np.ndarray, " rows"]) -> Int[np.ndarray, " distinct"]:
    return np.unique(values, return_counts=True)[1]


def _pairs(counts: Int[np.ndarray, " groups"]) -> float:
    """Pairs of rows within groups of so many."""
    return float((counts * (counts - 1.0)).sum() / 2)
