"""What people type on the command line, turned into the values that `discover` takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forebear.errors import InputError

Names = list[str] | dict[str, list[str]] | None
"""a list for every target, or {target: list}, or nothing said"""


def parse_whole(text: str, option: str, least: int) -> int:
    """A whole number of at least so much.

    >>> parse_whole("3", "--runs", 1)
    3
    >>> parse_whole("0", "--runs", 1)
    Traceback (most recent call last):
    forebear.errors.InputError: --runs must be a whole number of at least 1; got '0'
    """
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise InputError(f"{option} must be a whole number of at least {least}; got '{text}'")
    return number


def parse_groups(texts: Sequence[str]) -> dict[str, list[str]]:
    """`NAME=a,b`, as often as there are groups.

    >>> parse_groups(["lag 1=x_1,u_1"])
    {'lag 1': ['x_1', 'u_1']}
    """
    groups: dict[str, list[str]] = {}
    for text in texts:
        name, members = _pair(text, "--group", "NAME=a,b", groups)
        groups[name] = _members(members, text, "--group")
    return groups


def parse_periods(texts: Sequence[str]) -> dict[str, float]:
    """`column=period`, as often as there are angles.

    >>> parse_periods(["theta=6.2832"])
    {'theta': 6.2832}
    """
    periods: dict[str, float] = {}
    for text in texts:
        name, period = _pair(text, "--periodic", "COLUMN=PERIOD", periods)
        try:
            periods[name] = float(period)
        except ValueError:
            raise InputError(f"--periodic {text}: '{period}' is not a number: write {name}=6.2832") from None
    return periods


def parse_kinds(texts: Sequence[str]) -> dict[str, str]:
    """`column=kind`, as often as a column is not what it looks like.

    >>> parse_kinds(["grade=category"])
    {'grade': 'category'}
    """
    kinds: dict[str, str] = {}
    for text in texts:
        name, kind = _pair(text, "--kind", "COLUMN=category|real", kinds)
        kinds[name] = kind
    return kinds


def parse_settings(texts: Sequence[str], taken: Callable[..., object]) -> dict[str, Any]:
    """`name=value`, as often as there are settings to change; `taken` has options of its own for its parameters.

    >>> parse_settings(["steps=500", "rate=1e-3", "nugget=none", "solver=rk4"], parse_groups)
    {'steps': 500, 'rate': 0.001, 'nugget': None, 'solver': 'rk4'}
    """
    parameters = inspect.signature(taken).parameters.values()
    own = {p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}
    settings: dict[str, Any] = {}
    for text in texts:
        name, value = _pair(text, "--set", "NAME=VALUE", settings)
        if name in own:
            raise InputError(f"--set {text}: '{name}' is not a setting but an argument of its own: see --help")
        settings[name] = _value(value)
    return settings


def _value(text: str) -> Any:
    if text.lower() == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _pair(text: str, option: str, form: str, before: Mapping[str, object]) -> tuple[str, str]:
    # The first "=" counts: a name before it cannot hold one, names after it can.
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise InputError(f"{option} '{text}' is not of the form {form}: write it so, without spaces around '='")
    if name in before:
        raise InputError(f"{option} names '{name}' twice: give it once")
    return name, value


def _members(text: str, whole: str, option: str) -> list[str]:
    members = [member.strip() for member in text.split(",")]
    if not all(members):
        raise InputError(f"{option} '{whole}' has an empty name between its commas: write NAME=a,b")
    return members


def is_plain(texts: Sequence[str]) -> bool:
    """Whether these are names as they stand, so that nobody needs to look at the table's columns for them.

    >>> is_plain(["x1", "x2"]), is_plain(["x*"]), is_plain(["y=x1,x2"])
    (True, False, False)
    """
    return not any(mark in text for text in texts for mark in "*?[=")


def by_target(
    texts: Sequence[str],
    columns: Sequence[str],
    source: str,
    option: str,
    targets: Sequence[str],
    strict: bool = True,
) -> Names:
    """Names and patterns for every target, or, written `target=a,b`, for one target each; a pattern that matches
    nothing is refused if this is `strict`.

    >>> by_target(["y=x*", "z=x2"], ["x1", "x2", "y", "z"], "a.csv", "--candidate", ["y", "z"])
    {'y': ['x*'], 'z': ['x2']}
    """
    from forebear.data.names import expand

    if not texts:
        return None
    single = [text for text in texts if "=" in text and text not in columns]
    if not single:
        if strict:
            expand(texts, columns, source, f"given with {option}", targets)
        return list(texts)
    if len(single) < len(texts):
        plain = next(text for text in texts if text not in single)
        raise InputError(f"{option} is '{plain}' for every target and '{single[0]}' for one: write all as TARGET=a,b")
    lists: dict[str, list[str]] = {}
    for text in single:
        target, members = _pair(text, option, "TARGET=a,b", lists)
        lists[target] = _members(members, text, option)
        if strict:
            expand(lists[target], columns, source, f"given with {option}", [target])
    return lists


def parse_number(text: str, option: str) -> float:
    """A number that was typed.

    >>> parse_number("high", "--level")
    Traceback (most recent call last):
    forebear.errors.InputError: --level must be a number, such as 0.05; got 'high'
    """
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option} must be a number, such as 0.05; got '{text}'") from None
