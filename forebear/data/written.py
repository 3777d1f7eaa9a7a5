"""Numbers as people and spreadsheets write them: signs for no value, thousands, per cent, currencies, lines of units.

Only where a whole column can be read in one way: a column that could mean two things stays text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

MARKS = frozenset(
    ["-", "--", "---", "–", "—", "?", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!", "#ERROR!"]
)
"""what stands in a cell without a value, among numbers"""
_EXPONENT = r"([eE][+-]?\d+)?"
_PLAIN = {
    ".": re.compile(rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}"),
    ",": re.compile(rf"[+-]?(\d+,?\d*|,\d+){_EXPONENT}"),
}
# A group of thousands never follows a nought.
_GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:([,' \u00a0\u202f’])\d{3}(?:\1\d{3})*)(\.\d+)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:([.' \u00a0\u202f’])\d{3}(?:\1\d{3})*)(,\d+)?"),
}
_GROUPS = re.compile(r"[' \u00a0\u202f’]")
_CURRENCY = re.compile(r"([+-]?)\s*([$€£¥])\s*(.*)|(.*\d)\s*([$€£¥%])")
# Columns of numbers below which a line of text above them is no line of units.
_FEWEST = 2


class Written(NamedTuple):
    """What a column of text says."""

    values: np.ndarray
    """NaN where a cell has no value"""
    marks: tuple[str, ...]
    """what stood in those cells, each once"""


def as_numbers(cells: pd.Series, decimal: str = ".") -> Written | None:
    """A column of text as numbers; None where some cell is none, or the column could be read in two ways.

    >>> as_numbers(pd.Series(["1,234.5", "900", "-"])).values.tolist()
    [1234.5, 900.0, nan]
    >>> as_numbers(pd.Series(["12 %", "7.5 %"])).values.tolist(), as_numbers(pd.Series(["1,234", "2,900"]))
    ([12.0, 7.5], None)
    """
    present = cells.dropna()
    if not len(present) or not any(isinstance(cell, str) for cell in present.iloc[:1_000]):
        return None
    codes, distinct = pd.factorize(present.astype(str).str.strip())
    texts = [text for text in distinct if text not in MARKS]
    numbers = _numbers(texts, decimal)
    if numbers is None:
        return None
    known = dict(zip(texts, numbers, strict=True))
    values = np.full(len(cells), np.nan)
    values[cells.notna().to_numpy()] = np.array([known.get(text, np.nan) for text in distinct])[codes]
    return Written(values, tuple(text for text in distinct if text in MARKS))


def _numbers(texts: Sequence[str], decimal: str) -> list[float] | None:
    texts = _bare([text.replace("−", "-") for text in texts])
    if not texts:
        return None
    plain, grouped = _PLAIN[decimal], _GROUPED[decimal]
    found = [plain.fullmatch(text) or grouped.fullmatch(text) for text in texts]
    other = "," if decimal == "." else "."
    if all(found):
        apart = [one for one in found if one is not None and one.re is grouped]
        # "1,234" alone could be a number with a decimal comma; with a fraction or a second group it is not.
        sure = [one for one in apart if one.group(1) != "," or one.group(2) or one.group(0).count(",") > 1]
        if apart and not sure:
            return None
        return [float(_GROUPS.sub("", text).replace(other, "").replace(decimal, ".")) for text in texts]
    if decimal == "." and all(map(_PLAIN[","].fullmatch, texts)):
        # So is "0,126" or "1,5" a decimal comma for sure.
        fractions = [text.split(",") for text in texts if "," in text]
        if any(len(after) != 3 or whole.lstrip("+-").startswith("0") for whole, after in fractions):
            return [float(text.replace(",", ".")) for text in texts]
    return None


def _bare(texts: Sequence[str]) -> Sequence[str]:
    """Without a sign of a currency or of per cent that all of them have."""
    found = [_CURRENCY.fullmatch(text) for text in texts]
    signs = {one.group(2) or one.group(5) for one in found if one is not None}
    if len(signs) != 1 or not all(found):
        return texts
    return [(one.group(4) or f"{one.group(1)}{one.group(3)}").strip() for one in found if one is not None]


class Tidied(NamedTuple):
    """A table whose columns of written numbers are numbers."""

    frame: pd.DataFrame
    units: tuple[str, ...]
    """the cells of a line of units that stood above the numbers"""
    marks: tuple[str, ...]
    """what stood for no value"""


def tidy(frame: pd.DataFrame, decimal: str = ".", whole: bool = True) -> Tidied:
    """Columns of written numbers become numbers; a line of units above them goes, if the table is `whole`.

    >>> tidied = tidy(pd.DataFrame({"p": ["bar", "1.5", "2"], "T": ["degC", "7", "-"]}))
    >>> tidied.frame.to_dict("list"), tidied.units, tidied.marks
    ({'p': [1.5, 2.0], 'T': [7.0, nan]}, ('bar', 'degC'), ('-',))
    """
    units = _units(frame, decimal) if whole else ()
    if units:
        frame = frame.iloc[1:].reset_index(drop=True)
    marks: dict[str, None] = {}
    made = {}
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O" or isinstance(dtype, pd.StringDtype):
            written = as_numbers(frame.iloc[:, place], decimal)
            if written is not None:
                made[place] = written.values
                marks |= dict.fromkeys(written.marks)
    if not made:
        return Tidied(frame, units, ())
    columns = [made.get(place, frame.iloc[:, place]) for place in range(frame.shape[1])]
    tidied = pd.DataFrame(dict(enumerate(columns)), index=frame.index)
    tidied.columns = frame.columns
    return Tidied(tidied, units, tuple(marks))


def _units(frame: pd.DataFrame, decimal: str) -> tuple[str, ...]:
    """The first row, where it holds text and all below it numbers, in two columns or more and in no other way."""
    if len(frame) < 3:
        return ()
    units, above = [], 0
    for place in range(frame.shape[1]):
        first = frame.iloc[0, place]
        if not isinstance(first, str):
            if first == first and first is not None:
                return ()
            continue
        text = first.strip()
        if text not in MARKS and _numbers([text], decimal) is not None:
            return ()
        units.append(text)
        above += text not in MARKS and as_numbers(frame.iloc[1:, place], decimal) is not None
    return tuple(units) if above >= _FEWEST else ()
