"""What a user says a column is, where its cells say otherwise: numbers that are labels, labels that are numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.column import cells_of
from forebear.data.names import expand, pick_names
from forebear.data.source import Opened
from forebear.errors import InputError, listed, near_miss
from forebear.kinds import KINDS
from forebear.kinds.cells import MANY_LABELS

CATEGORY, REAL, PERIODIC = "category", "real", "periodic"
_MEANT = {"categorical": CATEGORY, "label": CATEGORY, "labels": CATEGORY, "number": REAL, "numeric": REAL}
_MEANT |= {"float": REAL, "continuous": REAL, "text": CATEGORY, "angle": PERIODIC}


def with_kinds(opened: Opened, kinds: Mapping[str, str] | None) -> Opened:
    """The table with its columns as they were said to be, or an `InputError` about the first that cannot be so.

    >>> table = pd.DataFrame({"grade": [3, 1, 3], "size": ["10", "12", "9"], "y": [0.1, 0.2, 0.3]})
    >>> told = with_kinds(Opened(table, "a.csv"), {"grade": "category", "size": "real"}).frame
    >>> list(told["grade"].cat.categories), told["size"].tolist()
    ([1, 3], [10.0, 12.0, 9.0])
    >>> with_kinds(Opened(table, "a.csv"), {"grade": "ordinal"})
    Traceback (most recent call last):
    forebear.errors.InputError: kinds: 'grade' cannot be taken as 'ordinal'. Known: 'category', 'real'.
    """
    frame, source = opened
    said = pick_kinds(kinds, [str(name) for name in frame.columns], source)
    if not said:
        return opened
    made = {n: _TAKEN[kind](cells_of(frame, n), f"{source}: column '{n}'") for n, kind in said.items()}
    return Opened(frame.assign(**made), source)


def pick_kinds(kinds: Mapping[str, str] | None, columns: Sequence[str], source: str) -> dict[str, str]:
    """Column -> kind, patterns taken as the columns that they match."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise InputError(f"kinds must map columns to kinds, like {{'grade': 'category'}}; got {kinds!r}")
    said = {
        name: _word(kind, str(given))
        for given, kind in kinds.items()
        for name in expand([str(given)], columns, source, "named in kinds")
    }
    return {name: said[name] for name in pick_names(list(said), columns, source, "kinds")}


def _word(kind: Any, name: str) -> str:
    if kind == PERIODIC:
        raise InputError(f"kinds: '{name}' is an angle by its period: give it in periodic, such as {{'{name}': 360}}")
    if not isinstance(kind, str) or kind not in _TAKEN:
        meant = _MEANT.get(kind) if isinstance(kind, str) else None
        told = f"Write '{meant}'." if meant in _TAKEN else near_miss(str(kind), _TAKEN)
        if kind in KINDS:  # one that somebody registered: it recognises its own cells
            told = f"Can be said: {listed(_TAKEN)}."
        raise InputError(f"kinds: '{name}' cannot be taken as {kind!r}. {told}")
    return kind


def _as_category(cells: pd.Series, where: str) -> pd.Series:
    """Labels that sort as what they are; numbers stay numbers, so that rows to come are read the same way."""
    if isinstance(cells.dtype, pd.CategoricalDtype) or cells.dtype.kind == "b":
        return cells
    if cells.dtype.kind in "mMc":
        raise InputError(f"{where} holds dates or complex numbers and cannot be a category: write them as text")
    present = cells.dropna()
    values = present.astype(object).tolist()
    if any(isinstance(value, str) for value in values):
        values = [value if isinstance(value, str) else str(value) for value in values]
    elif all(isinstance(value, bool | np.bool_) for value in values):
        return cells
    else:
        values = [_plain_number(value, where) for value in values]
    levels = sorted(set(values))
    if len(levels) > MANY_LABELS and len(levels) > len(present) / 10:
        raise InputError(
            f"{where} has {len(levels)} different values in {len(present)} rows, too many for a category: leave it "
            "out of kinds"
        )
    whole = pd.Series(pd.NA, index=cells.index, dtype=object)
    whole[present.index] = pd.Series(values, index=present.index, dtype=object)
    return pd.Series(pd.Categorical(whole, categories=pd.Index(levels, dtype=object)), index=cells.index)


def _plain_number(value: Any, where: str) -> int | float:
    """A number as one would write it: 3 for 3.0, which a gap elsewhere in the column makes of 3."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where} holds a value of type {type(value).__name__}: convert it to text") from None
    if not np.isfinite(number):
        raise InputError(f"{where} holds {value}, which is no label: drop or fill those rows")
    return int(value) if number == int(number) else number


def _as_real(cells: pd.Series, where: str) -> pd.Series:
    """Numbers, from text and from labels."""
    if cells.dtype.kind in "fiu":
        return cells
    if cells.dtype.kind in "mMc":
        raise InputError(f"{where} holds dates or complex numbers: convert them to numbers")
    plain = pd.Series(cells.astype(object))
    numbers = pd.Series(pd.to_numeric(plain, errors="coerce"))
    wrong = (numbers.isna() & ~plain.isna()).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{where} cannot be taken as real: it holds {plain.iloc[row]!r} in row {row + 1}. Make every cell a "
            "number, or leave it out of kinds"
        )
    return numbers.astype(float)


_TAKEN: dict[str, Callable[[pd.Series, str], pd.Series]] = {CATEGORY: _as_category, REAL: _as_real}
SAID = tuple(_TAKEN)
"""the words that can be said"""
