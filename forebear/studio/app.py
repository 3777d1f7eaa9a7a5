"""The studio as a web application: which address is answered by what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from forebear.studio.children import ReaderChild
from forebear.studio.place import ENDINGS, Place, free_bytes
from forebear.studio.results_api import Results
from forebear.studio.runner import Runner
from forebear.studio.tables_api import UPLOAD, Tables
from forebear.version import __version__
from forebear.web.access import Access
from forebear.web.answers import HANDLERS, Refused, answer
from forebear.web.guard import guarded

_TYPES = {"css": "text/css", "js": "text/javascript", "html": "text/html", "svg": "image/svg+xml"}
_OWN = ("studio.css", "icon.svg", "main.js", "api.js", "dom.js", "choose.js", "columns.js", "settings.js", "runs.js")
_OWN += ("run.js", "compare.js", "live.js")
_OF_REPORT = ("base.css", "charts.js")
STATIC = {**dict.fromkeys(_OWN, "studio/page"), **dict.fromkeys(_OF_REPORT, "report")}
"""files that a browser may load -> the folder of the package that they are in; those of the report are shared"""


class Studio:
    """The application, and what lives as long as it does."""

    def __init__(self, place: Place):
        self.place = place
        self.runner, self.reader = Runner(place), ReaderChild()
        self.tables, self.results = Tables(place, self.runner, self.reader), Results(self.runner, self.reader)

    def app(self, access: Access) -> ASGIApp:
        """Behind the guard."""
        inner = Starlette(routes=self._routes(), exception_handlers=HANDLERS, lifespan=self._life)
        return guarded(inner, access, most=10_000_000, by_path={"/api/upload": UPLOAD})

    def close(self) -> None:
        """End all streams and processes; what was under way goes on with the next server."""
        self.runner.close()
        self.reader.close()

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        self.runner.start()
        await self.reader.start()
        try:
            yield
        finally:
            self.close()

    def _routes(self) -> list[Route]:
        tables, results = self.tables, self.results
        return [
            Route("/", self._page),
            Route("/static/{name}", self._static),
            Route("/api/about", self._about),
            Route("/api/files", tables.listing),
            Route("/api/upload", tables.upload, methods=["POST"]),
            Route("/api/check", tables.check, methods=["POST"]),
            Route("/api/runs", tables.start, methods=["POST"]),
            Route("/api/runs", results.runs),
            Route("/api/events", results.events),
            Route("/api/compare", results.compare),
            Route("/api/runs/{id}", results.run),
            Route("/api/runs/{id}/cancel", results.cancel, methods=["POST"]),
            Route("/api/runs/{id}/go-on", results.go_on, methods=["POST"]),
            Route("/api/runs/{id}/delete", results.delete, methods=["POST"]),
            Route("/api/runs/{id}/name", results.rename, methods=["POST"]),
            Route("/api/runs/{id}/files", results.make, methods=["POST"]),
            Route("/api/runs/{id}/files/{name}", results.file),
            Route("/api/runs/{id}/report", results.report),
        ]

    async def _page(self, request: Request) -> Response:
        return _part("studio/page", "index.html")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            raise Refused(404, f"there is no file '{name}'")
        return _part(STATIC[name], name)

    async def _about(self, request: Request) -> Response:
        about: dict[str, Any] = {
            "version": __version__,
            "folder": str(self.place.root),
            "folders": [str(folder) for folder in self.place.folders],
            "endings": list(ENDINGS),
            "upload": UPLOAD,
            "free": free_bytes(self.place.root),
        }
        return answer(about)


def _part(folder: str, name: str) -> Response:
    content = files("forebear").joinpath(*folder.split("/"), name).read_bytes()
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})
