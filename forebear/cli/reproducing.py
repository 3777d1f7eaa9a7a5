"""`forebear reproduce`: rebuild a published experiment and hold its claims against it."""

from __future__ import annotations

import json
from pathlib import Path

from forebear.cli.output import Failed, as_table, long_work, note, say
from forebear.errors import InputError
from forebear.reproduce import EXPERIMENTS
from forebear.reproduce.run import Reproduction, pieces_folder, reproduce, reproduce_only


def list_experiments(as_json: bool) -> None:
    """The names, each with what it is about."""
    about = {name: what for name, (_, what) in EXPERIMENTS.items()}
    if as_json:
        say(json.dumps({"names": about}, indent=2))
    else:
        say(as_table(["name", "what it is about"], [[name, what] for name, what in about.items()]))


def run_reproduce(
    name: str | None,
    everything: bool,
    preset: str,
    runs: int | None,
    seed: int,
    quick: bool,
    jobs: int,
    out: Path,
    as_json: bool,
) -> None:
    """Run one experiment or all of them; fails when a claim does not hold."""
    if everything == (name is not None):
        raise InputError("reproduce needs a NAME, or --all: `forebear reproduce --list` shows the names")
    made = []
    for each in EXPERIMENTS if everything else [str(name)]:
        if quick:
            note(f"{each}: a quick version, which shows that the code works; its answers mean little")
        try:
            kept = pieces_folder(out, each, preset, seed, quick)
            with long_work(kept, "the same command takes up where it stopped"):
                made.append(reproduce(each, preset, runs, seed, quick, out, jobs))
        except InputError as error:
            # One experiment needs a file of the user's, two need an extra; the others do not wait for them.
            if not everything:
                raise
            note(f"{each}: left out: {error}")
            continue
        if not as_json:
            _show(made[-1], out)
    if as_json:
        documents = [one.to_dict() for one in made]
        say(json.dumps(documents[0] if not everything else {"experiments": documents}, indent=2))
    failed = sum(not claim.holds for one in made for claim in one.claims)
    if failed:
        raise Failed(f"{failed} claim{'s do' if failed > 1 else ' does'} not hold")


def run_only(
    name: str | None,
    only: list[str],
    preset: str,
    runs: int | None,
    seed: int,
    quick: bool,
    jobs: int,
    out: Path,
    as_json: bool,
) -> None:
    """Make some parts of an experiment and keep them."""
    if name is None:
        raise InputError("--only needs the NAME of the experiment: `forebear reproduce --list` shows the names")
    with long_work(pieces_folder(out, name, preset, seed, quick), "the same command takes up where it stopped"):
        kept = reproduce_only(name, only, preset, runs, seed, quick, out, jobs)
    say(json.dumps({"name": name, "only": only, "kept": str(kept)}, indent=2) if as_json else f"kept in {kept}")


def _show(made: Reproduction, out: Path) -> None:
    experiment = made.evidence.experiment
    rows = [
        [
            claim.claim,
            "—" if claim.published is None else str(claim.published),
            str(claim.measured),
            _word(claim.holds),
        ]
        for claim in made.claims
    ]
    repeated = f", preset {made.preset}, {made.runs} run{'s' * (made.runs > 1)}" if experiment.parts else ""
    say(
        f"{experiment.title}{repeated}: {experiment.repeats}",
        as_table(["claim", "published", "measured", "holds"], rows),
        *(f"{claim.claim}: {claim.why}" for claim in made.claims if claim.why and not claim.holds),
        f"{out / made.label}.json and figures in {out / 'figures'}",
        "",
    )


def _word(holds: bool) -> str:
    return "yes" if holds else "NO"
