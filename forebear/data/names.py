"""Names of columns as users write them: one, or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from forebear.errors import InputError, listed, near_miss


def pick_names(
    value: Any, columns: Sequence[str], source: str, option: str, but: Collection[str] = ()
) -> tuple[str, ...]:
    """The columns that an option names, in the order given; a single name counts as a list of one.

    Patterns count as the columns they match, except those in `but`. Labels that are not strings are compared as
    strings, as the table's own labels are.

    >>> pick_names("x", ["x", "y"], "the table", "targets")
    ('x',)
    >>> pick_names("d*", ["x", "dx", "dy"], "the table", "targets")
    ('dx', 'dy')
    >>> pick_names(["y", "z"], ["x", "y"], "the table", "targets")
    Traceback (most recent call last):
    forebear.errors.InputError: the table: no column 'z' (named in targets). Known: 'x', 'y'.
    """
    single = isinstance(value, str) or not isinstance(value, Iterable)
    given = [str(value)] if single else list(map(str, value))
    names = tuple(expand(given, columns, source, f"named in {option}", but))
    known = set(columns)
    for name in names:
        if name not in known:
            raise InputError(f"{source}: no column '{name}' (named in {option}). {near_miss(name, columns)}")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"{source}: {option} names {listed(twice)} more than once: name each column once")
    return names


def expand(
    texts: Sequence[str], columns: Sequence[str], source: str, where: str, but: Collection[str] = ()
) -> list[str]:
    """Names as they are, patterns (`x*`, `?1`, `[ab]_1`) as the columns they match, in table order.

    A pattern does not match what is in `but`: the targets, when it stands for their candidates.

    >>> expand(["x*", "u"], ["x1", "x2", "u", "y"], "a.csv", "given with --candidate")
    ['x1', 'x2', 'u']
    """
    known, chosen = set(columns), []
    for text in texts:
        if text in known or not is_pattern(text):
            chosen.append(text)
            continue
        matches = [name for name in matching(text, columns) if name not in but]
        if not matches:
            # A name with a unit in square brackets reads as a pattern, and may be one that is misspelt.
            close = near_miss(text, columns) if text.endswith("]") else "Check the pattern."
            near = "check the pattern" if not close.startswith("Did") else f"{close[0].lower()}{close[1:]}"
            raise InputError(f"{source}: no column matches '{text}' ({where}): {near}")
        chosen += [name for name in matches if name not in chosen]
    return chosen


def is_pattern(text: str) -> bool:
    """Whether a text that is no column's name is to be matched against them.

    >>> is_pattern("x*"), is_pattern("x")
    (True, False)
    """
    return any(mark in text for mark in "*?[")


def matching(pattern: str, columns: Sequence[str]) -> list[str]:
    """The columns that a pattern matches, in table order.

    >>> matching("T? [[]°C]", ["T1 [°C]", "p [bar]"])
    ['T1 [°C]']
    """
    return [name for name in columns if fnmatchcase(name, pattern)]


def pick_periods(periodic: Mapping[str, float] | None, columns: Sequence[str], source: str) -> dict[str, float]:
    """Column -> period, each column known and each period finite and above zero.

    >>> pick_periods({"angle": 360}, ["angle", "y"], "the table")
    {'angle': 360.0}
    """
    if periodic is None:
        return {}
    if not isinstance(periodic, Mapping):
        raise InputError(f"periodic must map columns to periods, like {{'angle': 6.2832}}; got {periodic!r}")
    periods = {
        name: period
        for given, period in periodic.items()
        for name in expand([str(given)], columns, source, "named in periodic")
    }
    return {name: _period(periods[name], name) for name in pick_names(list(periods), columns, source, "periodic")}


def _period(period: Any, name: str) -> float:
    number = isinstance(period, (int, float, np.integer, np.floating)) and not isinstance(period, bool)
    if not number or not np.isfinite(period) or period <= 0:
        raise InputError(
            f"periodic: the period of column '{name}' must be a finite number above 0; got {period!r}: "
            "give the length of one full turn, 6.2832 for radians"
        )
    return float(period)
