"""Which rows a twin does not learn from: those that it is judged on, and those that are watched while it trains.

Rows that hang together stay together: whole groups, or whole stretches of neighbouring rows. Otherwise a twin would
be judged on rows that share something hidden with those it has learned from, and would look better than it is.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from forebear.data.table import Table
from forebear.discovery.structure import ORDERED, RowStructure

_MOST_HELD_OUT, _MOST_TESTED = 4_096, 2_000
# Stretches that a table in order is cut into at least, and how many are to be drawn: few long ones would show a small
# part of the record, many short ones would have neighbours on the other side.
_STRETCHES, _DRAWN = 40, 8


def set_aside(
    table: Table, share: float, seed: int, structure: RowStructure | None = None
) -> Int[np.ndarray, " aside"]:
    """Numbers of the rows that a twin is judged on, by the seed alone: twins of one table have them in common.

    >>> import pandas as pd
    >>> from forebear.data.table import read_columns
    >>> table = read_columns(pd.DataFrame({"x": np.arange(10.0)}), "the table", ["x"])
    >>> by_pairs = RowStructure("grouped", groups=np.arange(10) // 2)
    >>> set_aside(table, 0.2, 0, by_pairs).tolist()
    [4, 5]
    """
    structure = structure or RowStructure()
    count = max(1, min(_MOST_TESTED, round(share * table.rows))) if share else 0
    aside, rest = divided(table.rows, count, np.random.default_rng(seed), structure)
    lump = lumps(table.rows, count, structure)
    for column in table.columns.values() if count else ():
        seen = column.values[rest]
        if len(seen) and (seen == seen[0]).all():
            # All that varies of a column lies in the rows set aside: one of them has to be trained on.
            aside, rest = _given_back(aside, rest, column.values[aside] != seen[0], lump)
        gaps = column.gaps
        if gaps[aside].any() and not gaps[rest].any():
            # A twin can answer for gaps that it has seen one of.
            aside, rest = _given_back(aside, rest, gaps[aside], lump)
    if count and not len(aside) and not _alone(structure):
        # No lump can be spared: better judged on rows that hang together with others than on none.
        return set_aside(table, share, seed)
    return np.sort(aside)


def watched(
    rows: int, share: float, rng: np.random.Generator, structure: RowStructure | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows to train on, and rows that tell when to stop; None where the share is too small for any."""
    count = min(_MOST_HELD_OUT, round(share * rows))
    some, rest = divided(rows, count, rng, structure or RowStructure())
    return np.sort(rest), np.sort(some) if count else None


def divided(
    rows: int, count: int, rng: np.random.Generator, structure: RowStructure
) -> tuple[Int[np.ndarray, " some"], Int[np.ndarray, " rest"]]:
    """About `count` rows, drawn at random in whole lumps, and the others.

    Lumps are drawn until another would lead further away from the count; one that is too large is passed over. Where
    all are, it is the smallest. A table of one lump is divided row by row.

    >>> machines = RowStructure("grouped", groups=np.repeat([0, 1, 2], [5, 2, 3]))
    >>> some, rest = divided(10, 2, np.random.default_rng(0), machines)
    >>> some.tolist(), rest.tolist()
    ([7, 8, 9], [0, 1, 2, 3, 4, 5, 6])
    """
    lump = lumps(rows, count, structure)
    if not count or _alone(structure) or lump.max() == 0:
        order = rng.permutation(rows)
        return order[:count], order[count:]
    sizes = np.bincount(lump)
    drawn: list[int] = []
    for number in rng.permutation(len(sizes)):
        if sizes[drawn].sum() + sizes[number] / 2 <= count:
            drawn.append(int(number))
    some = np.isin(lump, drawn or [int(np.argmin(sizes))])
    return np.flatnonzero(some), np.flatnonzero(~some)


def lumps(rows: int, count: int, structure: RowStructure) -> Int[np.ndarray, " rows"]:
    """The number of the lump of each row; stretches are short enough for `count` rows to be spread over a few."""
    if structure.kind == ORDERED:
        stretches = min(rows, max(_STRETCHES, _DRAWN * rows // max(1, count)))
        return np.arange(rows) * stretches // rows
    return np.arange(rows) if structure.groups is None else structure.groups


def _alone(structure: RowStructure) -> bool:
    """Whether every row is a lump of its own."""
    return structure.kind != ORDERED and structure.groups is None


def _given_back(
    aside: np.ndarray, rest: np.ndarray, wanted: np.ndarray, lump: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both parts after the lump of the first wanted row has gone over to the rest."""
    other = aside[np.isin(lump[aside], lump[aside[wanted][:1]])]
    return np.setdiff1d(aside, other), np.append(rest, other)
