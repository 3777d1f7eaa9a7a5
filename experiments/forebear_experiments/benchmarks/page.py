"""The page of benchmarks, from stored results: `python -m forebear_experiments.benchmarks.page RESULTS PAGE`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebear.storage.files import read_json
from forebear_experiments.benchmarks import BENCHES

_HEAD = """# Benchmarks

What `forebear bench NAME` measured, as it is stored in `results/`; `make gallery` makes this page from there, and
`forebear bench NAME` measures again on your machine. "Times faster" is the baseline's time over ours: more is better,
and below 1 ours takes longer. `a ± b` is a mean and its spread. Where it says so below a table, several processes
shared the machine, and seconds are not those of a run alone.
"""
_NAMES = {"what": "what", "ours_s": "seconds", "baseline_s": "baseline, seconds", "ratio": "times faster"}
# Fields that hold a mean and a standard deviation; other pairs are the ends of an interval.
_SPREADS = ("w1", "floor", "published")
_VERSIONS = {"jax": "JAX", "forebear": "forebear"}
_MOST_ITEMS, _MOST_LETTERS = 4, 160


def page(results: Path) -> str:
    """The text of the page: a section for each file `bench-*.json`, known benchmarks first, in their order."""
    stored = {}
    for file in sorted(results.glob("bench-*.json")):
        told = read_json(file, f"run `forebear bench {file.stem[6:]} --json` again")
        stored[file.name] = told
    order = {name: place for place, name in enumerate(BENCHES)}
    files = sorted(stored, key=lambda file: (order.get(stored[file].get("name"), len(order)), file))
    return "\n".join([_HEAD, *(_section(file, stored[file]) for file in files)])


def _section(file: str, told: Mapping[str, Any]) -> str:
    name, rows = told.get("name", file), told.get("rows", [])
    title = file.removeprefix("bench-").removesuffix(".json")
    about = f"{_capital(BENCHES[name])}." if name in BENCHES else ""
    lines = [f"## {title}", "", *([about, ""] if about else [])]
    fields = list(dict.fromkeys(str(field) for row in rows for field in row))
    lines += [_row([_NAMES.get(field, field.replace("_", " ")) for field in fields]), _row(["---"] * len(fields))]
    lines += [_row([_cell(row.get(field), field) for field in fields]) for row in rows]
    command = told.get("command", f"forebear bench {name} --json")
    return "\n".join(
        [*lines, "", f"- `results/{file}`, from `{command}`", f"- {_machine(told.get('machine', {}))}", ""]
    )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _cell(value: Any, field: str = "") -> str:
    """One value in a few letters.

    >>> _cell(0.0345678), _cell([1.5, 0.25], "w1_sd"), _cell([0.0, 0.14], "band"), _cell(None), _cell(True)
    ('0.0346', '1.5 ± 0.25', '0 to 0.14', '', 'yes')
    """
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    if isinstance(value, Mapping):
        return _cut("; ".join(f"{key}: {_cell(item)}" for key, item in value.items()))
    if isinstance(value, list):
        return _pair(value, field) if _is_pair(value) else _several(value)
    return _cut(str(value))


def _is_pair(value: Sequence[Any]) -> bool:
    return len(value) == 2 and all(isinstance(item, float) for item in value)


def _pair(value: Sequence[float], field: str) -> str:
    between = " ± " if field.startswith(_SPREADS) else " to "
    return between.join(map(_cell, value))


def _several(value: Sequence[Any]) -> str:
    inner = [f"{{{', '.join(map(str, item))}}}" if isinstance(item, list) else _cell(item) for item in value]
    more = len(inner) - _MOST_ITEMS
    return _cut(", ".join(inner) if more <= 0 else f"{', '.join(inner[:_MOST_ITEMS])} and {more} more")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _machine(machine: Mapping[str, Any]) -> str:
    """Device and versions on one line, with whatever was noted."""
    device = machine.get("device", "")
    cpu = machine.get("cpu")
    parts = [str(device)] if device and (device != "cpu" or not cpu) else []
    parts += [str(cpu)] if cpu else []
    parts += [f"{machine['cores']} cores"] if "cores" in machine else []
    parts += [f"{word} {machine[name]}" for name, word in _VERSIONS.items() if name in machine]
    notes = [str(machine["note"])] if machine.get("note") else []
    return "; ".join([", ".join(parts) or "machine not recorded", *notes])


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(page(source), encoding="utf-8")
