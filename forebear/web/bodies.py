"""What is sent to the server: counted while it comes, and never more than was agreed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forebear.storage.files import scratch_for, unwritable
from forebear.web.answers import Refused

MOST = 1_000_000
"""bytes of a request to which no other limit is given"""


class BoundedBodies:
    """Refuses a body that is too long, by what it says about itself and by what comes."""

    def __init__(self, app: ASGIApp, most: int = MOST, by_path: Mapping[str, int] | None = None):
        self.app, self.most, self.by_path = app, most, dict(by_path or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most, come = self.by_path.get(scope["path"], self.most), 0
        said = [value for name, value in scope["headers"] if name == b"content-length"]
        if said and (not said[0].isdigit() or int(said[0]) > most):
            raise too_long(most)

        async def counted() -> Message:
            nonlocal come
            message = await receive()
            come += len(message.get("body", b""))
            if come > most:
                raise too_long(most)
            return message

        await self.app(scope, counted, send)


def too_long(most: int) -> Refused:
    """
    >>> too_long(2_000_000).status, str(too_long(2_000_000))
    (413, 'the request is longer than the 2 MB that are taken here: send less')
    """
    told = f"{most / 1e6:.3g} MB" if most < 1e9 else f"{most / 1e9:.3g} GB"
    return Refused(413, f"the request is longer than the {told} that are taken here: send less")


async def read_json_body(request: Request) -> Any:
    """The JSON that a request holds. Only as application/json, which no form of another site can send."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send JSON, with the header Content-Type: application/json")
    try:
        return json.loads(await request.body(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON") from None


def _no_number(text: str) -> Any:
    raise ValueError(text)


async def save_body(request: Request, place: Path) -> int:
    """Write a body to a new file, as it comes, without holding it in memory; how many bytes came.

    The file is there when it is whole. A sender who leaves, a limit that is passed and a full disk leave nothing.
    """
    scratch = scratch_for(place)
    size = 0
    try:
        with open(scratch, "xb") as file:
            async for piece in request.stream():
                file.write(piece)
                size += len(piece)
            file.flush()
            await run_in_threadpool(os.fsync, file.fileno())
        os.replace(scratch, place)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise unwritable(place.parent, error) from None
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    return size
