"""Whatever happens to the server, the disk or the file: nothing is lost, nothing is half written, and it is said."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from faults import SETTINGS
from studios import QUICK, Running, children, studio, table

LONG: dict[str, Any] = {**QUICK, "runs": 40}
"""a search that is still under way when something happens to it"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table().to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    place = tmp_path_factory.mktemp("studio")
    table().to_csv(place / "data.csv", index=False)
    with studio(place) as running:
        yield running


def moving(run: dict[str, Any]) -> bool:
    """Whether some of the search is done, and not all."""
    return run["state"] == "running" and run["live"] is not None and 0.03 < run["live"]["share"] < 0.9


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are listed elsewhere here")
def test_a_server_that_is_killed_goes_on_where_it_was(folder: Path) -> None:
    asked = {**QUICK, "runs": 6}
    with studio(folder) as first:
        name = first.start("data.csv", asked)
        first.until(name, lambda run: run["live"] is not None and run["live"]["share"] > 0.2)
        workers = children(first.process)
        assert workers
        first.kill()
        until = time.monotonic() + 20
        while any(_alive(pid) for pid in workers):
            assert time.monotonic() < until, "a process outlived its server"
            time.sleep(0.05)
    out = folder / "forebear-studio" / "runs" / name
    assert json.loads((out / "studio.json").read_text())["state"] == "running" and not (out / "found.json").exists()
    before = sorted(file.name for file in (out / "pieces").glob("*"))
    assert before
    times = {file.name: file.stat().st_mtime_ns for file in (out / "pieces").glob("*")}
    with studio(folder) as second:
        run = second.ended(name)
        assert run["answers"][0]["target"] == "y" and "b" in run["answers"][0]["ancestors"]
        # What was done is not done again.
        assert all((out / "pieces" / piece).stat().st_mtime_ns == times[piece] for piece in before)


def _alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_cancel_and_go_on_and_the_command_line_too(up: Running) -> None:
    name = up.start("data.csv", LONG)
    up.until(name, moving)
    assert up.post(f"/api/runs/{name}/cancel", {}).status == 200
    run = up.ended(name, "cancelled")
    assert up.post(f"/api/runs/{name}/go-on", {}).status == 200
    up.until(name, moving)
    up.post(f"/api/runs/{name}/cancel", {})
    up.ended(name, "cancelled")
    # The page says how: the same command, which goes on with the same folder.
    line = up.get(f"/api/runs/{name}")["again"]["resume"]
    words = [sys.executable, "-m", *shlex.split(line), "--json"]
    kept = len(list(Path(run["folder"]).glob("pieces/*")))
    assert kept
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=up.folder)
    assert done.returncode == 0, done.stderr
    found = up.until(name, lambda run: run["state"] == "done")
    assert not found["reported"] and json.loads(done.stdout)["targets"]["y"]["ancestors"]
    # And back: the report is the studio's.
    up.post(f"/api/runs/{name}/go-on", {})
    assert up.until(name, lambda run: run["reported"])["state"] in ("running", "done")


@pytest.mark.slow
def test_what_the_command_line_began_the_studio_finishes(up: Running) -> None:
    settings = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    words = [
        "forebear",
        "discover",
        "data.csv",
        "--target",
        "s",
        "--rule",
        "nsr-jump",
        "--runs",
        "30",
        "--out",
        "mine",
    ]
    begun = subprocess.Popen([sys.executable, "-m", *words, *settings], cwd=up.folder, stderr=subprocess.DEVNULL)
    mine = up.folder / "mine"
    until = time.monotonic() + 120
    while not list(mine.glob("pieces/*")):
        assert time.monotonic() < until and begun.poll() is None
        time.sleep(0.05)
    begun.kill()
    begun.wait()
    [run] = [run for run in up.get("/api/runs")["runs"] if run["folder"] == str(mine)]
    assert run["state"] == "unfinished" and run["elsewhere"] and run["targets"] == ["s"]
    up.post(f"/api/runs/{run['id']}/go-on", {})
    assert up.until(run["id"], lambda run: len(run["answers"]) > 0)["answers"][0]["target"] == "s"
    up.post(f"/api/runs/{run['id']}/cancel", {})
    assert (mine / "found.json").is_file()


@pytest.mark.slow
def test_two_runs_wait_for_each_other(up: Running) -> None:
    first, second = up.start("data.csv", LONG), up.start("data.csv")
    up.until(first, lambda run: run["state"] == "running")
    if (os.cpu_count() or 1) < 8:
        assert up.run(second)["state"] == "waiting"
    up.post(f"/api/runs/{first}/cancel", {})
    up.ended(first, "cancelled")
    up.ended(second)


def test_one_that_waits_can_be_cancelled(up: Running) -> None:
    """At once, too, while its process is being started."""
    first, second = up.start("data.csv", LONG), up.start("data.csv", LONG)
    for name in (second, first):
        up.post(f"/api/runs/{name}/cancel", {})
        up.ended(name, "cancelled")


@pytest.mark.slow
def test_a_file_that_changes_is_told(up: Running) -> None:
    file = up.folder / "changing.csv"
    table().to_csv(file, index=False)
    checked = up.post("/api/check", {"file": "changing.csv", "asked": QUICK}).json
    table(500).to_csv(file, index=False)
    late = up.post("/api/runs", {"file": "changing.csv", "asked": QUICK, "seen": checked["seen"]})
    assert late.status == 409 and "has changed since it was checked" in late.error
    name = up.start("changing.csv", LONG)
    up.until(name, moving)
    up.post(f"/api/runs/{name}/cancel", {})
    up.ended(name, "cancelled")
    table(300).to_csv(file, index=False)
    up.post(f"/api/runs/{name}/go-on", {})
    assert "has changed since this run was set up: put the old file back" in up.ended(name, "failed")["error"]
    table(500).to_csv(file, index=False)
    up.post(f"/api/runs/{name}/go-on", {})
    up.until(name, moving)
    up.post(f"/api/runs/{name}/cancel", {})
    file.unlink()
    up.ended(name, "cancelled")
    up.post(f"/api/runs/{name}/go-on", {})
    assert "changing.csv" in up.ended(name, "failed")["error"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # another test of this process may have loaded JAX
@pytest.mark.skipif(os.name == "nt", reason="there is no such limit there")
def test_a_full_disk_is_one_line_and_nothing_is_half_written(folder: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with studio(folder, before=little_room) as up:
        refused = up.upload("big.csv", b"a,b\n" + b"1.5,2.5\n" * 10_000)
        assert refused.status == 400 and "the disk is full" in refused.error
        assert list((folder / "forebear-studio" / "uploads").iterdir()) == []
        name = up.start("data.csv")
        run = up.ended(name, "failed")
        assert "the disk is full; what was saved before is whole" in run["error"] and "\n" not in run["error"]
        assert up.get("/api/about")["version"]  # the server is alive
    with studio(folder) as up:
        up.post(f"/api/runs/{name}/go-on", {})
        up.ended(name)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here: run this as root, on Linux")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, left: int) -> Path:
    """A file that leaves so many bytes of room."""
    room = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(b"0" * max(0, room.f_bavail * room.f_frsize - left))
    return ballast


@pytest.mark.parametrize("left", [0, 20_000, pytest.param(60_000, marks=pytest.mark.slow)])
def test_a_disk_that_is_full(disk: Path, left: int) -> None:
    """A real one: an upload, a start or a run without room is told in a line, and goes on when there is some."""
    table().to_csv(disk / "data.csv", index=False)
    with studio(disk) as up:
        refused = up.upload("big.csv", b"a,b\n" + b"1.5,2.5\n" * 200_000)
        assert refused.status == 507 and "there is no room for it" in refused.error
        assert list((disk / "forebear-studio" / "uploads").iterdir()) == []
        ballast = fill(disk, left)
        begun = up.post("/api/runs", {"file": "data.csv", "asked": QUICK, "laws": False})
        if begun.status == 201:
            error = up.ended(begun.json["id"], "failed")["error"]
        else:
            assert begun.status == 400 and list((disk / "forebear-studio" / "runs").iterdir()) == []
            error = begun.error
        assert "the disk is full" in error and "\n" not in error
        assert up.get("/api/about")["version"] and up.post("/api/check", {"file": "data.csv", "asked": QUICK}).json
        for file in (disk / "forebear-studio").rglob("*.json"):
            json.loads(file.read_text())
        ballast.unlink()
        if begun.status == 201:
            name = begun.json["id"]
            assert up.post(f"/api/runs/{name}/go-on", {}).status == 200
        else:
            assert up.get("/api/runs")["runs"] == []
            name = up.start("data.csv")
        assert up.ended(name)["answers"][0]["target"] == "y"


def test_a_second_studio_in_the_same_folder_is_refused(up: Running) -> None:
    words = [sys.executable, "-m", "forebear", "studio", "--no-browser", "--port", "0"]
    second = subprocess.run(words, cwd=up.folder, capture_output=True, text=True, timeout=60)
    assert second.returncode == 2 and "is at work in this folder" in second.stderr and second.stderr.count("\n") == 1
