"""The studio and a served twin behind nginx, configured as the pages show it: runs where nginx is installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from browser import Browser, find_browser
from plant import GIVEN, plant_twin
from proxies import LACKS, NAME, Proxy, proxy
from studios import QUICK, Running, studio, table

pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)
PREFIX = "".join(
    f"location /{name}/ {{ {more}proxy_pass http://127.0.0.1:PORT/; proxy_set_header Host $http_host; }}\n"
    for name, more in (("studio", ""), ("small", "client_max_body_size 4k; "))
)
OURS = {"Origin": f"https://{NAME}"}


class Behind:
    """A studio and the proxy before it, with the cookie that its first address gives."""

    def __init__(self, up: Running, before: Proxy):
        self.up, self.before = up, before
        self.signed, _ = before.ask(f"/?token={up.server.access.token}")
        self.cookie = {"Cookie": str(self.signed.getheader("set-cookie")).partition(";")[0]}

    def post(self, path: str, content: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        sent = {**self.cookie, **OURS, "Content-Type": "application/json", **(headers or {})}
        answer, body = self.before.ask(path, "POST", json.dumps(content).encode(), sent)
        return answer.status, json.loads(body)


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    place = tmp_path_factory.mktemp("proxied")
    table().to_csv(place / "data.csv", index=False)
    with (
        studio(place, "--allow-host", NAME) as up,
        proxy("shared-machine.md", up.server.bound.port, PREFIX) as before,
    ):
        yield Behind(up, before)


def test_the_token_becomes_a_cookie_that_goes_over_tls_alone(behind: Behind) -> None:
    cookie = str(behind.signed.getheader("set-cookie"))
    assert behind.signed.status == 200 and all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=strict"))
    assert behind.before.ask("/api/about", headers=behind.cookie)[0].status == 200
    assert behind.before.ask("/api/about")[0].status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": f"https://evil.{NAME}"}, 403),
        ({"Origin": f"https://{NAME}:8443"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example", "Origin": "https://evil.example"}, 421),
    ],
)
def test_other_sites_are_refused_as_without_a_proxy(headers: dict[str, str], status: int, behind: Behind) -> None:
    assert behind.post("/api/check", {"file": "data.csv", "asked": {}}, headers)[0] == status


def test_progress_comes_as_it_happens(behind: Behind) -> None:
    """Each event on its own, not when a buffer is full: seen through the proxy while the run is still under way."""
    connection = behind.before.connect()
    connection.request("GET", "/api/events", headers={"Host": NAME, **behind.cookie})
    stream = connection.getresponse()
    assert stream.status == 200 and json.loads(stream.readline().partition(b":")[2])["runs"] is not None
    status, told = behind.post("/api/runs", {"file": "data.csv", "asked": {**QUICK, "runs": 40}, "laws": False})
    assert status == 201
    shares: list[float] = []
    end = time.monotonic() + 120
    while len(set(shares)) < 3:
        assert time.monotonic() < end
        line = stream.readline()
        if line.startswith(b"data:"):
            run = json.loads(line[5:]).get("run", {})
            if run.get("id") == told["id"] and run["live"] is not None and run["live"]["phase"] == "search":
                shares.append(run["live"]["share"])
    assert behind.up.run(told["id"])["state"] == "running"
    connection.close()
    behind.up.post(f"/api/runs/{told['id']}/cancel", {})
    behind.up.ended(told["id"], "cancelled")


def test_a_large_file_goes_through_and_is_kept_nowhere_on_the_way(behind: Behind) -> None:
    """Larger than nginx takes by itself (1 MB); what breaks off leaves nothing."""
    content = b"a,b,y\n" + b"1.5,2.5,3.5\n2.5,1.5,0.5\n" * 500_000
    sent = {**behind.cookie, **OURS, "Content-Type": "application/octet-stream"}
    answer, body = behind.before.ask("/api/upload?name=big.csv", "POST", content, sent)
    assert answer.status == 200, body
    assert Path(json.loads(body)["path"]).stat().st_size == len(content)
    connection = behind.before.connect()
    connection.putrequest("POST", "/api/upload?name=part.csv", skip_host=True)
    for name, value in {"Host": NAME, **sent, "Content-Length": str(len(content))}.items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(content[:3_000_000])
    uploads = Path(json.loads(body)["path"]).parent
    end = time.monotonic() + 20
    while not list(uploads.glob("part-*")) and not list(uploads.glob(".*part*")):  # it comes while it is sent
        assert time.monotonic() < end
        time.sleep(0.05)
    connection.close()
    while list(uploads.glob("*part*")) + list(uploads.glob(".*part*")):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(find_browser() is None, reason="no Chromium: install one, or set FOREBEAR_BROWSER to its path")
@pytest.mark.parametrize("path", ["/", "/studio/"])
def test_in_a_browser(path: str, behind: Behind) -> None:
    """The whole page, under the name of the proxy, at its root and under a path that the proxy takes off."""
    binary = find_browser()
    assert binary is not None
    rules = f"--host-resolver-rules=MAP {NAME} 127.0.0.1"
    with Browser(binary, more=["--ignore-certificate-errors", rules]) as browser:
        token = behind.up.server.access.token
        browser.visit(f"https://{NAME}:{behind.before.port}{path}?token={token}")
        browser.wait("document.querySelector('.entry.file')", 60)
        assert browser.run("location.pathname + location.search") in (path, f"{path}?")
        browser.wait("document.getElementById('trouble').hidden", 10)
        browser.run("document.querySelector('.entry.file').click()")
        browser.wait("document.querySelector('.ask select')", 60)
        assert browser.problems == []


@pytest.mark.skipif(find_browser() is None, reason="no Chromium: install one, or set FOREBEAR_BROWSER to its path")
def test_a_proxy_with_a_lower_limit_is_named(behind: Behind) -> None:
    """Its answer is no JSON, and the page says what to raise."""
    binary = find_browser()
    assert binary is not None
    rules = f"--host-resolver-rules=MAP {NAME} 127.0.0.1"
    with Browser(binary, more=["--ignore-certificate-errors", rules]) as browser:
        browser.visit(f"https://{NAME}:{behind.before.port}/small/?token={behind.up.server.access.token}")
        browser.wait("document.querySelector('.entry.file')", 60)
        send = "({upload}) => upload(new File(['a,b\\n' + '1,2\\n'.repeat(SIZE)], 'a.csv'), () => 0).done"
        whole = "import(document.querySelector('script[type=module]').src.replace('main.js', 'api.js')).then(SEND)"
        large = whole.replace("SEND", send.replace("SIZE", "5000"))
        assert "client_max_body_size" in browser.run(f"{large}.then(() => '', (error) => error.message)")
        small = whole.replace("SEND", send.replace("SIZE", "50"))
        assert browser.run(f"{small}.then(({{ name }}) => name)") == "a.csv"


def test_a_served_twin(tmp_path: Path) -> None:
    """Answers, sizes that are refused, and the page that says when to come again, as the server gave them."""
    plant_twin().save(tmp_path / "plant")
    (tmp_path / "token").write_text("a-token-of-the-plant-0123")
    (tmp_path / "token").chmod(0o600)
    words = ["serve", str(tmp_path / "plant"), "--port", "0", "--no-browser", "--token-file", str(tmp_path / "token")]
    command = [sys.executable, "-m", "forebear", *words, "--allow-host", NAME]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "it ended"
            found = re.search(r"listening at http://127\.0\.0\.1:(\d+)/", line)
        try:
            with proxy("serve.md", int(found[1])) as before:
                sent = {"Authorization": "Bearer a-token-of-the-plant-0123", "Content-Type": "application/json"}
                asked = json.dumps({"given": GIVEN}).encode()
                answer, body = before.ask("/v1/mean", "POST", asked, sent)
                assert answer.status == 200 and "mean" in json.loads(body)
                assert before.ask("/v1/mean", "POST", asked, {**sent, "Authorization": "Bearer no"})[0].status == 401
                assert before.ask("/v1/mean", "POST", asked, {**sent, "Host": "evil.example"})[0].status == 421
                fits = asked + b" " * (1_900_000 - len(asked))
                assert before.ask("/v1/mean", "POST", fits, sent)[0].status == 200
                assert before.ask("/v1/mean", "POST", asked + b" " * 2_200_000, sent)[0].status == 413
                assert json.loads(before.ask("/health")[1])["status"] == "ok"
                signed, _ = before.ask("/?token=a-token-of-the-plant-0123")
                assert "Secure" in str(signed.getheader("set-cookie"))
        finally:
            process.terminate()
