"""A server from its start to its end: where it listens, what it says, how a browser finds it, and a clean Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from forebear.errors import InputError
from forebear.run.interrupt import unwatched
from forebear.web.access import Access, is_loopback
from forebear.web.sign_in import PARAMETER


@dataclass(frozen=True)
class Bound:
    """A socket that listens, and the address under which it is reached."""

    socket: socket.socket
    host: str
    port: int

    @property
    def others_reach_it(self) -> bool:
        """Whether other machines can."""
        return not is_loopback(self.host)

    @property
    def url(self) -> str:
        """For a browser on this machine."""
        everywhere = self.host in ("0.0.0.0", "::", "")
        host = "127.0.0.1" if everywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


def bind(host: str = "127.0.0.1", port: int | None = None, usual: int = 0) -> Bound:
    """Listen; port 0 is any that is free, None the usual one or, where that is taken, any that is free.

    >>> with bind(port=0).socket as listening:
    ...     listening.getsockname()[0]
    '127.0.0.1'
    """
    if port is not None and not 0 <= port <= 65_535:
        raise InputError(f"--port {port}: a port is a number from 0 to 65535")
    try:
        return _bind(host, usual if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return _bind(host, 0)
        raise _cannot_listen(host, usual if port is None else port, error) from None


def _bind(host: str, port: int) -> Bound:
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # Without the protocol asyncio would not take it for TCP, and answers would wait 40 ms for each other's receipt.
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "nt":  # SO_REUSEADDR would let another program take the port over there
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except BaseException:
        listening.close()
        raise
    return Bound(listening, host, listening.getsockname()[1])


def _cannot_listen(host: str, port: int, error: OSError) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(f"--port {port}: taken by another program: choose another one, or 0 for any that is free")
    if error.errno in (errno.EACCES, errno.EPERM):
        return InputError(f"--port {port}: this user may not listen there: choose one above 1023")
    return InputError(f"--host {host}: cannot listen there ({error.strerror}): use an address of this machine")


def access_to(bound: Bound, names: tuple[str, ...] = (), open_paths: frozenset[str] = frozenset()) -> Access:
    """Fresh secrets for a server.

    Arguments:
        names: further names that it may be called by.
        open_paths: what needs no token.
    """
    own = (bound.host.lower(), *(name.lower() for name in names))
    return Access(bound.port, names=own, any_address=bound.others_reach_it, open_paths=open_paths)


def first_address(bound: Bound, access: Access) -> str:
    """The address with the token, to open first."""
    return f"{bound.url}?{PARAMETER}={access.token}"


def warning_of(bound: Bound) -> str:
    """What to say where others reach the server; empty where they do not."""
    if not bound.others_reach_it:
        return ""
    return (
        f"warning: listening on {bound.host}, so that other machines reach this server. What is sent, the token too, "
        "is not encrypted: keep the address to yourself, and put a proxy with TLS before it"
    )


class _Server(uvicorn.Server):
    """Says when it listens and when it ends."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None], on_stop: Callable[[], None]):
        super().__init__(config)
        self.on_start, self.on_stop = on_start, on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.on_stop()
        await super().shutdown(sockets)


def nothing() -> None:
    """Nothing is to be done."""


def serve(
    app: ASGIApp,
    bound: Bound,
    on_start: Callable[[], None] = nothing,
    on_stop: Callable[[], None] = nothing,
    grace: float = 3.0,
) -> None:
    """Serve until Ctrl-C or SIGTERM, then let the requests under way end.

    Arguments:
        app: behind `guarded`.
        on_start: called when the server listens.
        on_stop: called, in the loop of the server, when it is to end: streams that never end by themselves end here.
        grace: seconds for the requests under way.
    """
    server = make_server(app, bound, on_start, on_stop, grace)
    with unwatched(), _outlived(), bound.socket:
        try:
            asyncio.run(server.serve(sockets=[bound.socket]))
        except KeyboardInterrupt:  # raised anew when all is done, where nobody else listens for it
            pass


@contextmanager
def _outlived() -> Iterator[None]:
    """The server raises a SIGTERM anew when all is answered; within, that ends nothing, so that what a caller has to
    clear away is cleared away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def make_server(
    app: ASGIApp,
    bound: Bound,
    on_start: Callable[[], None] = nothing,
    on_stop: Callable[[], None] = nothing,
    grace: float = 3.0,
) -> uvicorn.Server:
    """The server of `serve`, which `await server.serve(sockets=[bound.socket])` runs in a loop of yours."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        # Who asks is not read from headers that anybody can write.
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(grace),
    )
    return _Server(config, on_start, on_stop)


@contextmanager
def browser_file(address: str, folder: Path | None = None) -> Iterator[Path]:
    """A file that leads a browser to an address, which others could read from the list of processes.

    Arguments:
        folder: where to make it, for this server alone; a browser in a sandbox cannot read every folder. Default:
            that of temporary files.
    """
    place = Path(tempfile.gettempdir()) if folder is None else folder
    for old in [] if folder is None else folder.glob(".forebear-open-*.html"):
        old.unlink(missing_ok=True)  # of a server that was killed
    file = place / f".forebear-open-{secrets.token_hex(8)}.html"
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={address}">'
    with open(file, "x", opener=lambda path, flags: os.open(path, flags, 0o600), encoding="ascii") as opened:
        opened.write(page)
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def open_browser(file: Path) -> None:
    """Show a file in the browser of the user, where there is one."""
    try:
        webbrowser.open(file.absolute().as_uri())
    except Exception as error:  # whatever the desktop does; the address is printed
        print(f"forebear: no browser could be opened ({error}): open the address by hand", file=sys.stderr)
