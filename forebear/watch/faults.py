"""Faults of sensors, told from changes of the system: values that are stuck, spikes, gaps.

A fault is read off the cells of one column, whatever the law says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import binom

STUCK, SPIKES, GAPS = "stuck", "spikes", "gaps"
# A run of equal values is a fault if it is this much longer than any that was known, and by chance as rare as that.
_LONGER, _SHORTEST, _RARE = 2.0, 6, 1e-4
# Values that a column comes back to, at most; and how surely it may well stay at its own end, where a pump is off or
# a valve shut: that depends on the weather, and not on how often it was seen there.
_RESTS, _OFTEN, _AT_END = 20, 3, 0.8
# Cells at other values that can say how long those are held, and the share of equal neighbours among them at most.
_RICH, _HARDLY = 100, 0.01
# A spike lies this far from both neighbours, as a multiple of how far values usually lie from theirs.
_SPIKE = 8.0


@dataclass(frozen=True)
class Habit:
    """What the cells of a column did in the rows that a twin was made from."""

    longest_run: int = 1
    """equal values in a row"""
    tied: float = 0.0
    """share of neighbours that are equal"""
    step: float = 0.0
    """how far 999 in 1,000 cells stick out between their neighbours at most; 0: not known"""
    gaps: float = 0.0
    """share of cells that are missing"""
    rests: tuple[tuple[float, float], ...] = ()
    """values that the column comes back to, and at most how surely it stays there from one row to the next"""
    elsewhere: tuple[int, float] = (0, 0.0)
    """longest run and share of equal neighbours among all other values, where these are most and hardly ever held"""


@dataclass(frozen=True)
class Fault:
    """What is wrong with one column, in which rows (counted from 1)."""

    column: str
    kind: str
    """"stuck", "spikes" or "gaps" """
    first: int
    last: int
    count: int
    """rows"""
    value: float | None = None
    """at which it is stuck"""

    def told(self) -> str:
        """In words."""
        if self.kind == STUCK:
            return f"'{self.column}' is stuck at {self.value:.6g} in rows {self.first} to {self.last}"
        what = "has spikes" if self.kind == SPIKES else "lacks cells"
        return f"'{self.column}' {what} in {self.count} of the rows {self.first} to {self.last}"


def habit_of(values: Float[np.ndarray, " rows"]) -> Habit:
    """From all cells of a column, in the order of the table.

    >>> habit_of(np.array([1.0, 1.0, 1.0, 2.0, np.nan])).longest_run
    3
    """
    present = values[~np.isnan(values)]
    if len(present) < 3:
        return Habit(gaps=float(np.isnan(values).mean()) if len(values) else 0.0)
    equal = present[1:] == present[:-1]
    lengths = _runs(present)[1]
    step = float(np.quantile(_strides(present), 0.999))
    rests = _rests_of(present, equal)
    away = ~np.isin(present, [value for value, _ in rests])
    elsewhere = (0, 0.0)
    if rests and away.mean() > 0.5 and away.sum() >= _RICH:
        runs = lengths[away[np.cumsum(lengths) - 1]]
        tied = float((equal & away[1:]).sum() / away.sum())
        # A column that is rounded rests everywhere: its commonest values are nothing apart.
        elsewhere = (int(runs.max()), tied) if tied < _HARDLY else elsewhere
    missing = float(np.isnan(values).mean())
    return Habit(int(lengths.max()), float(equal.mean()), step, missing, rests, elsewhere)


def _rests_of(present: np.ndarray, equal: np.ndarray) -> tuple[tuple[float, float], ...]:
    """The values that come most often, with an upper estimate of the chance that the next cell is the same.

    >>> cells = np.array([0.0, 0.0, 1.3, 0.0, 1.1, 0.0, 1.2, 1.5])
    >>> _rests_of(cells, cells[1:] == cells[:-1])
    ((0.0, 0.8),)
    """
    found, counts = np.unique(present, return_counts=True)
    some = np.argsort(-counts, kind="stable")[:_RESTS]
    told = []
    for value, count in zip(found[some], counts[some], strict=True):
        if count < _OFTEN:
            break
        stays = (float(equal[present[:-1] == value].sum()) + 2) / (float(count) + 4)
        stays += 2 * np.sqrt(stays * (1 - stays) / (count + 4))
        told.append((float(value), float(min(max(stays, _AT_END if value in (found[0], found[-1]) else 0.0), 0.999))))
    return tuple(told)


def _runs(values: np.ndarray) -> tuple[Int[np.ndarray, " runs"], Int[np.ndarray, " runs"]]:
    """Where runs of equal values begin, and how long they are; a gap is equal to nothing."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return starts, np.diff(np.append(starts, len(values)))


def _touched(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> dict[float, float]:
    """Values that are met for a single row now and then, such as the stop of a valve that never was fully open, and
    at most how surely one of them is met again in the next row; a sensor that drops out does so for longer."""
    long = {float(value) for value in values[starts[lengths >= _SHORTEST]]}
    told = {}
    for value in long:
        own = lengths[values[starts] == value]
        singles = int((own == 1).sum())
        if singles >= _OFTEN:
            again = 1 - singles / len(own)
            told[value] = min(again + 2 * float(np.sqrt(max(again * (1 - again), 0.05) / len(own))), 0.999)
    return told


def _strides(values: np.ndarray) -> np.ndarray:
    """How far the values are from the middle of both neighbours; they differ from both in one direction."""
    before, here, after = values[:-2], values[1:-1], values[2:]
    alone = (here - before) * (here - after) > 0
    return np.where(alone, np.minimum(np.abs(here - before), np.abs(here - after)), 0.0)


def find_faults(
    name: str, values: Float[np.ndarray, " rows"], habit: Habit, number: bool = True, spikes: bool = True
) -> list[Fault]:
    """All of one column; of labels only gaps, as they have no neighbours to be far from.

    >>> rng = np.random.default_rng(0)
    >>> habit, cells = habit_of(rng.normal(size=500)), rng.normal(size=200)
    >>> cells[100:150] = cells[100]
    >>> [fault.told() for fault in find_faults("x", cells, habit)][0]
    "'x' is stuck at -1.15683 in rows 101 to 150"
    """
    found = _gaps(name, values, habit)
    if number:
        found += _stuck(name, values, habit)
        if spikes:
            found += _spikes(name, values, habit)
    return found


def _stuck(name: str, values: np.ndarray, habit: Habit) -> list[Fault]:
    starts, lengths = _runs(values)
    rests = {**_touched(values, starts, lengths), **dict(habit.rests)}

    def least(value: float) -> float:
        longest, tied = habit.longest_run, habit.tied
        if habit.elsewhere[0] and value not in rests:
            longest, tied = habit.elsewhere
        tied = min(max(tied, rests.get(value, 0.0), 1e-6), 1 - 1e-9)
        # So long that among so many rows it would be seen once in ten thousand times.
        rare = 1 + np.log(_RARE / max(1, len(values))) / np.log(tied)
        return max(_SHORTEST, _LONGER * longest, rare)

    return [
        Fault(name, STUCK, int(start) + 1, int(start + length), int(length), float(values[start]))
        for start, length in zip(starts, lengths, strict=True)
        if length >= _SHORTEST and length >= least(float(values[start]))
    ]


def _spikes(name: str, values: np.ndarray, habit: Habit) -> list[Fault]:
    places = np.flatnonzero(~np.isnan(values))
    if len(places) < 3 or habit.step <= 0:
        return []
    far = places[1:-1][_strides(values[places]) > _SPIKE * habit.step]
    if not len(far):
        return []
    return [Fault(name, SPIKES, int(far[0]) + 1, int(far[-1]) + 1, len(far))]


def _gaps(name: str, values: np.ndarray, habit: Habit) -> list[Fault]:
    missing = np.flatnonzero(np.isnan(values))
    usual = max(habit.gaps, 0.001)
    if not len(missing) or binom.sf(len(missing) - 1, len(values), min(1.0, 1.5 * usual)) > _RARE:
        return []
    return [Fault(name, GAPS, int(missing[0]) + 1, int(missing[-1]) + 1, len(missing))]


def faulty_rows(faults: Sequence[Fault], rows: int) -> np.ndarray:
    """Whether a row has a cell that is stuck: what its law says there is the sensor's doing."""
    found = np.zeros(rows, bool)
    for fault in faults:
        if fault.kind == STUCK:
            found[fault.first - 1 : fault.last] = True
    return found
