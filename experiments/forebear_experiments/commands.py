"""The commands `forebear reproduce` and `forebear bench`: options, examples, and the names that the shell completes.

Whatever is slow to import is imported inside a command. See `forebear.cli.plugins` for how they are registered.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from forebear.cli import arguments as opt
from forebear.cli.options import parse_whole

# The mark keeps the lines as they are.
_REPRODUCE = """\b
Examples:
  forebear reproduce --list
  forebear reproduce lorenz63 --quick
  forebear reproduce heat --preset paper --runs 10 --json > heat.json
"""
_BENCH = """\b
Examples:
  forebear bench --list
  forebear bench lorenz63
  forebear bench selection --json > bench-selection.json
"""


def experiment_names(incomplete: str) -> Iterable[tuple[str, str]]:
    """Experiments that begin so, each with what it is about.

    >>> [name for name, _ in experiment_names("lorenz63")]
    ['lorenz63', 'lorenz63-residual']
    """
    from forebear_experiments import EXPERIMENTS

    return [(name, about) for name, (_, about) in EXPERIMENTS.items() if name.startswith(incomplete)]


def benchmark_names(incomplete: str) -> Iterable[tuple[str, str]]:
    """Benchmarks that begin so, each with what it measures.

    >>> [name for name, _ in benchmark_names("lor")]
    ['lorenz63']
    """
    from forebear_experiments.benchmarks import BENCHES

    return [(name, about) for name, about in BENCHES.items() if name.startswith(incomplete)]


Experiment = Annotated[
    str | None, Argument(metavar="NAME", help="As in --list.", show_default=False, autocompletion=experiment_names)
]
Listing = Annotated[bool, Option("--list", help="Print the names and stop.")]
Everything = Annotated[bool, Option("--all", help="Every experiment, one after the other.")]
Repeats = Annotated[str | None, Option("--runs", metavar="N", help="Repeats (default: as published).")]
Only = Annotated[
    list[str] | None,
    Option(metavar="PART", help="Make this part of it alone and keep it; the whole takes it up.", show_default=False),
]
Quick = Annotated[bool, Option("--quick", help="A small version of the same code path.")]
ResultsOut = Annotated[
    Path, Option(metavar="DIR", help="Folder for NAME.json, figures and finished pieces.", show_default=False)
]
Bench = Annotated[
    str | None, Argument(metavar="NAME", help="As in --list.", show_default=False, autocompletion=benchmark_names)
]

Splits = Annotated[str | None, Option(metavar="N", help="Real tables: so many splits of each.")]
First = Annotated[str | None, Option(metavar="N", help="uci: from this split on (default: 0).")]
Seconds = Annotated[
    str | None, Option(metavar="N", help="uci, missing: begin nothing after so many seconds, and tell.")
]
Tables = Annotated[str | None, Option(metavar="A,B,…", help="These tables alone.")]
Methods = Annotated[str | None, Option(metavar="A,B,…", help="uci, laws: these methods alone.")]
Workers = Annotated[str | None, Option(metavar="N", help="Real tables: processes that share the pieces.")]
PiecesOut = Annotated[
    Path | None,
    Option(metavar="FILE", help="Real tables: finished pieces; the next run goes on from there."),
]
Against = Annotated[str | None, Option(metavar="COMMIT", help="speed, regress: the version beside ours.")]
TablesFolder = Annotated[Path | None, Option(metavar="DIR", help="Real tables: where they are.")]


def add_reproduce(app: typer.Typer) -> None:
    """Register `forebear reproduce`."""
    app.command("reproduce", epilog=_REPRODUCE)(reproduce)


def add_bench(app: typer.Typer) -> None:
    """Register `forebear bench`."""
    app.command("bench", epilog=_BENCH)(bench)


def reproduce(
    name: Experiment = None,
    listing: Listing = False,
    everything: Everything = False,
    preset: opt.Preset = "fast",
    runs: Repeats = None,
    seed: opt.Seed = "0",
    quick: Quick = False,
    only: Only = None,
    jobs: opt.Jobs = "1",
    out: ResultsOut = Path("results"),
    json: opt.Json = False,
) -> None:
    """Rebuild a published experiment and say which of its claims hold.

    An interrupted run goes on where it stopped. The status is 1 when a claim does not hold.
    """
    from forebear_experiments.framework.work import Request
    from forebear_experiments.reproducing import list_experiments, run_only, run_reproduce

    if listing:
        list_experiments(json)
        return
    repeats = None if runs is None else parse_whole(runs, "--runs", 1)
    start, workers = parse_whole(seed, "--seed", 0), parse_whole(jobs, "--jobs", 1)
    request = Request(name or "", preset, repeats, start, quick)
    if only:
        run_only(request, only, out, workers, json)
    else:
        run_reproduce(request, everything, out, workers, json)


def bench(
    name: Bench = None,
    listing: Listing = False,
    splits: Splits = None,
    first: First = None,
    tables: Tables = None,
    methods: Methods = None,
    workers: Workers = None,
    seconds: Seconds = None,
    out: PiecesOut = None,
    data: TablesFolder = None,
    against: Against = None,
    json: opt.Json = False,
) -> None:
    """Measure forebear on this machine."""
    from forebear_experiments.measuring import list_benches, run_bench

    if listing:
        list_benches(json)
    else:
        asked = {
            "splits": None if splits is None else parse_whole(splits, "--splits", 1),
            "first": None if first is None else parse_whole(first, "--first", 0),
            "seconds": None if seconds is None else parse_whole(seconds, "--seconds", 0),
            "tables": None if tables is None else tables.split(","),
            "methods": None if methods is None else methods.split(","),
            "workers": None if workers is None else parse_whole(workers, "--workers", 1),
            "out": out,
            "data": data,
            "against": against,
        }
        run_bench(name, json, {option: value for option, value in asked.items() if value is not None})
