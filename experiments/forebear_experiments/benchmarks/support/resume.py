"""Long benchmarks that can be interrupted: a file with one line of JSON per piece that is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forebear.run.engine import as_done

Piece = tuple[Any, ...]
"""names and numbers that say all about what is to be done"""


def resumed(
    function: Callable[[Any], Any], pieces: Sequence[Piece], jobs: Any = 1, out: str | Path | None = None
) -> Iterator[tuple[Piece, Any]]:
    """Each piece with its result: first those whose line is in the file, then the others, as they are done.

    What is done is appended at once, but for a result of None, which means that it could not be done here. Results
    must be plain enough for JSON. Of pieces that fail, what `as_done` says holds here too.

    >>> list(resumed(sum, [(1, 2), (3,)]))
    [((1, 2), 3), ((3,), 3)]
    """
    file = None if out is None else Path(out)
    done = {} if file is None else stored(file)
    yield from ((piece, done[piece]) for piece in pieces if piece in done)
    left = [piece for piece in pieces if piece not in done]
    for place, result in as_done(function, left, jobs):
        if file is not None and result is not None:
            _append(file, left[place], result)
        yield left[place], result


def stored(file: Path) -> dict[Piece, Any]:
    """The pieces of a file; a last line that was cut off is not counted."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            told = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[tuple(told["piece"])] = told["result"]
    return found


def _append(file: Path, piece: Piece, result: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as stream:
        if _cut_off(stream):
            stream.write(b"\n")
        stream.write(json.dumps({"piece": piece, "result": result}).encode() + b"\n")


def _cut_off(stream: Any) -> bool:
    """Whether a file, open for appending, ends within a line."""
    if stream.seek(0, 2) == 0:
        return False
    stream.seek(-1, 2)
    return stream.read(1) != b"\n"
