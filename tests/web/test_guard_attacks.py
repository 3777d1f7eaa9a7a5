"""Attacks on a server of this machine, each by its name; what a visitor may do is tested beside each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from served import Served, served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from forebear.errors import InputError
from forebear.web.access import Access
from forebear.web.answers import HANDLERS, answer
from forebear.web.bodies import read_json_body, save_body
from forebear.web.guard import guarded

changed: list[Any] = []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    async def page(request: Request) -> Response:
        return PlainTextResponse("secret")

    async def change(request: Request) -> Response:
        content = await read_json_body(request)
        changed.append(content)
        return answer(content)

    async def upload(request: Request) -> Response:
        return answer({"bytes": await save_body(request, folder / "uploaded")})

    async def wrong(request: Request) -> Response:
        raise InputError("no column 'a\nb': name another")

    async def defect(request: Request) -> Response:
        raise RuntimeError("the secret of the traceback")

    def make(access: Access) -> Any:
        routes = [
            Route("/", page),
            Route("/health", page),
            Route("/change", change, methods=["POST"]),
            Route("/upload", upload, methods=["POST"]),
            Route("/wrong", wrong),
            Route("/defect", defect),
        ]
        app = Starlette(routes=routes, exception_handlers=HANDLERS)
        return guarded(app, access, most=1_000, by_path={"/upload": 2_000_000})

    with served(make, names=("plant.example",), open_paths=frozenset({"/health"})) as up:
        yield up


@pytest.fixture
def own(server: Served) -> dict[str, str]:
    """What a browser sends from the server's own page."""
    here = f"127.0.0.1:{server.bound.port}"
    cookie = f"{server.access.cookie}={server.access.session}"
    return {"Host": here, "Origin": f"http://{here}", "Cookie": cookie, "Sec-Fetch-Site": "same-origin"}


def test_nobody_comes_in_without_the_token(server: Served) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic eA=="},
    ):
        refused = server.ask("/", headers=headers, signed_in=False)
        assert refused.status == 401 and "secret" not in refused.body.decode()
    assert "token" in server.ask("/", signed_in=False).error
    assert server.ask("/").body == b"secret"
    assert server.ask("/health", signed_in=False).body == b"secret"


def test_the_token_is_traded_for_a_cookie_that_scripts_and_other_sites_cannot_use(server: Served) -> None:
    entered = server.ask(f"/?token={server.access.token}", signed_in=False)
    cookie = entered.headers["set-cookie"]
    assert entered.status == 200 and "httponly" in cookie.lower() and "samesite=strict" in cookie.lower()
    assert server.access.token not in cookie and server.access.token not in entered.body.decode()
    value = cookie.partition(";")[0]
    assert server.ask("/", headers={"Cookie": f"other=1; {value}"}, signed_in=False).body == b"secret"
    assert "secure" not in cookie.lower()
    behind = server.ask(f"/?token={server.access.token}", headers={"X-Forwarded-Proto": "https"}, signed_in=False)
    assert "secure" in behind.headers["set-cookie"].lower()


def test_a_wrong_token_in_the_address_sets_no_cookie(server: Served) -> None:
    refused = server.ask("/?token=guess<script>", headers={"Accept": "text/html"}, signed_in=False)
    assert refused.status == 401 and "set-cookie" not in refused.headers and b"guess" not in refused.body


@pytest.mark.parametrize(
    "cookie", ["", "x", "forebear-{port}=", "forebear-{port}=guess", "forebear-{port}={token}", 'a="\\', "=;;=,"]
)
def test_made_up_cookies_open_nothing(cookie: str, server: Served) -> None:
    text = cookie.replace("{port}", str(server.bound.port)).replace("{token}", server.access.token)
    assert server.ask("/", headers={"Cookie": text}, signed_in=False).status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.nip.io"]
)
def test_dns_rebinding(host: str, server: Served, own: dict[str, str]) -> None:
    """The attacker's name leads to this machine, and the browser takes both for one site."""
    name = host.replace("{port}", str(server.bound.port))
    refused = server.ask("/", headers={**own, "Host": name, "Origin": f"http://{name}"}, signed_in=False)
    assert refused.status == 421 and "--allow-host" in refused.error
    assert server.ask("/", headers={**own, "Host": "10.0.0.3"}, signed_in=False).status == 421


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1", "[::1]:{port}", "LOCALHOST:9000", "plant.example"])
def test_names_of_its_own(host: str, server: Served) -> None:
    assert server.ask("/", headers={"Host": host.replace("{port}", str(server.bound.port))}).status == 200


@pytest.mark.parametrize(
    "lines", [b"", b"Host: localhost\r\nHost: evil.example\r\n", b"Host: \r\n", b"Host: a@b\r\n"]
)
def test_no_name_or_two_names(lines: bytes, server: Served) -> None:
    token = f"Authorization: Bearer {server.access.token}\r\n".encode()
    came = server.raw(b"GET / HTTP/1.1\r\n" + lines + token + b"Connection: close\r\n\r\n")
    assert came.split()[1] in (b"400", b"421") and b"secret" not in came


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:1", "file://", "http://127.0.0.1.evil.example", "x", ""],
)
def test_a_post_from_another_site(origin: str, server: Served, own: dict[str, str]) -> None:
    """With the cookie, as an old browser would send it along."""
    before = len(changed)
    headers = {**own, "Origin": origin, "Content-Type": "application/json"}
    for more in ({}, {"Sec-Fetch-Site": "cross-site"}):
        assert server.ask("/change", "POST", b"{}", {**headers, **more}, signed_in=False).status == 403
    assert len(changed) == before


def test_a_post_from_nowhere_with_a_cookie(server: Served, own: dict[str, str]) -> None:
    headers = {"Cookie": own["Cookie"], "Content-Type": "application/json"}
    assert server.ask("/change", "POST", b"{}", headers, signed_in=False).status == 403
    assert server.ask("/change", "POST", b"{}", {**own, **headers}, signed_in=False).json == {}
    assert server.post("/change", {"by": "a program"}).json == {"by": "a program"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_cannot_pass_for_json(kind: str, server: Served, own: dict[str, str]) -> None:
    assert server.ask("/change", "POST", b"{}", {**own, "Content-Type": kind}, signed_in=False).status == 415


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_and_ports_embed_nothing(site: str, server: Served, own: dict[str, str]) -> None:
    frame = {**own, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    picture = {**own, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    for headers in (frame, picture):
        del headers["Origin"]
        assert server.ask("/", headers=headers, signed_in=False).status == 403
    link = {**frame, "Sec-Fetch-Dest": "document"}
    assert server.ask("/", headers=link, signed_in=False).status == 200


def test_every_answer_says_what_may_be_loaded_and_who_may_show_it(server: Served) -> None:
    for answered in (server.ask("/"), server.ask("/none"), server.ask("/", signed_in=False), server.ask("/wrong")):
        policy = answered.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert answered.headers["referrer-policy"] == "no-referrer"
        assert answered.headers["cache-control"] == "no-store"
        assert (
            not any(name.startswith("access-control") for name in answered.headers)
            and "server" not in answered.headers
        )


def test_a_preflight_of_another_site_is_told_nothing(server: Served, own: dict[str, str]) -> None:
    headers = {**own, "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    refused = server.ask("/change", "OPTIONS", headers=headers, signed_in=False)
    assert refused.status == 403 and not any(name.startswith("access-control") for name in refused.headers)


@pytest.mark.parametrize("length", ["2000", "99999999999999999999", "-1", "1e3"])
def test_a_body_that_says_it_is_long(length: str, server: Served) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": length}
    assert server.ask("/change", "POST", b"{}", headers).status in (400, 413)


def test_a_body_that_does_not_say_how_long_it_is(server: Served, folder: Path) -> None:
    chunks = (b"400\r\n" + b" " * 0x400 + b"\r\n") * 4 + b"0\r\n\r\n"
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    refused = server.ask("/change", "POST", chunks, headers)
    assert refused.status == 413 and "0.001 MB" in refused.error
    long = (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 40 + b"0\r\n\r\n"
    assert server.ask("/upload", "POST", long, {"Transfer-Encoding": "chunked"}).status == 413
    assert list(folder.iterdir()) == []


def test_an_upload_is_whole_or_not_there(server: Served, folder: Path) -> None:
    token = f"Authorization: Bearer {server.access.token}\r\n".encode()
    head = b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n" + token
    server.raw(head + b"\r\nhalf of it")
    until = time.monotonic() + 10
    while list(folder.iterdir()) and time.monotonic() < until:  # the sender learns nothing of the end
        time.sleep(0.05)
    assert list(folder.iterdir()) == []
    assert server.ask("/upload", "POST", b"x" * 1_000_000).json == {"bytes": 1_000_000}
    assert (folder / "uploaded").stat().st_size == 1_000_000 and len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b"[" * 900, b"\xff\xfe"])
def test_bodies_that_are_no_json(body: bytes, server: Served) -> None:
    assert server.ask("/change", "POST", body, {"Content-Type": "application/json"}).status == 400


def test_errors_are_one_line_and_tell_no_secret(server: Served, capfd: pytest.CaptureFixture[str]) -> None:
    assert server.ask("/wrong").error == "no column 'a\\nb': name another"
    assert server.ask("/none").status == 404 and "/none" in server.ask("/none").error
    assert server.ask("/change").status == 405
    defect = server.ask("/defect")
    assert defect.status == 500 and "secret" not in defect.error
    told, until = "", time.monotonic() + 10
    while "RuntimeError" not in told:  # the client is answered first
        told += capfd.readouterr().err
        assert time.monotonic() < until, told
        time.sleep(0.02)


def test_websockets_are_not_spoken(server: Served, own: dict[str, str]) -> None:
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "eA==",
        "Sec-WebSocket-Version": "13",
    }
    assert server.ask("/", headers={**own, **headers}, signed_in=False).status != 101


def test_headers_without_end(server: Served) -> None:
    came = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000)
    assert came == b"" or came.split()[1] in (b"400", b"431")
    assert server.ask("/").status == 200
