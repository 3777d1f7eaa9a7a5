"""Targets that are mostly one value, as claims, sales or rain are mostly zero: what moves them where they are not?

The rows outside such an atom are so small a part of the law that a test on all rows hardly sees what moves them. So
they are tested apart, too: their latents are those of the law given that no atom comes. The level is shared.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from forebear.data.column import Column
from forebear.data.dequantise import find_atoms
from forebear.discovery.dependence import TestResult

# The share of the level of a candidate that is for the rows outside the atoms.
_SHARE = 0.3


def atoms_of(column: Column, spread: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "atoms 2"] | None:
    """Where the atoms of a target lie on its standardised continuous scale; None where it has none. `spread` is the
    continuous version of its values. Of counts, grades and labels the one that most rows have is an atom, if the
    others are not all the same: of two values nothing is left to be told apart.

    >>> rain = np.maximum(np.random.default_rng(0).normal(size=500), 0.0)
    >>> bool((np.diff(atoms_of(Column("rain", "real", rain), rain), axis=1) > 0).all())
    True
    >>> atoms_of(Column("y", "real", np.arange(500.0) ** 1.5), rain) is None
    True
    """
    found = find_atoms(column.values, "lattice" if column.levels else "auto")
    low, high = found.low, found.high
    if found.kind == "lattice":
        values, counts = np.unique(column.values, return_counts=True)
        low, high = found.cells(values[(counts > counts.sum() / 2) & (len(values) > 2)])
    edges = np.stack([low, high], axis=1)
    return (edges - spread.mean()) / spread.std() if len(edges) else None


def inside(y: Float[np.ndarray, " rows"], atoms: Float[np.ndarray, "atoms 2"]) -> Bool[np.ndarray, " rows"]:
    """Which rows are in an atom.

    >>> inside(np.array([0.0, 1.5, 3.0]), np.array([[1.0, 2.0]])).tolist()
    [False, True, False]
    """
    return np.any((y[:, None] >= atoms[:, 0]) & (y[:, None] < atoms[:, 1]), axis=1)


def given_no_atom(
    z: Float[np.ndarray, " rows"],
    y: Float[np.ndarray, " rows"],
    atoms: Float[np.ndarray, "atoms 2"],
    edges: Float[np.ndarray, "atoms 2 rows"],
) -> Float[np.ndarray, " rows"]:
    """Latents of rows outside the atoms, by the law given that no atom comes.

    `z` are their latents by the whole law, and `edges` those of the ends of each atom. What the law leaves below an
    atom that no row lies below is part of it, and likewise above.

    >>> at_zero = np.array([[-1.0, 0.0]])  # half of the law
    >>> ends = np.array([[[-9.0, -9.0], [0.0, 0.0]]])
    >>> given_no_atom(np.array([0.674, 1.15]), np.array([0.5, 1.0]), at_zero, ends).round(1)
    array([-0. ,  0.7])
    """
    low, high = ndtr(edges[:, 0]), ndtr(edges[:, 1])
    low[[not (y < atom[0]).any() for atom in atoms]] = 0.0
    high[[not (y >= atom[1]).any() for atom in atoms]] = 1.0
    mass = np.maximum(high - low, 0.0)
    below = (mass * (y >= atoms[:, 1:])).sum(axis=0)
    left = np.maximum(1.0 - mass.sum(axis=0), _SMALL)
    return ndtri(np.clip((ndtr(z) - below) / left, _SMALL, 1 - _SMALL))


_SMALL = 1e-6


def of_part(result: TestResult, share: float) -> TestResult:
    """What was found on this share of the rows, as a share of the whole law."""
    return result._replace(effect=share * result.effect, limit=share * result.limit)


def beside(result: TestResult, outside: TestResult | None) -> TestResult:
    """The test on all rows and that on the rows outside the atoms as one; the level is shared.

    >>> weak, strong = (TestResult(t, p, 0.1, 1, ("x",)) for t, p in ((1.0, 0.3), (5.0, 1e-6)))
    >>> beside(weak, None) == weak, beside(weak, strong).statistic, round(beside(weak, strong).p_value, 7)
    (True, 5.0, 3.3e-06)
    """
    if outside is None:
        return result
    limit = max(result.limit, outside.limit)
    on_all, apart = result.p_value / (1 - _SHARE), outside.p_value / _SHARE
    if apart < on_all:
        return outside._replace(p_value=min(1.0, apart), limit=limit, rows=result.rows)
    return result._replace(p_value=min(1.0, on_all), limit=limit)
