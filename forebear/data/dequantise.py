"""Targets on a lattice, rounded, or with atoms, made continuous before a flow is fitted, and back.

Rounded measurements are measurements: values on a decimal grid of which there are many are continuous, known to so
many digits. Counts, grades and labels are a lattice: nothing lies between their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from forebear.data.grid import grid_step
from forebear.errors import InputError, near_miss

Kind = Literal["continuous", "lattice", "atoms"]
KINDS: tuple[Kind, ...] = ("continuous", "lattice", "atoms")
# A value is an atom when this share of the rows, and this many rows, hold it.
ATOM_SHARE, ATOM_ROWS = 0.01, 10
# Beside the atoms there is a continuous part if it has this share of the rows, and this many values; or so many that
# lie on no grid.
REST_SHARE, REST_VALUES, REST_OFF_GRID = 0.05, 5, 30
# Values on a grid are rounded measurements once there are so many different ones. Counts go up in ones, and stay
# counts for longer.
ROUNDED_VALUES, COUNTED_VALUES = 30, 500
# Among rounded values an atom is held by so many times the rows of any of its neighbours, so far to either side.
STANDS_OUT, NEIGHBOURS = 4.0, 8


def _none() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True)
class Dequantiser:
    """A monotone map from the data's values to a continuous scale.

    "lattice": value `values[i]` fills the cell [`low[i]`, `high[i]`), and the cells leave no hole.
    "atoms": atom `values[i]` fills such a cell too; a value with i atoms below it moves by `shift[i]`.
    "continuous": nothing changes.
    Values outside a lattice and atoms may be rounded, to multiples of `step`: they are then spread over what was
    rounded to them, and stay where they are on the way back.

    >>> coin = find_atoms(np.array([0.0, 1.0] * 20))
    >>> coin.kind, coin.low, coin.high
    ('lattice', array([-0.5,  0.5]), array([0.5, 1.5]))
    """

    kind: Kind
    values: np.ndarray = field(default_factory=_none)
    low: np.ndarray = field(default_factory=_none)
    high: np.ndarray = field(default_factory=_none)
    shift: np.ndarray = field(default_factory=_none)
    step: float = 0.0
    """what continuous values were rounded to; 0 where they were not"""

    @property
    def taken_for(self) -> str:
        """What the values were taken for, in words.

        >>> find_atoms(np.array([0.0, 1.0] * 20)).taken_for
        'a lattice of 2 values'
        >>> find_atoms(np.random.default_rng(0).normal(size=10_000).round(2)).taken_for
        'continuous, rounded to 0.01'
        """
        rounded = f", rounded to {self.step:g}" if self.step else ""
        if self.kind == "lattice":
            return f"a lattice of {len(self.values)} values"
        if self.kind == "atoms":
            shown = ", ".join(f"{value:g}" for value in self.values[:3])
            return f"continuous{rounded}, with atoms at {shown}{', …' if len(self.values) > 3 else ''}"
        return f"continuous{rounded}"

    def cells(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where each value may land on the continuous scale: its cell, or a single point.

        A value that a lattice does not have counts as the nearest one it has.

        >>> find_atoms(np.array([0.0, 1.0] * 20)).cells(np.array([1.0]))
        (array([0.5]), array([1.5]))
        """
        y = np.asarray(y, dtype=np.float64)
        if self.kind == "continuous":
            return y.copy(), y.copy()
        above = np.searchsorted(self.values, y).clip(max=len(self.values) - 1)
        if self.kind == "lattice":
            below = (above - 1).clip(min=0)
            near = np.where(y - self.values[below] < self.values[above] - y, below, above)
            return self.low[near], self.high[near]
        moved = y + self.shift[np.searchsorted(self.values, y)]
        atom = self.values[above] == y
        return np.where(atom, self.low[above], moved), np.where(atom, self.high[above], moved)

    def spread(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A draw of the continuous version of each value, uniform in its cell.

        >>> coin = find_atoms(np.array([0.0, 1.0] * 20))
        >>> coin.spread(np.array([1.0, 0.0]), np.random.default_rng(0)).round(2)
        array([ 1.14, -0.23])
        """
        low, high = self.cells(y)
        if self.kind != "lattice" and self.step:
            # Half a step to either side of a value outside the atoms, which lie a whole one away.
            jitter = self.step * (rng.random(low.shape) - 0.5)
            if self.kind == "continuous":
                return low + jitter
            low, high = np.where(high > low, low, low + jitter), np.where(high > low, high, low + jitter)
        if self.kind == "continuous":
            return low
        # Half-open cells: a draw that rounds up to the far end would be the neighbour's.
        inside = np.nextafter(high, -np.inf)
        return np.where(high > low, np.minimum(low + rng.random(low.shape) * (high - low), inside), low)

    def collapse(self, y_continuous: np.ndarray) -> np.ndarray:
        """Back to the data's values.

        What was spread from a lattice or an atom comes back to the bit. A value outside the atoms comes back
        up to the rounding of its shift, which is zero for the stretch between atoms with the most rows.

        >>> find_atoms(np.array([0.0, 1.0] * 20)).collapse(np.array([-3.0, 0.4, 0.6, 7.0]))
        array([0., 0., 1., 1.])
        """
        y = np.asarray(y_continuous, dtype=np.float64)
        if self.kind == "continuous":
            return y.copy()
        passed = np.searchsorted(self.high, y, side="right")
        here = passed.clip(max=len(self.values) - 1)
        if self.kind == "lattice":
            return self.values[here]
        atom = (passed < len(self.values)) & (y >= self.low[here])
        return np.where(atom, self.values[here], y - self.shift[passed])


def find_atoms(y: np.ndarray, treat: str = "auto") -> Dequantiser:
    """What kind of values a target has, and the map that makes them continuous.

    Values on a decimal grid are rounded measurements when at least 30 of them differ, or 500 where they go up in ones
    (counts); an atom is then a value that stands out among its neighbours. Elsewhere an atom is a value held by
    at least 1% of the rows and by 10 of them. If what lies outside the atoms is at least 5% of the rows and half of
    it distinct, it is continuous; otherwise the target is a lattice. `treat` overrules all this: "continuous",
    "lattice" or "atoms".

    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> find_atoms(y).kind, find_atoms(y.round()).kind, find_atoms(np.maximum(y, 0)).kind
    ('continuous', 'lattice', 'atoms')
    >>> find_atoms(y.round(1)).kind, find_atoms(y.round(1)).step
    ('continuous', 0.1)
    >>> find_atoms(y.round(1), treat="lattice").kind
    'lattice'
    """
    values, counts = np.unique(np.asarray(y, dtype=np.float64), return_counts=True)
    knot = _knots(values)
    held = np.bincount(knot, weights=counts)
    step = grid_step(values)
    if treat == "lattice":
        return _lattice(values, counts, knot)
    if treat == "continuous":
        return Dequantiser("continuous", step=step if _repeats(held) else 0.0)
    many = len(held) >= (COUNTED_VALUES if step == 1 else ROUNDED_VALUES)
    if step and many and _repeats(held):
        return _rounded(values, counts, held, knot, step)
    atoms = held >= max(ATOM_ROWS, ATOM_SHARE * counts.sum())
    rest, distinct = held[~atoms].sum(), int((~atoms).sum())
    off_grid = not step and distinct >= REST_OFF_GRID
    enough = (rest >= REST_SHARE * counts.sum() or off_grid) and distinct >= max(rest / 2, REST_VALUES)
    if treat != "atoms" and not enough:
        return _lattice(values, counts, knot)
    if not atoms.any() or atoms.all():
        return Dequantiser("continuous", step=step if atoms.all() else 0.0)
    return _atoms(values, counts, atoms[knot])


def _repeats(held: np.ndarray) -> bool:
    """Whether values come so often that rounding can be felt: a fiftieth of the rows repeats another."""
    return len(held) < 0.98 * held.sum()


def _rounded(values: np.ndarray, counts: np.ndarray, held: np.ndarray, knot: np.ndarray, step: float) -> Dequantiser:
    """Measurements to so many digits, but for values that far more rows hold than their neighbours."""
    padded = np.pad(held, NEIGHBOURS)
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEIGHBOURS + 1)
    others = np.delete(around, NEIGHBOURS, axis=1).max(axis=1)
    atoms = (held >= max(ATOM_ROWS, ATOM_SHARE * counts.sum())) & (held > STANDS_OUT * others)
    if not atoms.any():
        return Dequantiser("continuous", step=step)
    found = _atoms(values, counts, atoms[knot])
    return Dequantiser("atoms", found.values, found.low, found.high, found.shift, step)


def check_treat(treat: Mapping[str, Any], targets: Mapping[str, Any]) -> None:
    """Refuse what is no target, or no way to treat one.

    >>> check_treat({"y": "counts"}, {"y": None})
    Traceback (most recent call last):
    forebear.errors.InputError: treat: 'counts' for 'y'. Known: 'auto', 'continuous', 'lattice', 'atoms'.
    """
    if not isinstance(treat, Mapping):
        raise InputError(f"treat must be a dict from targets to one of 'auto', {_listed()}; got {treat!r}")
    for name, word in treat.items():
        if name not in targets:
            raise InputError(f"treat: no target '{name}'. {near_miss(str(name), list(targets))}")
        if word not in ("auto", *KINDS):
            raise InputError(f"treat: {word!r} for '{name}'. Known: 'auto', {_listed()}.")


def _listed() -> str:
    return ", ".join(f"'{kind}'" for kind in KINDS)


def _knots(values: np.ndarray) -> np.ndarray:
    """Number the sorted values so that those that differ by float noise only (0.3 and 0.1 + 0.2) share one.

    Noise is a gap of a few roundings of a typical value that is also negligible beside a gap nearby; the
    second condition spares the small values of a wide distribution.
    """
    gaps = np.diff(values)
    if not len(gaps):
        return np.zeros(len(values), dtype=np.int64)
    reach = 8
    padded = np.pad(gaps, reach)
    widest = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).max(axis=1)
    typical = float(np.quantile(np.abs(values), 0.75))
    noise = (gaps <= 256 * np.finfo(float).eps * typical) & (gaps <= 1e-6 * widest)
    return np.concatenate([[0], np.cumsum(~noise)])


def _lattice(values: np.ndarray, counts: np.ndarray, knot: np.ndarray) -> Dequantiser:
    """Cells between the midpoints to the neighbours; the end cells are symmetric."""
    first = np.flatnonzero(np.diff(knot, prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    left, right = values[last[:-1]], values[first[1:]]
    middle = left + (right - left) / 2
    # Between neighbouring doubles there is no midpoint; the cell then ends where the next value begins.
    middle = np.where(middle <= left, right, middle)
    if len(middle):
        ends = 2 * values[0] - middle[0], 2 * values[-1] - middle[-1]
    else:
        half = 0.5 * max(1.0, float(np.abs(values).max()))
        ends = values[0] - half, values[-1] + half
    edges = np.concatenate([[ends[0]], middle, [ends[1]]])
    # The noisy copies of one value divide its cell by their counts, so that the density inside stays flat.
    before = np.cumsum(counts) - counts
    share = (before - before[first][knot]) / np.bincount(knot, weights=counts)[knot]
    low = edges[knot] + share * (edges[knot + 1] - edges[knot])
    return Dequantiser("lattice", values, low, np.append(low[1:], edges[-1]))


def _atoms(values: np.ndarray, counts: np.ndarray, atom: np.ndarray) -> Dequantiser:
    """Open a gap at each atom, as wide as its rows need at the density of the continuous part.

    The continuous part has density (1 - sum p) / extent over its bulk, so an atom of weight p has the same
    density over p / (1 - sum p) * extent. With one density throughout, an error of the flow at the border of
    a gap costs no more probability than anywhere else, so no least width is needed (p is at least 1%), but
    for an atom far out (1e20 for "unknown"), where doubles are too coarse to hold a gap of the bulk's size.
    """
    at, held = values[atom], counts[atom]
    rest, repeats = values[~atom], counts[~atom]
    width = held / repeats.sum() * _extent(np.repeat(rest, repeats))
    width = np.maximum(width, 1e-9 * np.abs(at))
    shift = np.concatenate([[0.0], np.cumsum(width)])
    # What is not moved is not rounded: leave the stretch with the most rows in place.
    shift -= shift[np.argmax(np.bincount(np.searchsorted(at, rest), repeats, len(shift)))]
    return Dequantiser("atoms", at, at + shift[:-1], at + shift[1:], shift)


def _extent(rest: np.ndarray) -> float:
    """The width of the bulk: 1.35 interquartile ranges, 1.8 deviations of a Gaussian, whatever the tails."""
    quartiles = np.quantile(rest, [0.25, 0.75])
    return 1.35 * float(quartiles[1] - quartiles[0]) or float(rest.std()) or 1.0
