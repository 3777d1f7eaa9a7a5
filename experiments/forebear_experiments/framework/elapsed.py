"""How long work took over all the times that it was taken up: an attempt that is killed cannot say so itself."""

from __future__ import annotations

import time
from pathlib import Path

from forebear.storage.files import read_json, write_json

_FILE = "sittings.json"
"""named so by earlier versions, whose unfinished work is taken up"""


def elapsed_before(place: Path) -> float:
    """Seconds of all earlier attempts, each up to the last file that it kept; this attempt begins now.

    Arguments:
        place: the folder of the unfinished work, made if need be.

    >>> import tempfile
    >>> elapsed_before(Path(tempfile.mkdtemp()))
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
