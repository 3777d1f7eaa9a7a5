"""CSV files as people have them: the encoding, the sign between cells and the decimal sign are found."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import warnings
import zlib
from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from forebear.data.records import (
    UnclearRecords,
    chosen_rows,
    count_records,
    is_packed,
    open_bytes,
    open_text,
    pick_records,
)
from forebear.data.written import tidy
from forebear.errors import InputError, listed
from forebear.storage.memory import check_file

# Before 3.1 the default parser of pandas may be off in the last bit; since then it is exact, and the option
# that asks for it is deprecated.
_OLD_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
_READ_CSV: dict[str, Any] = {"float_precision": "round_trip"} if _OLD_PANDAS else {}
# index_col=False: otherwise, when rows have more cells than names, pandas takes the first column as an index
# and shifts every name by one; with it, pandas warns.
_READ_CSV |= {"skipinitialspace": True, "low_memory": False, "index_col": False}

# Of a file's size, while its text becomes columns; of one that is packed, which holds about four times as much.
_COPIES, _COPIES_OF_PACKED = 3.0, 12.0
# Files of fewer bytes are read as a whole, whatever is drawn of them.
SMALL = 1 << 24
DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 50
_BLOCK = 1 << 16
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WESTERN = "cp1252"
_NUMBER = r"[+-]?\d+{sign}\d+([eE][+-]?\d+)?"
_WITH_POINT, _WITH_COMMA = (re.compile(_NUMBER.format(sign=sign)) for sign in (r"\.", ","))
# Whole numbers of a file with decimal commas.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")


class Dialect(NamedTuple):
    """How the cells of a file are written."""

    encoding: str
    delimiter: str
    decimal: str


class Delimited(NamedTuple):
    """What was read of a file."""

    header: list[str]
    """the names as they stand there"""
    cells: pd.DataFrame
    total: int
    """rows of the file"""


def read_delimited(path: Path, most: int | None = None, seed: int = 0) -> Delimited:
    """The names in the header, and the cells below it: of all rows, or of so many at most, drawn by the seed.

    Of a large file with more rows than that, only those are ever held.
    """
    try:
        dialect = find_dialect(path)
        header = next(_lines(path, dialect.encoding, dialect.delimiter))
        _check_header(header, path)
        _check_title(header, path, dialect.encoding)
        part, total = _part(path, dialect, most, seed)
        if part is None:
            check_file(path, _COPIES_OF_PACKED if is_packed(path) else _COPIES)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            how = {"encoding": dialect.encoding, "sep": dialect.delimiter, "decimal": dialect.decimal}
            source: Any = path if part is None else BytesIO(part)
            cells = pd.read_csv(source, header=0, names=list(range(len(header))), **how, **_READ_CSV)
        if len(header) > 1 and not header[-1].strip() and cells.iloc[:, -1].isna().all():
            # Each line ends with the sign between cells.
            header, cells = header[:-1], cells.iloc[:, :-1]
        tidied = told_tidy(path, cells, dialect.decimal, part is None)
        return Delimited(header, tidied, len(tidied) if part is None else total)
    except UnicodeError as error:
        raise InputError(f"{path} is not text in UTF-8: save it as a CSV in UTF-8") from error
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{path} has more cells in a row than names in its header: give every column a name"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}): pack it again") from error
    except (pd.errors.ParserError, csv.Error) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise InputError(f"{path} is not a well-formed CSV ({reason}): mend or drop that line") from error


def told_tidy(path: Path, cells: pd.DataFrame, decimal: str = ".", whole: bool = True) -> pd.DataFrame:
    """The cells, with written numbers as numbers; what that took for units or for gaps is told in a warning."""
    tidied = tidy(cells, decimal, whole)
    if tidied.units:
        warnings.warn(
            f"{path}: the line below the names holds no numbers ({listed(tidied.units, 3)}) and was taken for units",
            stacklevel=2,
        )
    if tidied.marks:
        warnings.warn(f"{path}: {listed(tidied.marks, 4)} among numbers was read as a missing value", stacklevel=2)
    return tidied.frame


def _part(path: Path, dialect: Dialect, most: int | None, seed: int) -> tuple[bytes | None, int]:
    """The lines that are drawn of a large file, and how many rows it has; None where it is to be read as a whole."""
    if most is None or dialect.encoding == "utf-16" or path.stat().st_size < SMALL:
        return None, 0
    try:
        total = count_records(path) - 1
        rows = chosen_rows(total, most, seed)
        return (None, total) if rows is None else (pick_records(path, rows), total)
    except UnclearRecords:
        return None, 0


def find_dialect(path: Path) -> Dialect:
    """Encoding, delimiter and decimal sign, from the marks of the file and its first lines.

    A file that is not UTF-8 is read as Windows-1252, with a warning.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text("x;y\\n1,5;2\\n")
    ...     find_dialect(file)
    Dialect(encoding='utf-8', delimiter=';', decimal=',')
    """
    encoding = _find_encoding(path)
    looked_at = {sign: lines for sign in DELIMITERS if (lines := _look(path, encoding, sign)) is not None}
    if not looked_at:
        raise InputError(f"{path} is not a well-formed CSV (a cell of more than 100,000 letters): mend that line")
    if not any(looked_at.values()):
        raise InputError(f"{path} is empty: it needs a line of column names and rows of values")
    delimiter = max(looked_at, key=lambda sign: _cells(looked_at[sign]))
    cells = [cell.strip() for line in looked_at[delimiter][1:] for cell in line]
    points = [cell for cell in cells if _WITH_POINT.fullmatch(cell) and not _THOUSANDS.fullmatch(cell)]
    comma = delimiter != "," and any(map(_WITH_COMMA.fullmatch, cells)) and not points
    return Dialect(encoding, delimiter, "," if comma else ".")


def _look(path: Path, encoding: str, sign: str) -> list[list[str]] | None:
    """The first lines, cut at a sign; None where that leaves cells of absurd length: it is another sign then."""
    try:
        return list(islice(_lines(path, encoding, sign), _LOOKED_AT))
    except csv.Error:
        return None


def _cells(lines: Sequence[Sequence[str]]) -> tuple[bool, int]:
    """Whether a sign cuts every line into as many cells as the first, and more than one; and how many."""
    several = len(lines[0])
    return several > 1 and all(len(line) == several for line in lines), several


def _find_encoding(path: Path) -> str:
    with open_bytes(path) as file:
        start = file.read(_BLOCK)
        for mark, encoding in _MARKS.items():
            if start.startswith(mark):
                return encoding
        if b"\0" in start:
            raise InputError(f"{path} holds binary data, not text: save it as a CSV in UTF-8")
    try:
        _decode(path, "utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        _decode(path, _WESTERN)
        warnings.warn(
            f"{path} is not UTF-8 and was read as Windows-1252: save it as UTF-8 if a name or label looks wrong",
            stacklevel=2,
        )
        return _WESTERN


def _decode(path: Path, encoding: str) -> None:
    """To the end: the sign that does not fit may be anywhere."""
    with open_text(path, encoding) as file:
        while file.read(_BLOCK):
            pass


def _lines(path: Path, encoding: str, delimiter: str) -> Any:
    """The lines that are not blank, cut into cells."""
    with open_text(path, encoding) as file:
        for line in csv.reader(file, delimiter=delimiter, skipinitialspace=True):
            if line:
                yield line


def _check_header(names: list[str], path: Path) -> None:
    # Whole numbers may be the default names of a data frame; fractions are a row of data.
    if all(map(_is_number, names)) and not all(name.isdigit() for name in names):
        raise InputError(f"{path} starts with a line of numbers ({listed(names, 3)}): put column names there")


def _check_title(header: list[str], path: Path, encoding: str) -> None:
    """Lines above the names make one cell of each line; what they are is plain from the lines below."""
    if len(header) > 1:
        return
    for sign in DELIMITERS:
        lines = _look(path, encoding, sign) or []
        several = len(lines[-1]) if lines else 1
        first = next((place for place, line in enumerate(lines) if len(line) == several), 0)
        below = lines[first:]
        if several > 1 and first and len(below) > first and all(len(line) == several for line in below):
            more = f" and {first - 1} more" if first > 1 else ""
            raise InputError(
                f"{path} starts with '{sign.join(lines[0])[:40]}'{more} above the names of its columns: drop what "
                "stands above them"
            )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
