"""The answer of `forebear.check`: columns, what becomes of them, and what is in the way, as text, HTML and data."""

from __future__ import annotations

import html
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.cells import CELL, look
from forebear.data.copied_rows import copied_rows
from forebear.data.survey import ColumnUse, Survey
from forebear.data.weights import effective_rows
from forebear.errors import listed

USE_HEAD = ("column", "kind", "missing", "values", "use")
"""of the table that `Checked` prints"""
_WIDEST = (28, 9, 7, 26)
_NARROW = 80
# Rows of a table that are compared with one another, at most: more would take longer than a look should.
_MOST_COMPARED = 2_000_000


@dataclass(frozen=True)
class TableUse:
    """What was done to the table of a discovery: kept with the result, `found.columns` shows it."""

    source: str
    rows: int
    """of the table as it was given"""
    used: int
    """of them that the discovery read"""
    columns: tuple[ColumnUse, ...]
    sample: str = ""
    """how the rows were drawn, where there were more than were read"""
    missing: str = "model"
    """what was done about gaps"""
    weights: str = ""
    """the column that says how much each row counts; empty: all count the same"""
    effective: float = 0.0
    """equal rows that weighted ones are worth"""
    screen: str = ""
    """what a quick look at very many candidates has set aside"""

    @classmethod
    def of(cls, found: Survey, used: int, missing: str, sample: str = "", total: int | None = None) -> TableUse:
        """From a survey of a table that had so many rows."""
        weights = next((use.name for use in found.uses if use.role == "weights"), "")
        worth = 0.0 if found.weights is None else effective_rows(found.weights)
        rows = found.rows if total is None else total
        return cls(found.source, rows, used, found.uses, sample, missing, weights, worth)

    def screened(self, gone: Mapping[str, Sequence[str]]) -> TableUse:
        """The same with the candidates that a quick look set aside, by target; a column that no target is left with
        has that for its role."""
        out = set.intersection(*(set(names) for names in gone.values()))
        columns = tuple(
            replace(use, role="screened out", why="showed too little in a quick look") if use.name in out else use
            for use in self.columns
        )
        each = " and ".join(f"{len(names):,} candidates of '{target}'" for target, names in list(gone.items())[:3])
        told = f"A quick look set {each} aside, and no set with them was tried: found.columns names them."
        return replace(self, columns=columns, screen=told)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, but for the place of the file: the same table gives the same answer."""
        plain = {name: value for name, value in asdict(self).items() if name != "source"}
        return {**plain, "columns": [asdict(use) for use in self.columns]}

    def told(self) -> str:
        """What was done about gaps and rows, in a sentence or two; empty if nothing was.

        >>> TableUse("a.csv", 100, 90, (), missing="drop").told()
        'Rows with a gap were left out: 90 of 100 remain.'
        """
        parts = [self.sample] if self.sample else []
        if self.missing == "drop" and self.used < self.rows and not self.sample:
            parts.append(f"Rows with a gap were left out: {self.used:,} of {self.rows:,} remain.")
        if self.missing == "model" and self.gaps:
            cells = "1 cell is" if self.gaps == 1 else f"{self.gaps:,} cells are"
            parts.append(f"{cells} missing, which the laws take as such.")
        if self.weights:
            worth = f"{self.used:,} rows are worth about {self.effective:,.0f} equal ones"
            parts.append(f"Rows count by '{self.weights}': {worth}.")
        parts += [self.screen] if self.screen else []
        return " ".join(parts)

    @property
    def gaps(self) -> int:
        """Cells without a value, in the columns that were used."""
        return sum(use.missing for use in self.columns if use.role in ("target", "candidate", "kept"))


class Checked:
    """What is in a table, and what `discover` would do with each column. Prints as a table.

    `columns` is a data frame with a row for every column; `problems` are the lines that `discover` would stop with;
    `ok` says that there are none; `command` goes on from here, and `call` does so in Python.
    """

    def __init__(self, found: Survey, command: str, call: str):
        self.survey, self.command, self.call = found, command, call

    @property
    def ok(self) -> bool:
        """Whether `discover` would start."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """All that is in the way, a line each."""
        return self.survey.problems

    @property
    def columns(self) -> pd.DataFrame:
        """One row per column: kind, role, why, missing, distinct, range, resolution, copy_of, mark."""
        return columns_frame(self.survey.uses)

    @cached_property
    def copied_rows(self) -> int:
        """Rows that are copies of others, the same in every column that is used."""
        found = self.survey
        if found.table is None or found.table.rows > _MOST_COMPARED:
            return 0
        columns, targets = found.table.columns.values(), [question.target for question in found.questions]
        observation = copied_rows(list(columns), targets)
        return 0 if observation is None else len(observation) - int(observation.max()) - 1

    @property
    def tips(self) -> list[str]:
        """What `discover` will do about rows, and what could be made of some columns, a line each."""
        tips = _tips(self.survey.uses)
        if self.copied_rows:
            told = f"{self.copied_rows:,} rows are copies of others, the same in every column that is used"
            tips.insert(0, f"{told}: unless rows= says otherwise, each observation counts once.")
        return tips

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings: what `forebear check --json` prints."""
        found = self.survey
        return {
            "source": found.source,
            "rows": found.rows,
            "ok": self.ok,
            "columns": [asdict(use) for use in found.uses],
            "copied_rows": self.copied_rows,
            "problems": list(self.problems),
            "command": self.command,
        }

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """For a terminal so many letters wide."""
        found, wide = self.survey, width or max(_NARROW, shutil.get_terminal_size((_NARROW, 24)).columns)
        lines = [f"{found.source}: {found.rows:,} rows, {len(found.uses)} columns", "", *_grid(found.uses, wide), ""]
        if self.problems:
            several = "One thing is" if len(self.problems) == 1 else f"{len(self.problems)} things are"
            lines.append(f"{several} in the way:")
            for number, problem in enumerate(self.problems, start=1):
                told = problem.removeprefix(f"{found.source}: ")
                lines += textwrap.wrap(f"{number}. {told}", wide, subsequent_indent="   ")
            return "\n".join(lines)
        tips = [part for tip in self.tips for part in textwrap.wrap(tip, wide)]
        lines += [*tips, f"Next: {self.command}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        found = self.survey
        rows = "".join(_html_row(use) for use in found.uses)
        head = "".join(f'<th style="{CELL}">{name}</th>' for name in USE_HEAD)
        problems = "".join(f"<li>{html.escape(problem)}</li>" for problem in self.problems)
        after = f"<p><b>In the way</b></p><ol>{problems}</ol>" if problems else self._next_html()
        caption = f"{html.escape(found.source)}: {found.rows:,} rows, {len(found.uses)} columns"
        return f"<p>{caption}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{after}"

    def _next_html(self) -> str:
        tips = "".join(f"<p>{html.escape(tip)}</p>" for tip in self.tips)
        return f"{tips}<p>Next: <code>{html.escape(self.call)}</code></p>"


def columns_frame(uses: Sequence[ColumnUse]) -> pd.DataFrame:
    """One row per column of a table."""
    names = [one.name for one in fields(ColumnUse)]
    return pd.DataFrame([asdict(use) for use in uses], columns=names).set_index("name")


def cells_of_use(use: ColumnUse) -> tuple[str, str, str, str, str]:
    """The cells of `USE_HEAD` for one column.

    >>> cells_of_use(ColumnUse("x", "real", "candidate", "", 3, 40, "0 to 5", 0.5))
    ('x', 'real', '3', '0 to 5, step 0.5', 'candidate')
    """
    by = f", step {_plain(use.resolution)}" if use.resolution is not None else ""
    told = f"{use.role}: {use.why}" if use.why else use.role
    return use.name, use.kind, f"{use.missing:,}" if use.missing else "", f"{use.range}{by}", told


def _plain(step: float) -> str:
    """A step as people write it.

    >>> _plain(1e-05), _plain(0.5), _plain(10.0)
    ('0.00001', '0.5', '10')
    """
    return np.format_float_positional(float(f"{step:.6g}"), trim="-")


def _grid(uses: Sequence[ColumnUse], width: int) -> list[str]:
    rows = [cells_of_use(use) for use in uses]
    widths = [
        min(most, max(len(USE_HEAD[place]), *(len(row[place]) for row in rows))) for place, most in enumerate(_WIDEST)
    ]
    last = max(20, width - sum(widths) - 2 * len(widths))
    lines = [_line([*USE_HEAD], widths), "  ".join("-" * one for one in [*widths, min(last, 24)])]
    for row in rows:
        parts = [textwrap.wrap(cell, size) or [""] for cell, size in zip(row, [*widths, last], strict=True)]
        lines += [
            _line([part[number] if number < len(part) else "" for part in parts], widths)
            for number in range(max(map(len, parts)))
        ]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [f"{cell:<{size}}" for cell, size in zip(cells, widths, strict=False)]
    return "  ".join([*fitted, cells[-1]]).rstrip()


# No colour of text is legible on white and on black alike, but for a red.
_LOOKS = {"target": "font-weight:bold", "candidate": "", "kept": "", "cannot be used": "color:#d33;font-weight:bold"}


def _html_row(use: ColumnUse) -> str:
    own = _LOOKS.get(use.role, "opacity:0.75")
    cells = (f'<td style="{look(cell)};{own}">{html.escape(cell)}</td>' for cell in cells_of_use(use))
    return f"<tr>{''.join(cells)}</tr>"


def _tips(uses: Sequence[ColumnUse]) -> list[str]:
    """What could be made of a timestamp, and what looks as if it stood for a gap."""
    times = [use.name for use in uses if use.kind == "timestamp" and use.role == "left out"]
    marked = [use for use in uses if use.mark is not None and use.role in ("target", "candidate", "kept")]
    tips = []
    if times:
        tips.append(f"time={times[0]!r} (--time) makes inputs of it: hour of day, day of week and year, trend.")
    for mark in dict.fromkeys(use.mark for use in marked):
        names = listed([use.name for use in marked if use.mark == mark], 4)
        tips.append(
            f"{mark:.12g} lies far outside of all else in {names}: if it stands for no value, empty those cells, so "
            "that they are gaps."
        )
    return tips
