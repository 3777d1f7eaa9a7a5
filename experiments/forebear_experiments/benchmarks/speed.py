"""Seconds of whole discoveries, in a fresh process and again, beside an earlier version from the history.

Both versions are timed in turns in one run, each in processes of its own, so that they share whatever else the
machine does. Ratios of processor seconds hold on a busy machine too; those of wall-clock seconds want a quiet one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forebear.errors import InputError, near_miss

CHECKOUT = Path(__file__).resolve().parents[3]
AGAINST = "abd6a43"
"""version 0.1.0 of 2026-11-16, before the certificate was extended: what ratios were asked for against"""
TIMES = 3
"""discoveries in each process; all but the first are warm"""


def run(
    tables: Sequence[str] | None = None, against: str | None = AGAINST, rounds: int = 1, times: int = TIMES
) -> Iterator[dict[str, Any]]:
    """One row per table: seconds in a fresh process and warm ones, ours and theirs; `against` None: ours alone."""
    from forebear_experiments.benchmarks.support.timed_tables import APPLIANCES, TABLES

    for name in tables or ():
        if name not in TABLES:
            raise InputError(f"there is no table '{name}' in this benchmark. {near_miss(name, TABLES)}")
    chosen = tables or [name for name in TABLES if name != "appliances" or APPLIANCES.is_file()]
    with earlier(against) as theirs, tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            yield timed_row(name, Path(folder), theirs, against, rounds, times)


def timed_row(
    name: str, folder: Path, theirs: Path | None, against: str | None, rounds: int, times: int
) -> dict[str, Any]:
    """Both versions on one table, in turns."""
    from forebear_experiments.benchmarks.support.timed_tables import save

    file = folder / "table.npz"
    save(name, file)
    ours, others = [], []
    for _ in range(rounds):
        ours.append(time_once(CHECKOUT, file, times))
        if theirs is not None:
            others.append(time_once(theirs, file, times))
    row: dict[str, Any] = {"what": name, **_seconds(ours, "ours")}
    if others:
        own, base = _seconds(ours, ""), _seconds(others, "")
        row |= {"baseline": f"commit {against}", **_seconds(others, "baseline")}
        row |= {"ratio": base["_s"] / own["_s"]}
        row |= {f"ratio_{part}": base[f"_{part}_s"] / own[f"_{part}_s"] for part in ("fresh", "processor")}
        row["baseline_sets"] = others[0]["sets"]
    return {**row, "sets": ours[0]["sets"]}


def _seconds(timed: Sequence[dict[str, Any]], whose: str) -> dict[str, float]:
    """The least of several rounds: warm, in a fresh process, and the processor seconds of a warm one."""
    return {
        f"{whose}_s": min(min(one["wall_s"][1:] or one["wall_s"]) for one in timed),
        f"{whose}_fresh_s": min(one["wall_s"][0] for one in timed),
        f"{whose}_processor_s": min(min(one["processor_s"][1:] or one["processor_s"]) for one in timed),
    }


def time_once(checkout: Path, table: Path, times: int) -> dict[str, Any]:
    """What `timed.py` says of the forebear in a checkout, in a process that nothing was compiled for before."""
    script = Path(__file__).with_name("support") / "timed.py"
    quiet = {"JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(table), str(times)],
        env={**os.environ, **quiet},
        cwd=table.parent,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise InputError(f"the forebear of {checkout} could not be timed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def earlier(revision: str | None) -> Iterator[Path | None]:
    """A copy of the package as it was at a revision of this repository, for as long as it is needed."""
    if revision is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", revision, "forebear"], cwd=CHECKOUT, capture_output=True)
        if packed.returncode:
            said = packed.stderr.decode(errors="replace").strip().splitlines()
            raise InputError(
                f"{CHECKOUT}: git has no revision {revision} here ({said[-1] if said else 'no repository'}): this "
                "benchmark compares with it, so run it in a clone with its whole history"
            )
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder)
