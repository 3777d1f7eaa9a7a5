"""Two halves of a table that share no row: what a pair of runs sees, so that neither knows what the other does."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from forebear.discovery.structure import RowStructure

HALF = 0.5
"""the `subset` with which runs come in pairs"""


def halves(
    rows: int, rng: np.random.Generator, structure: RowStructure
) -> tuple[Int[np.ndarray, " one"], Int[np.ndarray, " other"]]:
    """Numbers of the rows of two halves, drawn at random, each in table order.

    Independent rows are drawn one by one and ordered ones in stretches: as many for each half, so that of an odd
    number one is left out. Groups stay whole: the next one goes to the half that has fewer rows.

    >>> one, other = halves(7, np.random.default_rng(0), RowStructure())
    >>> one.tolist(), other.tolist()
    ([2, 3, 4], [0, 5, 6])
    >>> machines = RowStructure("grouped", groups=np.array([0, 0, 0, 1, 1, 2]))
    >>> [half.tolist() for half in halves(6, np.random.default_rng(0), machines)]
    [[3, 4, 5], [0, 1, 2]]
    """
    if structure.groups is not None and structure.groups.max() > 0:
        first = _groups_of_first(structure.groups, rng)
        return np.flatnonzero(first[structure.groups]), np.flatnonzero(~first[structure.groups])
    order, half = structure.order(rows, rng), rows // 2
    return np.sort(order[:half]), np.sort(order[half : 2 * half])


def _groups_of_first(groups: Int[np.ndarray, " rows"], rng: np.random.Generator) -> np.ndarray:
    """Of each group, whether it goes to the first half."""
    sizes = np.bincount(groups)
    first, filled = np.zeros(len(sizes), bool), [0, 0]
    for number in rng.permutation(len(sizes)):
        first[number] = filled[0] <= filled[1]
        filled[0 if first[number] else 1] += int(sizes[number])
    return first
