"""Columns that carry the same information row by row, found without comparing every pair."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from forebear.data.column import Column

# Correlation this close to one: the kernel and the network see one column.
ALIKE = 1e-12


def find_copies(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Pairs of columns of which one is the other, shifted, rescaled or (a category) relabelled.

    >>> x = np.arange(40.0) ** 2
    >>> find_copies([Column("a", "real", x), Column("b", "real", 3 - 2 * x), Column("c", "real", x**2)])
    [('a', 'b')]

    Gaps do not count: columns are compared where both have values.

    >>> gappy = np.where(x > 1_000, np.nan, x)
    >>> find_copies([Column("a", "real", x), Column("b", "real", gappy)])
    [('a', 'b')]
    """
    # Two labels are a number in disguise: as 0 and 1 they can equal a column of numbers.
    labels = [column for column in columns if len(column.levels) > 2]
    numbers = [column for column in columns if len(column.levels) <= 2]
    pairs = list(dict.fromkeys(_number_copies(numbers) + _gappy_copies(numbers))) + _label_copies(labels)
    place = {column.name: i for i, column in enumerate(columns)}
    ordered = [tuple(sorted(pair, key=place.__getitem__)) for pair in pairs]
    return sorted(((a, b) for a, b in ordered), key=lambda pair: (place[pair[0]], place[pair[1]]))


def _number_copies(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Columns are sorted by one random projection, on which copies coincide; neighbours are verified."""
    if len(columns) < 2:
        return []
    rows = len(columns[0].values)
    direction = np.random.default_rng(0).standard_normal(rows) / np.sqrt(rows)
    marks = np.array([abs(_standard(column.values) @ direction) for column in columns])
    order = np.argsort(marks)
    marks = marks[order]
    # A correlation of 1 - ALIKE moves the projection by about sqrt(2 ALIKE); seven times that is allowed.
    reach = np.searchsorted(marks, marks + 7 * np.sqrt(2 * ALIKE), side="right")
    found = []
    for i, end in enumerate(reach):
        for j in range(i + 1, int(end)):
            first, second = columns[order[i]], columns[order[j]]
            if _affine(first.values, second.values):
                found.append((first.name, second.name))
    return found


# Rows that two columns share, and how many of them are looked at before all are.
_SHARED, _FIRST_LOOK = 30, 300


def _gappy_copies(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Copies whose gaps differ: a column with gaps is held against every other where both have values."""
    gappy = [i for i, column in enumerate(columns) if column.gaps.any()]
    if not gappy:
        return []
    values = np.stack([column.values for column in columns], axis=1)
    found = []
    for i in gappy:
        # Of two that have gaps, the later one is held against the earlier.
        others = np.array([j for j in range(len(columns)) if j != i and not (j > i and columns[j].gaps.any())], int)
        for j in others[_nearly_alike(values, i, others)]:
            both = ~(np.isnan(values[:, i]) | np.isnan(values[:, j]))
            if both.sum() >= _SHARED and _affine(values[both, i], values[both, j]):
                found.append((columns[i].name, columns[int(j)].name))
    return found


def _nearly_alike(values: np.ndarray, i: int, others: np.ndarray) -> np.ndarray:
    """Which other columns have a correlation near one with a column, on the first rows where it has values."""
    rows = np.flatnonzero(~np.isnan(values[:, i]))[:_FIRST_LOOK]
    own, rest = values[rows, i], values[np.ix_(rows, others)]
    there = ~np.isnan(rest)
    count = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, rest, 0.0)
    filled /= np.maximum(np.abs(filled).max(axis=0, initial=0.0), 1e-300)
    own = own / max(float(np.abs(own).max(initial=0.0)), 1e-300)
    apart = (filled - filled.sum(axis=0) / count) * there
    mine = (own[:, None] - (own @ there) / count) * there
    spread = np.sqrt((apart**2).sum(axis=0) * (mine**2).sum(axis=0))
    return np.abs((apart * mine).sum(axis=0)) > 0.999_999 * np.maximum(spread, 1e-300)


def _affine(first: np.ndarray, second: np.ndarray) -> bool:
    if (np.isnan(first) != np.isnan(second)).any():
        return False
    a, b = _standard(first), _standard(second)
    if not (a.any() and b.any()):
        return False  # constant on the few rows looked at
    apart = a - np.sign(a @ b) * b
    if float(np.mean(apart**2)) / 2 > ALIKE:
        return False
    # One outlier that two columns share can alone make the correlation 1, so the bulk must agree as well.
    bulk = float(np.median(np.abs(a - np.median(a))))
    return bulk == 0 or float(np.median(np.abs(apart))) <= 1e-5 * bulk


def _standard(values: np.ndarray) -> np.ndarray:
    centred = values / (np.nanmax(np.abs(values)) or 1.0)
    centred -= np.nanmean(centred)
    centred[np.isnan(centred)] = 0.0
    # A column too close to constant has been refused before; this only keeps the division quiet.
    return centred / (centred.std() or 1.0)


def _label_copies(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Categories with the same partition of the rows have the same codes by order of first appearance."""
    seen: dict[bytes, str] = {}
    found = []
    for column in columns:
        _, first, codes = np.unique(column.values, return_index=True, return_inverse=True)
        ranks = np.argsort(np.argsort(first))
        mark = hashlib.blake2b(ranks[codes].astype(np.int64).tobytes()).digest()
        if mark in seen:
            found.append((seen[mark], column.name))
        seen.setdefault(mark, column.name)
    return found
