"""Which rows of a table are read, and the records of a text file: counted and picked out in two passes that hold a
part of the file at a time, packed files too.

A record is a line, or several where a cell in quotes goes on.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import numpy as np

from forebear.errors import check_whole

_BLOCK, _LONGEST = 1 << 22, 1 << 26
_NEWLINE, _RETURN, _QUOTE = b"\n"[0], b"\r"[0], b'"'[0]
PACKED = ".gz"


def chosen_rows(total: int, most: int | None, seed: int) -> np.ndarray | None:
    """Numbers of the rows to read, in order; None: all.

    >>> chosen_rows(5, 10, 0) is None, chosen_rows(1_000_000_000, 3, 0).shape
    (True, (3,))
    """
    if most is not None:
        check_whole("sample", most, 1)
    if most is None or total <= most:
        return None
    # Few of many: numbers are drawn until enough differ, so that nothing of the size of the table is held.
    rng, found = np.random.default_rng([seed, 0x5A]), np.zeros(0, np.int64)
    while len(found) < most:
        found = np.unique(np.append(found, rng.integers(total, size=int(1.1 * (most - len(found))) + 16)))
    return np.sort(rng.permutation(found)[:most])


def suffix_of(path: Path) -> str:
    """The ending that says what a file holds, without that of packing.

    >>> suffix_of(Path("a.CSV")), suffix_of(Path("a.csv.gz")), suffix_of(Path("a"))
    ('.csv', '.csv', '')
    """
    return Path(path.stem).suffix.lower() if is_packed(path) else path.suffix.lower()


def is_packed(path: Path) -> bool:
    """Whether the file is packed by gzip, by its ending."""
    return path.suffix.lower() == PACKED


def open_bytes(path: Path) -> IO[bytes]:
    """The file, unpacked as it is read."""
    if is_packed(path):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def open_text(path: Path, encoding: str) -> IO[str]:
    """The same as text, line ends as they are."""
    if is_packed(path):
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


class UnclearRecords(ValueError):
    """A quote is opened and never closed: where records end cannot be told."""


def count_records(path: Path, quoted: bool = True) -> int:
    """How many records there are that are not blank, the header included.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text('x,y\\n1,"two\\nlines"\\n\\n3,4')
    ...     count_records(file), pick_records(file, np.array([1]))
    (3, b'x,y\\n3,4')
    """
    return sum(len(starts) for _, starts, _ in _blocks(path, quoted))


def pick_records(path: Path, rows: np.ndarray, quoted: bool = True, header: bool = True) -> bytes:
    """The header, if there is one, and the records with these numbers, which rise and count from behind it."""
    wanted = np.concatenate([[0], rows + 1]) if header else rows
    parts, seen = [], 0
    for block, starts, ends in _blocks(path, quoted):
        first, last = np.searchsorted(wanted, [seen, seen + len(starts)])
        parts += [block[starts[one] : ends[one]] for one in wanted[first:last] - seen]
        seen += len(starts)
    return b"".join(parts)


def _blocks(path: Path, quoted: bool) -> Iterator[tuple[bytes, np.ndarray, np.ndarray]]:
    """Parts of a file that end with a record, and where the records in them that are not blank start and end."""
    left = b""
    with open_bytes(path) as file:
        while True:
            read = file.read(_BLOCK)
            block = left + read
            if not block:
                return
            codes = np.frombuffer(block, np.uint8)
            ends = np.flatnonzero(codes == _NEWLINE) + 1
            if quoted:
                # Inside quotes a line goes on: the number of quotes before its end is odd.
                quotes = np.flatnonzero(codes == _QUOTE)
                ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
            if not read and (not len(ends) or ends[-1] < len(block)):
                ends = np.append(ends, len(block))  # the last line need not end
            if len(ends):
                starts = np.concatenate([[0], ends[:-1]])
                lengths = ends - starts
                blank = (lengths == 1) & (codes[starts] == _NEWLINE)
                blank |= (lengths == 2) & (codes[starts] == _RETURN)
                yield block, starts[~blank], ends[~blank]
                left = block[ends[-1] :]
            else:
                left = block
            if not read:
                return
            if len(left) > _LONGEST:
                raise UnclearRecords
