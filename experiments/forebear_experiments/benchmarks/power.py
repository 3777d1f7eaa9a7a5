"""How many rows it takes to find a small effect: ours, a test that knows the form of the effect, and two others.

`python -m forebear_experiments.benchmarks.power RESULTS` draws the stored numbers into RESULTS/figures.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.errors import InputError, near_miss
from forebear_experiments.benchmarks.support.effects import EFFECTS, draw
from forebear_experiments.benchmarks.support.resume import resumed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZES = (300, 600, 1_200, 2_500, 5_000, 10_000, 20_000)
LEVEL = 0.01
"""over all inputs of a table, for every method that has a level"""
METHODS = {
    "certified": "certified (ours)",
    "known_form": "a test that knows the form",
    "RCIT": "RCIT",
    "nsr-jump": "the published rule",
}
"""field of a row -> what it is called in the figure"""
# Tables that are put side by side, as targets of one discovery, which trains them together.
_TOGETHER = 10


def run(
    effects: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    tables: int = 20,
    jobs: int = 1,
    out: str | Path | None = None,
    **arguments: Any,
) -> list[dict[str, Any]]:
    """One row per effect and number of rows: the share of tables for which exactly the right inputs are kept.

    RCIT is left out where causal-learn is not installed. `out` is a file with a line for every ten tables that are
    done; a later call with the same file goes on from there. What else is given goes to `forebear.discover`.
    """
    for name in effects or ():
        if name not in EFFECTS:
            raise InputError(f"there is no effect '{name}' in this benchmark. {near_miss(name, EFFECTS)}")
    batches = [(at, min(_TOGETHER, tables - at)) for at in range(0, tables, _TOGETHER)]
    pieces = [(name, rows, *batch) for name in (effects or EFFECTS) for rows in sizes for batch in batches]
    told: dict[tuple[str, int], list[dict[str, Any]]] = {(name, rows): [] for name, rows, *_ in pieces}
    for (name, rows, *_), result in resumed(partial(measure_batch, arguments=arguments), pieces, jobs, out):
        told[name, rows].append(result)
    return [_row(name, rows, own) for (name, rows), own in told.items()]


def _row(name: str, rows: int, batches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    number = sum(batch["tables"] for batch in batches)
    row: dict[str, Any] = {
        "what": f"{name}, {rows:,} rows",
        "effect": name,
        "rows": rows,
        "ours_s": sum(batch["seconds"] for batch in batches) / number,
        "tables": number,
    }
    for method in METHODS:
        if all(method in batch["exact"] for batch in batches):
            row[method] = sum(batch["exact"][method] for batch in batches) / number
    return row


def measure_batch(piece: tuple[str, int, int, int], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """How many of some tables each method answers exactly: (effect, rows, seed of the first table, how many)."""
    name, rows, first, number = piece
    effect = EFFECTS[name]
    tables = [draw(name, rows, first + place) for place in range(number)]
    answers, seconds = _ours(tables, first, arguments)
    answers["known_form"] = [effect.known(x, y, LEVEL) for x, y in tables]
    rcit = _rcit(tables, first)
    if rcit is not None:
        answers["RCIT"] = rcit
    exact = {method: sum(chosen == effect.ancestors for chosen in own) for method, own in answers.items()}
    return {"tables": number, "seconds": seconds, "exact": exact}


def _ours(
    tables: Sequence[tuple[np.ndarray, np.ndarray]], seed: int, arguments: Mapping[str, Any]
) -> tuple[dict[str, list[frozenset[int]]], float]:
    """What is certified, and what the published rule reads from the paths of the same run."""
    import forebear

    columns = {f"x{place}_{j}": x[:, j] for place, (x, _) in enumerate(tables) for j in range(x.shape[1])}
    targets = {f"y{place}": y for place, (_, y) in enumerate(tables)}
    own = {f"y{place}": [f"x{place}_{j}" for j in range(x.shape[1])] for place, (x, _) in enumerate(tables)}
    found = forebear.discover(
        pd.DataFrame(columns | targets),
        targets=list(targets),
        candidates=own,
        level=LEVEL,
        seed=seed,
        **{"path": "own", **arguments},  # the published rule reads the path
    )
    jump = forebear.LargestJump()
    return {
        "certified": [_numbers(found.ancestors[target]) for target in targets],
        "nsr-jump": [_numbers(jump(found.runs[0][target])) for target in targets],
    }, found.seconds


def _numbers(names: Sequence[str]) -> frozenset[int]:
    """
    >>> sorted(_numbers(["x7_0", "x7_2"]))
    [0, 2]
    """
    return frozenset(int(name.partition("_")[2]) for name in names)


def _rcit(tables: Sequence[tuple[np.ndarray, np.ndarray]], seed: int) -> list[frozenset[int]] | None:
    from forebear_experiments.benchmarks.support.rivals import rcit

    answers = []
    for x, y in tables:
        try:
            p_values = rcit([x[:, [j]] for j in range(x.shape[1])], y, seed)
        except ImportError:
            return None
        answers.append(frozenset(j for j, p in enumerate(p_values) if p < LEVEL / len(p_values)))
    return answers


def figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel per effect: the share of exact answers against the number of rows, a line per method."""
    from matplotlib.figure import Figure

    from forebear_experiments.framework.colours import INK

    names = list(dict.fromkeys(row["effect"] for row in rows))
    drawn = Figure(figsize=(3.1 * len(names) + 0.4, 3.4), layout="constrained")
    panels = drawn.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        _panel(panel, [row for row in rows if row["effect"] == name])
        panel.set_title(EFFECTS[name].about, fontsize=9, loc="left", color=INK)
    panels[0].set_ylabel("share of tables answered exactly", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return drawn


def _panel(panel: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT

    colours = dict(zip(METHODS, (KEPT, INK, GONE, JUMP), strict=True))
    for method, label in METHODS.items():
        own = [row for row in rows if method in row]
        style = "--" if method == "known_form" else "-"
        sizes, shares = [row["rows"] for row in own], [row[method] for row in own]
        panel.plot(sizes, shares, style, marker="o", ms=3.5, lw=1.4, color=colours[method], label=label)
    panel.set_xscale("log")
    sizes = sorted({row["rows"] for row in rows})
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45)
    panel.minorticks_off()
    panel.set_ylim(-0.04, 1.04)
    panel.set_xlabel("rows", fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def draw_stored(results: Path) -> None:
    """The figure of what `forebear bench power --json` left in a folder of results, into its folder of figures."""
    from forebear.storage.files import read_json
    from forebear_experiments.framework.run_figures import save_figure

    told = read_json(results / "bench-power.json", "run `forebear bench power --json` again")
    save_figure(figure(told["rows"]), results / "figures" / "power")


if __name__ == "__main__":
    draw_stored(Path(sys.argv[1]))
