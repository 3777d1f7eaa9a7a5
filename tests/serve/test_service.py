"""A twin behind an address: who is answered, with what, how much is taken in, and what is too much."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from plant import GIVEN, plant_served, plant_twin
from served import Served

from forebear.serve.application import Service
from forebear.serve.limits import Limits
from forebear.serve.operations import OPERATIONS
from forebear.serve.twins import ServedTwin
from forebear.twin.load import load_twin

Up = tuple[Served, Service]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with plant_served(tmp_path_factory.mktemp("plant") / "twin") as both:
        yield both


ASKED: dict[str, dict[str, Any]] = {
    "sample": {"given": GIVEN, "n": 7, "seed": 3},
    "quantile": {"given": GIVEN, "q": [0.1, 0.5]},
    "mean": {"given": GIVEN},
    "interval": {"given": GIVEN, "level": 0.8, "guarantee": True},
    "log_density": {"given": GIVEN, "y": {"power": [1.0, 3.0], "trips": [0, 2], "state": ["good", "worn"]}},
    "latent": {"given": GIVEN, "y": {"power": [1.0, 3.0], "trips": [0, 2], "state": ["good", "worn"]}, "seed": 1},
    "outside": {"given": {**GIVEN, "load": [1.0, 40.0]}},
    "monitor": {"rows": {**GIVEN, "power": 1.0, "trips": 1, "state": "good"}},
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_answers_as_the_twin_does(operation: str, up: Up) -> None:
    told = up[0].post(f"/v1/{operation}", ASKED[operation])
    assert told.status == 200 and told.headers["content-type"] == "application/json"
    assert told.json == json.loads(json.dumps(OPERATIONS[operation].answer(plant_twin(), ASKED[operation])))
    # The name of the twin may be said.
    assert up[0].post(f"/v1/plant/{operation}", ASKED[operation]).json == told.json


def test_the_same_request_has_the_same_bytes_whatever_else_is_asked(up: Up) -> None:
    alone = {name: up[0].post(f"/v1/{name}", content).body for name, content in ASKED.items() if name != "monitor"}
    with ThreadPoolExecutor(12) as pool:
        names = [name for _ in range(6) for name in alone]
        for name, told in zip(names, pool.map(lambda n: up[0].post(f"/v1/{n}", ASKED[n]), names), strict=True):
            assert told.body == alone[name]


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"{'given': 1}", 400, "no JSON"),
        (b'{"given": {"load": NaN}}', 400, "no JSON"),
        (b'{"given": {"load": -Infinity}}', 400, "no JSON"),
        (b"[" * 200_000, 400, "no JSON"),
        (b'{"a":' * 100_000, 400, "no JSON"),
        (b'{"given": ' + b"9" * 5_000 + b"}", 400, "no JSON"),
        (b"\xff\xfe\x00", 400, "no JSON"),
        (b'{"given": {"load": 1' + b"0" * 400 + b', "mode": "eco", "heading": 1, "oil": 1}}', 422, "'load'"),
        (b'{"given": "\\ud800"}', 422, "given"),
        (b"[]", 422, "JSON object"),
        (b" " * 2_000_001, 413, "2 MB"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_bodies_that_cannot_be_used(body: bytes, status: int, word: str, up: Up) -> None:
    told = up[0].ask("/v1/sample", "POST", body, {"Content-Type": "application/json"})
    assert told.status == status and word in told.error


@pytest.mark.parametrize(
    ("path", "method", "headers", "status", "word"),
    [
        ("/v1/sample", "POST", {"Content-Type": "text/plain"}, 415, "application/json"),
        ("/v1/sampel", "POST", {"Content-Type": "application/json"}, 404, "'sample'"),
        ("/v1/plnat/sample", "POST", {"Content-Type": "application/json"}, 404, "'plant'"),
        ("/v1/plant/sample/more", "POST", {"Content-Type": "application/json"}, 404, "nothing at"),
        ("/v1/..%2f..%2fetc%2fpasswd", "POST", {"Content-Type": "application/json"}, 404, "nothing at"),
        ("/v1/sample", "GET", {}, 405, "GET"),
        ("/v1/sample", "POST", {"Content-Type": "application/json", "Host": "evil.example"}, 421, "another name"),
        (
            "/v1/sample",
            "POST",
            {"Content-Type": "application/json", "Origin": "http://evil.example"},
            403,
            "other sites",
        ),
        (
            "/v1/sample",
            "POST",
            {"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"},
            403,
            "other sites",
        ),
        (
            "/v1/sample",
            "POST",
            {"Content-Type": "application/json", "Authorization": "Bearer wrong"},
            401,
            "signed in",
        ),
        ("/openapi.json", "GET", {"Authorization": "Bearer wrong"}, 401, "signed in"),
        ("/metrics", "GET", {"Authorization": "Bearer "}, 401, "signed in"),
        ("/page.js", "GET", {"Authorization": "Basic eDp4"}, 401, "signed in"),
    ],
)
def test_who_is_not_answered(path: str, method: str, headers: dict[str, str], status: int, word: str, up: Up) -> None:
    body = json.dumps({"given": GIVEN}).encode() if method == "POST" else None
    told = up[0].ask(path, method, body, headers)
    assert told.status == status and word in told.error


def test_a_token_is_needed_and_health_needs_none(up: Up) -> None:
    assert up[0].post("/v1/mean", {"given": GIVEN}, signed_in=False).status in (401, 403)
    health = up[0].ask("/health", signed_in=False)
    assert health.status == 200 and health.json["status"] == "ok"


def test_errors_name_the_column(up: Up) -> None:
    told = up[0].post("/v1/mean", {"given": {**GIVEN, "mode": "ecco"}})
    assert told.status == 422 and "column 'mode' holds 'ecco'" in told.error and "'eco'" in told.error


def test_metrics_count_what_was_answered(up: Up) -> None:
    def counted(status: int) -> int:
        text = up[0].ask("/metrics").body.decode()
        found = re.search(rf'requests_total{{twin="plant",operation="mean",status="{status}"}} (\d+)', text)
        return int(found[1]) if found else 0

    good, bad = counted(200), counted(422)
    up[0].post("/v1/mean", {"given": GIVEN})
    up[0].post("/v1/mean", {"given": 1})
    assert (counted(200), counted(422)) == (good + 1, bad + 1)
    text = up[0].ask("/metrics").body.decode()
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) and "process_resident_memory_bytes" in text
    assert all(re.fullmatch(r"(# TYPE \S+ \w+|[a-z_]+(\{.*\})? [-+.\de]+)", line) for line in text.splitlines())


def test_several_twins_have_addresses_of_their_own(tmp_path: Path) -> None:
    from forebear.serve.metrics import Metrics

    for name in ("one", "two"):
        plant_twin(load=10.0 * (name == "two")).save(tmp_path / name)
    limits, metrics = Limits(), Metrics()
    twins = {name: ServedTwin(name, tmp_path / name, limits, metrics) for name in ("one", "two")}
    service = Service(twins, limits, metrics)
    from served import served

    with served(service.application) as up:
        means = [up.post(f"/v1/{name}/mean", {"given": GIVEN}).json["mean"]["power"][0] for name in twins]
        assert means[1] - means[0] == pytest.approx(10)
        told = up.post("/v1/mean", {"given": GIVEN})
        assert told.status == 404 and "'one', 'two'" in told.error
    service.close()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Means wait until they are let go."""
    go = threading.Event()
    real = OPERATIONS["mean"].answer

    def answer(self: Any, twin: Any, content: Any, limits: Any = None) -> Any:
        if self.name == "mean":
            go.wait(20)
        return real.__func__(self, twin, content, limits)  # type: ignore[attr-defined]

    monkeypatch.setattr(type(OPERATIONS["mean"]), "answer", answer)
    return go


def test_more_than_the_queue_holds_is_told_to_come_again(tmp_path: Path, slow: threading.Event) -> None:
    with plant_served(tmp_path / "twin", Limits(queue=3, together=2)) as (up, service):
        with ThreadPoolExecutor(3) as pool:
            inside = [pool.submit(up.post, "/v1/mean", {"given": GIVEN}) for _ in range(3)]
            _until(lambda: service.entrance.taken == 3)
            told = up.post("/v1/sample", {"given": GIVEN})
            assert told.status == 503 and told.headers["retry-after"] == "1" and "busy with 3 requests" in told.error
            # What needs no work is answered all the same.
            assert up.ask("/health").status == 200 and "turned_away_total 1" in up.ask("/metrics").body.decode()
            slow.set()
            assert [one.result().status for one in inside] == [200] * 3
        _until(lambda: service.entrance.taken == 0)
        assert up.post("/v1/sample", {"given": GIVEN}).status == 200


def test_out_of_time_is_told_and_the_place_is_kept_until_the_work_ends(tmp_path: Path, slow: threading.Event) -> None:
    with plant_served(tmp_path / "twin", Limits(seconds=0.3, queue=1)) as (up, service):
        told = up.post("/v1/mean", {"given": GIVEN})
        assert told.status == 503 and "no answer within 0.3 s" in told.error and "retry-after" in told.headers
        assert up.post("/v1/sample", {"given": GIVEN}).status == 503  # it is still at work
        slow.set()
        _until(lambda: service.entrance.taken == 0)
        assert up.post("/v1/sample", {"given": GIVEN}).status == 200


def test_who_sends_slowly_or_leaves_frees_the_place(tmp_path: Path) -> None:
    with plant_served(tmp_path / "twin", Limits(seconds=0.5, queue=1)) as (up, service):
        head = f"POST /v1/mean HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {up.access.token}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", up.bound.port), timeout=10) as slowly:
            slowly.sendall(head.encode())
            assert b"408" in slowly.recv(1_000).split(b"\r\n")[0]
        with socket.create_connection(("127.0.0.1", up.bound.port), timeout=10) as leaving:
            leaving.sendall(head.encode())
            _until(lambda: service.entrance.taken == 1)
        _until(lambda: service.entrance.taken == 0)


def test_who_reads_slowly_keeps_his_place_and_is_broken_off(tmp_path: Path) -> None:
    with plant_served(tmp_path / "twin", Limits(seconds=3, queue=1, values=1_000_000)) as (up, service):
        # More than the buffers between two sockets of one machine hold.
        body = json.dumps({"given": {**GIVEN, "load": 1.0, "oil": [60.0] * 20}, "n": 10_000}).encode()
        head = f"POST /v1/sample HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {up.access.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.socket() as slowly:
            slowly.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            slowly.connect(("127.0.0.1", up.bound.port))
            slowly.sendall(head.encode() + body)
            time.sleep(2.0)
            assert up.post("/v1/mean", {"given": GIVEN}).status == 503
            _until(lambda: service.entrance.taken == 0)
        assert up.post("/v1/mean", {"given": GIVEN}).status == 200


def test_large_requests_wait_for_room(tmp_path: Path, slow: threading.Event) -> None:
    with plant_served(tmp_path / "twin", Limits(values=100, together=4)) as (up, service):
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(up.post, "/v1/mean", {"given": {**GIVEN, "oil": [60.0] * 2}})
            _until(lambda: service.room.held > 0)
            told = up.post("/v1/mean", {"given": {**GIVEN, "load": 1, "oil": [60.0] * 3}})
            assert told.status == 503 and "busy with large requests" in told.error
            slow.set()
            assert first.result().status == 200
        assert service.room.held == 0


def test_a_twin_that_is_replaced_is_read_again_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    place = tmp_path / "twin"
    with plant_served(place) as (up, service):
        twin = service.twins["plant"]

        def mean() -> float:
            return up.post("/v1/mean", {"given": GIVEN}).json["mean"]["power"][0]

        before = mean()
        assert not twin.changed
        plant_twin(load=5.0).save(place)
        assert twin.changed and mean() == before
        assert "was read again" in twin.reload() and not twin.changed
        assert mean() - before == pytest.approx(5)
        (place / "twin.json").write_text("{")
        assert twin.changed
        line = twin.reload()
        assert "the twin of before is kept" in line and "damaged" in line and not twin.changed
        assert mean() - before == pytest.approx(5)
        text = up.ask("/metrics").body.decode()
        assert 'how="failed"} 1' in text and 'how="done"} 1' in text


def test_requests_while_twins_are_replaced_have_the_answer_of_one_of_them(tmp_path: Path) -> None:
    place = tmp_path / "twin"
    with plant_served(place) as (up, service):
        end, answers = threading.Event(), []

        def ask() -> None:
            while not end.is_set():
                told = up.post("/v1/mean", {"given": GIVEN})
                answers.append((told.status, told.json["mean"]["power"][0]))

        with ThreadPoolExecutor(3) as pool:
            for _ in range(3):
                pool.submit(ask)
            for load in (5.0, 0.0, 5.0):
                plant_twin(load).save(place)
                service.twins["plant"].reload()
            end.set()
        first = load_twin(place).mean({**GIVEN, "mode": ["eco"] * 2, "heading": [1.5] * 2})[0, 0]
        assert {status for status, _ in answers} == {200}
        values = {round(value, 4) for _, value in answers}
        assert values <= {round(float(first) - by, 4) for by in (0.0, 5.0)} and len(answers) > 3


def _until(holds: Any, patience: float = 10.0) -> None:
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
