"""The law of one target in a blend: most are learned as one; those that are no plain numbers are not.

Of two values, and of labels, the law is how likely each is. Where most rows have one value below all others, how
often another comes and what it is then are learned apart: rows with a claim, with rain or with a sale are too few to
shape a law that learns from all rows at once, which forgets what moves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from forebear.data.dequantise import Dequantiser
from forebear.discovery.structure import RowStructure
from forebear.twin.atom import Atom
from forebear.twin.blend import Blend
from forebear.twin.blend_fit import fit_blend
from forebear.twin.blend_nets import Lesson
from forebear.twin.blend_votes import fit_votes
from forebear.twin.votes import Cells

# The share of the rows that have the value, and how many must have another, for these to learn a law of their own.
_MOST, _FEWEST = 0.5, 100


def mostly_at(dequantiser: Dequantiser, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "2"] | None:
    """From where to where the value is spread that most rows of a target have, if no other lies below it; `y` are the
    values spread out.

    >>> from forebear.data.dequantise import find_atoms
    >>> rng = np.random.default_rng(0)
    >>> claims = np.where(rng.uniform(size=2_000) < 0.1, rng.gamma(2.0, size=2_000), 0.0)
    >>> found = find_atoms(claims)
    >>> ends = mostly_at(found, found.spread(claims, rng))
    >>> bool(ends[0] < ends[1] <= claims[claims > 0].min()), mostly_at(found, claims + 1_000.0)
    (True, None)
    """
    if dequantiser.kind != "atoms" or len(dequantiser.values) != 1:
        return None
    ends = np.array([dequantiser.low[0], dequantiser.high[0]])
    other = (y < ends[0]) | (y >= ends[1])
    if (y < ends[0]).any() or other.mean() > _MOST or other.sum() < _FEWEST:
        return None
    return ends


def cells_of(dequantiser: Dequantiser, labels: bool) -> Float[np.ndarray, " edges"] | None:
    """The edges of the cells of a target of labels, or of two values; None for any other.

    >>> from forebear.data.dequantise import find_atoms
    >>> cells_of(find_atoms(np.array([0.0, 1.0] * 20)), labels=False).tolist()
    [-0.5, 0.5, 1.5]
    >>> cells_of(find_atoms(np.arange(40.0)), labels=False) is None
    True
    """
    if dequantiser.kind != "lattice" or not (labels or len(dequantiser.values) == 2):
        return None
    return np.append(dequantiser.low, dequantiser.high[-1])


def fit_target(
    lesson: Lesson,
    ends: Float[np.ndarray, "2"] | None = None,
    edges: Float[np.ndarray, " edges"] | None = None,
    *,
    seed: int,
    structure: RowStructure | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> Blend:
    """The blend of a target. `ends` are where the value lies that most rows have, in units of the lesson: the blend
    is then that of the other rows, and has the chance that one of them comes. `edges` are those of the cells of two
    values, or of labels: the blend is then how likely each is."""
    if edges is not None:
        codes = np.searchsorted(edges[1:-1], lesson.y, side="right")
        votes = fit_votes(lesson, codes, len(edges) - 1, seed, structure or RowStructure())
        tick(1.0)
        features = lesson.features.shape[1]
        straight, nowhere = np.array([[0.0, 1.0], [0.0, 1.0]]), np.zeros((3, features))
        cells = Cells(votes, np.asarray(edges, float))
        return Blend((), (), None, None, np.empty(0), np.empty(0), straight, nowhere, cells=cells)
    if ends is None:
        return fit_blend(lesson, seed=seed, structure=structure, tick=tick)
    low, high = map(float, ends)
    structure = structure or RowStructure()
    other = lesson.y >= high
    votes = fit_votes(lesson, other.astype(int), 2, seed, structure)
    tick(0.3)
    rows = np.flatnonzero(other)
    width = float(np.median(lesson.y[rows] - high))
    atom = Atom(votes, low, high, width, 0.0, 1.0)
    numbers, plain = atom.numbers(lesson.y[rows]), atom.numbers(lesson.plain[rows])
    centre, scale = float(numbers.mean()), float(numbers.std())
    own = Lesson(lesson.features[rows], (numbers - centre) / scale, (plain - centre) / scale, lesson.mask)
    around = fit_blend(own, seed=seed, structure=structure.take(rows), tick=lambda share: tick(0.3 + 0.7 * share))
    return replace(around, atom=replace(atom, centre=centre, scale=scale))
