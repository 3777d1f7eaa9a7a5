"""`forebear report`: the page of a run."""

from __future__ import annotations

from pathlib import Path

import forebear
from forebear.api.pages import kept_laws
from forebear.cli.output import long_work, note, say
from forebear.errors import InputError
from forebear.report.page import check_file, write_page


def run_report(run: Path, out: Path | None, held_out: Path | None, laws: bool, seed: int) -> None:
    """Check, load, fit what is missing, write, and say where."""
    if not run.is_dir():
        raise InputError(f"{run}: no such run folder: `forebear discover DATA --out {run}` makes one")
    place = run / "report.html" if out is None else out
    check_file(place, "" if out is None else "--out ")
    found = forebear.load(run)
    rows = None if held_out is None else str(held_out)
    with long_work(None, ""):
        told = kept_laws(found, held_out=rows, seed=seed, before=_say_fitting) if laws else None
    write_page(found.record, found.table, told, place)
    say(f"The report is in {place}: open it in a browser.")


def _say_fitting() -> None:
    note("fitting the laws of the page; --no-laws leaves them out")
