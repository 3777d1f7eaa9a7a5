"""`forebear bench`: run a benchmark by its name."""

from __future__ import annotations

import json
import time
from typing import Any

from forebear.benchmarks import BENCHES, measure
from forebear.cli.output import as_table, bench_table, long_work, note, say
from forebear.errors import InputError, near_miss


def list_benches(as_json: bool) -> None:
    """The names, each with what it measures."""
    if as_json:
        say(json.dumps({"names": BENCHES}, indent=2))
    else:
        say(as_table(["name", "what it measures"], [[name, about] for name, about in BENCHES.items()]))


def _tell(row: dict[str, Any]) -> None:
    """A row as soon as it is there: what comes after it may take long."""
    numbers = ((key, value) for key, value in row.items() if key != "what")
    note(f"{row['what']}: " + ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in numbers))


def run_bench(name: str | None, as_json: bool) -> None:
    """Measure, and print a table or the JSON document."""
    if name is None:
        raise InputError("bench needs a NAME: `forebear bench --list` shows them")
    if name not in BENCHES:
        raise InputError(f"there is no benchmark '{name}'. {near_miss(name, BENCHES)}")
    note(f"{name}: {BENCHES[name]}")
    started = time.perf_counter()
    with long_work(None, ""):
        result = measure(name, _tell)
    if as_json:
        say(json.dumps(result, indent=2))
        return
    machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    say(bench_table(result["rows"]), "", machine, f"{time.perf_counter() - started:.0f} s in all")
