"""Runs that are killed, and disks that are full: `make test-faults`. What happened is written where it says.

Each kill is a SIGKILL of the whole process group at a random moment between the start of the process and the end of
an uninterrupted run; half of them use two worker processes, and some are killed several times before they may end.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import Rig, result, without_seconds

import forebear

pytestmark = pytest.mark.slow

KILLED, FULL = 25, 10
OUTCOMES: dict[str, list[dict[str, Any]]] = {"killed": [], "disk full": []}


class Whole:
    """An uninterrupted run: what it says, how long it takes, what is in its folder."""

    def __init__(self, folder: Path):
        self.rig = Rig(folder)
        self.rig.finish("first", "--jobs", "2")  # fills the compilation cache, in workers as well
        started = time.monotonic()
        self.answer = self.rig.finish("whole")
        self.seconds = time.monotonic() - started
        self.result = result(folder / "whole")
        self.bytes = sum(file.stat().st_size for file in (folder / "whole").rglob("*") if file.is_file())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    yield Whole(tmp_path_factory.mktemp("faults"))
    place = os.environ.get("FOREBEAR_FAULTS")
    if place:
        counts = {name: f"{sum(o['same_bits'] for o in rows)} of {len(rows)}" for name, rows in OUTCOMES.items()}
        about = {"command": "make test-faults", "same bits after resuming": counts, **OUTCOMES}
        Path(place).write_text(json.dumps(about, indent=1) + "\n")


def check_readable(folder: Path) -> list[str]:
    """Every file is whole, or was never given its name; the names come back."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix in (".json", ".safetensors")]
    for file in files:
        if file.suffix == ".json":
            json.loads(file.read_text(encoding="utf-8"))
        else:
            from safetensors.numpy import load_file

            load_file(file)
    return sorted(file.relative_to(folder).as_posix() for file in files)


@pytest.mark.parametrize("number", range(KILLED))
def test_killed_and_resumed(number: int, whole: Whole) -> None:
    rng = random.Random(number)
    jobs, kills = rng.choice(["1", "2"]), rng.choice([1, 1, 2, 3])
    moments, left = [], []
    out = f"killed-{number}"
    for _ in range(kills):
        process = whole.rig.start(out, "--jobs", jobs)
        moments.append(round(rng.uniform(0.2, 1.0) * whole.seconds, 2))
        try:
            process.communicate(timeout=moments[-1])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        left.append(check_readable(whole.rig.folder / out) if (whole.rig.folder / out).exists() else [])
    same = whole.rig.finish(out, "--jobs", jobs) == whole.answer
    same = same and result(whole.rig.folder / out) == whole.result
    files = sorted(path.name for path in (whole.rig.folder / out).iterdir())
    OUTCOMES["killed"].append({"jobs": int(jobs), "seconds": moments, "left": left[-1], "same_bits": same})
    assert same and files == ["data.safetensors", "found.json", "lock", "pieces", "run.json"]
    shutil.rmtree(whole.rig.folder / out)


@pytest.mark.parametrize("number", range(FULL))
def test_disk_full(number: int, whole: Whole) -> None:
    """On a disk of a size (or, where none can be mounted, with files of a size) between nothing and nearly enough."""
    folder = whole.rig.folder / f"full-{number}"
    folder.mkdir()
    size = max(4096, int((number + 0.5) / FULL * whole.bytes))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size // 4096 * 4096}", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True).returncode == 0
    limit = None if mounted else (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size // 4, size // 4)))
    try:
        process = whole.rig.start(f"{folder.name}/run", before=limit)
        printed, said = process.communicate(timeout=300)
        left = check_readable(folder)
        line = said.splitlines()[-1]
        if process.returncode == 0:
            same = without_seconds(json.loads(printed)) == whole.answer  # the parts fitted after all
        else:
            assert process.returncode == 2 and printed == "" and "Traceback" not in said
            assert "the disk is full; what was saved before is whole" in line
            if mounted:
                subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
            same = whole.rig.finish(f"{folder.name}/run") == whole.answer
        how = "tmpfs" if mounted else "RLIMIT_FSIZE"
        kept = {"how": how, "bytes": size, "status": process.returncode, "left": left, "same_bits": same}
        OUTCOMES["disk full"].append(kept)
        assert same
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=False)


def test_a_read_only_folder_is_one_line(whole: Whole) -> None:
    """As root nothing is read-only by its permissions, so a file system is mounted as such where it can be."""
    folder = whole.rig.folder / "read-only"
    shutil.copytree(whole.rig.folder / "whole", folder / "run")
    if subprocess.run(["mount", "--bind", str(folder), str(folder)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        process = whole.rig.start("read-only/run")
        printed, said = process.communicate(timeout=300)
        assert process.returncode == 2 and printed == ""
        assert said == "forebear: read-only/run: cannot write there (Read-only file system): choose another folder\n"
        assert forebear.load(folder / "run").ancestors
    finally:
        subprocess.run(["umount", str(folder)], check=False)
