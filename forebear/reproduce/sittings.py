"""How long work took over all the times that it was taken up: what was killed could not say so itself."""

from __future__ import annotations

import time
from pathlib import Path

from forebear.storage.files import read_json, write_json

_FILE = "sittings.json"


def sit_down(place: Path) -> float:
    """Seconds of the sittings before this one, each up to the last file that it kept; this one begins now.

    Arguments:
        place: the folder of the unfinished work, made if need be.

    >>> import tempfile
    >>> sit_down(Path(tempfile.mkdtemp()))
    0.0
    """
    file = place / _FILE
    before = 0.0
    if file.is_file():
        told = read_json(file)
        kept = max((f.stat().st_mtime for f in place.rglob("*") if f != file and f.is_file()), default=0.0)
        before = told["before"] + max(kept - told["began"], 0.0)
    write_json(file, {"before": before, "began": time.time()})
    return before
