"""A twin behind an address: requests per second and latency against the bare call, and what overload does.

The server is a process of its own on this machine's loopback; clients keep their connections and send the next
request when the answer to the last one is there. Every setting ends after a number of requests or of seconds,
whatever comes first.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

_DRAWS = 100
_TURNS = 4


class Running(NamedTuple):
    """A server that answers."""

    port: int
    token: str
    process: int


class Told(NamedTuple):
    """What clients saw: seconds of each answer, and how often each status came."""

    seconds: np.ndarray
    statuses: Counter[int]
    wall: float


def run(
    clients: Sequence[int] = (1, 4, 16, 32),
    requests: int = 1_000,
    seconds: float = 4.0,
    steps: int | None = None,
    overload: float = 8.0,
) -> list[dict[str, Any]]:
    """A row for each twin, number of clients and way of computing; then two of overload.

    The two ways take turns, on servers that are both up: what else runs on the machine meets both alike.

    Arguments:
        requests: of a setting, at most.
        seconds: of a setting, at most.
        steps: of training the twins; None: as `found.twin()` has it.
        overload: seconds of it.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        given = {"a": 0.3, "b": -0.2}
        for name, bare in _twins(Path(folder), steps, given).items():
            place, body = Path(folder) / name, _sample(given, _DRAWS)
            with serving(place, "--together", "32") as one, serving(place, "--together", "1") as other:
                for count in clients:
                    told: dict[int, list[Told]] = {32: [], 1: []}
                    for _ in range(_TURNS):
                        for together, server in ((32, one), (1, other)):
                            some = asyncio.run(_load(server, count, body, requests // _TURNS, seconds / _TURNS))
                            told[together].append(some)
                    rows += [_row(name, together, count, _joined(turns), bare) for together, turns in told.items()]
        rows += [_overload(Path(folder) / "distilled", queue, overload) for queue in (16, 64)]
    return rows


def _twins(folder: Path, steps: int | None, given: dict[str, float]) -> dict[str, float]:
    """Two twins in their folders, and the seconds of the bare call of each."""
    import forebear as fb

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=["a", "b", "c"])
    table["y"] = table["a"] + np.exp(0.4 * table["b"]) * rng.normal(size=2_000)
    found = fb.discover(table, "y", rule=lambda path: ["a", "b"], steps=50, distilled=200, folds=1, progress=False)
    settings: dict[str, Any] = {} if steps is None else {"steps": steps, "width": 8, "depth": 1}
    whole = found.twin(progress=False, **settings)
    # Speed does not depend on how good the student is.
    short = {"rows": 2_048, "steps": 500} if steps is None else {"rows": 256, "steps": steps}
    bare = {}
    for name, twin in {"as fitted": whole, "distilled": whole.distil(progress=False, **short)}.items():
        twin.save(folder / name)
        bare[name] = _bare(twin, given)
    return bare


def _bare(twin: Any, given: dict[str, float], repeats: int = 100) -> float:
    """The median of the same call in Python."""
    took = []
    for seed in range(repeats):
        started = time.perf_counter()
        twin.sample(given, _DRAWS, seed)
        took.append(time.perf_counter() - started)
    return float(np.median(took))


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Running]:
    """`forebear serve` in a process of its own, until the block is left."""
    command = [sys.executable, "-m", "forebear", "serve", f"twin={folder}", "--port", "0", "--no-browser", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)", line):
                    yield Running(int(found[1]), found[2], process.pid)
                    break
            else:
                raise RuntimeError(f"the server did not start: {''.join(said)}")
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _sample(given: dict[str, Any], n: int) -> bytes:
    return json.dumps({"given": given, "n": n, "seed": 1}).encode()


async def _load(server: Running, clients: int, body: bytes, requests: int, seconds: float) -> Told:
    """So many clients, one request after the other each; a few before the clock starts."""
    warm = [0, 20 * clients]
    await asyncio.gather(*(_client(server, body, warm, time.perf_counter() + seconds) for _ in range(clients)))
    left, started = [0, requests], time.perf_counter()
    told = await asyncio.gather(*(_client(server, body, left, started + seconds) for _ in range(clients)))
    wall = time.perf_counter() - started
    answers = [one for own in told for one in own]
    return Told(np.array([took for took, status in answers if status == 200]), Counter(s for _, s in answers), wall)


async def _client(server: Running, body: bytes, count: list[int], end: float) -> list[tuple[float, int]]:
    """Seconds and status of every answer; `count` holds how many requests all have sent, and may send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST /v1/sample HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
    sent = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    found = []
    while count[0] < count[1] and time.perf_counter() < end:
        count[0] += 1
        started = time.perf_counter()
        writer.write(sent)
        heads = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", heads, re.IGNORECASE)
        assert length is not None, heads
        await reader.readexactly(int(length[1]))
        status = int(heads.split()[1])
        found.append((time.perf_counter() - started, status))
        if status == 503:  # as the answer asks, but sooner: this is to be too much
            await asyncio.sleep(0.05)
    writer.close()
    return found


def _joined(turns: Sequence[Told]) -> Told:
    """All turns as one."""
    statuses = sum((told.statuses for told in turns), Counter[int]())
    return Told(np.concatenate([told.seconds for told in turns]), statuses, sum(told.wall for told in turns))


def _row(name: str, together: int, clients: int, told: Told, bare: float) -> dict[str, Any]:
    each = told.wall / max(1, told.statuses[200])
    return {
        "what": f"a twin {name}: {clients} clients, {'together' if together > 1 else 'each alone'}",
        "ours_s": each,
        "baseline": "twin.sample in Python, one call after the other",
        "baseline_s": bare,
        "ratio": bare / each,
        "twin": name,
        "clients": clients,
        "together": together > 1,
        "requests": sum(told.statuses.values()),
        "failed": sum(told.statuses.values()) - told.statuses[200],
        "per_second": told.statuses[200] / told.wall,
        "median_ms": 1e3 * float(np.median(told.seconds)),
        "p99_ms": 1e3 * float(np.quantile(told.seconds, 0.99)),
        "load_average": _busy(),
    }


def _busy() -> float | None:
    """How many processes wanted a core in the last minute; None where that is not told."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _overload(folder: Path, queue: int, seconds: float) -> dict[str, Any]:
    """Four times as many clients as there are places, each with answers of 150,000 numbers."""
    clients, body = 4 * queue, _sample({"a": [0.1] * 15, "b": 0.2}, 10_000)
    with serving(folder, "--queue", str(queue)) as server:
        asyncio.run(_load(server, 1, _sample({"a": 0.1, "b": 0.2}, _DRAWS), 50, 5.0))
        before = _memory(server.process, "VmRSS")
        told = asyncio.run(_load(server, clients, body, 10**9, seconds))
        half = _memory(server.process, "VmHWM")
        asyncio.run(_load(server, clients, body, 10**9, seconds))
        return {
            "what": f"overload: {clients} clients with large requests, {queue} places",
            "ours_s": told.wall / max(1, told.statuses[200]),
            "clients": clients,
            "places": queue,
            "answered": told.statuses[200],
            "turned_away": told.statuses[503],
            "other": sum(told.statuses.values()) - told.statuses[200] - told.statuses[503],
            "median_ms": 1e3 * float(np.median(told.seconds)),
            "p99_ms": 1e3 * float(np.quantile(told.seconds, 0.99)),
            "load_average": _busy(),
            "resident_before_mib": before,
            "resident_peak_mib": half,
            "resident_peak_after_twice_as_long_mib": _memory(server.process, "VmHWM"),
        }


def _memory(process: int, field: str) -> float | None:
    """What a process holds, or has held at most, in MiB; None where that cannot be read."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), None)
