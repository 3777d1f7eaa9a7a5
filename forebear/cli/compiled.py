"""Compiled code is kept from one command to the next: compiling takes longer than the work itself on small tables.

JAX does the keeping; here is decided where, and how much. JAX's own variables move the place
(JAX_COMPILATION_CACHE_DIR) and switch it off (JAX_ENABLE_COMPILATION_CACHE=false).
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import warnings
from pathlib import Path

from forebear.run.compiled import NOT_KEPT

_PLACE, _SWITCH, _LEAST = (
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_ENABLE_COMPILATION_CACHE",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
)
_LEAST_SECONDS = "0.1"
MOST_BYTES = 200_000_000
"""past this the oldest half goes; a table of new shape takes half a megabyte"""


def keep_compiled() -> None:
    """Tell JAX, before it is loaded, where to keep what it compiles; whoever has told it already is left alone."""
    warnings.filterwarnings("ignore", message=NOT_KEPT)
    if "jax" in sys.modules or os.environ.keys() & {_PLACE, _SWITCH}:
        return
    place = _caches() / "forebear" / "compiled" / _processor()
    make_room(place)
    os.environ[_PLACE] = str(place)
    os.environ.setdefault(_LEAST, _LEAST_SECONDS)


def make_room(place: Path, most: int = MOST_BYTES) -> None:
    """Delete the oldest files of a folder that holds more than `most` bytes, until it holds half as many."""
    try:
        files = [(file.stat(), file) for file in place.iterdir()]
        held = sum(about.st_size for about, _ in files)
        if held <= most:
            return
        for about, file in sorted(files, key=lambda one: one[0].st_mtime):
            file.unlink(missing_ok=True)
            held -= about.st_size
            if held <= most / 2:
                return
    except OSError:  # there is no such folder yet, or another command is at work in it
        return


def _caches() -> Path:
    named = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(named) if named else Path("~/.cache").expanduser()


def _processor() -> str:
    """Stands for what this processor can do: machines that share a home folder do not share code."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        able = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        able = platform.processor()
    return hashlib.sha256(f"{platform.machine()} {able}".encode()).hexdigest()[:16]
