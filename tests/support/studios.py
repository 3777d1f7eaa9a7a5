"""`forebear studio` as a process of its own, spoken to as its page speaks to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from faults import SETTINGS
from served import Answer, Served

from forebear.web.access import Access
from forebear.web.serving import Bound

QUICK: dict[str, Any] = {"targets": ["y"], "candidates": ["a", "b", "c"], "rule": "nsr-jump", "settings": SETTINGS}
"""a search of seconds"""


@dataclass(frozen=True)
class Running:
    """A studio that is up."""

    process: subprocess.Popen[str]
    folder: Path
    url: str
    server: Served

    def get(self, path: str) -> Any:
        """JSON, or an error that stops the test."""
        answer = self.server.ask(path)
        assert answer.status == 200, answer.body
        return answer.json

    def post(self, path: str, content: Any) -> Answer:
        """JSON there, JSON back."""
        return self.server.post(path, content)

    def upload(self, name: str, content: bytes) -> Answer:
        """A file that is dropped on the page."""
        headers = {"Content-Type": "application/octet-stream"}
        return self.server.ask(f"/api/upload?name={quote(name, safe='')}", "POST", content, headers)

    def start(self, file: str, asked: dict[str, Any] | None = None, **more: Any) -> str:
        """A run, without laws unless they are asked for."""
        content = {"file": file, "asked": QUICK if asked is None else asked, "laws": False, **more}
        answer = self.post("/api/runs", content)
        assert answer.status == 201, answer.body
        return answer.json["id"]

    def run(self, name: str) -> dict[str, Any]:
        """How a run stands."""
        return self.get(f"/api/runs/{name}")["run"]

    def until(self, name: str, held: Callable[[dict[str, Any]], bool], patience: float = 120) -> dict[str, Any]:
        """Wait until something holds of a run."""
        end = time.monotonic() + patience
        while True:
            runs = [run for run in self.get("/api/runs")["runs"] if run["id"] == name]
            if runs and held(runs[0]):
                return runs[0]
            assert time.monotonic() < end, runs
            time.sleep(0.1)

    def ended(self, name: str, state: str = "done") -> dict[str, Any]:
        """Wait until a run has ended, as it should."""
        run = self.until(name, lambda run: run["state"] not in ("waiting", "running"))
        assert run["state"] == state, run
        return run

    def kill(self) -> None:
        """As when the machine loses power."""
        self.process.kill()
        self.process.wait(20)


@contextmanager
def studio(
    folder: Path, *words: str, before: Callable[[], None] | None = None, path: str | None = None
) -> Iterator[Running]:
    """One that is up, in this folder, until the block is left; `path`: where Python looks for modules."""
    command = [sys.executable, "-m", "forebear", "studio", "--no-browser", "--port", "0", *words]
    pipe = subprocess.PIPE
    more = {} if path is None else {"PYTHONPATH": path}
    environment = {**os.environ, **more}
    process = subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, preexec_fn=before, env=environment
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        found = None
        while found is None:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            found = re.match(r"Open (http://127\.0\.0\.1:(\d+)/\?token=(\S+))", line)
        port = int(found[2])
        bound = Bound(None, "127.0.0.1", port)  # type: ignore[arg-type]
        yield Running(process, folder, found[1], Served(bound, Access(port, token=found[3])))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            _, told = process.communicate(timeout=30)
            assert process.returncode in (0, -signal.SIGKILL) and "Traceback" not in told, told
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def table(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """y follows b; s is spread by a."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    data["y"] = data["b"] + 0.5 * rng.normal(size=rows)
    data["s"] = data["a"] * rng.normal(size=rows)
    return data


def children(process: subprocess.Popen[str]) -> list[int]:
    """Processes that a studio has started, by the system's own list."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _parent(entry) == process.pid and entry.name != str(os.getpid())
    ]


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1
