"""`forebear report`: the page of a run."""

from __future__ import annotations

from pathlib import Path

import forebear
from forebear._checks import InputError
from forebear.cli.output import long_work, note, say
from forebear.report.page import check_file


def run_report(run: Path, out: Path | None, held_out: Path | None, laws: bool, seed: int) -> None:
    """Check, load, fit what is missing, write, and say where."""
    if not run.is_dir():
        raise InputError(f"{run}: no such run folder: `forebear discover DATA --out {run}` makes one")
    place = run / "report.html" if out is None else out
    check_file(place, "" if out is None else "--out ")
    found = forebear.load(run)
    with long_work(None, ""):
        twin = _twin(run) if laws else False
        if twin is None and found.table is not None:
            note("fitting the laws of the page on four fifths of the rows; --no-laws leaves them out")
        found.report(place, twin, held_out=None if held_out is None else str(held_out), seed=seed)
    say(f"The report is in {place}: open it in a browser.")


def _twin(run: Path) -> forebear.Twin | None:
    """The twin that the run keeps, unless it is a joint one, which has no law a target."""
    kept = run / "twin"
    if not (kept / "twin.json").is_file():
        return None
    twin = forebear.load_twin(kept)
    return None if twin.joint else twin
