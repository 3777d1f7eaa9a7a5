"""`forebear monitor`: do the laws of a twin still hold on new rows?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import typer

from forebear.cli.options import parse_number
from forebear.cli.output import as_table, long_work, note, say
from forebear.cli.sample import open_twin
from forebear.storage.files import check_output, write_bytes
from forebear.version import __version__
from forebear.watch.result import Monitored


class Told(NamedTuple):
    """Where the answer goes."""

    as_json: bool
    page: Path | None
    prometheus: Path | None


def run_monitor(
    twin: Path, data: Path, reference: Path | None, level: str, margin: str, seed: int, told: Told
) -> None:
    """Load, test, tell, and say by the status whether a law changed."""
    if told.page is not None:
        check_output(told.page, (".html", ".htm"), "--out ")
    if told.prometheus is not None:
        check_output(told.prometheus, (".prom",), "--prometheus ")
    numbers = {"level": parse_number(level, "--level"), "margin": parse_number(margin, "--margin")}
    with long_work(None, ""):
        opened = open_twin(twin)
        known = None if reference is None else str(reference)
        answer = opened.monitor(str(data), reference=known, seed=seed, **numbers)
        if told.page is not None:
            answer.report(told.page)
        if told.prometheus is not None:
            write_bytes(told.prometheus, answer.prometheus().encode())
    if told.as_json:
        say(json.dumps({"version": __version__, **answer.to_dict()}, indent=2))
    else:
        _show(answer)
    if told.page is not None:
        note(f"the page is in {told.page}: open it in a browser")
    if answer.changed:
        raise typer.Exit(1)


def _show(answer: Monitored) -> None:
    rows = [
        [target, told.verdict, ", ".join(told.follows) or "-", "-" if told.since is None else f"{told.since:,}"]
        for target, told in answer.targets.items()
    ]
    say(as_table(["target", "law", "follows", "since row"], rows), answer.summary())
