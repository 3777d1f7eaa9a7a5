"""What a page asks for, checked: the arguments of `discover` that it may set, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebear.api.asked import TRAJECTORY
from forebear.errors import InputError, near_miss

_TEXT = ("rows", "missing", "time", "weights", "regime", "preset", "rule")
LISTS = ("targets", "candidates", "keep", "exclude")
_NUMBERS = ("runs", "seed", "sample")
KNOWN = (*LISTS, "groups", "periodic", "kinds", *_TEXT, *_NUMBERS, TRAJECTORY, "settings")
"""names that a page may give"""
_MOST = 100_000
_OF_PAST: dict[str, tuple[str, ...]] = {
    "lists": ("state", "action"),
    "text": ("episode", "time", "step", "tolerance", "missing", "regime"),
}


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
    if name in LISTS:
        return _names(name, value)
    if name == "groups":
        return {group: _names(f"group '{group}'", members) for group, members in _mapping(name, value).items()}
    if name == "periodic":
        return {column: _number(f"the period of '{column}'", v) for column, v in _mapping(name, value).items()}
    if name == "kinds":
        return {column: _text(f"the kind of '{column}'", v) for column, v in _mapping(name, value).items()}
    if name == TRAJECTORY:
        return {
            key: _of_past(key, one) for key, one in _mapping(name, value).items() if one not in (None, [], {}, "")
        }
    if name in _NUMBERS:
        return _whole(name, value)
    if name == "settings":
        return {key: _setting(key, one) for key, one in _mapping(name, value).items()}
    return _text(name, value)


def _of_past(name: str, value: Any) -> Any:
    """What `lagged` is told."""
    if name in _OF_PAST["lists"]:
        return _names(name, value)
    if name in _OF_PAST["text"]:
        return _text(name, value)
    if name in ("periodic", "kinds"):
        return _checked(name, value)
    if name == "lags":
        return _whole(name, value)
    if name == "increments" and isinstance(value, bool):
        return value
    raise InputError(f"'{name}' says nothing about trajectories")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} must be a whole number; got {value!r}")
    return value


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
    rest = {name: value for name, value in asked.items() if name not in ("settings", TRAJECTORY)}
    own = [name for name in asked.get("settings", {}) if name in KNOWN or name in _OURS]
    if own:
        raise InputError(f"'{own[0]}' is not a setting but an option of its own: set it there")
    return {**rest, **asked.get("settings", {})}


def data_of(file: Any, asked: Mapping[str, Any]) -> Any:
    """The table as `discover` takes it: the file, or what `lagged` makes of it."""
    past = asked.get(TRAJECTORY)
    if past is None:
        return file
    from forebear.data.lagged import lagged

    if not past.get("state"):
        raise InputError("choose at least one column that is explained: what the system moves")
    return lagged(file, **past)


def targets_of(asked: Mapping[str, Any]) -> list[str]:
    """What is explained, by the names that the results have.

    >>> targets_of({"targets": "y"}), targets_of({"trajectory": {"state": ["x"], "lags": 2}})
    (['y'], ['d_x'])
    """
    named = asked.get("targets") or []
    if named:
        return [named] if isinstance(named, str) else list(named)
    past = asked.get(TRAJECTORY, {})
    state = past.get("state", [])
    before = "d_" if past.get("increments", True) else "next_"
    return [f"{before}{name}" for name in ([state] if isinstance(state, str) else state)]


_OURS = ("data", "out", "progress", "jobs", "joint", "sampler", "screen")
