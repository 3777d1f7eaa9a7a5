"""Two runs side by side: what was asked differently, and what came out differently."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forebear.studio.results import summary


def compared(folders: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
    """Rows of a table: what it is about, the two values, and whether they are the same."""
    one, other = (summary(folder) for folder in folders)
    targets = list(dict.fromkeys(target["name"] for told in (one, other) for target in told["targets"]))
    return {
        "names": list(names),
        "settings": _settings(one, other),
        "targets": [{"name": name, "rows": _target(one, other, name)} for name in targets],
    }


def row(what: str, one: str, other: str) -> dict[str, Any]:
    """
    >>> row("seed", "0", "1")
    {'what': 'seed', 'values': ['0', '1'], 'same': False}
    """
    return {"what": what, "values": [one, other], "same": one == other}


def _settings(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows, structure and time, and every setting that is not the same."""
    rows = [
        row("rows used", *(_rows(told) for told in (one, other))),
        row("rows taken as", one["structure"], other["structure"]),
        row("seconds", f"{one['seconds']:g}", f"{other['seconds']:g}"),
    ]
    every = dict.fromkeys([*one["settings"], *other["settings"]])
    pairs = [(name, *(_text(told["settings"].get(name)) for told in (one, other))) for name in every]
    # Estimates follow from the rest, and how rows were taken stands above.
    apart = ("estimated_gb", "rows", "rows_why", "rows_drifting")
    return [*rows, *(row(n.replace("_", " "), a, b) for n, a, b in pairs if a != b and n not in apart)]


def _rows(told: dict[str, Any]) -> str:
    return "–" if told["table"] is None else f"{told['table']['used']:,} of {told['table']['rows']:,}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)


def _target(one: dict[str, Any], other: dict[str, Any], name: str) -> list[dict[str, Any]]:
    mine, theirs = (next((t for t in told["targets"] if t["name"] == name), None) for told in (one, other))

    def both(what: str, read: Any) -> dict[str, Any]:
        return row(what, *("not asked" if told is None else read(told) for told in (mine, theirs)))

    reasons = both("because", lambda told: "; ".join(told["reasons"]) or "–")
    return [
        both("shaped by", lambda told: ", ".join(sorted(a["name"] for a in told["ancestors"])) or "no candidate"),
        both("verdict", lambda told: told["verdict"] or "untested"),
        both("all the rest explains", lambda told: told["limit"] or "–"),
        *([reasons] if any(told is not None and told["reasons"] for told in (mine, theirs)) else []),
    ]
