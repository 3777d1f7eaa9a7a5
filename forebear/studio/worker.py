"""The process of one run: `python -m forebear.studio.worker FOLDER`, which searches, fits the laws and writes the
report; with further words, FILE …, it makes these files of a finished run."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebear.errors import InputError
from forebear.run.events import Event, Note, Progress
from forebear.run.failures import failure_line
from forebear.storage.folder import RESULT
from forebear.studio.asked import arguments, data_of
from forebear.studio.runs import Run, Seen, load_run
from forebear.studio.talk import Say, end_with_server, open_pipe

if TYPE_CHECKING:
    from forebear.api.found import Found
    from forebear.report.evidence import LawEvidence

SEARCH, REPORT, FILE = "search", "report", "file"


def main(words: list[str]) -> int:
    """Do it, and tell the server how it goes."""
    say, folder = open_pipe(), Path(words[0])
    end_with_server()
    with warnings.catch_warnings():
        warnings.simplefilter("default", RuntimeWarning)
        warnings.showwarning = lambda message, *where, **details: say({"note": str(message)})
        try:
            make_files(folder, words[1:], say) if words[1:] else run(folder, say)
            return 0
        except Exception as error:  # the server tells it; what nobody foresaw stands in the log as well
            line = one_line(error, folder)
            if line is None:
                traceback.print_exc()
                line = f"this is a defect of forebear ({type(error).__name__}): {folder / LOG} says more"
            say({"error": line})
            return 1


LOG = "studio.log"
"""in a run folder: what its process wrote to standard error"""


def one_line(error: Exception, folder: Path) -> str | None:
    """What to tell the user; None for what nobody foresaw."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or folder}: {error.strerror or error}: check the place, or choose another"
    return failure_line(error)


def run(folder: Path, say: Say) -> None:
    """The search, unless it is done, then the report and the files that take no time."""
    asked = load_run(folder)
    if asked is None:
        raise InputError(f"{folder}: there is no run in this folder")
    found = search(asked, folder, say)
    say({"searched": answers(found), "seconds": found.seconds})
    if asked.seen is not None and not unchanged(asked):
        say({"note": changed_line(asked)})
    from forebear.studio.files import write_report, write_table

    evidence = write_report(found, folder, parts_of_report(_listener(REPORT, say)), asked.laws)
    write_table(found, folder)
    say({"reported": answers(found, evidence)})


def search(asked: Run, folder: Path, say: Say) -> Found:
    """The result in the folder, or a new one; taken up where an earlier process ended."""
    if (folder / RESULT).is_file():
        from forebear.api.found import load

        return load(folder)
    if asked.seen is not None and not unchanged(asked):
        raise InputError(f"{changed_line(asked)}: put the old file back, or start a new run")
    say({"phase": SEARCH, "stage": "reading the table", "share": 0.0})
    from forebear.api.discover import discover

    data = data_of(asked.file, asked.asked)
    return discover(data, **arguments(asked.asked), out=folder, progress=_listener(SEARCH, say))


def unchanged(asked: Run) -> bool:
    """Whether the file is as it was when the run was set up."""
    assert asked.seen is not None
    return Seen.of(Path(asked.file)).same_content(asked.seen)


def changed_line(asked: Run) -> str:
    """What to say of a file that is another now."""
    return f"{asked.file} has changed since this run was set up"


def answers(found: Found, evidence: LawEvidence | None = None) -> list[dict[str, Any]]:
    """Of each target what shapes it, and the verdict, for the history; with what the laws say, as in the report."""
    from forebear.report.verdicts import verdict_told

    told = {target: verdict_told(found.record, target, evidence) for target in found.targets}
    words = {target: "" if verdict is None else verdict.word for target, verdict in told.items()}
    return [
        {"target": target, "ancestors": list(names), "verdict": words[target]}
        for target, names in found.ancestors.items()
    ]


def _listener(phase: str, say: Say) -> Callable[[Event], None]:
    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            say({"phase": phase, "stage": event.stage, "share": min(1.0, max(0.0, event.share))})
        elif isinstance(event, Note):
            say({"note": event.text})

    return listen


# The twin on the chosen inputs, its student, and the twin on all candidates that it is judged beside.
_PARTS = 3


def parts_of_report(listen: Callable[[Event], None]) -> Callable[[Event], None]:
    """A listener to the parts of a report, each of which begins anew at nothing, that hears of the whole.

    >>> heard = []
    >>> listen = parts_of_report(heard.append)
    >>> for share in (0.5, 1.0, 0.3, 0.2):
    ...     listen(Progress("training", share))
    >>> [round(event.share, 2) for event in heard]
    [0.17, 0.33, 0.43, 0.73]
    """
    part, last = 0, 0.0

    def whole(event: Event) -> None:
        nonlocal part, last
        if isinstance(event, Progress):
            part, last = part + (event.share < last), event.share
            event = Progress(event.stage, min(0.99, (part + event.share) / _PARTS))
        listen(event)

    return whole


def make_files(folder: Path, names: list[str], say: Say) -> None:
    """Files of a finished run that take a while."""
    from forebear.api.found import load
    from forebear.studio.files import make

    found = load(folder)
    for name in names:
        make(name, found, folder, _listener(FILE, say))
        say({"made": name})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
