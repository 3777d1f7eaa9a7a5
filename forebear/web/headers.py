"""What every answer says about itself: what a page may load, who may show it, and that nobody keeps it."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""for a page of ours: its own files and nothing else, no script within the page, shown by nobody"""

_POLICY = b"content-security-policy"
ALWAYS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    b"cache-control": b"no-store",
}


class WithHeaders:
    """Adds the headers to whatever is answered; an answer with a policy or a cache of its own keeps them."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                there = {name.lower() for name, _ in given}
                wanted = {**ALWAYS, _POLICY: PAGE_POLICY.encode("ascii")}
                message["headers"] = [*given, *((n, v) for n, v in wanted.items() if n not in there)]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)
