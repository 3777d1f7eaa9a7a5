"""What a page asks for, checked: the arguments of `discover` that it may set, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebear.errors import InputError, near_miss

_TEXT = ("rows", "missing", "time", "weights", "regime", "preset", "rule")
_LISTS = ("targets", "candidates", "keep", "exclude")
_NUMBERS = ("runs", "seed", "sample")
KNOWN = (*_LISTS, "groups", "periodic", *_TEXT, *_NUMBERS, "settings")
"""names that a page may give"""
_MOST = 100_000


def read_asked(given: Any) -> dict[str, Any]:
    """The arguments of `discover` but for the table, in plain JSON; what is empty is left out.

    >>> read_asked({"targets": ["y"], "keep": [], "periodic": {"a": 360}, "time": None})
    {'targets': ['y'], 'periodic': {'a': 360.0}}
    >>> read_asked({"targets": ["y"], "out": "/etc"})
    Traceback (most recent call last):
    forebear.errors.InputError: unknown option 'out'. Known: 'targets', 'candidates', 'keep', 'exclude', 'groups', ...
    """
    if not isinstance(given, Mapping):
        raise InputError("options must be an object")
    asked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in KNOWN:
            raise InputError(f"unknown option '{name}'. {near_miss(name, KNOWN)}")
        if value is None or value == [] or value == {}:
            continue
        asked[name] = _checked(name, value)
    return {name: asked[name] for name in KNOWN if name in asked}


def _checked(name: str, value: Any) -> Any:
    if name in _LISTS:
        return _names(name, value)
    if name == "groups":
        return {group: _names(f"group '{group}'", members) for group, members in _mapping(name, value).items()}
    if name == "periodic":
        return {column: _number(f"the period of '{column}'", v) for column, v in _mapping(name, value).items()}
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(f"{name} must be a whole number; got {value!r}")
        return value
    if name == "settings":
        return {key: _setting(key, one) for key, one in _mapping(name, value).items()}
    return _text(name, value)


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or len(value) > _MOST:
        raise InputError(f"{name} must be an object")
    return value


def _names(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > _MOST or not all(isinstance(one, str) for one in value):
        raise InputError(f"{name} must be a list of names")
    return list(dict.fromkeys(value))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text; got {value!r}")
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} must be a number; got {value!r}")
    return float(value)


def _setting(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str | int | float | bool):
        raise InputError(f"setting '{name}' must be a number or a word; got {value!r}")
    return value


def arguments(asked: Mapping[str, Any]) -> dict[str, Any]:
    """As `discover` takes them.

    >>> arguments({"targets": ["y"], "settings": {"steps": 50}})
    {'targets': ['y'], 'steps': 50}
    """
    rest = {name: value for name, value in asked.items() if name != "settings"}
    own = [name for name in asked.get("settings", {}) if name in KNOWN or name in _OURS]
    if own:
        raise InputError(f"'{own[0]}' is not a setting but an option of its own: set it there")
    return {**rest, **asked.get("settings", {})}


_OURS = ("data", "out", "progress", "jobs", "joint", "sampler", "screen")
