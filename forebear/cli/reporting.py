"""`forebear report`: the page of a run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import forebear
from forebear.api.found import Found
from forebear.cli.output import long_work, note, say
from forebear.errors import InputError
from forebear.report.evidence import Evidence, evidence
from forebear.report.kept import keep_evidence, kept_evidence
from forebear.report.page import check_file, write_page


def run_report(run: Path, out: Path | None, held_out: Path | None, laws: bool, seed: int) -> None:
    """Check, load, fit what is missing, write, and say where."""
    if not run.is_dir():
        raise InputError(f"{run}: no such run folder: `forebear discover DATA --out {run}` makes one")
    place = run / "report.html" if out is None else out
    check_file(place, "" if out is None else "--out ")
    found = forebear.load(run)
    with long_work(None, ""):
        told = _evidence(found, run, held_out, seed) if laws else None
    write_page(found, told, place)
    say(f"The report is in {place}: open it in a browser.")


def _evidence(found: Found, run: Path, held_out: Path | None, seed: int) -> Evidence | None:
    """From the twin that the run keeps, or from an earlier report, or fitted now and kept."""
    rows = None if held_out is None else str(held_out)
    twin = _twin(run)
    if twin is not None or found.table is None:
        return evidence(found, twin, held_out=rows, seed=seed)
    identity = {"found": hashlib.sha256((run / "found.json").read_bytes()).hexdigest(), "seed": seed}
    told = kept_evidence(run / "report", identity) if rows is None else None
    if told is not None:
        return told
    note("fitting the laws of the page; --no-laws leaves them out")
    told = evidence(found, None, held_out=rows, seed=seed)
    if told is not None and rows is None:
        keep_evidence(told, run / "report", identity)
    return told


def _twin(run: Path) -> forebear.Twin | None:
    """The twin that the run keeps, unless it is a joint one, which has no law a target."""
    kept = run / "twin"
    if not (kept / "twin.json").is_file():
        return None
    twin = forebear.load_twin(kept)
    return None if twin.joint else twin
