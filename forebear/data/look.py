"""One look at a column: its kind, gaps, range and resolution, and whether it says anything as an input."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from forebear.data.column import Column, read_column
from forebear.data.times import read_times, sampling, seconds
from forebear.errors import InputError, UnusableColumn
from forebear.kinds.cells import tamed

CONSTANT, IDENTIFIER, TEXT, TIME, EMPTY, OTHER = (
    "constant",
    "identifier",
    "free text",
    "timestamp",
    "empty",
    "unusable",
)
"""why a column that nobody asked for is left out"""
_ID_NAME = re.compile(
    r"(?i)(^|[\W_])(id|ids|uuid|guid|key|index|idx|serial|row|record|nr|no|number|unnamed: \d+)([\W_]|$)|[a-z]I[dD]$"
)
# Letters of a cell beyond which text is prose rather than a key.
_PROSE = 20
# Fewer rows than this make no identifier: any five whole numbers may differ.
_FEWEST_ROWS = 30


@dataclass(frozen=True)
class Profile:
    """What a column holds, in numbers and words that fit into a table.

    >>> look(pd.Series([1.5, 2.0, None]), "a.csv", "x").profile
    Profile(name='x', kind='real', missing=1, distinct=2, range='1.5 to 2', resolution=0.5, mark=None)
    """

    name: str
    kind: str
    """the word of `forebear.kinds`; "timestamp", "text" or "-" for what is none of these"""
    missing: int
    """cells without a value"""
    distinct: int
    range: str
    """from the least value to the greatest, or the commonest labels"""
    resolution: float | None = None
    """the step that all numbers are multiples of, counted from the least; None where there is none"""
    mark: float | None = None
    """a value that may stand for no value: nines, far outside of all others, and more than once"""


class Look(NamedTuple):
    """What one look at a column tells."""

    profile: Profile
    column: Column | None
    """ready to be used; None where it cannot be"""
    reason: str = ""
    """in a word or two why it would be left out; empty where it can be used"""
    why: str = ""
    """the same with what is worth knowing"""
    error: str = ""
    """what is to be said to whoever asks for it by name"""
    mendable: bool = False
    """whether some cells are in the way, not the column as such: then nobody leaves it out without being told to"""


def look(cells: pd.Series, source: str, name: str, period: float | None = None) -> Look:
    """Read a column as far as it can be read.

    >>> seen = look(pd.Series([3.5] * 40), "a.csv", "x")
    >>> seen.reason, seen.error
    ('constant', "a.csv: column 'x' is constant (every value is 3.5): leave it out")
    """
    cells = tamed(cells)
    missing = int(cells.isna().sum())
    try:
        times = None if period is not None else read_times(cells)
    except UnicodeDecodeError:
        told = f"{source}: column '{name}' holds text that is not UTF-8: write the file again"
        return Look(Profile(name, "text", missing, 0, ""), None, OTHER, told, told, True)
    if times is not None:
        return _look_at_times(times, source, name, missing)
    try:
        column = read_column(cells, source, name, period, gaps=True)
    except UnusableColumn as error:
        return _unusable(cells, name, missing, error)
    except InputError as error:
        kind = _rough_kind(cells)
        return Look(Profile(name, kind, missing, _distinct(cells), ""), None, OTHER, str(error), str(error), True)
    profile = _profile(column, missing)
    if _counts_rows(column, profile, name):
        return Look(profile, column, IDENTIFIER, IDENTIFIER)
    return Look(profile, column)


def _look_at_times(times: pd.Series, source: str, name: str, missing: int) -> Look:
    known = times.dropna()
    ends = [known.min(), known.max()]
    short = "%Y-%m-%d" if (known.dt.normalize() == known).all() else "%Y-%m-%d %H:%M"
    profile = Profile(
        name, "timestamp", missing, int(known.nunique()), " to ".join(end.strftime(short) for end in ends)
    )
    steps = sampling(seconds(times))
    why = TIME + (f", {steps.describe()}" if steps is not None else "")
    remedy = f"time='{name}' makes inputs of it (hour of day, day of week, day of year, trend)"
    return Look(profile, None, TIME, why, f"{source}: column '{name}' holds timestamps: {remedy}")


def _unusable(cells: pd.Series, name: str, missing: int, error: UnusableColumn) -> Look:
    if error.why.startswith("is empty"):
        return Look(Profile(name, "-", missing, 0, ""), None, EMPTY, EMPTY, str(error))
    present = cells.dropna()
    distinct = _distinct(cells)
    if "constant" in error.why:
        return Look(
            Profile(name, _rough_kind(cells), missing, distinct, _short(present.iloc[0])),
            None,
            CONSTANT,
            "nearly constant" if "nearly" in error.why else CONSTANT,
            str(error),
        )
    reason = OTHER if cells.dtype.kind in "mMc" else IDENTIFIER
    if reason == IDENTIFIER and isinstance(present.iloc[0], str):
        lengths = present.astype(str).str.len()
        spaced = present.astype(str).str.contains(r"\S\s+\S\S*\s+\S").mean()
        reason = TEXT if float(lengths.mean()) > _PROSE or spaced > 0.5 else IDENTIFIER
    shown = f"{_short(present.iloc[0])}, ..."
    why = error.why if reason == OTHER else reason
    return Look(Profile(name, _rough_kind(cells), missing, distinct, shown), None, reason, why, str(error))


def _rough_kind(cells: pd.Series) -> str:
    return "real" if cells.dtype.kind in "fiu" else "text"


def _distinct(cells: pd.Series) -> int:
    try:
        return int(cells.nunique())
    except TypeError:  # lists and the like
        return int(cells.astype(str).nunique())


def _profile(column: Column, missing: int) -> Profile:
    values = column.present
    if column.levels:
        counts = np.bincount(values.astype(int), minlength=len(column.levels))
        common = [str(column.levels[code]) for code in np.argsort(-counts, kind="stable")[:3]]
        more = f" and {len(column.levels) - 3} more" if len(column.levels) > 3 else ""
        shown = ", ".join(_short(label) for label in common) + more
        return Profile(column.name, column.kind, missing, len(column.levels), shown)
    distinct = np.unique(values)
    shown = f"{distinct[0]:.6g} to {distinct[-1]:.6g}"
    return Profile(column.name, column.kind, missing, len(distinct), shown, _resolution(distinct), _mark(values))


# Where a record writes a number for no value, that number is most often one of these, with either sign.
_NINES = (99.0, 999.0, 9999.0, 99999.0, 999999.0, 999.9, 999.99, 9999.9, 9999.99, 1e20, 1e30, 1e35)


def _mark(values: np.ndarray) -> float | None:
    """A number that may stand for no value.

    >>> _mark(np.array([1.0, -999.0, 2.5, -999.0])), _mark(np.array([997.0, 998.0, 999.0, 999.0])) is None
    (-999.0, True)
    """
    for end in (values.min(), values.max()):
        others = values[values != end]
        if abs(float(end)) in _NINES and (values == end).sum() > 1 and len(others):
            low, high = float(others.min()), float(others.max())
            if min(abs(end - low), abs(end - high)) > max(2 * (high - low), 10 * abs(high), 10 * abs(low)):
                return float(end)
    return None


def _resolution(distinct: np.ndarray) -> float | None:
    """The coarsest power of ten, or its half, fifth or quarter, that all values are multiples of.

    >>> _resolution(np.array([0.5, 1.0, 2.5])), _resolution(np.array([0.1, 0.3])), _resolution(np.array([0, np.pi]))
    (0.5, 0.1, None)
    """
    span = float(np.abs(distinct).max())
    some = distinct[np.linspace(0, len(distinct) - 1, min(2_000, len(distinct))).astype(int)]
    top = int(np.floor(np.log10(max(float(np.ptp(distinct)), 1e-300))))
    for power in range(top + 1, top - 7, -1):
        for part in (1.0, 0.5, 0.25, 0.2):
            step = part * 10.0**power
            if span / step < 1e7 and np.allclose(some / step, np.round(some / step), rtol=0, atol=1e-6):
                return float(f"{step:.6g}")
    return None


def _counts_rows(column: Column, profile: Profile, name: str) -> bool:
    """Whole numbers that all differ: a running number, or by their name a key."""
    values = column.values
    if column.kind != "real" or profile.missing or len(values) < _FEWEST_ROWS or profile.distinct < len(values):
        return False
    if not (values == np.round(values)).all():
        return False
    return bool(np.ptp(values) == len(values) - 1) or _ID_NAME.search(name) is not None


def _short(value: object, most: int = 24) -> str:
    text = " ".join(str(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
