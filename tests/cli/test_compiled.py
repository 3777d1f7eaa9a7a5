"""Compiled code that is kept between commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forebear.cli.compiled import keep_compiled, make_room

SMALL = {"steps": 20, "distilled": 60, "width": 8, "depth": 1}


def _discover(folder: Path) -> tuple[dict[str, object], str]:
    """What the command finds, and what it says on standard error."""
    words = [sys.executable, *"-m forebear discover data.csv --target y --json --rule nsr-jump".split()]
    words += [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    # Everything is kept, however fast it was compiled: what the first command makes the second one finds.
    env |= {"XDG_CACHE_HOME": str(folder / "caches"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: value for name, value in found.items() if "seconds" not in name}, done.stderr


def test_a_second_command_finds_what_the_first_compiled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "y"])
    data["y"] += data["a"]
    data.to_csv(tmp_path / "data.csv", index=False)
    first, _ = _discover(tmp_path)
    [place] = (tmp_path / "caches" / "forebear" / "compiled").iterdir()
    kept = {file.name: file.stat().st_mtime_ns for file in place.iterdir()}
    assert kept
    second, _ = _discover(tmp_path)
    assert second == first
    assert {file.name: file.stat().st_mtime_ns for file in place.iterdir()} == kept
    for file in place.iterdir():  # as a command that was killed may leave them
        file.write_bytes(file.read_bytes()[:100])
    third, said = _discover(tmp_path)
    assert third == first and "cache" not in said


def test_room_is_made_by_deleting_the_oldest(tmp_path: Path) -> None:
    for number in range(10):
        file = tmp_path / str(number)
        file.write_bytes(b"0" * 100)
        os.utime(file, (number, number))
    make_room(tmp_path, most=1_000)
    assert len(list(tmp_path.iterdir())) == 10
    make_room(tmp_path, most=999)
    assert {file.name for file in tmp_path.iterdir()} == {"6", "7", "8", "9"}
    make_room(tmp_path / "missing")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("variable", ["JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"])
def test_what_the_user_told_jax_stays(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.delenv("JAX_ENABLE_COMPILATION_CACHE", raising=False)
    monkeypatch.setenv(variable, "elsewhere")
    before = dict(os.environ)
    keep_compiled()
    assert dict(os.environ) == before
