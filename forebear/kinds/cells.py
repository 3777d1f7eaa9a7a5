"""The cells of a column as numbers or as labels, and the reasons why they cannot be used."""

from __future__ import annotations

import numbers
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

import numpy as np
import pandas as pd

from forebear.errors import InputError, UnusableColumn

# The squares of larger values, summed over a table, leave the range of double precision; those of smaller
# spreads vanish.
LARGEST, SMALLEST = 1e150, 1e-150
# Integers past this are not all doubles: two different values could become one.
WIDEST_INTEGER = 2**53
# A category with more labels than this, and with few rows per label, is most likely a name or a key.
MANY_LABELS = 50

_NUMBERS = (numbers.Real, Decimal)
_BOOLEANS = (bool, np.bool_)


def number_cells(cells: pd.Series, where: str) -> np.ndarray:
    """The cells as finite float64, or an `InputError`; `where` opens its message.

    >>> number_cells(pd.Series([1, 2], dtype="Int64"), "the table: column 'x'")
    array([1., 2.])
    """
    cells = tamed(cells)
    if holds(cells, where) == "labels" and not cells.isna().all():
        label = _shown(cells.dropna().iloc[0])
        raise InputError(f"{where} must hold numbers but holds labels such as {label}: convert it to numbers")
    check_present(cells, where)
    _check_integers(cells, where)
    if cells.dtype.kind in "fiu":
        values = cells.to_numpy(dtype=np.float64)
    else:
        values = np.array([float(cell) for cell in cells], dtype=np.float64)
    # A nullable float can hide a nan (0/0) that pandas does not count as missing.
    _refuse(np.isnan(values), cells, where, "is not a number (nan)", "drop or fill those rows")
    _refuse(np.isinf(values), cells, where, "is infinite", "drop or replace those rows")
    large = np.abs(values) > LARGEST
    if large.any():
        worst = f"is {values[large][0]:.3g}, too large to be squared in double precision,"
        _refuse(large, cells, where, worst, "rescale the column")
    return values


def check_present(cells: pd.Series, where: str) -> None:
    """Refuse missing cells: nan, None, pd.NA and NaT.

    >>> check_present(pd.Series([1.0, None]), "a.csv: column 'x'")
    Traceback (most recent call last):
    forebear.errors.InputError: a.csv: column 'x' has no value in row 2: drop or fill those rows
    """
    _refuse(cells.isna().to_numpy(), cells, where, "has no value", "drop or fill those rows")


def tamed(cells: pd.Series) -> pd.Series:
    """The cells, safe to look at.

    A signalling nan among decimals raises wherever it is looked at; as a missing cell it can be told.
    """
    if cells.dtype != object or not any(isinstance(cell, Decimal) and cell.is_snan() for cell in cells):
        return cells
    plain = [None if isinstance(cell, Decimal) and cell.is_nan() else cell for cell in cells]
    return pd.Series(plain, index=cells.index, dtype=object)


def _check_text(cells: pd.Series, where: str) -> None:
    """Text from a Parquet file is decoded only when it is looked at."""
    try:
        for _ in cells.cat.categories if isinstance(cells.dtype, pd.CategoricalDtype) else cells:
            pass
    except UnicodeDecodeError:
        raise InputError(f"{where} holds text that is not UTF-8: write the file again") from None


def holds(cells: pd.Series, where: str) -> Literal["numbers", "labels"]:
    """Whether a column holds numbers or labels (booleans, text, pandas categories); anything else is refused.

    >>> holds(pd.Series([True, False]), "the table: column 'x'")
    'labels'
    """
    dtype = cells.dtype
    if dtype.kind not in "fiubcMm":
        _check_text(cells, where)
    if isinstance(dtype, pd.CategoricalDtype) or dtype.kind == "b":
        return "labels"
    if dtype.kind in "fiu":
        return "numbers"
    foreign = {"c": "complex numbers", "M": "dates", "m": "durations"}.get(dtype.kind)
    if foreign:
        raise UnusableColumn(where, f"holds {foreign}", "convert it to a number, or leave it out")
    return _objects_hold(cells.dropna(), where)


def _objects_hold(present: pd.Series, where: str) -> Literal["numbers", "labels"]:
    types = list(dict.fromkeys(map(type, present)))
    strange = [t for t in types if not issubclass(t, (str, *_BOOLEANS, *_NUMBERS))]
    if strange:
        row = int(np.argmax([isinstance(cell, strange[0]) for cell in present]))
        raise InputError(
            f"{where} holds a value of type {strange[0].__name__} in row {present.index[row] + 1}: "
            "convert it to a number or to text, or leave it out"
        )
    if all(issubclass(t, _BOOLEANS) for t in types):
        return "labels"
    if not any(issubclass(t, str) for t in types):
        return "numbers"
    _check_stray_text(present, where)
    return "labels"


def _check_stray_text(present: pd.Series, where: str) -> None:
    text = np.isnan(np.asarray(pd.to_numeric(present, errors="coerce"), dtype=np.float64))
    if not text.any() or 2 * text.sum() > len(text):
        return
    first = int(np.argmax(text))
    raise InputError(
        f"{where} has text among its numbers, {_shown(present.iloc[first])} in row {present.index[first] + 1}"
        f"{_more(int(text.sum()) - 1)}: make every cell a number, empty those without a value, or drop those rows"
    )


def _check_integers(cells: pd.Series, where: str) -> None:
    if cells.dtype.kind in "iu":
        wide = ((cells > WIDEST_INTEGER) | (cells < -WIDEST_INTEGER)).to_numpy(dtype=bool)
    elif cells.dtype.kind == "f":
        return
    else:
        wide = np.array([isinstance(cell, numbers.Integral) and abs(int(cell)) > WIDEST_INTEGER for cell in cells])
    if wide.any():
        told = f"is {cells.iloc[int(np.argmax(wide))]}, an integer past 2**53 that a double cannot hold,"
        remedy = "subtract an offset, or leave the column out if it is an identifier"
        raise UnusableColumn(where, f"{told} in {_rows(wide, cells)}", remedy)


def check_spread(values: np.ndarray, where: str) -> None:
    """Refuse numbers that do not vary, or too little for double precision.

    >>> check_spread(np.ones(3), "a.csv: column 'x'")
    Traceback (most recent call last):
    forebear.errors.UnusableColumn: a.csv: column 'x' is constant (every value is 1.0): leave it out
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise UnusableColumn(where, f"is constant (every value is {low!r})")
    # Relative to the largest value, so that neither tiny nor huge units upset the squares.
    scale = max(abs(low), abs(high))
    relative = values / scale
    mean, std = float(relative.mean()), float(relative.std())
    if std < 1e-12 * abs(mean):
        told = f"is nearly constant (it varies by {std * scale:.2g} around {mean * scale:.6g}, less "
        remedy = "subtract its mean at the source, or leave it out"
        raise UnusableColumn(where, f"{told}than double precision resolves)", remedy)
    if high - low < SMALLEST:
        raise InputError(
            f"{where} varies by only {high - low:.2g}, too little to be squared in double precision: "
            "rescale the column"
        )


def label_cells(cells: pd.Series, where: str) -> tuple[np.ndarray, tuple[object, ...]]:
    """Codes (rows,) and the labels they stand for, in order: that of a pandas category, or of the alphabet.

    >>> label_cells(pd.Series(["b", "a", "b"]), "the table: column 'x'")
    (array([1., 0., 1.]), ('a', 'b'))
    """
    check_present(cells, where)
    if isinstance(cells.dtype, pd.CategoricalDtype):
        used, codes = np.unique(cells.cat.codes.to_numpy(), return_inverse=True)
        levels = [_plain(cells.cat.categories[code]) for code in used]
    else:
        codes, found = pd.factorize(cells)
        labels = [_plain(label) for label in found]
        # By type first: a column may mix text with a few numbers, which do not compare.
        order = sorted(range(len(labels)), key=lambda i: (type(labels[i]).__name__, labels[i]))
        levels = [labels[i] for i in order]
        codes = np.argsort(order)[codes]
    if len(levels) == 1:
        raise UnusableColumn(where, f"is constant (every value is {_shown(levels[0])})")
    if len(levels) > MANY_LABELS and len(levels) > len(cells) / 10:
        told = f"has {len(levels)} different labels in {len(cells)} rows, so it looks like an identifier"
        remedy = "leave it out, or convert it if it is numbers written as text"
        if _numbers_as_text(levels):
            # Most likely a measurement: to leave it out without a word would be wrong.
            raise InputError(f"{where} {told}: {remedy}")
        raise UnusableColumn(where, told, remedy)
    return codes.astype(np.float64), tuple(levels)


_NUMBER_AND_UNIT = re.compile(r"\s*[+-]?[\d.,' ]*\d\s*(%|[^\W\d_][\w/°%²³.]{0,7})?\s*")


def _numbers_as_text(labels: Sequence[object]) -> bool:
    """Whether all labels are numbers with the same unit behind them, or with signs between thousands.

    >>> _numbers_as_text(["1.5 kg", "2 kg"]), _numbers_as_text(["1,234", "900"]), _numbers_as_text(["1a", "1b"])
    (True, True, False)
    """
    found = [_NUMBER_AND_UNIT.fullmatch(str(label)) for label in labels]
    return all(found) and len({one.group(1) for one in found if one is not None}) == 1


def _refuse(bad: np.ndarray, cells: pd.Series, where: str, what: str, remedy: str) -> None:
    if bad.any():
        raise InputError(f"{where} {what} in {_rows(bad, cells)}: {remedy}")


def _rows(bad: np.ndarray, cells: pd.Series) -> str:
    """The first of the bad rows, and how many more there are; cells of gaps may have been taken out before."""
    place = int(np.argmax(bad))
    row = int(cells.index[place]) if cells.index.dtype.kind in "iu" else place
    return f"row {row + 1}{_more(int(bad.sum()) - 1)}"


def _more(count: int) -> str:
    return f" and {count} more row{'s' if count > 1 else ''}" if count else ""


def _shown(value: object) -> str:
    # A cell can hold a page of text, or line breaks; the message stays one short line.
    text = repr(_plain(value))
    return text if len(text) <= 40 else f"{text[:37]}..."


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
