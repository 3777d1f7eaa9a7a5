"""What `forebear reproduce` does: rebuild a published experiment and hold its claims against it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebear.cli.output import Failed, as_table, long_work, note, say
from forebear.errors import InputError
from forebear_experiments import EXPERIMENTS
from forebear_experiments.framework.run import (
    Reproduction,
    figures_folder,
    pieces_folder,
    reproduce,
    reproduce_only,
)
from forebear_experiments.framework.work import Request

_AGAIN = "the same command takes up where it stopped"


def list_experiments(as_json: bool) -> None:
    """The names, each with what it is about."""
    about = {name: what for name, (_, what) in EXPERIMENTS.items()}
    if as_json:
        say(json.dumps({"names": about}, indent=2))
    else:
        say(as_table(["name", "what it is about"], [[name, what] for name, what in about.items()]))


def run_reproduce(request: Request, everything: bool, out: Path, jobs: int, as_json: bool) -> None:
    """Run one experiment, or all of them when the request names none; fails when a claim does not hold."""
    if everything == bool(request.name):
        raise InputError("reproduce needs a NAME, or --all: `forebear reproduce --list` shows the names")
    made = []
    for each in [replace(request, name=name) for name in EXPERIMENTS] if everything else [request]:
        if request.quick:
            note(f"{each.name}: a quick version, which shows that the code works; its answers mean little")
        try:
            with long_work(pieces_folder(out, each), _AGAIN):
                made.append(reproduce(each, out, jobs))
        except InputError as error:
            # One experiment needs a file of the user's, two need an extra; the others do not wait for them.
            if not everything:
                raise
            note(f"{each.name}: left out: {error}")
            continue
        if not as_json:
            _show(made[-1], out)
    if as_json:
        documents = [one.to_dict() for one in made]
        say(json.dumps(documents[0] if not everything else {"experiments": documents}, indent=2))
    failed = sum(not claim.holds for one in made for claim in one.claims)
    if failed:
        raise Failed(f"{failed} claim{'s do' if failed > 1 else ' does'} not hold")


def run_only(request: Request, only: Sequence[str], out: Path, jobs: int, as_json: bool) -> None:
    """Make some parts of an experiment and keep them."""
    if not request.name:
        raise InputError("--only needs the NAME of the experiment: `forebear reproduce --list` shows the names")
    with long_work(pieces_folder(out, request), _AGAIN):
        kept = reproduce_only(request, only, out, jobs)
    told = {"name": request.name, "only": list(only), "kept": str(kept)}
    say(json.dumps(told, indent=2) if as_json else f"kept in {kept}")


def _show(made: Reproduction, out: Path) -> None:
    experiment = made.findings.experiment
    rows = [
        [
            claim.claim,
            "—" if claim.published is None else str(claim.published),
            str(claim.measured),
            _word(claim.holds),
        ]
        for claim in made.claims
    ]
    repeated = f", preset {made.request.preset}, {made.runs} run{'s' * (made.runs > 1)}" if experiment.parts else ""
    say(
        f"{experiment.title}{repeated}: {experiment.repeats}",
        as_table(["claim", "published", "measured", "holds"], rows),
        *(f"{claim.claim}: {claim.why}" for claim in made.claims if claim.why and not claim.holds),
        f"{out / made.request.label}.json and figures in {figures_folder(out, made.request)}",
        "",
    )


def _word(holds: bool) -> str:
    return "yes" if holds else "NO"
