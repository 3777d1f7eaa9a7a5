"""`forebear serve` as it is typed: how it starts, what it says, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from plant import GIVEN, plant_twin

from forebear.cli import main
from forebear.cli.serving import read_token
from forebear.errors import InputError
from forebear.web import need

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
TOKEN = "a-token-of-the-plant-0123"


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    plant_twin().save(tmp_path / "plant")
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    return tmp_path / "plant"


@contextmanager
def started(twin: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int, list[str]]]:
    """The command, its port and what it says."""
    words = ["serve", str(twin), "--port", "0", "--no-browser", "--token-file", str(twin.parent / "token"), *options]
    command = [sys.executable, "-m", "forebear", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=twin.parent)
    said: list[str] = []
    assert process.stderr is not None
    port = 0
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"listening at http://127\.0\.0\.1:(\d+)/", line):
            port = int(found[1])
            break
    assert port, said
    rest = threading.Thread(target=lambda stream=process.stderr: said.extend(stream), daemon=True)
    rest.start()
    try:
        yield process, port, said
    finally:
        process.kill()
        process.wait(10)
        rest.join(10)
        process.stderr.close()


def post(port: int, operation: str, content: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("POST", f"/v1/{operation}", json.dumps(content), headers)
    answer = connection.getresponse()
    told = answer.status, json.loads(answer.read())
    connection.close()
    return told


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_is_under_way_is_answered_before_it_ends(how: signal.Signals, twin: Path) -> None:
    with started(twin) as (process, port, said):
        post(port, "mean", {"given": GIVEN})
        large: dict[str, Any] = {"given": {**GIVEN, "load": 1.0, "oil": [60.0] * 20}, "n": 3_000}
        answers: list[tuple[int, Any]] = []
        asking = threading.Thread(target=lambda: answers.append(post(port, "sample", large)))
        asking.start()
        _until(lambda: b"requests_in_progress 1" in _metrics(port))
        process.send_signal(how)
        asking.join(60)
        assert process.wait(60) == 0
    [(status, told)] = answers
    assert status == 200 and len(told["draws"]["power"][0]) == 3_000
    assert any("stopping: what is under way is answered first" in line for line in said)
    assert "Traceback" not in "".join(said) and not list(Path(tempfile.gettempdir()).glob(".forebear-open-*.html"))


def test_a_new_twin_in_the_folder_and_sighup_are_read(twin: Path) -> None:
    with started(twin, "--reload") as (process, port, said):
        before = post(port, "mean", {"given": GIVEN})[1]["mean"]["power"][0]
        plant_twin(load=3.0).save(twin)
        _until(lambda: "was read again" in "".join(said))
        assert post(port, "mean", {"given": GIVEN})[1]["mean"]["power"][0] - before == pytest.approx(3, abs=1e-4)
        process.send_signal(signal.SIGHUP)
        _until(lambda: "".join(said).count("was read again") == 2)
        assert process.poll() is None


def _metrics(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    text = connection.getresponse().read()
    connection.close()
    return text


def _until(holds: Any, patience: float = 30.0) -> None:
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command that cannot start says: one line, status 2."""
    assert main(["serve", *words, "--no-browser"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1, said.err
    return said.err


def test_what_is_no_twin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "neither a finished run" in refused(capsys, str(tmp_path / "nothing"), "--port", "0")
    (tmp_path / "file").write_text("x")
    assert "neither a finished run" in refused(capsys, str(tmp_path / "file"), "--port", "0")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--port", "99999"], ["--port 99999", "65535"]),
        (["--port", "http"], ["--port", "http"]),
        (["--port", "-1"], ["--port", "-1"]),
        (["--host", "203.0.113.7", "--port", "0"], ["--host 203.0.113.7"]),
        (["--max-rows", "0", "--port", "0"], ["--max-rows", "0"]),
        (["--max-draws", "many", "--port", "0"], ["--max-draws", "many"]),
        (["--max-bytes", "-5", "--port", "0"], ["--max-bytes"]),
        (["--queue", "0", "--port", "0"], ["--queue"]),
        (["--together", "1.5", "--port", "0"], ["--together", "1.5"]),
        (["--timeout", "soon", "--port", "0"], ["--timeout", "soon"]),
        (["--timeout", "999999", "--port", "0"], ["seconds", "86400"]),
        (["--token-file", "nowhere/token", "--port", "0"], ["--token-file nowhere/token"]),
        (["--max-row", "5"], ["--max-row"]),
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_used(
    options: list[str],
    named: list[str],
    twin: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(twin.parent)
    said = refused(capsys, str(twin), *options)
    assert all(word in said for word in named), said


def test_a_port_that_is_taken(twin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert f"--port {port}: taken by another program" in refused(capsys, str(twin), "--port", port)


def test_two_twins_of_one_name(twin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "two twins would be called 'plant'" in refused(capsys, str(twin), str(twin), "--port", "0")
    assert "a twin's name has letters" in refused(capsys, f"a b={twin}", "--port", "0")


def test_without_the_extra(twin: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(need, "find_spec", lambda name: None)
    assert "pip install 'forebear[web]'" in refused(capsys, str(twin))


def test_token_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = read_token(tmp_path / "new")
    assert read_token(tmp_path / "new") == made and len(made) > 40
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    (tmp_path / "new").chmod(0o644)
    capsys.readouterr()
    read_token(tmp_path / "new")
    assert "other users of this machine may read" in capsys.readouterr().err
    for number, content in enumerate((b"", b"short", b"two words of a token", b"\xff\xfe" * 20, b"x" * 600)):
        (tmp_path / str(number)).write_bytes(content)
        with pytest.raises(InputError, match="--token-file"):
            read_token(tmp_path / str(number))


def test_help_is_in_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Put twins behind an address" in said and "--token-file" in said and "forebear serve run" in said
