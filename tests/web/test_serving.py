"""Where a server listens, what it says, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from forebear.errors import InputError
from forebear.web import need
from forebear.web.access import Access
from forebear.web.serving import access_to, bind, browser_file, first_address, warning_of


def test_it_listens_to_this_machine_alone() -> None:
    bound = bind(port=0)
    with bound.socket:
        assert bound.socket.getsockname()[0] == "127.0.0.1" and warning_of(bound) == ""
        assert not access_to(bound).any_address and first_address(bound, access_to(bound)).startswith(
            "http://127.0.0.1:"
        )


def test_listening_to_others_is_warned_of() -> None:
    bound = bind("0.0.0.0", 0)
    with bound.socket:
        assert "not encrypted" in warning_of(bound) and access_to(bound).any_address
        assert access_to(bound).called_by("192.168.0.7:80") and not access_to(bound).called_by("evil.example")


def test_a_port_that_is_taken() -> None:
    with bind(port=0).socket as first:
        taken = first.getsockname()[1]
        with pytest.raises(
            InputError, match=rf"^--port {taken}: taken by another program: .* 0 for any that is free$"
        ):
            bind(port=taken)
        # Nobody asked for this one: any other will do.
        with bind(usual=taken).socket as second:
            assert second.getsockname()[1] != taken


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 99_999), ("no.such.host.invalid", 0), ("203.0.113.1", 0)])
def test_where_it_cannot_listen(host: str, port: int) -> None:
    with pytest.raises(InputError, match="^--(port|host)"):
        bind(host, port)


def test_secrets_are_long_and_never_shown() -> None:
    one, other = Access(1), Access(1)
    assert len({one.token, one.session, other.token, other.session}) == 4 and len(one.token) >= 40
    assert one.token not in repr(one) and one.session not in repr(one)


@pytest.mark.skipif(os.name == "nt", reason="rights of files are other ones there")
def test_the_file_that_opens_the_browser_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    with browser_file("http://127.0.0.1:1/?token=abc", tmp_path) as file:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and "token=abc" in file.read_text()
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(need, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"forebear studio needs .*: run `pip install 'forebear\[web\]'`"):
        need.need_web("forebear studio")


_SERVER = """
import asyncio, sys
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
from forebear.run import interrupt
from forebear.web.serving import bind, serve
stopping = asyncio.Event()
async def forever(request):
    async def lines():
        yield b"first"
        await stopping.wait()
    return StreamingResponse(lines())
bound = bind(port=0)
interrupt.watch()
serve(Starlette(routes=[Route("/", forever)]), bound, lambda: print(bound.port, flush=True), stopping.set)
print("ended")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are other ones there")
def test_ctrl_c_ends_it_with_a_stream_open_and_no_traceback() -> None:
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), timeout=20) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" in stream.recv(1000)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, b"ended\n", b"")
