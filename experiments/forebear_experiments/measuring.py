"""What `forebear bench` does: run a benchmark by its name."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebear.cli.output import as_table, long_work, note, say
from forebear.errors import InputError, near_miss
from forebear_experiments.benchmarks import BENCHES, WITH_OPTIONS, measure

if TYPE_CHECKING:
    from rich.table import Table


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


def run_bench(name: str | None, as_json: bool, options: Mapping[str, Any] | None = None) -> None:
    """Measure, and print a table or the JSON document; options go to benchmarks that take them."""
    if name is None:
        raise InputError("bench needs a NAME: `forebear bench --list` shows them")
    if name not in BENCHES:
        raise InputError(f"there is no benchmark '{name}'. {near_miss(name, BENCHES)}")
    for option in options or {}:
        if option not in WITH_OPTIONS.get(name, ()):
            owners = [own for own, options in WITH_OPTIONS.items() if option in options]
            raise InputError(f"--{option} belongs to `forebear bench {', '.join(owners)}`: leave it out")
    note(f"{name}: {BENCHES[name]}")
    started = time.perf_counter()
    with long_work(None, ""):
        result = measure(name, _tell, **(options or {}))
    if as_json:
        say(json.dumps(result, indent=2))
        return
    machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    say(bench_table(result["rows"]), "", machine, f"{time.perf_counter() - started:.0f} s in all")


def bench_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows of a benchmark; a column for every field that is plain."""
    fields = list(dict.fromkeys(name for row in rows for name in row))
    names = {"what": "what", "ours_s": "seconds", "baseline_s": "baseline seconds"}
    cells = [[_cell(row.get(field)) for field in fields] for row in rows]
    return as_table([names.get(field, field.replace("_", " ")) for field in fields], cells)


def _cell(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if value < 100 else f"{value:.0f}"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_cell(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return str(value)
