"""What a monitor says of new rows: words for people, JSON and Prometheus text for machines, a page to look at."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebear.data.cells import html_table
from forebear.errors import InputError, near_miss
from forebear.watch.batch import Together
from forebear.watch.faults import STUCK, Fault
from forebear.watch.laws import LawVerdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# p-values below are told as such.
_TINY = 1e-12

HOLDS, CHANGED, CANNOT_TELL = "holds", "changed", "cannot tell"


@dataclass(frozen=True)
class Outside:
    """Rows outside what the twin has seen: no law was learned there, and none is tested."""

    rows: int
    inputs: Mapping[str, int]
    """input -> rows in which it lies beyond its range, alone or together with another, or has a label never seen"""


@dataclass(frozen=True, eq=False, repr=False)
class Monitored:
    """Does each law still hold? `verdict` is "holds" or "changed", `targets` has the details of each law."""

    verdict: str
    targets: Mapping[str, LawVerdict]
    outside: Outside
    faults: tuple[Fault, ...]
    together: tuple[Together, ...]
    """pairs of targets"""
    without_faults: Mapping[str, str] | None
    """target -> verdict on the rows in which no sensor is stuck, where one is"""
    rows: int
    tested: int
    """rows on which the laws were tested: all but those outside or with gaps"""
    level: float
    margin: float
    notes: tuple[str, ...]
    units: Mapping[str, str]
    latents: np.ndarray
    """(tested, targets), standard normal while the laws hold and the twin is right"""
    numbers: np.ndarray
    """(tested,) the number of each of these rows in the table, from 1"""

    @property
    def changed(self) -> bool:
        """Whether a law, or how two targets go together, is another one."""
        return self.verdict == CHANGED

    def __repr__(self) -> str:
        return f"<monitored {self.rows:,} rows: {'; '.join(self.summary().splitlines())}>"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A line for each target, then what else there is to say."""
        lines = [f"{target}: {self._sentence(target)}" for target in self.targets]
        for pair in self.together:
            if pair.adjusted <= self.level:
                lines.append(f"{pair.targets[0]} and {pair.targets[1]} no longer go together as they did")
        lines += [fault.told() for fault in self.faults]
        if self.outside.rows:
            lines.append(f"outside what the twin has seen: {self._outside()}")
        return "\n".join([*lines, *self.notes])

    def _sentence(self, target: str) -> str:
        told = self.targets[target]
        if told.verdict == CANNOT_TELL:
            return f"cannot tell ({told.note})"
        tiny = told.adjusted is not None and told.adjusted < _TINY
        p_value = f"p < {_TINY:g}" if tiny else f"p = {_rounded(told.adjusted)}"
        if told.verdict == HOLDS:
            return f"the law holds ({p_value})"
        unit = f" {self.units[target]}" if self.units.get(target) else ""
        words = {
            "moved": "moved" if told.moved_by is None else f"moved by {_rounded(told.moved_by)}{unit}",
            "widened": f"widened {_rounded(told.widened_by)} times",
            "narrowed": f"narrowed to {_rounded(told.widened_by)} of its spread",
            "other shape": "of another shape",
        }
        if told.along is not None:
            low, high = told.along
            words["moved"] = "moved otherwise"
            if low.moved_by is not None and high.moved_by is not None:
                words["moved"] = f"moved by {_rounded(low.moved_by)} to {_rounded(high.moved_by)}{unit}"
            words["widened"] = words["narrowed"] = (
                f"{_rounded(low.widened_by)} to {_rounded(high.widened_by)} times as wide"
            )
            with_input = f" from low to high {told.follows[0]}"
            with_input += f", and with {' and '.join(told.follows[1:])}" if told.follows[1:] else ""
        else:
            with_input = f", with {' and '.join(told.follows)}" if told.follows else ", alike at all inputs"
        when = f"since row {told.since:,}" if told.since is not None else ""
        if told.since_interval is not None and told.since_interval[0] < told.since_interval[1]:
            when += f" ({told.since_interval[0]:,} to {told.since_interval[1]:,})"
        if told.until is not None:
            when += f", until row {told.until:,}"
        said = f"the law changed {when}: {', '.join(words[word] for word in told.how)}{with_input} ({p_value})"
        if self.without_faults is not None and self.without_faults.get(target) == HOLDS:
            stuck = " and ".join(sorted({f"'{fault.column}'" for fault in self.faults if fault.kind == STUCK}))
            said += f"; where {stuck} is not stuck it holds: a fault of the sensor, not a change of the system"
        return said

    def _outside(self) -> str:
        by = ", ".join(f"{name} in {count:,}" for name, count in self.outside.inputs.items())
        return f"{self.outside.rows:,} of {self.rows:,} rows ({by}), which are left out"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings: what `forebear monitor --json` prints."""
        return {
            "verdict": self.verdict,
            "targets": {target: _plain(asdict(told)) for target, told in self.targets.items()},
            "together": [_plain(asdict(pair)) for pair in self.together],
            "outside": _plain(asdict(self.outside)),
            "faults": [_plain({**asdict(fault), "told": fault.told()}) for fault in self.faults],
            "without_faults": None if self.without_faults is None else dict(self.without_faults),
            "rows": self.rows,
            "tested": self.tested,
            "level": self.level,
            "margin": self.margin,
            "notes": list(self.notes),
        }

    def prometheus(self) -> str:
        """Lines in Prometheus' text format, for its textfile collector."""
        lines = ["# TYPE forebear_law_changed gauge"]
        for target, told in self.targets.items():
            lines.append(f'forebear_law_changed{{target="{_label(target)}"}} {int(told.verdict == CHANGED)}')
        lines.append("# TYPE forebear_law_p_value gauge")
        for target, told in self.targets.items():
            if told.adjusted is not None:
                lines.append(f'forebear_law_p_value{{target="{_label(target)}"}} {told.adjusted:.6g}')
        numbers = {"rows": self.rows, "rows_outside": self.outside.rows, "sensor_faults": len(self.faults)}
        for name, value in numbers.items():
            lines += [f"# TYPE forebear_{name} gauge", f"forebear_{name} {value}"]
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        """For notebooks: a row per target."""
        rows = [[target, told.verdict, self._sentence(target)] for target, told in self.targets.items()]
        more = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines()[len(self.targets) :])
        return html_table(["target", "verdict", "why"], rows) + more

    def plot(self) -> Figure:
        """The latents of every target over the number of the row, with the rows of a change marked."""
        from forebear.plots.style import shown_once
        from forebear.plots.watching import watched_figure

        return shown_once(watched_figure([self._track(target) for target in self.targets]))

    def plot_target(self, target: str, ax: Axes | None = None) -> Axes:
        """The same for one target."""
        from forebear.plots.watching import track_figure

        if target not in self.targets:
            raise InputError(f"target: '{target}' was not monitored. {near_miss(target, self.targets)}")
        return track_figure(self._track(target), ax)

    def _track(self, target: str) -> Any:
        from forebear.plots.watching import Track

        told = self.targets[target]
        z = self.latents[:, list(self.targets).index(target)]
        return Track(target, self.numbers, z, told.since, told.since_interval, told.until)

    def report(self, file: str | Path) -> None:
        """Write one self-contained HTML page: a sentence for each law, and its latents over the number of the row."""
        from forebear.watch.page import write_page

        write_page(self, file)


def _rounded(value: float | None) -> str:
    """A number in a few letters.

    >>> _rounded(0.01234), _rounded(1e-20), _rounded(None)
    ('0.012', '1e-20', 'some amount')
    """
    return "some amount" if value is None else f"{value:.2g}"


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value
