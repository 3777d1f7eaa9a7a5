"""Attacks on the studio, each by its name: paths, names, files, reports, options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
from studios import QUICK, Running, studio, table

from forebear.studio.asked import read_asked
from forebear.studio.place import open_place
from forebear.studio.results_api import REPORT_POLICY

TRAVERSALS = [
    "../secret.csv",
    "..",
    "/etc/passwd",
    "/etc",
    "data/../../secret.csv",
    "link.csv",
    "links/secret.csv",
    "a\0.csv",
]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A studio with one folder, outside which lies a table that nobody may have."""
    outside = tmp_path_factory.mktemp("outside")
    inside = outside / "inside"
    (inside / "data").mkdir(parents=True)
    for place in (outside / "secret.csv", inside / "data" / "fine.csv"):
        table().to_csv(place, index=False)
    (inside / "link.csv").symlink_to(outside / "secret.csv")
    (inside / "links").symlink_to(outside)
    (inside / "own.csv").symlink_to(inside / "data" / "fine.csv")
    (inside / "code.py").write_text("open('ran', 'w')")
    with studio(inside) as running:
        yield running


@pytest.mark.parametrize("path", TRAVERSALS)
def test_paths_lead_out_of_no_folder(path: str, up: Running) -> None:
    for answer in (
        up.post("/api/check", {"file": path, "asked": {}}),
        up.post("/api/runs", {"file": path, "asked": QUICK}),
        up.server.ask(f"/api/files?folder={quote(path, safe='')}"),
    ):
        assert answer.status in (400, 404) and "\n" not in answer.error
    # What is not there and what is not ours are not told apart.
    hidden, absent = (
        up.post("/api/check", {"file": f"/etc/{name}", "asked": {}}).error for name in ("passwd", "nope")
    )
    assert hidden.replace("passwd", "") == absent.replace("nope", "")


def test_links_within_a_folder_are_followed(up: Running) -> None:
    names = [entry["name"] for entry in up.get("/api/files")["entries"]]
    assert names == ["data", "own.csv"]
    assert up.post("/api/check", {"file": "own.csv", "asked": {}}).json["rows"] == 400


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/evil.csv", "..\\evil.csv", "<img src=x>.csv", "a\0b.csv", "x" * 300 + ".csv"]
)
def test_names_of_uploads_are_no_paths(name: str, up: Running) -> None:
    answer = up.upload(name, b"a,b\n1,2\n")
    if answer.status == 200:
        place = Path(answer.json["path"])
        assert place.parent == up.folder / "forebear-studio" / "uploads"
        assert all(c.isalnum() or c in "-." for c in place.name) and len(place.name) < 60
    else:
        assert answer.status == 400
    assert not list(up.folder.parent.glob("*evil*")) and not Path("/etc/evil.csv").exists()


@pytest.mark.parametrize("name", ["evil.py", "evil.html", "evil.pkl", "evil", "evil.csv.exe", ".csv/"])
def test_uploads_are_tables_alone(name: str, up: Running) -> None:
    answer = up.upload(name, b"import os")
    assert answer.status == 400 and "ending" in answer.error


def test_nothing_that_is_sent_runs(up: Running) -> None:
    """A pickle, a script, a page: read as a table, or refused, and never given back to a browser as they are."""
    for content in (b"cos\nsystem\n(S'touch ran'\ntR.", b"#!/bin/sh\ntouch ran\n", b"<script>alert(1)</script>"):
        sent = up.upload("a.csv", content).json
        up.post("/api/check", {"file": sent["path"], "asked": {}})
    assert not (up.folder / "ran").exists()
    for path in (
        "/uploads/a.csv",
        "/forebear-studio/uploads/a.csv",
        "/static/..%2fapp.py",
        "/static/../app.py",
        "/static/%2e%2e/x",
    ):
        assert up.server.ask(path).status in (400, 404)


@pytest.mark.parametrize("name", ["..", "../..", "%2e%2e", "..%2f..%2fetc", "a/../..", ".", "runs"])
def test_names_of_runs_are_no_paths(name: str, up: Running) -> None:
    for more in ("", "/report", "/files/found.csv", "/files/..%2fstudio.json"):
        assert up.server.ask(f"/api/runs/{name}{more}").status == 404


@pytest.mark.parametrize(
    "asked",
    [
        {"out": "/tmp/elsewhere"},
        {"data": "/etc/passwd"},
        {"progress": True},
        {"jobs": 4},
        {"sampler": "flow"},
        {"settings": {"out": "/tmp/elsewhere"}},
        {"settings": {"data": "/etc/passwd"}},
        {"settings": {"sampler": "x"}},
        {"targets": "y"},
        {"targets": [1]},
        {"periodic": {"a": "360"}},
        {"groups": {"g": "a"}},
        {"runs": True},
        [],
        "x",
    ],
)
def test_a_page_asks_for_nothing_but_a_question(asked: object, up: Running) -> None:
    content = {**QUICK, **asked} if isinstance(asked, dict) else asked
    for path in ("/api/check", "/api/runs"):
        assert up.post(path, {"file": "data/fine.csv", "asked": content}).status == 400
    assert not Path("/tmp/elsewhere").exists()


def test_what_a_page_may_ask_is_listed() -> None:
    assert read_asked({"targets": ["y", "y"], "time": None, "seed": 3}) == {"targets": ["y"], "seed": 3}


def test_a_run_folder_from_elsewhere_is_not_trusted(up: Running) -> None:
    """Somebody else's folder: a report that would like to look around, a question about a file of ours."""
    evil = up.folder / "gift"
    evil.mkdir()
    (evil / "run.json").write_text("{}")
    (evil / "found.json").write_text("{}")
    (evil / "report.html").write_text("<script>fetch('/api/about').then(r => r.text()).then(alert)</script>")
    (evil / "asked.json").write_text(
        '{"format": 1, "data": "/etc/passwd", "out": "/tmp/elsewhere", "targets": ["y"]}'
    )
    [run] = [run for run in up.get("/api/runs")["runs"] if run["folder"] == str(evil)]
    report = up.server.ask(f"/api/runs/{run['id']}/report")
    assert report.headers["content-security-policy"] == REPORT_POLICY
    assert (
        "sandbox" in REPORT_POLICY and "allow-same-origin" not in REPORT_POLICY and "connect-src" not in REPORT_POLICY
    )
    # The frame is nobody: its origin is null, which the guard turns away with or without the cookie.
    assert up.server.ask("/api/about", headers={"Origin": "null"}).status == 403
    os.remove(evil / "found.json")
    assert up.post(f"/api/runs/{run['id']}/go-on", {}).status == 200
    assert "not in a folder of this studio" in up.ended(run["id"], "failed")["error"]


def test_files_of_a_run_are_saved_and_not_shown(up: Running) -> None:
    name = up.start("data/fine.csv")
    up.ended(name)
    saved = up.server.ask(f"/api/runs/{name}/files/found.csv")
    assert saved.headers["content-disposition"].startswith("attachment") and saved.headers["content-type"] == (
        "application/octet-stream"
    )
    assert up.server.ask(f"/api/runs/{name}/files/studio.json").status == 404
    assert up.post(f"/api/runs/{name}/files", {"file": "../../x"}).status == 404


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--folder .*: no such folder"):
        open_place(tmp_path / "studio", [tmp_path / "none"])
