"""What a request holds, checked: fields by name, and rows of columns as a matrix of raw numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from forebear.errors import InputError, listed, near_miss
from forebear.twin.given import Described, read_matrix

MOST_SEED = 2**53 - 1
"""past this, programs that keep numbers in double precision would send another one"""


def check_names(content: Any, known: Sequence[str], needed: Sequence[str]) -> Mapping[str, Any]:
    """The object of a request, which has what is needed and nothing unknown.

    >>> check_names({"givn": {}}, ["given", "n"], ["given"])
    Traceback (most recent call last):
    forebear.errors.InputError: there is no field 'givn' here. Did you mean 'given'?
    """
    if not isinstance(content, Mapping):
        raise InputError(f"the body must be a JSON object with {listed(needed)}; got {kind_of(content)}")
    for name in content:
        if name not in known:
            raise InputError(f"there is no field '{name}' here. {near_miss(name, known)}")
    for name in needed:
        if name not in content:
            raise InputError(f"the field '{name}' is missing: send {listed(needed)}")
    return content


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number; 5.0 is one, as programs without whole numbers send it.

    >>> whole("n", 5.0, 1, 10)
    5
    >>> whole("n", True, 1, 10)
    Traceback (most recent call last):
    forebear.errors.InputError: n must be a whole number from 1 to 10; got true
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or (isinstance(value, float) and not value.is_integer()) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}; got {told(value)}")
    return int(value)


def between(name: str, value: Any) -> float:
    """A number strictly between 0 and 1.

    >>> between("level", "0.9")
    Traceback (most recent call last):
    forebear.errors.InputError: level must be a number strictly between 0 and 1; got the text '0.9'
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise InputError(f"{name} must be a number strictly between 0 and 1; got {told(value)}")
    return float(value)


def word(name: str, value: Any, known: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name} must be {listed(known)}; got {told(value)}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false; got {told(value)}")
    return value


def read_rows(content: Any, columns: Sequence[Described], what: str, most: int) -> Float[np.ndarray, "rows columns"]:
    """Raw numbers of the columns, categories as codes.

    >>> from forebear.data.scaling import ColumnCode
    >>> columns = [ColumnCode("a", "real"), ColumnCode("b", "category", levels=("u", "v"))]
    >>> read_rows({"a": [1, 2], "b": "v"}, columns, "given", 10).tolist()
    [[1.0, 1.0], [2.0, 1.0]]
    >>> read_rows([{"a": 1, "b": "u"}, {"a": 2}], columns, "given", 10)
    Traceback (most recent call last):
    forebear.errors.InputError: given: no column 'b' in row 2
    """
    names = [column.name for column in columns]
    cells = read_columns(content, names, what, most)
    if not columns:
        return np.zeros((_rows_of(content), 0))
    fast = [_plain(cells[column.name], column) for column in columns]
    if all(own is not None for own in fast):
        return np.stack(fast, axis=1)  # type: ignore[arg-type]
    # Whatever is out of the ordinary is read, or refused, as a table in Python would be.
    return read_matrix(cells, columns, what)


def read_columns(
    content: Any, names: Sequence[str], what: str, most: int, others: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """The columns by name, each a list with a cell per row; those of `others` that are there come after them.

    `content` is an object of columns, a single cell standing for as many as the others have, or a list of rows.
    """
    if isinstance(content, Mapping):
        found = _of_columns(content, names, what, others, most)
    elif isinstance(content, list):
        _check_count(len(content), what, most)
        found = _of_rows(content, names, what, others)
    else:
        raise InputError(f"{what} must be an object of columns or a list of rows; got {kind_of(content)}")
    for name, cells in found.items():
        strange = next((place for place, cell in enumerate(cells) if isinstance(cell, list | dict)), None)
        if strange is not None:
            raise InputError(
                f"{what}: column '{name}' holds {kind_of(cells[strange])} in row {strange + 1}: give a number or a "
                "label"
            )
    return found


def _of_columns(
    content: Mapping[str, Any], names: Sequence[str], what: str, others: Sequence[str], most: int
) -> dict[str, list[Any]]:
    for name in names:
        if name not in content:
            raise InputError(f"{what}: no column '{name}'. {near_miss(name, content) if content else 'It is empty.'}")
    used = [*names, *(name for name in others if name in content)]
    lengths = {name: len(content[name]) for name in used if isinstance(content[name], list)}
    rows = max(lengths.values(), default=1)
    _check_count(rows, what, most)
    for name, length in lengths.items():
        if length != rows:
            longest = max(lengths, key=lengths.__getitem__)
            raise InputError(
                f"{what}: column '{name}' has {length} rows and column '{longest}' has {rows}: give every column "
                "the same number of rows"
            )
    return {name: content[name] if name in lengths else [content[name]] * rows for name in used}


def _of_rows(content: list[Any], names: Sequence[str], what: str, others: Sequence[str]) -> dict[str, list[Any]]:
    for number, row in enumerate(content, start=1):
        if not isinstance(row, Mapping):
            raise InputError(f"{what}: row {number} must be an object of columns; got {kind_of(row)}")
        for name in names:
            if name not in row:
                near = f". {near_miss(name, row)}" if row and number == 1 else f" in row {number}"
                raise InputError(f"{what}: no column '{name}'{near}")
    present = {name for row in content for name in row}
    found = {name: [row[name] for row in content] for name in names}
    return found | {name: [row.get(name) for row in content] for name in others if name in present}


def _rows_of(content: Any) -> int:
    """Of a twin without inputs, which needs to know how many answers are wanted."""
    if isinstance(content, list):
        return len(content)
    return max((len(cells) for cells in content.values() if isinstance(cells, list)), default=1)


def _check_count(rows: int, what: str, most: int) -> None:
    if not rows:
        raise InputError(f"{what} has no rows: give at least one")
    if rows > most:
        raise InputError(f"{what} has {rows:,} rows, and one request may have {most:,}: send several requests")


def _plain(cells: list[Any], column: Described) -> np.ndarray | None:
    """The usual case, at once: finite numbers, or labels that are known; None for anything else."""
    if column.levels:
        codes = {(type(label), label): code for code, label in enumerate(column.levels)}
        found = [codes.get((type(cell), cell)) for cell in cells]
        return None if None in found else np.array(found, float)
    if not all(type(cell) is float or (type(cell) is int and -_WHOLE <= cell <= _WHOLE) for cell in cells):
        return None
    values = np.array(cells, float)
    return values if (np.abs(values) < _LARGE).all() else None


_WHOLE, _LARGE = 2**53, 1e100


def kind_of(value: Any) -> str:
    """What JSON calls a value.

    >>> kind_of([1]), kind_of(None), kind_of({})
    ('a list', 'null', 'an object')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "a text"
    return {list: "a list", dict: "an object"}.get(type(value), "a number")


def told(value: Any) -> str:
    """A value for a message.

    >>> told("x" * 99), told(10**400), told(1.5)
    ("the text 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'", 'a number of more than 300 digits', '1.5')
    """
    if isinstance(value, str):
        return f"the text '{value if len(value) <= 40 else value[:40] + '...'}'"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1_000:
        return "a number of more than 300 digits"
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return repr(value) if number else kind_of(value)
