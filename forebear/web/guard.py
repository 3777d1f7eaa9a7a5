"""The guard before every application here, outermost first: headers, errors in one line, whose name and which site,
who is signed in, how much is sent."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forebear.errors import InputError
from forebear.web.access import Access, header_map, host_name
from forebear.web.answers import DEFECT, Refused, refusal
from forebear.web.bodies import MOST, BoundedBodies
from forebear.web.headers import WithHeaders
from forebear.web.sign_in import ask, sign_in, token_of

READING = ("GET", "HEAD", "OPTIONS")


def guarded(app: ASGIApp, access: Access, most: int = MOST, by_path: Mapping[str, int] | None = None) -> ASGIApp:
    """An application behind the guard.

    Arguments:
        access: whom to let in.
        most: bytes that a request may have.
        by_path: the same for single paths.
    """
    bounded = BoundedBodies(app, most, by_path)
    return WithHeaders(OneLineErrors(OwnSite(SignedIn(bounded, access), access)))


class OneLineErrors:
    """Whatever goes wrong is answered with one line of JSON; tracebacks go to the terminal, never to a client."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        begun, whole = False, False

        async def noting(message: Message) -> None:
            nonlocal begun, whole
            begun = begun or message["type"] == "http.response.start"
            whole = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:
            if scope["type"] != "http" or (begun and not whole):
                raise  # the server breaks the connection off, so that nobody takes a part for the whole
            told = isinstance(error, (Refused, InputError))
            if not told:
                traceback.print_exc(file=sys.stderr)
            if not begun:
                await (refusal(error) if told else refusal(DEFECT, 500))(scope, receive, send)


class OwnSite:
    """Requests under a name of this server, from its own pages or from programs.

    A web site can make its own name lead to this machine (DNS rebinding): its requests carry its name as Host. A page
    of another site can send requests here: browsers tell its Origin, and since 2020 how near it is.
    """

    def __init__(self, app: ASGIApp, access: Access):
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks."""
        if scope["type"] == "http":
            self._check_host(scope)
            headers = header_map(scope["headers"])
            self._check_site(scope["method"], headers)
        await self.app(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1 or not self.access.called_by(hosts[0]):
            name = host_name(hosts[0]) if len(hosts) == 1 else None
            remedy = "" if name is None else f", or start it with --allow-host {name}"
            raise Refused(421, f"this server has another name: open the address that it printed{remedy}")

    def _check_site(self, method: str, headers: Mapping[str, str]) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "")
        if origin is not None and not _same_origin(origin, headers["host"]):
            raise Refused(403, "requests from the pages of other sites are not answered")
        if site not in ("", "none", "same-origin") and not _is_link(method, headers):
            raise Refused(403, "requests from the pages of other sites are not answered")
        told = origin is not None or site in ("none", "same-origin")
        if method not in READING and not told and not self.access.by_program(headers):
            raise Refused(403, "a request that changes something says its Origin, or brings the token of a program")


def _same_origin(origin: str, host: str) -> bool:
    """Host is one of ours by now.

    >>> _same_origin("http://localhost:8765", "localhost:8765"), _same_origin("https://a.example", "a.example:443")
    (True, True)
    >>> _same_origin("null", "localhost"), _same_origin("http://localhost:1", "localhost:2")
    (False, False)
    """
    try:
        from_there, here = urlsplit(origin), urlsplit(f"{origin.partition(':')[0]}://{host}")
        ports = {"http": 80, "https": 443}
        named = from_there.scheme in ports and from_there.hostname is not None
        port, own_port = (one.port or ports.get(one.scheme) for one in (from_there, here))
    except ValueError:
        return False
    return named and from_there.hostname == here.hostname and port == own_port


def _is_link(method: str, headers: Mapping[str, str]) -> bool:
    """Whether somebody follows a link, into a tab and not into a frame: reading alone, and their own sight."""
    mode, where = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return method == "GET" and mode == "navigate" and where == "document"


class SignedIn:
    """Lets in who has the token, as a cookie or as a program, and trades a token in an address for the cookie."""

    def __init__(self, app: ASGIApp, access: Access):
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks."""
        if scope["type"] != "http" or scope["path"] in self.access.open_paths:
            await self.app(scope, receive, send)
            return
        headers = header_map(scope["headers"])
        token = token_of(scope) if scope["method"] == "GET" else None
        if token is not None:
            secure = headers.get("x-forwarded-proto", scope.get("scheme", "")) == "https"
            await sign_in(self.access, token, secure)(scope, receive, send)
        elif self.access.signed_in(headers):
            await self.app(scope, receive, send)
        elif "text/html" in headers.get("accept", ""):
            await ask()(scope, receive, send)
        else:
            raise Refused(401, "not signed in: open the address that forebear printed, or send its token as a Bearer")
