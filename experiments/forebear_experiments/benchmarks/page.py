"""The page of benchmarks, from stored results: `python -m forebear_experiments.benchmarks.page RESULTS PAGE`.

Its charts go to the folder `pictures` beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebear.storage.files import read_json
from forebear_experiments.benchmarks import BENCHES
from forebear_experiments.benchmarks.charts import CHARTS, draw
from forebear_experiments.benchmarks.words import COLUMNS, OWN_COLUMNS, READ, TITLES, system

_HEAD = """# Benchmarks

What was measured, how, and on which machine: a chart of each benchmark, and its numbers folded away below. The
command below a chart measures again on your machine; `make gallery` makes this page from the files in `results/`.

"Beside" names what forebear is compared with, and "its" is said of that. "Times faster" is its time over
forebear's: more is better, and below 1 forebear takes longer. `a ± b` is a mean and its spread. Where the lines below
a chart say that other work ran on the machine, seconds are longer than those of a run alone. A version is that of
forebear at the time of the run.
"""
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
    files = sorted(stored, key=lambda file: (order.get(stored[file].get("name"), len(order)), Path(file).stem))
    return "\n".join([_HEAD, *(_section(file, stored[file]) for file in files)])


def _section(file: str, told: Mapping[str, Any]) -> str:
    name, rows = told.get("name", file), told.get("rows", [])
    own = file.removeprefix("bench-").removesuffix(".json")
    title = TITLES.get(own, own)
    about = f"{_capital(BENCHES[name])}." if name in BENCHES else ""
    about = " ".join(filter(None, (about, READ.get(name, ""))))
    lines = [f'<a id="{own}"></a>', "", f"## {title}", "", *([about, ""] if about else [])]
    if own in CHARTS:
        lines += [f"![{title}](pictures/bench-{own}.png)", ""]
    command = told.get("command", f"forebear bench {name} --json")
    lines += [f"- `results/{file}`, from `{command}`", f"- {_machine(told.get('machine', {}))}", ""]
    fields = list(dict.fromkeys(str(field) for row in rows for field in row))
    words = {**COLUMNS, **OWN_COLUMNS.get(name, {})}
    table = [_row([words.get(field, field.replace("_", " ")) for field in fields]), _row(["---"] * len(fields))]
    table += [_row([_cell(row.get(field), field) for field in fields]) for row in rows]
    return "\n".join(
        [*lines, '<details markdown="1"><summary>The numbers</summary>', "", *table, "", "</details>", ""]
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
    return _cut(system(str(value)))


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
    cores = f"{machine.get('cores')} cores"
    parts += [cores] if "cores" in machine and not any(cores in part for part in parts) else []
    parts += [f"{word} {machine[name]}" for name, word in _VERSIONS.items() if name in machine]
    notes = [str(machine["note"])] if machine.get("note") else []
    return "; ".join([", ".join(parts) or "machine not recorded", *notes])


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(page(source), encoding="utf-8")
    for result in sorted(source.glob("bench-*.json")):
        stem = result.stem.removeprefix("bench-")
        draw(stem, read_json(result, "")["rows"], target.parent / "pictures" / f"bench-{stem}.png")
