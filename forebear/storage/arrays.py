"""Arrays on disk as safetensors: whole or not at all, and nothing in them can run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from forebear.errors import InputError
from forebear.storage.files import write_bytes


def save_arrays(file: Path, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> None:
    """Write arrays, with a JSON document beside them in the same file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_arrays(Path(folder) / "a.safetensors", {"x": np.arange(2.0)}, {"unit": "m"})
    ...     load_arrays(Path(folder) / "a.safetensors", "write it again")
    ({'x': array([0., 1.])}, {'unit': 'm'})
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_bytes(file, save(plain, {"about": json.dumps(about, default=str)}))


def load_arrays(file: Path, remedy: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_arrays` wrote, or an `InputError` that ends with the remedy."""
    try:
        with safe_open(os.fspath(file), "numpy") as opened:
            about = json.loads((opened.metadata() or {})["about"])
            return {name: opened.get_tensor(name) for name in opened.keys()}, about
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or 'truncated'}): {remedy}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError, MemoryError, OverflowError):
        raise InputError(f"{file}: not written by forebear, or damaged: {remedy}") from None
