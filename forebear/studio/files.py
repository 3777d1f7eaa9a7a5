"""The files of a finished run that somebody may want: each by its name, made whole or not at all, and kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from forebear.errors import InputError
from forebear.run.events import Event, Listener, Progress
from forebear.storage.files import scratch_for, unwritable

if TYPE_CHECKING:
    from forebear.api.found import Found
    from forebear.report.evidence import LawEvidence
    from forebear.twin.twin import Twin

REPORT, TABLE = "report.html", "found.csv"
FOLDER = "downloads"


class Made(NamedTuple):
    """A file that a run can give."""

    label: str
    about: str


FILES = {
    REPORT: Made("Report", "the page with the answer, the evidence and the sliders; opens in any browser"),
    TABLE: Made("Table", "every number about every candidate, for Excel and the like"),
    "figure.png": Made("Figure", "the graph beside the pruning paths"),
    "figure.svg": Made("Figure, as vectors", "the same, for a document"),
    "twin.zip": Made("Twin", "the sampler on the inputs that matter: forebear.load_twin reads the folder in it"),
    "twin.onnx": Made("Twin, ONNX", "one small network, for any ONNX runtime"),
    "twin.c": Made("Twin, C", "one C99 file without any runtime"),
    "twin.fmu": Made("Twin, FMU", "for simulators that speak FMI 3.0"),
}
"""name -> what it is; those that are not there yet are made when they are asked for"""


def place_of(folder: Path, name: str) -> Path:
    """Where a file of a run is, or will be."""
    return folder / name if name == REPORT else folder / FOLDER / name


def ready(folder: Path) -> list[str]:
    """The files that are there."""
    return [name for name in FILES if place_of(folder, name).is_file()]


def write_report(found: Found, folder: Path, listen: Listener, laws: bool = True) -> LawEvidence | None:
    """The report of a run, as `forebear report` writes it, and what it says of the laws, if the result has some."""
    from forebear.api.pages import law_evidence
    from forebear.report.page import write_page

    told = law_evidence(found, None if laws else False, progress=listen)  # type: ignore[arg-type]
    write_page(found.record, found.table, told, place_of(folder, REPORT))
    return told


def write_table(found: Found, folder: Path) -> None:
    """Every number about every candidate."""
    _whole(place_of(folder, TABLE), lambda file: found.save_table(file))


def nobody(event: Event) -> None:
    """Hears nothing."""


def make(name: str, found: Found, folder: Path, listen: Listener = nobody) -> None:
    """Any of `FILES`; where there is no twin yet it is fitted first."""
    file = place_of(folder, name)
    if name == REPORT:
        write_report(found, folder, listen)
    elif name == TABLE:
        write_table(found, folder)
    elif name in ("figure.png", "figure.svg"):
        _whole(file, lambda place: found.plot().savefig(place, dpi=150))
    elif name == "twin.zip":
        twin = _twin(found, listen)
        _whole(file, lambda place: _pack(twin, place))
    elif name in FILES:
        twin = _twin(found, listen)
        listen(Progress(f"writing {name}", 0.99))
        _whole(file, lambda place: twin.export(place))
    else:
        raise InputError(f"there is no file '{name}'")


def _twin(found: Found, listen: Listener) -> Twin:
    return found.twin(progress=listen)  # type: ignore[arg-type]


def _whole(file: Path, write: Callable[[Path], object]) -> None:
    """What a file is called may stand in it: it is written under its own name, in a folder that goes."""
    scratch = scratch_for(file)
    try:
        scratch.mkdir(parents=True)
        write(scratch / file.name)
        os.replace(scratch / file.name, file)
    except OSError as error:
        raise unwritable(file.parent, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _pack(twin: Twin, file: Path) -> None:
    """The folder of a twin, as `Twin.save` writes it, in an archive."""
    twin.save(file.parent / "twin")
    shutil.make_archive(str(file.with_suffix("")), "zip", file.parent, "twin")
