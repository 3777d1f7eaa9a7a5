"""Runs side by side, one after the other, under another name, and deleted for good."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from faults import SETTINGS
from studios import QUICK, Running, studio, table

from forebear.studio import runner as runner_module
from forebear.studio.place import Place
from forebear.studio.runner import Runner
from forebear.studio.runs import RUNNING, WAITING, Run

LONG: dict[str, Any] = {**QUICK, "runs": 40}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    place = tmp_path_factory.mktemp("studio")
    table().to_csv(place / "data.csv", index=False)
    with studio(place) as running:
        yield running


Started = Callable[..., tuple[Runner, list[str]]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """A runner that begins no process: what is looked at is whose turn it is."""

    def make(cores: int, free: float | None, *gigabytes: float) -> tuple[Runner, list[str]]:
        monkeypatch.setattr(runner_module.os, "cpu_count", lambda: cores)
        monkeypatch.setattr(runner_module, "available_memory", lambda: free)
        monkeypatch.setattr(Runner, "_task", lambda self, work: work.close())
        runner = Runner(Place(tmp_path, (tmp_path,)))
        runs = [runner.add(Run("data.csv", "data.csv", {}, estimate={"gigabytes": one})) for one in gigabytes]
        return runner, [runner.entries[run.id].run.state for run in runs]

    return make


@pytest.mark.parametrize(
    ("cores", "free", "gigabytes", "running"),
    [
        (2, 64e9, (1, 1, 1), 1),  # few cores: one at a time
        (8, 64e9, (1, 1, 1), 2),  # four cores each
        (16, 64e9, (1, 1, 1), 3),
        (16, 3e9, (1, 5, 1), 1),  # no room for the second, and nobody overtakes it
        (16, 3e9, (9, 1, 1), 1),  # the first one may always try: it says itself what it lacks
        (16, None, (9, 9), 2),  # a system that does not tell
    ],
)
def test_as_many_run_as_there_are_cores_and_memory_for(
    started: Started, cores: int, free: float | None, gigabytes: tuple[float, ...], running: int
) -> None:
    _, states = started(cores, free, *gigabytes)
    assert states == [RUNNING] * running + [WAITING] * (len(gigabytes) - running)


def test_the_memory_that_a_run_has_not_taken_yet_is_counted(started: Started) -> None:
    """Of three that begin at the same moment, none of which has taken anything, two have room."""
    assert started(64, 10e9, 4.0, 4.0, 4.0)[1] == [RUNNING, RUNNING, WAITING]


def test_the_next_one_begins_when_there_is_room(started: Started) -> None:
    runner, states = started(2, 64e9, 1.0, 1.0)
    assert states == [RUNNING, WAITING]
    first, second = sorted(runner.entries.values(), key=lambda entry: entry.run.state)
    runner._set(first, state="done")
    runner._next()
    assert second.run.state == RUNNING


def test_side_by_side_each_has_what_it_has_alone(tmp_path: Path) -> None:
    """On four times two cores, as the system tells: both move at the same time, and the answers are the same."""
    table().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "sitecustomize.py").write_text("import os\nos.cpu_count = lambda: 8\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    with studio(tmp_path, path=path) as up:
        names = [up.start("data.csv", {**QUICK, "runs": runs}) for runs in (12, 12)]
        both = up.until(names[1], lambda run: run["live"] is not None and run["live"]["share"] > 0)
        assert both["state"] == up.run(names[0])["state"] == "running"
        found = [up.ended(name)["folder"] for name in names]
    results = [json.loads((Path(folder) / "found.json").read_text()) for folder in found]
    for result in results:
        result.pop("seconds")
    assert results[0] == results[1]


def test_memory_that_is_too_little_is_told_before_and_when_it_begins(tmp_path: Path) -> None:
    """Not killed in the middle: the check and the run both say what is needed and what there is."""
    table().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "sitecustomize.py").write_text(
        "import forebear.storage.memory as memory\nmemory.available_memory = lambda: 1e6\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    with studio(tmp_path, path=path) as up:
        told = up.post("/api/check", {"file": "data.csv", "asked": QUICK}).json
        assert told["estimate"] is None and len(told["problems"]) == 1 and "memory" in told["problems"][0]
        run = up.ended(up.start("data.csv"), "failed")
        assert "memory" in run["error"] and "\n" not in run["error"]


def test_a_run_is_deleted_for_good(up: Running) -> None:
    name = up.start("data.csv")
    folder = Path(up.ended(name)["folder"])
    assert up.post(f"/api/runs/{name}/delete", {}).status == 200
    assert not folder.exists() and up.server.ask(f"/api/runs/{name}").status == 404
    assert name not in [run["id"] for run in up.get("/api/runs")["runs"]]
    assert list(folder.parent.glob(".deleted-*")) == [] and (up.folder / "data.csv").exists()
    assert up.post(f"/api/runs/{name}/delete", {}).status == 404


def test_a_run_at_work_is_not_deleted(up: Running) -> None:
    first, second = up.start("data.csv", LONG), up.start("data.csv", LONG)
    up.until(first, lambda run: run["state"] == "running")
    refused = up.post(f"/api/runs/{first}/delete", {})
    assert refused.status == 409 and refused.error == "this run is at work: cancel it first"
    # One that only waits has nothing to lose.
    if up.run(second)["state"] == "waiting":
        assert up.post(f"/api/runs/{second}/delete", {}).status == 200
    up.post(f"/api/runs/{first}/cancel", {})
    up.ended(first, "cancelled")
    assert up.post(f"/api/runs/{first}/delete", {}).status == 200


def test_nothing_outside_the_folder_of_runs_is_deleted(up: Running) -> None:
    """Neither a run of the command line beside it, nor what a link or a record of somebody else's leads to."""
    mine = up.folder / "mine"
    mine.mkdir()
    (mine / "run.json").write_text("{}")
    [run] = [run for run in up.get("/api/runs")["runs"] if run["folder"] == str(mine)]
    refused = up.post(f"/api/runs/{run['id']}/delete", {})
    assert not run["own"] and refused.status == 409 and f"delete {mine} yourself" in refused.error
    runs = up.folder / "forebear-studio" / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    (runs / "link").symlink_to(mine)
    for name in ("link", "..", "../..", "%2e%2e", "..%2f..%2fmine", "."):
        assert up.post(f"/api/runs/{name}/delete", {}).status in (404, 405)
    evil = runs / "evil"
    evil.mkdir()
    record = {"format": 1, "name": "x", "file": str(runs.parent / "uploads" / ".."), "asked": {}, "state": "failed"}
    (evil / "studio.json").write_text(json.dumps(record))
    (evil / "out").symlink_to(mine)
    assert up.post("/api/runs/evil/delete", {}).status == 200
    assert not evil.exists() and (mine / "run.json").exists() and (runs.parent / "lock").exists()
    shutil.rmtree(mine)


def test_a_dropped_table_goes_with_its_last_run(up: Running) -> None:
    file = up.upload("mine.csv", table().to_csv(index=False).encode()).json["path"]
    names = [up.start(file, {**QUICK, "seed": seed}) for seed in (0, 1)]
    for name in names:
        assert up.ended(name)["dropped"]
    up.post(f"/api/runs/{names[0]}/delete", {})
    assert Path(file).exists()
    up.post(f"/api/runs/{names[1]}/delete", {})
    assert not Path(file).exists() and not Path(f"{file}.json").exists()


def test_a_run_that_the_command_line_goes_on_with_is_not_deleted(up: Running) -> None:
    name = up.start("data.csv", LONG)
    folder = Path(up.until(name, lambda run: run["live"] is not None and run["live"]["share"] > 0.02)["folder"])
    up.post(f"/api/runs/{name}/cancel", {})
    up.ended(name, "cancelled")
    code = "import sys, time\nfrom forebear.storage.lock import alone_in\n"
    code += "with alone_in(sys.argv[1]):\n    print(1, flush=True)\n    time.sleep(60)\n"
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        refused = up.post(f"/api/runs/{name}/delete", {})
        assert refused.status == 400 and f"process {other.pid} is at work in this folder" in refused.error
        other.kill()
    assert up.post(f"/api/runs/{name}/delete", {}).status == 200


def test_what_a_server_that_was_killed_left_half_deleted_goes(tmp_path: Path) -> None:
    rest = tmp_path / "forebear-studio" / "runs" / ".deleted-x"
    rest.mkdir(parents=True)
    (rest / "found.json").write_text("{}")
    with studio(tmp_path) as up:
        assert up.get("/api/runs")["runs"] == []
    assert not rest.exists()


def test_another_name(up: Running) -> None:
    name = up.start("data.csv")
    up.ended(name)
    assert up.post(f"/api/runs/{name}/name", {"name": "  June,  line 2 "}).status == 200
    assert up.run(name)["name"] == "June, line 2"
    for wrong in ("", "  ", "x" * 121, "a\u0000b", 3, None):
        assert up.post(f"/api/runs/{name}/name", {"name": wrong}).status == 400
    assert up.run(name)["name"] == "June, line 2"


PAST: dict[str, Any] = {"state": ["y"], "action": ["a"], "lags": 1, "missing": "model"}


def test_a_record_in_time(up: Running, tmp_path: Path) -> None:
    """The same run folder as `forebear discover --lags`: what one began the other goes on with."""
    asked: dict[str, Any] = {"trajectory": PAST, "rule": "nsr-jump", "settings": SETTINGS}
    told = up.post("/api/check", {"file": "data.csv", "asked": asked}).json
    assert told["problems"] == [] and told["estimate"]["work"] == [2, 1, 1], told  # two lags, each a group
    assert "--lags 1 --state y --action a" in told["command"] and "fb.lagged(" in told["call"]
    name = up.start("data.csv", asked)
    run = up.ended(name)
    assert run["targets"] == ["d_y"] and run["answers"][0]["target"] == "d_y"
    words = up.get(f"/api/runs/{name}")["again"]["resume"]
    assert up.get(f"/api/runs/{name}")["again"]["command"] is not None and words.endswith("--resume")
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(words), "--json"],
        capture_output=True,
        text=True,
        cwd=up.folder,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["targets"]) == ["d_y"]


def test_what_is_in_the_way_of_a_record_in_time_is_told(up: Running) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"lags": 2_000}, "lower lags, or record longer episodes"),
        ({"state": ["nope"]}, "no column 'nope'"),
        ({"step": "10 min"}, "step= needs time="),
        ({"episode": "y"}, "column 'y' is named in episode and in state or action"),
    ]
    for more, line in wrong:
        told = up.post("/api/check", {"file": "data.csv", "asked": {"trajectory": {**PAST, **more}}}).json
        assert len(told["problems"]) == 1 and line in told["problems"][0], told
    for bad in ({"lags": "2"}, {"lags": True}, {"state": "y"}, {"out": "x"}, {"increments": 1}, {"table": "/etc"}):
        answer = up.post("/api/check", {"file": "data.csv", "asked": {"trajectory": {**PAST, **bad}}})
        assert answer.status == 400, answer.body
    assert up.post("/api/runs", {"file": "data.csv", "asked": {"trajectory": {"lags": 1}}}).status == 400


def test_kinds_are_checked_and_kept(up: Running) -> None:
    data = table()
    data["code"] = [1, 2, 3, 4] * 100
    data.to_csv(up.folder / "codes.csv", index=False)
    asked = {**QUICK, "candidates": ["b", "code"], "kinds": {"code": "category"}}
    told = up.post("/api/check", {"file": "codes.csv", "asked": asked}).json
    assert next(one for one in told["columns"] if one["name"] == "code")["kind"] == "category"
    assert "--kind code=category" in told["command"] and told["problems"] == []
    wrong = up.post("/api/check", {"file": "codes.csv", "asked": {**asked, "kinds": {"code": "ordinal"}}}).json
    assert wrong["problems"] == ["kinds: 'code' cannot be taken as 'ordinal'. Known: 'category', 'real'."]
    run = up.ended(up.start("codes.csv", asked))
    assert json.loads((Path(run["folder"]) / "asked.json").read_text())["kinds"] == {"code": "category"}
    assert json.loads((Path(run["folder"]) / "found.json").read_text())["settings"]["kinds"] == {"code": "category"}
