"""A server of ours in a thread, and a client that sends exactly what it is told, as an attacker would."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp

from forebear.web.access import Access
from forebear.web.serving import Bound, access_to, bind, make_server


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The one line of an error."""
        assert self.body.endswith(b"\n") and self.body.count(b"\n") == 1
        return self.json["error"]


@dataclass(frozen=True)
class Served:
    """A server that is up."""

    bound: Bound
    access: Access

    def ask(
        self,
        path: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        signed_in: bool = True,
    ) -> Answer:
        """One request with these headers; a header that is None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.bound.port, timeout=60)
        bearer = {"Authorization": f"Bearer {self.access.token}"} if signed_in else {}
        sent = {**bearer, **(headers or {})}
        try:
            connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            if body is not None and "Content-Length" not in sent and "Transfer-Encoding" not in sent:
                connection.putheader("Content-Length", str(len(body)))
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, headers, answer.read())
        finally:
            connection.close()

    def post(self, path: str, content: Any, **options: Any) -> Answer:
        """JSON, as a program sends it."""
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        return self.ask(path, "POST", json.dumps(content).encode(), headers, **options)

    def raw(self, text: bytes) -> bytes:
        """What comes back on bytes that no library would send."""
        with socket.create_connection(("127.0.0.1", self.bound.port), timeout=20) as connection:
            came = b""
            with suppress(OSError):  # it may break off before all is sent
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while more := connection.recv(65536):
                    came += more
            return came


@contextmanager
def served(make: Callable[[Access], ASGIApp], **of_access: Any) -> Iterator[Served]:
    """A server in a thread until the block is left; `make` is told its secrets and gives the guarded application."""
    bound = bind(port=0)
    access = access_to(bound, **of_access)
    up = threading.Event()
    server = make_server(make(access), bound, on_start=up.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound.socket])), daemon=True)
    thread.start()
    try:
        assert up.wait(30)
        yield Served(bound, access)
    finally:
        server.should_exit = True
        thread.join(30)
        bound.socket.close()
