"""What happens, to every page that is open: one stream each, which begins with how things stand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

_MOST_WAITING = 200
_BEAT = 15.0


class Hub:
    """Hands every message to every listener; one that cannot keep up begins anew with how things stand."""

    def __init__(self, stand: Callable[[], dict[str, Any]]):
        self.stand = stand
        self.listeners: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self.closed = False

    def tell(self, message: dict[str, Any]) -> None:
        """To all that listen now."""
        for queue in self.listeners:
            late = queue.qsize() >= _MOST_WAITING
            while late and not queue.empty():
                queue.get_nowait()
            queue.put_nowait(self.stand() if late else message)

    def close(self) -> None:
        """End all streams: the server is to end."""
        self.closed = True
        for queue in self.listeners:
            queue.put_nowait(None)

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events for one page, until it leaves or the server ends."""
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.listeners.add(queue)
        try:
            yield event(self.stand())
            while not self.closed:
                message: dict[str, Any] | None = {}
                with suppress(asyncio.TimeoutError):
                    message = await asyncio.wait_for(queue.get(), _BEAT)
                if message is None:
                    return
                # A comment keeps proxies from taking the silence for the end.
                yield event(message) if message else b": still here\n\n"
        finally:
            self.listeners.discard(queue)


def event(message: dict[str, Any]) -> bytes:
    """
    >>> event({"runs": []})
    b'data: {"runs": []}\\n\\n'
    """
    return f"data: {json.dumps(message, allow_nan=False)}\n\n".encode("ascii")
