"""The page of experiments, from stored results: `python -m forebear_experiments.framework.gallery RESULTS PAGE`.

What a reader should know of an experiment beside its claims stands in `page.md` of its folder, below its name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from forebear.storage.files import read_json
from forebear_experiments import EXPERIMENTS
from forebear_experiments.framework.run import figure_name

_PRESETS = {"fast": "", "paper": "-paper"}
_HEAD = """# The published experiments

Each by one command, `forebear reproduce NAME`, from nothing: data, training, discovery, figures, and a table of
claims. What is shown here are the stored runs in `results/`; `make gallery` makes this page from them. The "published
rule" reads the largest jump of the pruning path, the "certified rule" is forebear's own; both judge the same runs.
Preset "paper" has the published settings, "fast" is forebear's default. A claim about sets holds when it is true of
every run. Seconds are the sum over all runs; where several processes shared a GPU they are not those of a run alone.
"""


def gallery(results: Path, page: Path) -> str:
    """The text of the page; figures are linked from where the page will lie."""
    sections = [_HEAD]
    for name, (_, about) in EXPERIMENTS.items():
        stored = {
            preset: read_json(results / f"{name}{ending}.json", f"run `forebear reproduce {name}` again")
            for preset, ending in _PRESETS.items()
            if (results / f"{name}{ending}.json").is_file()
        }
        if stored:
            sections.append(_section(name, about, stored, results, page))
    return "\n".join(sections)


def _section(name: str, about: str, stored: Mapping[str, Any], results: Path, page: Path) -> str:
    first = next(iter(stored.values()))
    lines = [f"## {first['title']}", "", f"`{name}`: {about}. {_sentence(first['repeats'])}"]
    if first["decided"]:
        lines.append(f"Decided: {first['decided']}.")
    lines += ["", *([prose(name), ""] if prose(name) else [])]
    lines += [*_claims(stored, first["answers"]), ""]
    notes: dict[str, list[str]] = {}
    for preset, told in stored.items():
        for claim in told["claims"]:
            if claim["why"] and not claim["holds"]:
                which = f", {preset}" if first["answers"] else ""
                notes.setdefault(claim["why"], []).append(f"{claim['claim']}{which}")
    lines += [f"- {'; '.join(claims)}: {why}." for why, claims in notes.items()]
    lines += [""] * bool(notes)
    for preset, told in stored.items():
        which = f"{preset}: " if told["answers"] else ""
        lines.append(f"- {which}`{told['command']}`, {told['seconds']:,.0f} s, {_machines(told['machines'])}")
    lines.append("")
    shown = "paper" if "paper" in stored else "fast"
    for part in list(stored[shown]["answers"] or [""])[:1]:
        file = results / "figures" / f"{figure_name(name + _PRESETS[shown], part)}.png"
        title = ", ".join(filter(None, [first["title"], part, f"preset {shown}" if first["answers"] else ""]))
        lines += [f"![{title}]({Path(os.path.relpath(file, page.parent)).as_posix()})", ""]
    return "\n".join(lines)


def prose(name: str) -> str:
    """What `page.md` says below the heading of an experiment; nothing if it has no such heading.

    >>> prose("lander-hover").partition(":")[0]
    'A policy that hovers has found out how not to crash, and not yet how to land'
    """
    file = files("forebear_experiments") / EXPERIMENTS[name][0].partition(".")[0] / "page.md"
    _, _, after = file.read_text(encoding="utf-8").partition(f"## {name}\n")
    return after.partition("\n## ")[0].strip()


def _claims(stored: Mapping[str, Any], answers: Mapping[str, Any]) -> list[str]:
    """One row per claim, one column per preset; where nothing is discovered there is but one set of settings."""
    rows: dict[str, dict[str, Any]] = {}
    for preset, told in stored.items():
        for claim in told["claims"]:
            rows.setdefault(claim["claim"], {})[preset] = claim
    head = ["claim", "published", *(stored if answers else ["measured"])]
    cells = [
        [claim, _published(by_preset), *(_measured(by_preset.get(preset)) for preset in stored)]
        for claim, by_preset in rows.items()
    ]
    return [_row(head), _row(["---"] * len(head)), *map(_row, cells)]


def _published(by_preset: Mapping[str, Any]) -> str:
    published = next(iter(by_preset.values()))["published"]
    return "" if published is None else str(published)


def _measured(claim: Mapping[str, Any] | None) -> str:
    if claim is None:
        return ""
    return f"{claim['measured']}" if claim["holds"] else f"**no:** {claim['measured']}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _machines(machines: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(dict.fromkeys(f"{m['device']}, {m['cores']} cores, JAX {m['jax']}" for m in machines))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(gallery(source, target), encoding="utf-8")
