"""Timestamps: which columns hold them, what they say of time of day, week and year, and how regular they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from forebear.errors import InputError

# Cells that are looked at before a whole column is read as times.
_LOOKED_AT = 200
_CLOCK = r"([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?)?"
_ZONE = r" ?(Z|UTC|[+-]\d{2}(:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{_CLOCK}{_ZONE}")
_YEAR_LAST = re.compile(rf"\d{{1,2}}([-/.])\d{{1,2}}\1\d{{4}}{_CLOCK}{_ZONE}")
_NAMED = r"[A-Za-z]{3,9}\.?"
_MONTH_NAMED = re.compile(rf"(\d{{1,2}}[-/. ]{_NAMED}[-/. ]+\d{{4}}|{_NAMED} \d{{1,2}},? \d{{4}}){_CLOCK}{_ZONE}")
# With dots the day comes first; otherwise two digits at the end could be anything.
_SHORT_YEAR = re.compile(rf"\d{{1,2}}\.\d{{1,2}}\.\d{{2}}{_CLOCK}")
_DAY = 86_400.0
DAY, WEEK, YEAR = _DAY, 7 * _DAY, 365.2425 * _DAY
"""seconds"""


def read_times(cells: pd.Series) -> pd.Series | None:
    """A column of timestamps as pandas times in UTC, gaps as NaT; None if it holds something else.

    Dates and times as pandas holds them, ISO 8601 with or without a zone, and dates that are written with the day or
    the month first or with its English name. Times without a zone are taken as they stand.

    >>> read_times(pd.Series(["2026-03-01T12:00+02:00", None])).dt.hour.tolist()[0]
    10.0
    >>> read_times(pd.Series(["31.01.2026 08:30"])).dt.month.tolist()
    [1]
    >>> read_times(pd.Series(["12", "x"])) is None
    True
    """
    if cells.dtype.kind == "M":
        return pd.to_datetime(cells, utc=True)
    if cells.dtype.kind not in "OUT" and not isinstance(cells.dtype, pd.StringDtype):
        return None
    present = cells.dropna()
    if not len(present):
        return None
    first = present.iloc[:_LOOKED_AT]
    if not all(isinstance(cell, str) for cell in first):
        return _read_objects(cells, first)
    texts = [cell.strip() for cell in first]
    if all(map(_YEAR_FIRST.fullmatch, texts)):
        return _parsed(cells, day_first=False)
    if all(map(_MONTH_NAMED.fullmatch, texts)) or all(map(_SHORT_YEAR.fullmatch, texts)):
        return _parsed(cells, day_first=True)
    if all(map(_YEAR_LAST.fullmatch, texts)):
        return _parsed(cells, day_first=_day_first(present))
    return None


def _read_objects(cells: pd.Series, first: pd.Series) -> pd.Series | None:
    import datetime

    if not all(isinstance(cell, datetime.date) for cell in first):
        return None
    return _parsed(cells, day_first=False)


def _parsed(cells: pd.Series, day_first: bool) -> pd.Series | None:
    try:
        return pd.to_datetime(cells, utc=True, format="mixed", dayfirst=day_first)
    except (ValueError, TypeError, OverflowError):
        return None


def _day_first(present: pd.Series) -> bool:
    """Whether the day comes before the month: with dots it does; otherwise a number past 12 tells."""
    numbers = present.astype(str).str.extract(r"^\s*(\d{1,2})([-/.])(\d{1,2})")
    if (numbers[1] == ".").all():
        return True
    first, second = (numbers[place].to_numpy(float) for place in (0, 2))
    return bool((first > 12).any()) or not bool((second > 12).any())


def seconds(times: pd.Series) -> np.ndarray:
    """Seconds (rows,) since 1970, NaN where there is no time.

    >>> seconds(pd.Series(pd.to_datetime(["1970-01-02", None], utc=True))).tolist()
    [86400.0, nan]
    """
    # The resolution of pandas' times differs with how they came to be; nanoseconds are asked for.
    whole = times.dt.tz_convert(None).astype("datetime64[ns]") if times.dt.tz is not None else times
    raw = whole.to_numpy().astype("datetime64[ns]").astype(np.int64)
    return np.where(np.isnat(whole.to_numpy()), np.nan, raw / 1e9)


class TimeColumns(NamedTuple):
    """What a timestamp says as an input."""

    columns: dict[str, np.ndarray]
    periods: dict[str, float]
    """of those that come round again"""


# Turns that the table must hold for a cycle to be told from a trend.
_FEWEST_TURNS = 2.0


def time_columns(name: str, times: pd.Series, source: str) -> TimeColumns:
    """A timestamp as inputs: hour of the day, day of the week, day of the year, and days since the first row.

    Of cycles only those that the table holds at least twice: a week of data says nothing of seasons. Hours are those
    that stand in the file, or those of UTC where it gives zones.

    >>> clock = pd.Series(pd.date_range("2026-01-01", periods=100, freq="3h"))
    >>> made = time_columns("t", clock, "a.csv")
    >>> list(made.columns), made.periods
    (['t: hour of day', 't: days since start'], {'t: hour of day': 24.0})
    """
    at = seconds(times)
    known = at[np.isfinite(at)]
    if not len(known) or known.min() == known.max():
        raise InputError(f"{source}: column '{name}' holds one time only: leave time= out")
    span = known.max() - known.min()
    columns: dict[str, np.ndarray] = {}
    periods: dict[str, float] = {}
    # The first of January 1970 was a Thursday: Monday is day 0.
    for label, cycle, unit, shift in (
        ("hour of day", DAY, 3_600.0, 0.0),
        ("day of week", WEEK, _DAY, 3 * _DAY),
        ("day of year", YEAR, _DAY, 0.0),
    ):
        within = np.mod(at + shift, cycle) / unit
        varies = np.nanmin(within) < np.nanmax(within)
        if span >= _FEWEST_TURNS * cycle and varies:
            columns[f"{name}: {label}"] = within
            periods[f"{name}: {label}"] = cycle / unit
    columns[f"{name}: days since start"] = (at - known.min()) / _DAY
    return TimeColumns(columns, periods)


class Sampling(NamedTuple):
    """How regular the times of a record are."""

    step: float
    """seconds, the commonest"""
    regular: float
    """share of steps that are that long, up to a hundredth"""
    longest: float
    """the longest step"""
    back: int
    """steps back in time, where rows are not in order"""

    def describe(self) -> str:
        """In words.

        >>> Sampling(60.0, 1.0, 60.0, 0).describe(), Sampling(60.0, 0.9, 7200.0, 0).describe()
        ('every 1 min', 'mostly every 1 min (90% of steps), longest gap 2 h')
        """
        if self.regular >= 0.995 and self.longest <= 1.5 * self.step:
            told = f"every {duration(self.step)}"
        else:
            gap = f", longest gap {duration(self.longest)}" if self.longest > 1.5 * self.step else ""
            told = f"mostly every {duration(self.step)} ({self.regular:.0%} of steps){gap}"
        steps = "step" if self.back == 1 else "steps"
        return f"{told}, {self.back} {steps} back in time" if self.back else told


def sampling(at: np.ndarray) -> Sampling | None:
    """Of times (rows,) in seconds; None for fewer than three.

    >>> sampling(np.array([0.0, 1.0, 2.0, 5.0]))
    Sampling(step=1.0, regular=0.6666666666666666, longest=3.0, back=0)
    """
    at = at[np.isfinite(at)]
    if len(at) < 3:
        return None
    back = int((np.diff(at) < 0).sum())
    steps = np.diff(np.sort(at))
    steps = steps[steps > 0]
    if not len(steps):
        return None
    usual = float(np.median(steps))
    return Sampling(usual, float((np.abs(steps - usual) <= 0.01 * usual).mean()), float(steps.max()), back)


_UNITS: Mapping[str, float] = {"d": _DAY, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 1e-3}


def duration(length: float) -> str:
    """A length of time in a unit that fits.

    >>> duration(90.0), duration(0.02), duration(172_800.0)
    ('1.5 min', '20 ms', '2 d')
    """
    for unit, size in _UNITS.items():
        if length >= size:
            return f"{length / size:.3g} {unit}"
    return f"{length:.3g} s"


def parse_duration(text: object, option: str) -> float:
    """Seconds of a length of time as people write it: a number of seconds, or "10 min", "1h", "500ms".

    >>> parse_duration("10 min", "tolerance"), parse_duration(2, "tolerance")
    (600.0, 2.0)
    """
    if isinstance(text, pd.Timedelta):
        return float(text.total_seconds())
    if isinstance(text, (int, float)) and not isinstance(text, bool) and np.isfinite(text) and text > 0:
        return float(text)
    try:
        length = float(pd.Timedelta(str(text)).total_seconds())
    except ValueError:
        length = 0.0
    if not length > 0:
        raise InputError(
            f"{option} must be a length of time above 0, such as '10 min', '1 h' or seconds; got {text!r}"
        )
    return length
