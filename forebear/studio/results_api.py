"""Requests about runs: how they stand, cancel, go on, their reports, files and comparisons."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from forebear.api.asked import call, command_line
from forebear.studio.children import ReaderChild
from forebear.studio.files import FILES, REPORT, place_of
from forebear.studio.place import slug
from forebear.studio.runner import Entry, Runner
from forebear.studio.runs import DONE
from forebear.web.answers import Refused, answer
from forebear.web.bodies import read_json_body

# A report may come from another machine, in a run folder that somebody copied: it runs in a box, as nobody in
# particular, can load nothing from anywhere, and is shown by our page alone.
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads"
)


class Results:
    """Answers of the page about runs."""

    def __init__(self, runner: Runner, reader: ReaderChild):
        self.runner, self.reader = runner, reader

    async def events(self, request: Request) -> Response:
        """All runs, and then whatever changes."""
        headers = {"X-Accel-Buffering": "no"}  # a proxy must not wait for more
        return StreamingResponse(self.runner.hub.stream(), media_type="text/event-stream", headers=headers)

    async def runs(self, request: Request) -> Response:
        """All runs, once."""
        return answer(self.runner.stand())

    async def run(self, request: Request) -> Response:
        """One run, with what came out and the command that does the same."""
        entry = self._entry(request)
        result = None
        if entry.run.state == DONE:
            result = await self.reader.ask({"do": "result", "folder": str(entry.folder)})
        asked = entry.run.asked
        said = None
        if asked and entry.run.file:
            again = (entry.run.file, asked, str(entry.folder))
            line = command_line(*again)
            resume = None if line is None else f"{line} --resume"
            said = {"command": line, "resume": resume, "call": call(*again)}
        files = [{"name": name, "label": made.label, "about": made.about} for name, made in FILES.items()]
        return answer({"run": entry.told(), "asked": asked, "result": result, "again": said, "files": files})

    async def cancel(self, request: Request) -> Response:
        """End a run."""
        self.runner.cancel(request.path_params["id"])
        return answer({})

    async def go_on(self, request: Request) -> Response:
        """Let it go on."""
        self.runner.go_on(request.path_params["id"])
        return answer({})

    async def delete(self, request: Request) -> Response:
        """Delete a run for good."""
        await self.runner.delete(request.path_params["id"])
        return answer({})

    async def rename(self, request: Request) -> Response:
        """Call it otherwise."""
        content = await read_json_body(request)
        name = content.get("name") if isinstance(content, dict) else None
        if not isinstance(name, str):
            raise Refused(400, "give a name")
        self.runner.rename(request.path_params["id"], name)
        return answer({})

    async def make(self, request: Request) -> Response:
        """Make a file of a finished run; the stream of events tells when it is there."""
        content = await read_json_body(request)
        name = content.get("file") if isinstance(content, dict) else None
        self.runner.make(request.path_params["id"], str(name))
        return answer({}, 202)

    async def report(self, request: Request) -> Response:
        """The page of a run, for a frame."""
        file = place_of(self._entry(request).folder, REPORT)
        try:  # read at once: the run may be deleted while it is sent
            page = file.read_bytes()
        except OSError:
            raise Refused(404, "this run has no report yet") from None
        return Response(page, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})

    async def file(self, request: Request) -> Response:
        """A file of a run, to keep."""
        entry, name = self._entry(request), request.path_params["name"]
        if name not in FILES:
            raise Refused(404, f"there is no file '{name}'")
        file = place_of(entry.folder, name)
        if not file.is_file():
            raise Refused(404, f"{name} is not made yet")
        kind = "application/octet-stream"  # saved, never shown
        return FileResponse(file, media_type=kind, filename=f"{slug(entry.run.name)}-{name}")

    async def compare(self, request: Request) -> Response:
        """Two finished runs side by side."""
        pair = [self.runner.entry(request.query_params.get(name, "")) for name in ("a", "b")]
        if any(entry.run.state != DONE for entry in pair):
            raise Refused(409, "only finished runs can be compared")
        wanted = {"do": "compare", "folders": [str(e.folder) for e in pair], "names": [e.run.name for e in pair]}
        return answer(await self.reader.ask(wanted))

    def _entry(self, request: Request) -> Entry:
        return self.runner.entry(request.path_params["id"])
