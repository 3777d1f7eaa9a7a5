"""`forebear demo`: the main job on the table that ships with the package."""

from __future__ import annotations

import shutil
import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import forebear
from forebear.cli.output import draw, found_table, long_work, say, verdict_lines
from forebear.errors import InputError

TARGETS = ("wear", "torque_ripple", "vibration")

_MARK = "demo.txt"
_ABOUT = """This folder was written by `forebear demo`, which replaces it when it runs again.

found.json   the result: forebear.load reads the folder
data.safetensors   the columns that were used
twin/        the sampler behind the page, from which `forebear sample` draws
twins/       one on all candidates, to compare with
report/      the laws of the page
report.html  the page: answer, graph, evidence, and the laws to play with
graph.png    the graph, and how the noise-to-signal ratio rises as inputs are removed
run.json     the settings
asked.json   what was asked of which file
pieces/      finished parts of the run, from which an interrupted one resumes
"""

_MEANING = """Each target's whole conditional law was modelled from load, speed, temperature, humidity and oil. wear \
follows load
and temperature through its mean, as any regression would tell. torque_ripple and vibration have mean zero whatever
the conditions: load sets how widely torque_ripple scatters, speed and oil how far apart the two states of vibration
lie. No mean-based method sees these two. humidity shapes nothing."""


# Small twins, so that the demo stays under a minute on two cores; those of a run of your own are trained for longer.
_QUICK: dict[str, Any] = {"steps": 1_200, "batch": 256, "width": 48, "depth": 3, "ode_steps": 4, "progress": False}


def run_demo(out: Path) -> None:
    """Discover, explain, and say where the files are."""
    _clear(out)
    started = time.perf_counter()
    with long_work(None, ""), as_file(files("forebear") / "examples" / "rig.csv") as table:
        say("Which conditions of a test rig shape the law of each measurement? (3,000 rows; about a minute)", "")
        found = forebear.discover(table, list(TARGETS), out=out)
        draw(found, out / "graph.png")
        found.report(out / "report.html", **_QUICK)
    why = verdict_lines(found)
    found_lines = [found_table(found), "", *why, *([""] if why else []), _MEANING, ""]
    say(*found_lines, f"{time.perf_counter() - started:.0f} s. The graph is drawn in {out / 'graph.png'}.")
    say("Next: forebear discover your.csv --target y --out run, then forebear report run", "")
    say(f"Open the report in a browser, and move its sliders: {out / 'report.html'}")


def _clear(out: Path) -> None:
    """Make room for the run: remove what an earlier demo left, never anything else."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: not a folder: choose another name")
    if out.is_dir() and any(out.iterdir()) and not (out / _MARK).is_file():
        raise InputError(f"--out {out}: holds files that are not from a demo: choose another folder")
    try:
        for name in ("found.json", "data.safetensors", "run.json", "asked.json", "graph.png", "report.html"):
            (out / name).unlink(missing_ok=True)
        for name in ("pieces", "twin", "twins", "report"):
            shutil.rmtree(out / name, ignore_errors=True)
        out.mkdir(parents=True, exist_ok=True)
        (out / _MARK).write_text(_ABOUT, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}): choose another folder") from None
