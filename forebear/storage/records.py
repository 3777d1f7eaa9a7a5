"""One codec for records: frozen dataclasses and named tuples as plain JSON, and back by their type hints.

A record is a mapping of its fields. Inside, tuples, sets and arrays are lists (NaN in an array is null), mappings
with string keys are objects, and mappings with other keys are lists of pairs. What the hints do not allow is a
`RecordError`, which says where; whoever reads a file turns it into a line about that file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


class RecordError(ValueError):
    """A record that was not made from what it is read as."""


def to_record(value: Any) -> Any:
    """Plain lists, mappings, numbers and strings; `from_record` is the way back, without a loss.

    >>> from typing import NamedTuple
    >>> class Reading(NamedTuple):
    ...     at: tuple[str, ...]
    ...     values: np.ndarray
    >>> to_record({"first": Reading(("a", "b"), np.array([1.5, np.nan]))})
    {'first': {'at': ['a', 'b'], 'values': [1.5, None]}}
    """
    if isinstance(value, np.ndarray):
        return _without_nan(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if _is_record(type(value)):
        return {name: to_record(getattr(value, name)) for name in _hints(type(value))}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: to_record(item) for key, item in value.items()}
        return [[to_record(key), to_record(item)] for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return [to_record(item) for item in sorted(value)]
    if isinstance(value, tuple | list):
        return [to_record(item) for item in value]
    return value


def from_record(kind: type[T], record: Any) -> T:
    """What `to_record` was given, where `kind` is its type: a record, or a type hint made of records.

    A field that the record lacks takes its default; one that the type does not have is refused.

    >>> from typing import NamedTuple
    >>> class Reading(NamedTuple):
    ...     at: tuple[str, ...]
    ...     level: float = 0.5
    >>> from_record(Reading, {"at": ["a"]})
    Reading(at=('a',), level=0.5)
    >>> from_record(Reading, {"at": ["a"], "level": "high"})
    Traceback (most recent call last):
    forebear.storage.records.RecordError: level: 'high' is not a number
    """
    return _read(kind, record, "")


def _read(kind: Any, value: Any, at: str) -> Any:
    if kind is Any or kind is object:
        return value
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(inside, value, at)
    if origin is Literal:
        if value not in inside:
            raise RecordError(f"{_place(at)}{value!r} is none of {list(inside)}")
        return value
    plain = origin or kind
    if plain in _PLAIN:
        return _PLAIN[plain](value, at)
    if plain is tuple and not (len(inside) == 2 and inside[1] is Ellipsis):
        items = _items(value, at)
        if len(items) != len(inside):
            raise RecordError(f"{_place(at)}{len(items)} in place of {len(inside)}")
        return tuple(_read(one, item, f"{at}[{n}]") for n, (one, item) in enumerate(zip(inside, items, strict=True)))
    if plain in (tuple, list, frozenset, set):
        return plain(_read(inside[0], item, f"{at}[{n}]") for n, item in enumerate(_items(value, at)))
    if isinstance(plain, type) and issubclass(plain, Mapping):
        key, item = inside or (str, Any)
        return _read_mapping(key, item, value, at)
    if isinstance(plain, type) and _is_record(plain):
        return _read_fields(plain, value, at)
    raise TypeError(f"{_place(at)}no record is made of {kind!r}")


def _one_of(kinds: tuple[Any, ...], value: Any, at: str) -> Any:
    trouble = RecordError(f"{_place(at)}{value!r} is none of {len(kinds)} kinds")
    for kind in kinds:
        try:
            return _read(kind, value, at)
        except RecordError as error:
            # That of the kind that is meant: None is never it.
            trouble = trouble if kind is NoneType else error
    raise trouble


def _read_mapping(key: Any, item: Any, value: Any, at: str) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif key is str:
        raise RecordError(f"{_place(at)}{type(value).__name__} in place of a mapping")
    else:
        pairs = [_items(pair, at) for pair in _items(value, at)]
        if any(len(pair) != 2 for pair in pairs):
            raise RecordError(f"{_place(at)}not pairs of a key and a value")
    return {_read(key, k, at): _read(item, v, f"{at}.{k}" if at else str(k)) for k, v in pairs}


def _read_fields(kind: type, value: Any, at: str) -> Any:
    if not isinstance(value, Mapping):
        raise RecordError(f"{_place(at)}{type(value).__name__} in place of a {kind.__name__}")
    hints = _hints(kind)
    strange = [name for name in value if name not in hints]
    missing = [name for name in hints if name not in value and name not in _defaults(kind)]
    if strange or missing:
        trouble = f"has no '{strange[0]}'" if strange else f"lacks its '{missing[0]}'"
        raise RecordError(f"{_place(at)}a {kind.__name__} {trouble}")
    return kind(**{n: _read(hints[n], item, f"{at}.{n}" if at else n) for n, item in value.items()})


def _items(value: Any, at: str) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise RecordError(f"{_place(at)}{value!r} is not a list")
    return value


def _number(value: Any, at: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{_place(at)}{value!r} is not a number")
    return float(value)


def _whole(value: Any, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecordError(f"{_place(at)}{value!r} is not a whole number")
    return value


def _array(value: Any, at: str) -> np.ndarray:
    try:
        return np.array(_with_nan(_items(value, at)), float)
    except (TypeError, ValueError):
        raise RecordError(f"{_place(at)}not an array of numbers") from None


def _instance(kind: type, told: str) -> Any:
    def read(value: Any, at: str) -> Any:
        if not isinstance(value, kind):
            raise RecordError(f"{_place(at)}{value!r} is not {told}")
        return value

    return read


_PLAIN: dict[Any, Any] = {
    float: _number,
    int: _whole,
    str: _instance(str, "text"),
    bool: _instance(bool, "true or false"),
    NoneType: _instance(NoneType, "nothing"),
    np.ndarray: _array,
}


def _without_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _with_nan(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_with_nan(item) for item in value]
    return math.nan if value is None else value


def _place(at: str) -> str:
    return f"{at}: " if at else ""


def _is_record(kind: type) -> bool:
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The fields of a record that its constructor takes, with their types."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.init] if is_dataclass(kind) else cast(Any, kind)._fields
    return {name: hints[name] for name in names}


@cache
def _defaults(kind: type) -> frozenset[str]:
    if not is_dataclass(kind):
        return frozenset(cast(Any, kind)._field_defaults)
    given = [f for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING]
    return frozenset(field.name for field in given)
