"""Requests about files: which there are, one that is dropped, what is in one."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from forebear.storage.files import read_json, write_json
from forebear.studio.asked import arguments, read_asked, targets_of
from forebear.studio.children import ReaderChild
from forebear.studio.place import Place, free_bytes
from forebear.studio.runner import Runner
from forebear.studio.runs import Run, Seen
from forebear.web.answers import Refused, answer
from forebear.web.bodies import read_json_body, save_body

UPLOAD = 4_000_000_000
"""bytes of a file that is dropped; larger ones are chosen by their path"""
_ROOM_LEFT = 50_000_000


class Tables:
    """Answers of the page about files."""

    def __init__(self, place: Place, runner: Runner, reader: ReaderChild):
        self.place, self.runner, self.reader = place, runner, reader

    async def listing(self, request: Request) -> Response:
        """What can be chosen in a folder."""
        return answer(self.place.listing(request.query_params.get("folder", "")))

    async def upload(self, request: Request) -> Response:
        """A file that was dropped: its bytes are the body, its name is a label."""
        if request.headers.get("content-type", "") != "application/octet-stream":
            raise Refused(415, "send the file as it is, with the header Content-Type: application/octet-stream")
        name = request.query_params.get("name", "")[:200]
        place = self.place.new_upload(name)
        length = int(request.headers.get("content-length", "0"))
        if length + _ROOM_LEFT > free_bytes(self.place.root):
            raise Refused(507, f"{name}: there is no room for it in {self.place.uploads}: make room")
        size = await save_body(request, place)
        write_json(place.with_name(f"{place.name}.json"), {"name": name})
        return answer({"name": name, "path": str(place), "size": size})

    async def check(self, request: Request) -> Response:
        """The table of columns, problems, an estimate, the same as a command."""
        asked, file = await self._asked(request)
        wanted = {"do": "check", "file": str(file), "asked": asked, "done": self.runner.past()}
        return answer({"name": self.shown(str(file)), **await self.reader.ask(wanted)})

    async def start(self, request: Request) -> Response:
        """A new run."""
        content = await read_json_body(request)
        asked, file = self._read(content)
        if not targets_of(asked):
            raise Refused(400, "choose at least one target: what is to be explained")
        seen = Seen.of(file)
        checked = content.get("seen")
        if isinstance(checked, dict) and checked.get("hash") != seen.hash:
            raise Refused(409, f"{self.shown(str(file))} has changed since it was checked: look at it again")
        estimate = content.get("estimate")
        run = Run(
            self.shown(str(file)),
            str(file),
            asked,
            seen=seen,
            laws=content.get("laws", True) is True,
            estimate=estimate if isinstance(estimate, dict) else {},
        )
        return answer({"id": self.runner.add(run).id}, 201)

    def shown(self, path: str) -> str:
        """What the owner of a file called it."""
        file = self.place.file(path)
        label = file.with_name(f"{file.name}.json")
        if file.parent == self.place.uploads and label.is_file():
            return str(read_json(label).get("name") or file.name)
        return file.name

    async def _asked(self, request: Request) -> tuple[dict[str, Any], Any]:
        return self._read(await read_json_body(request))

    def _read(self, content: Any) -> tuple[dict[str, Any], Any]:
        if not isinstance(content, dict) or not isinstance(content.get("file"), str):
            raise Refused(400, "name a file")
        asked = read_asked(content.get("asked", {}))
        arguments(asked)  # refuses settings that are none
        return asked, self.place.file(content["file"])
