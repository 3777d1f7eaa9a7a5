"""Exported twins at work: C compiled and called, FMUs simulated in a process that has no forebear."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wstrict-prototypes")
_Doubles = ctypes.POINTER(ctypes.c_double)


def compiler() -> str:
    """A C compiler; the test is left out where there is none."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler")
    return found


class Law:
    """The functions of an exported .c file, compiled without a single warning."""

    def __init__(self, file: Path, targets: int):
        library = file.with_name(f"{file.stem}.compiled")
        subprocess.run([compiler(), *STRICT, "-shared", "-fPIC", "-o", library, file, "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
        self.targets = targets
        self._push, self._outside, self._latents = (
            getattr(loaded, f"{file.stem}_{word}") for word in ("push", "outside", "latents")
        )
        self._outside.restype = ctypes.c_double
        self._latents.argtypes = [ctypes.c_uint64, ctypes.c_uint64, _Doubles]

    def push(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Targets (rows, targets) at rows x and latents z."""
        found = np.full((len(z), self.targets), np.nan)
        for row, latents, y in zip(x, z, found, strict=True):
            self._push(*(_pointer(np.ascontiguousarray(one, float)) for one in (row, latents)), _pointer(y))
        return found

    def outside(self, x: np.ndarray) -> np.ndarray:
        """How far each row is from the data."""
        return np.array([self._outside(_pointer(np.ascontiguousarray(row, float))) for row in x])

    def latents(self, seed: int, draw: int) -> np.ndarray:
        """Noise by number."""
        z = np.zeros(self.targets)
        self._latents(seed, draw, _pointer(z))
        return z


def _pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(_Doubles)


_ELSEWHERE = """
import json, sys
for name in ("forebear", "jax", "equinox"):
    sys.modules[name] = None
import fmpy
import numpy as np
from fmpy.validation import validate_fmu
asked = json.loads(sys.stdin.read())
signals = None
if asked["signals"]:
    names = list(asked["signals"])
    rows = list(zip(*asked["signals"].values()))
    kinds = [(name, np.float64) for name in names]
    signals = np.array([tuple(row) for row in rows], dtype=kinds)
told = fmpy.simulate_fmu(asked["file"], start_time=0.0, stop_time=asked["stop"], output_interval=asked["every"],
                         start_values=asked["start"], input=signals, set_input_derivatives=False)
print(json.dumps({"problems": validate_fmu(asked["file"]), "names": told.dtype.names, "rows": told.tolist()}))
"""


def simulated(
    file: Path, stop: float, *, every: float = 1.0, start: dict[str, Any] | None = None, signals: Any = None
) -> tuple[list[str], dict[str, np.ndarray]]:
    """What FMPy's checker has to say of an FMU, and each of its outputs over time.

    `signals` are columns, "time" among them, of inputs and of parameters that change.
    """
    pytest.importorskip("fmpy")
    asked = {"file": str(file), "stop": stop, "every": every, "start": start or {}, "signals": signals}
    # -S -I would hide fmpy too: forebear is taken away by name.
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return told["problems"], dict(zip(told["names"], np.array(told["rows"], float).T, strict=True))
