"""What got slower since the stored figures were made: this state beside the commit that stored them, in one run.

Seconds of another day or machine cannot be compared with today's, so the earlier code is timed again, in turns with
this one.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from forebear.errors import InputError
from forebear_experiments.benchmarks.speed import CHECKOUT
from forebear_experiments.benchmarks.speed import run as run_speed

STORED = "results/bench-speed.json"
SLOWER = 1.2
"""times the seconds of the stored state, from which a table is named"""
QUICK = ("300x5", "2000x12", "2000x30", "lorenz63")


def run(
    tables: Sequence[str] | None = None, against: str | None = None, rounds: int = 2, **options: Any
) -> Iterator[dict[str, Any]]:
    """The rows of `bench speed` against the commit of the stored figures, and whether each got slower by more than a
    fifth, in processor seconds; then one row that names those that did."""
    slower = []
    for row in run_speed(tables or QUICK, against or stored_at(), rounds, **options):
        row["slower"] = 1 / row["ratio_processor"] > SLOWER
        slower += [row["what"]] if row["slower"] else []
        yield row
    yield {"what": "slower by more than a fifth", "tables_slower": slower}


def stored_at() -> str:
    """The commit that wrote the stored figures last."""
    asked = ["git", "log", "-1", "--format=%h", "--", STORED]
    told = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True)
    if told.returncode or not told.stdout.strip():
        raise InputError(
            f"{CHECKOUT}: git does not know when {STORED} was stored: run this in a whole clone of the repository"
        )
    return told.stdout.strip()
