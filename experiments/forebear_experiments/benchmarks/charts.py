"""The charts of the page of benchmarks, from stored results: one picture per file, of one or two panels of dots."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from forebear_experiments.benchmarks.words import system
from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT

Row = Mapping[str, Any]


class Dot(NamedTuple):
    """One number of a row."""

    label: str
    """of the line it stands on"""
    series: str
    value: float
    low: float | None = None
    high: float | None = None
    """ends of an interval"""


@dataclass(frozen=True)
class Panel:
    """Dots on lines, one for each label."""

    read: Callable[[Sequence[Row]], Iterable[Dot]]
    axis: str
    log: bool = False
    mark: float | None = None
    """where a line is drawn to compare with"""
    ends: tuple[float, float] | None = None


def _share(part: str, whole: str = "of") -> Callable[[Row], float | None]:
    return lambda row: row[part] / row[whole] if row.get(part) is not None and row.get(whole) else None


def _each(
    value: str | Callable[[Row], float | None], series: str = "", keep: Callable[[Row], bool] = lambda row: True
) -> Callable[[Sequence[Row]], Iterable[Dot]]:
    """A dot for each row that has the value, on a line of its own."""
    read = value if callable(value) else lambda row: row.get(value)
    return lambda rows: [
        Dot(system(str(row["what"])), series, float(number))
        for row in rows
        if keep(row) and (number := read(row)) is not None
    ]


def _times(rows: Sequence[Row]) -> Iterable[Dot]:
    """Ours and the baseline's seconds; a label that comes twice has another baseline."""
    for row in rows:
        if row.get("baseline_s") is not None:
            label = f"{system(row['what'])} (beside {system(row['baseline'])})"
            yield Dot(label, "forebear", row["ours_s"])
            yield Dot(label, "baseline", row["baseline_s"])


def _methods(value: str, best: bool = False) -> Callable[[Sequence[Row]], Iterable[Dot]]:
    """Rows `table: method` as series of one line; `best`: over the least of the line."""

    def read(rows: Sequence[Row]) -> Iterable[Dot]:
        told = [(*row["what"].split(": ", 1), row[value]) for row in rows if ": " in row["what"] and value in row]
        least = {name: min(number for table, _, number in told if table == name) for name, *_ in told}
        if not best:
            least = dict.fromkeys(least, 1.0)
        return [Dot(table, system(method), number / least[table]) for table, method, number in told]

    return read


def _selection(rows: Sequence[Row]) -> Iterable[Dot]:
    return [Dot(system(row["what"]), system(row["method"]), row["exact"] / row["of"]) for row in rows]


def _everything(rows: Sequence[Row]) -> Iterable[Dot]:
    """The rows at the end of `trust`, `mended`, `unseen` and `planted`: all kinds of table together."""
    for row in rows:
        if row["what"].startswith("all kinds") and row.get("of"):
            method = row["what"].partition(": ")[2] or "forebear"
            yield Dot(method, "exact sets, of those that can be decided", row["exact"] / row["of"])
            if row.get("right_share") is not None:
                yield Dot(method, "right answers, 'cannot tell' among them", row["right_share"])


def _pruned(rows: Sequence[Row]) -> Iterable[Dot]:
    for row in rows:
        full = row["crps_full"]
        low, value, high = (row[f"crps_{name}"] / full for name in ("low", "difference", "high"))
        yield Dot(f"{row['what']}: {row['kept']} of {row['of']} inputs", "", value, low, high)


def _level(rows: Sequence[Row]) -> Iterable[Dot]:
    for row in rows:
        if "band_0.05" not in row:
            continue
        low, high = row["band_0.05"]
        yield Dot(row["what"], "", row["below_0.05"], low, high)


def _words(which: str) -> Callable[[Sequence[Row]], Iterable[Dot]]:
    """The three words of `regimes` on laws that changed, or did not: each a series of counts."""
    words = {"same": "the same", "changes": "changes", "cannot_tell": "cannot tell"}
    return _several(*((f"{which}_{key}", word) for key, word in words.items()))


def _several(*fields: tuple[str, str]) -> Callable[[Sequence[Row]], Iterable[Dot]]:
    """Several numbers of each row, each a series."""
    return lambda rows: [
        Dot(system(str(row["what"])), name, float(row[field]))
        for row in rows
        for field, name in fields
        if row.get(field) is not None
    ]


def _first(field: str) -> Callable[[Row], float | None]:
    """The mean of a field that also has its spread."""
    return lambda row: None if row.get(field) is None else float(row[field][0])


def _published(rows: Sequence[Row]) -> Iterable[Dot]:
    for row in rows:
        yield Dot(row["what"], "forebear", row["w1"][0])
        for name, field in (("published", "published_w1"), ("draws of the exact law", "floor")):
            told = row.get(field)
            if told is not None:
                yield Dot(row["what"], name, told[0] if isinstance(told, list) else told)


def _rates(rows: Sequence[Row]) -> Iterable[Dot]:
    for row in rows:
        if "mean of" in row["what"]:
            value, error = row["rate_ratio"], row["rate_ratio_error"]
            yield Dot(row["what"], "", value, value - error, value + error)


def _states(rows: Sequence[Row]) -> Iterable[Dot]:
    return [Dot(row["what"].partition(": ")[0], row["model"], row["rmse"]) for row in rows]


_SPEED = (Panel(_times, "seconds", log=True),)
_EXACT = (Panel(_each(_share("exact")), "share of exact sets", ends=(0, 1)),)
_KINDS = (Panel(_everything, "share", ends=(0, 1)),)
_OVER_BEST = "CRPS over that of the best on the table"
_CRPS = (Panel(_methods("crps", best=True), _OVER_BEST, log=True, mark=1.0),)
CHARTS: Mapping[str, tuple[Panel, ...]] = {
    "lorenz63": _SPEED,
    "scaling": (Panel(_each("ours_s"), "seconds"),),
    "gpu": (Panel(_each("ours_s"), "seconds", log=True),),
    "pipeline": _EXACT,
    "selection": (Panel(_selection, "share of exact sets", ends=(0, 1)),),
    "trust": _KINDS,
    "trust-new-seed": _KINDS,
    "mended": _KINDS,
    "unseen": _KINDS,
    "planted": _KINDS,
    "pruning": (Panel(_pruned, "CRPS of the pruned law over that of the full one, less 1", mark=0.0),),
    "level": (Panel(_level, "share of p-values below 0.05; the bars are where it may lie by chance", mark=0.05),),
    "missing": (
        Panel(_each(_share("exact", "targets")), "share of exact sets", ends=(0, 1)),
        Panel(_level, "share of p-values below 0.05; the bars are where it may lie by chance", mark=0.05),
    ),
    "latency": (
        Panel(
            _several(("ours_s", "stepper"), ("compiled_s", "core, compiled"), ("baseline_s", "sample")),
            "seconds of a draw",
            log=True,
        ),
    ),
    "size": (Panel(_several(("ours_s", "all of it"), ("read_s", "reading alone")), "seconds", log=True),),
    "wide": (
        Panel(
            _several(
                ("kept_mean", "that move the mean"),
                ("kept_spread", "that widen"),
                ("kept_interaction", "that act in pairs"),
            ),
            "share of true inputs that the quick look leaves",
            ends=(0, 1),
        ),
    ),
    "scores": (
        Panel(
            _several(("energy_last", "by energy"), ("variation_last", "by variation")),
            "rank of the last needed input of three",
            mark=3.0,
        ),
        Panel(
            _several(("energy_path", "by energy"), ("variation_path", "by variation")),
            "its place on the path, from the end",
            mark=3.0,
        ),
    ),
    "uci": _CRPS,
    "uci-new-splits": _CRPS,
    "laws": (Panel(_methods("crps", best=True), _OVER_BEST, mark=1.0),),
    "conformal": (Panel(_methods("cover_90"), "share of rows in the 90% interval", mark=0.9),),
    "corners": (
        Panel(
            _several(("inside_cover_90", "inside the data"), ("outside_cover_90", "outside of it")),
            "share of rows in the 90% interval",
            mark=0.9,
        ),
    ),
    "surrogate": (Panel(_published, "distance to the exact law (W1)"),),
    "twin": (Panel(_each(lambda row: row.get("over_floor")), "distance to the exact law over its floor", mark=1.0),),
    "twin-ko": (Panel(_published, "distance to the exact law (W1)", log=True),),
    "langevin": (Panel(_rates, "well changes over those of a simulation", mark=1.0),),
    "assimilate": (Panel(_states, "root mean squared error of the states", log=True),),
    "environments": _SPEED,
    "control": _SPEED,
    "cluster": (Panel(_times, "seconds"),),
    "libraries": _SPEED,
    "libraries-16-cores": _SPEED,
    "cost": _SPEED,
    "speed": (
        Panel(
            _several(
                ("ratio", "warm"),
                ("ratio_fresh", "in a fresh process"),
                ("ratio_processor", "processor seconds, warm"),
            ),
            "times faster than version 0.1.0",
            mark=1.0,
        ),
    ),
    "monitor": (
        Panel(_each(_share("alarms")), "share of false alarms", mark=0.05),
        Panel(_each(_share("found")), "share of changes that were found", ends=(0, 1)),
    ),
    "rigs": (
        Panel(_each(_share("found")), "share of changes that were found", ends=(0, 1)),
        Panel(_each(_share("named_rightly")), "the same, with the right inputs named", ends=(0, 1)),
    ),
    "update": (
        Panel(
            _several(
                ("before_new", "before"),
                ("update_new", "updated"),
                ("refit_all_new", "fitted on all rows"),
                ("refit_new_new", "fitted on new rows"),
            ),
            "CRPS on new rows, above the true law's as a share",
        ),
        Panel(
            _several(
                ("before_old", "before"),
                ("update_old", "updated"),
                ("refit_all_old", "fitted on all rows"),
                ("refit_new_old", "fitted on new rows"),
            ),
            "the same on old rows, where their law still holds",
        ),
    ),
    "regimes": (
        Panel(_words("unchanged"), "answers on laws that are the same"),
        Panel(_words("changed"), "answers on laws that are not"),
    ),
    "stress": (
        Panel(_several(("truth", "truth"), ("mean", "mean of the estimates")), "probability", log=True),
        Panel(_several(("times_fewer", "")), "times fewer trajectories than brute force", log=True, mark=1.0),
    ),
    "constraints": (
        Panel(_each("violating"), "share of trials that left the limits", ends=(0, 1)),
        Panel(_each("times_nominal"), "cost, in multiples of that without limits", mark=1.0),
    ),
    "serve": (
        Panel(_each("per_second"), "requests per second", log=True),
        Panel(_several(("median_ms", "median"), ("p99_ms", "99th percentile")), "milliseconds", log=True),
    ),
}
"""file `bench-NAME.json` -> what is drawn of it; files of a single number have none"""

_COLOURS = (KEPT, JUMP, "#009E73", "#CC79A7", GONE, "#56B4E9", "#E69F00", INK)
_MARKERS = "osD^vP*Xdh<>"
_LETTERS, _ASIDE = 62, 0.6


def draw(name: str, rows: Sequence[Row], file: Path) -> bool:
    """Write the chart of a result; False where it has none."""
    import matplotlib.pyplot as plt

    panels = CHARTS.get(name)
    dots = [list(panel.read(rows)) for panel in panels or ()]
    if panels is None or not any(dots):
        return False
    heights = [1 + 0.24 * _lines(own) for own in dots]
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(9, sum(heights)),
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )
    for axis, panel, own in zip(axes[:, 0], panels, dots, strict=True):
        _dots(axis, panel, own)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return True


def _wrapped(label: str) -> str:
    return "\n".join(textwrap.wrap(label, _LETTERS)).replace("$", r"\$")


def _lines(dots: Sequence[Dot]) -> int:
    return sum(1 + _wrapped(label).count("\n") for label in dict.fromkeys(dot.label for dot in dots))


def _dots(axis: Any, panel: Panel, dots: Sequence[Dot]) -> None:
    labels = list(dict.fromkeys(dot.label for dot in dots))
    sizes = [1 + _wrapped(label).count("\n") for label in labels]
    places = {label: sum(sizes[:i]) + (sizes[i] - 1) / 2 for i, label in enumerate(labels)}
    if panel.mark is not None:
        axis.axvline(panel.mark, color=GONE, lw=1, ls="--", zorder=0)
    every = list(dict.fromkeys(dot.series for dot in dots))
    for number, series in enumerate(every):
        own = [dot for dot in dots if dot.series == series]
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        # Side by side, so that equal values do not hide one another.
        aside = _ASIDE * ((number + 0.5) / len(every) - 0.5)
        at = [places[dot.label] + aside for dot in own]
        for place, dot in zip(at, own, strict=True):
            if dot.low is not None and dot.high is not None:
                axis.plot([dot.low, dot.high], [place, place], color=colour, alpha=0.35, lw=4, solid_capstyle="butt")
        axis.plot([dot.value for dot in own], at, marker, color=colour, ms=5.5, label=series, alpha=0.9)
    axis.set_yticks(list(places.values()), [_wrapped(label) for label in labels])
    axis.set_ylim(sum(sizes) - 0.4, -0.6)
    axis.set_xlabel(panel.axis, fontsize=9)
    _finish(axis, panel, dots)


def _finish(axis: Any, panel: Panel, dots: Sequence[Dot]) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator

    if panel.log:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(numticks=12))
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        narrow = max(dot.value for dot in dots) < 40 * min(dot.value for dot in dots)
        axis.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if narrow and f"{value:.0e}"[0] in "235" else "")
    elif panel.ends is None and all(dot.value == int(dot.value) for dot in dots):
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.ends is not None:
        room = 0.03 * (panel.ends[1] - panel.ends[0])
        axis.set_xlim(panel.ends[0] - room, panel.ends[1] + room)
    axis.grid(axis="y", color="#E6E6E6", lw=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(which="both", labelsize=8, length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    if any(dot.series for dot in dots):
        axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
