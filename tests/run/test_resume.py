"""Interrupted at any point and resumed: the same bits. Interrupted by hand: one line, within a second."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from faults import Rig
from quick import QUICK

import forebear as fb
from forebear.storage import files as files_module

SMALL: dict[str, Any] = {**QUICK, "targets": ["y", "s"]}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    return data.assign(y=data["b"] + rng.normal(size=400), s=data["a"] * rng.normal(size=400))


def answers(found: fb.Found) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "seconds"}


@pytest.fixture(scope="module")
def whole(table: pd.DataFrame) -> dict[str, Any]:
    return answers(fb.discover(table, **SMALL))


class Writes:
    """Counts files that were put in their place, and fails at one of them: before it, or after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.names: list[str] = []
        self.at, self.failure = -1, BaseException()
        self.real = os.replace
        # Two threads write: without it, one could pass the moment at which the other was to fail.
        self.one_by_one = threading.Lock()
        monkeypatch.setattr(files_module.os, "replace", self)

    def __call__(self, scratch: str, file: Path) -> None:
        with self.one_by_one:
            self._replace(scratch, file)

    def _replace(self, scratch: str, file: Path) -> None:
        if isinstance(self.failure, OSError) and len(self.names) == self.at:
            raise self.failure
        self.real(scratch, file)
        self.names.append(Path(file).name)
        if len(self.names) - 1 == self.at:
            raise self.failure

    def fail(self, at: int, failure: BaseException) -> None:
        self.names, self.at, self.failure = [], at, failure


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Writes]:
    yield Writes(monkeypatch)


def test_resumes_after_every_single_unit(
    table: pd.DataFrame, whole: dict[str, Any], writes: Writes, tmp_path: Path
) -> None:
    fb.discover(table, out=tmp_path / "run", **SMALL)
    units = writes.names
    assert units[0] == "run.json" and units[-2:] == ["data.safetensors", "found.json"]
    assert {"flow-0.safetensors", "flow-1.safetensors", "draws.safetensors"} <= set(units)
    assert {"fits-0-0-1.json", "path-0.json"} <= set(units)
    assert {"subsets-0.safetensors", "subsets-1.safetensors", "examined-0.json", "00000.json"} <= set(units)
    out = tmp_path / "stepwise"
    for _ in units:
        # Each attempt makes one more unit, the one that the attempt before did not come to.
        writes.fail(0, KeyboardInterrupt())
        try:
            fb.discover(table, out=out, **SMALL)
            break
        except KeyboardInterrupt:
            pass
    writes.fail(-1, KeyboardInterrupt())
    assert answers(fb.discover(table, out=out, **SMALL)) == whole == answers(fb.load(out))
    assert sorted(path.name for path in out.iterdir()) == [
        "data.safetensors",
        "found.json",
        "lock",
        "pieces",
        "run.json",
    ]


def test_a_full_disk_is_one_line_and_loses_nothing(
    table: pd.DataFrame, whole: dict[str, Any], writes: Writes, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    for at in (0, 2, 3, 1):
        writes.fail(at, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(fb.InputError, match="the disk is full; what was saved before is whole: make room"):
            fb.discover(table, out=out, **SMALL)
        assert not list(out.rglob("*.scratch"))
        for file in out.rglob("*.json"):
            json.loads(file.read_text())
    writes.fail(-1, OSError())
    assert answers(fb.discover(table, out=out, **SMALL)) == whole


@pytest.mark.parametrize("name", ["version of jax", "version of forebear", "device"])
def test_other_versions_are_refused(table: pd.DataFrame, writes: Writes, tmp_path: Path, name: str) -> None:
    writes.fail(0, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fb.discover(table, out=tmp_path, **SMALL)
    record = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**record, name: "other"}))
    with pytest.raises(fb.InputError, match=f"holds a run with another '{name}' \\(\"other\", now "):
        fb.discover(table, out=tmp_path, **SMALL)


Damage = Callable[[Path], object]
DAMAGES: dict[str, Damage] = {
    "weights cut short": lambda p: (p / "flow-0.safetensors").write_bytes(b"\x08"),
    "weights of another shape": lambda p: (p / "flow-0.safetensors").write_bytes(
        (p / "draws.safetensors").read_bytes()
    ),
    "draws cut short": lambda p: (p / "draws.safetensors").write_bytes(b""),
    "a path of nothing": lambda p: (p / "path-0.json").write_text("{}"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_parts_are_made_again(
    damage: str, table: pd.DataFrame, whole: dict[str, Any], writes: Writes, tmp_path: Path
) -> None:
    writes.fail(5, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fb.discover(table, out=tmp_path, **SMALL)
    DAMAGES[damage](tmp_path / "parts" / "00000")
    writes.fail(-1, KeyboardInterrupt())
    assert answers(fb.discover(table, out=tmp_path, **SMALL)) == whole


def test_a_damaged_piece_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    fb.discover(table, out=tmp_path, **SMALL)
    for content in ("[]", '{"y": 1}', '{"y": {"path": {}, "certificate": null, "notes": []}}'):
        (tmp_path / "pieces" / "00000.json").write_text(content)
        with pytest.raises(fb.InputError, match=r"pieces/00000.json is damaged: delete that file"):
            fb.discover(table, out=tmp_path, **SMALL)


_KILLED = """
import sys
import forebear
forebear.discover(sys.argv[1], out=sys.argv[2], progress=False, **eval(sys.argv[3]))
"""


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_killed_and_resumed_with_gaps_weights_and_a_sample(name: str, table: pd.DataFrame, tmp_path: Path) -> None:
    """SIGKILL as soon as something is kept: the same call goes on, to the same answer."""
    rng = np.random.default_rng(1)
    messy = pd.concat([table, table + 0.1 * rng.normal(size=table.shape)], ignore_index=True)
    messy = messy.assign(w=rng.uniform(0.5, 2.0, len(messy)))
    messy[["a", "b"]] = messy[["a", "b"]].mask(rng.random((len(messy), 2)) < 0.1)
    file, run = tmp_path / name, tmp_path / "run"
    (messy.to_parquet if name.endswith("parquet") else messy.to_csv)(file, index=False)
    asked: dict[str, Any] = {**SMALL, "weights": "w", "sample": 500}
    process = subprocess.Popen([sys.executable, "-c", _KILLED, str(file), str(run), repr(asked)])
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline and not list(run.rglob("*.safetensors")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (run / "found.json").exists(), "it was too fast to be killed"
    resumed = fb.discover(file, out=run, **asked)
    assert answers(resumed) == answers(fb.discover(file, **asked))
    assert resumed.record.use is not None and (resumed.record.use.rows, resumed.record.use.used) == (800, 500)
    with pytest.raises(fb.InputError, match="another 'weights'"):
        fb.discover(file, out=run, **{**asked, "weights": None})


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_within_a_second(jobs: str, tmp_path: Path) -> None:
    """While JAX compiles and trains, which Python's own interrupt would wait for."""
    process = Rig(tmp_path).start("run", "--jobs", jobs)
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "run.json").is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    pressed = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - pressed
    assert process.returncode == 130 and out == "", err
    assert err.splitlines() == [
        "forebear: there is no run in run to resume: starting one",
        "forebear: interrupted: run the same command with --out run --resume to go on",
    ]
    busy = "PYTEST_XDIST_WORKER" in os.environ or os.getloadavg()[0] > (os.cpu_count() or 1)
    assert took < (5.0 if busy else 1.0)
