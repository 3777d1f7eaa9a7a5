"""`forebear update`: a twin learns on from new rows, and its folder keeps the versions before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

import forebear
from forebear.api.twins import KeptTwin
from forebear.cli.options import parse_number
from forebear.cli.output import as_table, long_work, note, say
from forebear.cli.sample import open_twin
from forebear.data.table import fingerprint
from forebear.discovery.record import RECORD_FILE
from forebear.errors import InputError
from forebear.twin.store import has_twin
from forebear.twin.twin import Twin
from forebear.twin.versions import current_version, roll_back, twin_versions
from forebear.version import __version__


class Learning(NamedTuple):
    """What is learned, as typed."""

    data: Path | None
    old: Path | None
    since: int | None
    weights: str | None
    rediscover: bool
    level: str
    seed: int
    progress: bool | None


def run_update(folder: Path, learning: Learning, out: Path | None, as_json: bool) -> None:
    """Load, learn on, save, tell."""
    if learning.data is None:
        raise InputError("--data is missing: name a file of new rows, or a version with --roll-back")
    level = parse_number(learning.level, "--level")
    with long_work(None, ""):
        twin = open_twin(folder)
        place = _place(folder) if out is None else out
        old = _rows_of(folder, twin) if learning.old is None else str(learning.old)
        updated = twin.update(
            str(learning.data),
            old=old,
            since=learning.since,
            weights=learning.weights,
            rediscover=learning.rediscover,
            level=level,
            seed=learning.seed,
            progress=learning.progress,
        )
        entry = updated.provenance[-1]
        if entry.learned:
            updated.save(place)
        else:
            place = _place(folder)
    number = current_version(place)
    if as_json:
        told = {"version": __version__, "twin": str(place), "twin_version": number, **entry.to_dict()}
        say(json.dumps(told, indent=2))
    else:
        say(entry.summary())
    if entry.learned:
        note(f"version {number} of the twin is in {place}")
    else:
        note(f"nothing was learned, and nothing written: version {number} in {place} stays in use")
    if not entry.suffices:
        raise typer.Exit(1)


def _place(folder: Path) -> Path:
    return folder if has_twin(folder) else KeptTwin(folder).folder


def _rows_of(folder: Path, twin: Twin) -> Any:
    """The rows of a run that its twin was fitted on; None where they are not at hand, or it has learned on since."""
    if twin.provenance or not (folder / RECORD_FILE).is_file():
        return None
    found = forebear.load(folder)
    if found.table is None:
        return None
    table = found.table.with_values(found.targets)
    if fingerprint(table) != twin.table:
        return None
    return table.take(np.setdiff1d(np.arange(table.rows), twin.test_rows)).frame()


def run_versions(folder: Path, version: int | None, as_json: bool) -> None:
    """Roll back if that was asked, and show the versions."""
    place = _place(folder)
    if version is not None:
        roll_back(place, version)
    table = twin_versions(place)
    if as_json:
        told = [
            {"version": number, **row} for number, row in table.astype(object).where(table.notna(), None).iterrows()
        ]
        say(json.dumps({"version": __version__, "twin": str(place), "versions": told}, indent=2))
        return
    rows = [
        [
            str(number),
            "in use" if row["in_use"] else "",
            row["when"] or "as fitted",
            "-" if row["rows"] is None or np.isnan(row["rows"]) else f"{row['rows']:,.0f}",
            ", ".join(f"{target} {word}" for target, word in row["laws"].items()) or "-",
        ]
        for number, row in table.to_dict("index").items()
    ]
    say(as_table(["version", "", "when", "new rows", "laws"], rows))
