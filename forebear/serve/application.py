"""Requests in, answers out: who is taken in, which twin is asked, and what is said when something goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from forebear.errors import InputError, near_miss
from forebear.serve.entrance import RETRY_SECONDS, Busy, Entrance, Place, Room
from forebear.serve.limits import Limits
from forebear.serve.metrics import Metrics, escaped
from forebear.serve.operations import OPERATIONS, Operation, work_of
from forebear.serve.schema import schema_of
from forebear.serve.twins import ServedTwin
from forebear.version import __version__
from forebear.web.access import Access
from forebear.web.answers import HANDLERS, Refused, answer, refusal
from forebear.web.bodies import read_json_body
from forebear.web.guard import guarded

OPEN_PATHS = frozenset({"/health"})
_PAGE = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css")}
_PAGE |= {f"/{name}.js": (f"{name}.js", "text/javascript") for name in ("page", "form", "draw")}
_PIECE = 65_536
# Monitors of whole tables are long: one at work, and few that wait for it.
_MONITORS = 4


class Service:
    """All that the requests of one server share."""

    def __init__(self, twins: Mapping[str, ServedTwin], limits: Limits, metrics: Metrics):
        self.twins, self.limits, self.metrics = dict(twins), limits, metrics
        self.entrance, self.monitors = Entrance(limits.queue), Entrance(min(_MONITORS, limits.queue))
        self.room = Room(limits.held)
        self.stopping = False
        self._pool = ThreadPoolExecutor(min(limits.together, limits.queue), "forebear-serve")
        self._alone = ThreadPoolExecutor(1, "forebear-monitor")
        self._schema: tuple[Any, bytes] | None = None

    def application(self, access: Access) -> ASGIApp:
        """The guarded application."""
        routes = [Route(path, self._page, methods=["GET"]) for path in _PAGE]
        routes += [
            Route("/openapi.json", self._openapi, methods=["GET"]),
            Route("/health", self._health, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/v1/{operation}", self._ask, methods=["POST"]),
            Route("/v1/{twin}/{operation}", self._ask, methods=["POST"]),
        ]
        handlers = {**HANDLERS, InputError: _unusable, Busy: _busy}
        return guarded(Starlette(routes=routes, exception_handlers=handlers), access, self.limits.body)

    def close(self) -> None:
        """After the last request."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._alone.shutdown(wait=False, cancel_futures=True)
        for twin in self.twins.values():
            twin.close()

    async def _ask(self, request: Request) -> Response:
        started = perf_counter()
        served, operation = self._named(request)
        try:
            told = await self._answered(request, served, operation, started + self.limits.seconds)
        except Exception as error:
            status = error.status if isinstance(error, Refused) else 422 if isinstance(error, InputError) else 500
            self.metrics.answered(served.name, operation.name, status, perf_counter() - started)
            raise
        told.done = lambda: self.metrics.answered(served.name, operation.name, 200, perf_counter() - started)
        return told

    async def _answered(self, request: Request, served: ServedTwin, operation: Operation, end: float) -> HeldResponse:
        place = (self.monitors if operation.alone else self.entrance).enter()
        try:
            try:
                async with asyncio.timeout(end - perf_counter()):
                    content = await read_json_body(request)
            except TimeoutError:
                raise Refused(
                    408, f"the request did not come within {self.limits.seconds:g} s: send it anew"
                ) from None
            body = await self._computed(served, operation, content, place, end)
        except BaseException:
            place.leave()
            raise
        return HeldResponse(body, place, end)

    async def _computed(
        self, served: ServedTwin, operation: Operation, content: Any, place: Place, end: float
    ) -> bytes:
        pool = self._alone if operation.alone else self._pool
        place.share()
        work = pool.submit(self._work, served, operation, content)
        work.add_done_callback(lambda _: place.leave())
        try:
            async with asyncio.timeout(end - perf_counter()):
                return await asyncio.wrap_future(work)
        except TimeoutError:
            raise Busy(f"no answer within {self.limits.seconds:g} s") from None

    def _work(self, served: ServedTwin, operation: Operation, content: Any) -> bytes:
        """In a thread: what is asked of the law is gathered with the questions of other requests."""
        current = served.current
        # Numbers too large for single precision are a sender's; what they give is null.
        with self.room.hold(work_of(current.twin, operation, content, self.limits)), np.errstate(all="ignore"):
            if operation.alone:
                told = operation.answer(current.twin, content, self.limits)
            else:
                with current.at_work():
                    told = operation.answer(current.asked, content, self.limits)
            return bytes(answer(told).body)

    def _named(self, request: Request) -> tuple[ServedTwin, Operation]:
        name, asked = request.path_params.get("twin"), request.path_params["operation"]
        if name is None:
            if len(self.twins) > 1:
                raise Refused(
                    404, f"several twins are served: ask /v1/TWIN/{asked}, with one of {_listed(self.twins)}"
                )
            name = next(iter(self.twins))
        if name not in self.twins:
            raise Refused(404, f"there is no twin '{name}' here. {near_miss(name, self.twins)}")
        if asked not in OPERATIONS:
            raise Refused(404, f"a twin has no '{asked}'. {near_miss(asked, OPERATIONS)}")
        return self.twins[name], OPERATIONS[asked]

    async def _page(self, request: Request) -> Response:
        file, media = _PAGE[request.url.path]
        return Response((Path(__file__).parent / "page" / file).read_bytes(), media_type=f"{media}; charset=utf-8")

    async def _openapi(self, request: Request) -> Response:
        now = {name: twin.current for name, twin in self.twins.items()}
        if self._schema is None or self._schema[0] != now:
            document = schema_of({name: current.twin for name, current in now.items()}, self.limits)
            self._schema = (now, bytes(answer(document).body))
        return Response(self._schema[1], media_type="application/json")

    async def _health(self, request: Request) -> Response:
        return answer(
            {"status": "stopping" if self.stopping else "ok", "version": __version__}, 503 if self.stopping else 200
        )

    async def _metrics(self, request: Request) -> Response:
        gauges: dict[str, float] = {
            "forebear_serve_requests_in_progress": self.entrance.taken + self.monitors.taken,
            "forebear_serve_requests_turned_away_total": self.entrance.refused + self.monitors.refused,
            "forebear_serve_numbers_held": self.room.held,
        }
        for name, twin in self.twins.items():
            gauges[f'forebear_serve_twin_since_seconds{{twin="{escaped(name)}"}}'] = twin.current.since
        return PlainTextResponse(self.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")


class HeldResponse(Response):
    """An answer that keeps its place until all of it is taken: who reads slowly must not let others pile up."""

    def __init__(self, body: bytes, place: Place, end: float):
        super().__init__(body, media_type="application/json")
        self._place, self._end = place, end
        self.done = lambda: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """In pieces, each of which waits until the one before is on its way."""
        body = bytes(self.body)
        try:
            async with asyncio.timeout(max(1.0, self._end - perf_counter())):
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                for start in range(0, max(len(body), 1), _PIECE):
                    piece = body[start : start + _PIECE]
                    more = start + _PIECE < len(body)
                    await send({"type": "http.response.body", "body": piece, "more_body": more})
        finally:
            self._place.leave()
            self.done()


def _unusable(request: Request, error: Exception) -> Response:
    return refusal(str(error), 422)


def _busy(request: Request, error: Exception) -> Response:
    told = refusal(error) if isinstance(error, Busy) else refusal(str(error), 503)
    told.headers["Retry-After"] = str(RETRY_SECONDS)
    return told


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(f"'{name}'" for name in names)
