"""The process that looks at tables and results for the page: `python -m forebear.studio.reader`.

Answers line by line. The table that was read last stays in memory, so that another choice of columns is answered at
once; of large files it is a sample, drawn as `discover` draws it.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forebear.api.asked import TRAJECTORY, call, command_line
from forebear.api.check import check
from forebear.data.lagged import Lagged
from forebear.data.source import Sampled, open_sample
from forebear.discovery.prepare import SAMPLE, Asked, Prepared, prepare
from forebear.errors import InputError
from forebear.run.failures import failure_line
from forebear.studio.asked import arguments, data_of
from forebear.studio.compare import compared
from forebear.studio.estimate import Work, told
from forebear.studio.results import summary
from forebear.studio.runs import Seen
from forebear.studio.talk import open_pipe, requests

_CHECKED = ("targets", "candidates", "keep", "groups", "periodic", "kinds", "exclude", "missing", "time", "rows")
_CHECKED = (*_CHECKED, "weights")


def main() -> int:
    """Answer until the server ends."""
    say, reader = open_pipe(), Reader()
    warnings.simplefilter("ignore")
    for request in requests(sys.stdin):
        try:
            answer = reader.answer(request)
        except Exception as error:  # answered in one line; what nobody foresaw goes to the terminal as well
            line = str(error) if isinstance(error, InputError) else failure_line(error)
            if line is None:
                traceback.print_exc()
                line = f"this is a defect of forebear ({type(error).__name__}): the terminal says more"
            answer = {"error": line}
        say({"number": request["number"], **answer})
    return 0


class Reader:
    """What is known of the table that was read last."""

    def __init__(self) -> None:
        self.file: tuple[str, Seen] | None = None
        self.table: Sampled | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Of one request; each names what it wants as "do"."""
        if request["do"] == "check":
            return self.check(Path(request["file"]), request["asked"], request["done"])
        if request["do"] == "result":
            return summary(Path(request["folder"]))
        return compared([Path(folder) for folder in request["folders"]], request["names"])

    def check(self, file: Path, asked: dict[str, Any], done: list[Any]) -> dict[str, Any]:
        """Columns, problems, an estimate where there are none, and the same as a command."""
        seen = self._open(file)
        assert self.table is not None
        opened = self.table.opened
        past = asked.get(TRAJECTORY)
        if past is None:
            checked = check(opened, **{name: asked[name] for name in _CHECKED if name in asked})
            problems, wanted = list(checked.problems), bool(asked.get("targets"))
        else:  # what is in the way is told by the table that is made of this one
            checked, problems, wanted = check(opened, kinds=past.get("kinds")), [], bool(past.get("state"))
        prepared = None
        if not problems and wanted:
            try:
                # Steps follow one another: a sample of the rows will not do.
                data = opened if past is None else data_of(str(file) if self.table.sampled else opened, asked)
                prepared = prepare(_as_asked(data, asked), 1)
            except InputError as error:
                problems.append(str(error))
        return {
            "seen": asdict(seen),
            "rows": self.table.total,
            "looked_at": len(opened.frame),
            "columns": [asdict(use) for use in checked.survey.uses],
            "problems": [problem.removeprefix(f"{opened.source}: ") for problem in problems],
            "estimate": None if prepared is None else _estimate(prepared, asked, done),
            "structure": None if prepared is None else _structure(prepared),
            "command": command_line(str(file), asked, "run"),
            "call": call(str(file), asked, "run"),
        }

    def _open(self, file: Path) -> Seen:
        seen = Seen.of(file)
        if self.table is None or self.file != (str(file), seen):
            self.file, self.table = None, None  # the old one is let go before the new one is read
            self.table = open_sample(str(file), most=SAMPLE)
            self.file = (str(file), seen)
        return seen


def _as_asked(data: Any, asked: dict[str, Any]) -> Asked:
    given = arguments(asked)
    own = {name: given.pop(name) for name in list(given) if name in Asked._fields}
    usual = {"targets": None, "candidates": None, "keep": (), "groups": None, "periodic": None, "rule": "certified"}
    usual |= {"preset": "fast", "sampler": "flow", "joint": False, "runs": 1, "seed": 0}
    told = {**usual, **own, "settings": given}
    if isinstance(data, Lagged):
        told |= data.options(**{name: told[name] for name in _OF_LAGGED})
        data = data.table
    return Asked(data, **told)


_OF_LAGGED = ("targets", "candidates", "keep", "groups", "periodic")


def _estimate(prepared: Prepared, asked: dict[str, Any], done: list[Any]) -> dict[str, Any]:
    candidates = [len(question.candidates) for question in prepared.questions]
    work = Work(round(sum(candidates) / len(candidates)), len(candidates), int(asked.get("runs", 1)))
    return told(work, prepared.memory.total / 1e9, [(Work(*past), seconds) for past, seconds in done])


def _structure(prepared: Prepared) -> dict[str, str]:
    structure = prepared.problem.structure
    return {"rows": structure.name, "why": structure.why}


if __name__ == "__main__":
    sys.exit(main())
