"""A table and what is asked of it, looked at as a whole: which columns are used for what, which are left out and why,
and everything that stands in the way, told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.data.column import cells_of
from forebear.data.copies import find_copies
from forebear.data.look import IDENTIFIER, Look, Profile, look
from forebear.data.names import is_pattern, matching, pick_names, pick_periods
from forebear.data.question import Question, ask, check_questions
from forebear.data.source import Opened
from forebear.data.table import Table
from forebear.data.times import read_times, time_columns
from forebear.data.weights import read_weights
from forebear.errors import InputError, listed, one_of, raise_together

MODEL, DROP, REFUSE = "model", "drop", "refuse"


class Roles(NamedTuple):
    """What a user says of the columns of a table."""

    targets: Any = None
    candidates: Any = None
    keep: Any = ()
    groups: Any = None
    periodic: Any = None
    exclude: Any = ()
    missing: str = MODEL
    time: str | None = None
    apart: str | None = None
    """a column that says which rows belong together: no input unless it is asked for by name"""
    weights: str | None = None
    """a column that says how much each row counts: never an input"""


@dataclass(frozen=True)
class ColumnUse:
    """One column: what it holds, and what becomes of it."""

    name: str
    kind: str
    role: str
    """"target", "candidate", "kept", "rows", "time", "weights", "left out", "excluded", "not asked for" or "cannot be
    used" """
    why: str = ""
    """of a column that is not used"""
    missing: int = 0
    distinct: int = 0
    range: str = ""
    resolution: float | None = None
    copy_of: str | None = None
    """the column that it repeats, up to shift and scale"""
    mark: float | None = None
    """a value that may stand for no value"""


@dataclass(frozen=True)
class Survey:
    """What a survey found."""

    source: str
    rows: int
    """of the table as it was given"""
    uses: tuple[ColumnUse, ...]
    problems: tuple[str, ...]
    """each a line; with none of them, the questions can be asked"""
    questions: tuple[Question, ...] = ()
    table: Table | None = None
    """the columns in use"""
    kept_rows: np.ndarray | None = field(default=None, compare=False)
    """numbers of the rows in the table, in the order of the survey; None: all, in their order"""
    weights: np.ndarray | None = field(default=None, compare=False)
    """of the rows of the table in use; None: all count the same"""

    def require(self) -> tuple[Table, list[Question]]:
        """Table and questions, or an `InputError` about everything that is in the way."""
        raise_together(self.source, self.problems)
        assert self.table is not None
        return self.table, list(self.questions)


def survey(opened: Opened, roles: Roles, everything: bool = False, most_inputs: int | None = None) -> Survey:
    """Look at the columns, decide what each is for, and collect what is wrong.

    Columns that nobody named and that say nothing (constants, identifiers, free text, timestamps, copies of another)
    are left out. With `everything`, columns that the questions do not need are looked at, too. Of more than
    `most_inputs` inputs only so many will be searched, and need rows.

    >>> from forebear.data.source import open_frame
    >>> rng = np.random.default_rng(0)
    >>> table = {"x": rng.normal(size=50), "unit": ["bar"] * 50, "y": rng.normal(size=50)}
    >>> found = survey(open_frame(table), Roles(targets="y"))
    >>> [(use.name, use.role, use.why) for use in found.uses]
    [('x', 'candidate', ''), ('unit', 'left out', 'constant'), ('y', 'target', '')]
    """
    return _Surveyor(opened, roles, everything, most_inputs).survey()


class _Surveyor:
    """The steps of a survey, each of which adds to what is known."""

    def __init__(self, opened: Opened, roles: Roles, everything: bool, most_inputs: int | None = None):
        self.most_inputs = most_inputs
        self.frame, self.source = opened
        self.rows = len(self.frame)
        self.roles, self.everything = roles, everything
        self.problems: list[str] = []
        self.order: np.ndarray | None = None
        self.looks: dict[str, Look] = {}
        self.copies: dict[str, str] = {}
        self.periods: dict[str, float] = {}
        self.excluded: set[str] = set()
        self.weights: np.ndarray | None = None

    def survey(self) -> Survey:
        self._attempt(lambda: one_of(MODEL, DROP, REFUSE)("missing", self.roles.missing))
        self._attempt(self._read_time)
        self._attempt(self._read_weights)
        self._attempt(self._read_periods)
        self._attempt(self._exclude)
        self.columns = [str(name) for name in self.frame.columns]
        self.named = {name for _, text in named_texts(self.roles) for name in [text] if name in set(self.columns)}
        self._check_names()
        if self.problems:
            # What is asked is not clear, but what is wrong with columns that were named can be told as well.
            self._look(self.columns if self.everything else [name for name in self.columns if name in self.named])
            for name in self.looks:
                if name in self.named:
                    self._judge(name, alone=False)
            return self._result((), None)
        questions = self._attempt(self._questions) or []
        table = None if self.problems else self._attempt(lambda: self._table(questions))
        return self._result(questions, table)

    def _attempt(self, step: Any) -> Any:
        try:
            return step()
        except InputError as error:
            self.problems.append(str(error))
            return None

    def _read_time(self) -> None:
        """Rows in the order of time, and what the time says as inputs."""
        if self.roles.time is None:
            return
        columns = list(self.frame.columns)
        (name,) = pick_names(self.roles.time, columns, self.source, "time")[:1]
        times = read_times(cells_of(self.frame, name))
        if times is None:
            raise InputError(
                f"{self.source}: column '{name}' (named in time) holds no timestamps: write them as "
                "2026-01-31 08:30:00, or leave time= out"
            )
        if times.isna().any():
            row = int(np.argmax(times.isna().to_numpy())) + 1
            raise InputError(
                f"{self.source}: column '{name}' (named in time) has no value in row {row}: drop that row"
            )
        order = np.argsort(times.to_numpy(), kind="stable")
        made = time_columns(name, times.iloc[order].reset_index(drop=True), self.source)
        sorted_frame = self.frame.iloc[order].reset_index(drop=True)
        self.frame = sorted_frame.assign(**made.columns)
        self.periods |= made.periods
        if (np.diff(order) < 0).any():
            self.order = order

    def _read_weights(self) -> None:
        """How much each row counts; rows that do not are left out."""
        if self.roles.weights is None:
            return
        weights = read_weights(self.frame, self.roles.weights, self.source)
        counted = weights > 0
        if not counted.all():
            self.frame = self.frame.iloc[np.flatnonzero(counted)].reset_index(drop=True)
            self.order = (np.arange(self.rows) if self.order is None else self.order)[counted]
        self.weights = weights[counted]

    def _read_periods(self) -> None:
        self.periods |= pick_periods(self.roles.periodic, list(self.frame.columns), self.source)

    def _exclude(self) -> None:
        self.excluded = set(pick_names(self.roles.exclude or (), list(self.frame.columns), self.source, "exclude"))

    def _check_names(self) -> None:
        """Names that are no columns, and columns that are both excluded and asked for: all of them."""
        known = set(self.columns)
        for option, text in named_texts(self.roles):
            if text in known:
                if text == self.roles.weights:
                    self._add(
                        f"{self.source}: column '{text}' is in weights and in {option}: leave it in one of them"
                    )
                if text in self.excluded:
                    self._add(
                        f"{self.source}: column '{text}' is in exclude and in {option}: leave it in one of them"
                    )
            elif is_pattern(text):
                if not matching(text, self.columns):
                    self._attempt(
                        lambda text=text, option=option: pick_names(text, self.columns, self.source, option)
                    )
            else:
                self._attempt(lambda text=text, option=option: pick_names(text, self.columns, self.source, option))

    def _add(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _questions(self) -> list[Question]:
        """Questions on what can be used; reads the columns that they need."""
        usable = self._usable(self.columns)
        first = self._ask(usable)
        needed = {name for question in first for name in (question.target, *question.inputs)}
        self._look([name for name in self.columns if self.everything or name in needed])
        for name in self.columns:
            if name in self.looks and name in needed:
                self._judge(name, alone=sum(len(q.inputs) for q in first) == len(first))
        if self.problems:
            return []
        questions = self._ask(self._usable(usable))
        self._find_copies(questions)
        return self._ask(self._usable(usable)) if self.copies else questions

    def _judge(self, name: str, alone: bool) -> None:
        """A column that cannot be used: left out, or an error where it was asked for or has cells to be mended."""
        seen = self.looks[name]
        running = seen.reason == IDENTIFIER and seen.column is not None
        if running and (name in self.named or alone):
            # A running number can be used, and whoever names it wants it; so can the only candidate there is.
            self.looks[name] = seen._replace(reason="", why="", error="")
        elif seen.reason and (name in self.named or seen.mendable):
            self._add(seen.error)

    def _usable(self, names: Sequence[str]) -> list[str]:
        apart = {self.roles.apart} - self.named
        time = {self.roles.time, self.roles.weights}
        return [
            name
            for name in names
            if name not in self.excluded
            and name not in apart
            and name not in time
            and name not in self.copies
            and not (name in self.looks and self.looks[name].reason and not self.looks[name].mendable)
        ]

    def _ask(self, names: Sequence[str]) -> list[Question]:
        roles, gone = self.roles, {name: one.why for name, one in self.looks.items() if one.reason}
        gone |= {name: f"copy of '{other}'" for name, other in self.copies.items()}
        return ask(
            names,
            self.source,
            targets=roles.targets,
            candidates=roles.candidates,
            keep=roles.keep,
            groups=roles.groups,
            left_out=gone,
        )

    def _look(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.looks:
                self.looks[name] = look(cells_of(self.frame, name), self.source, name, self.periods.get(name))

    def _find_copies(self, questions: Sequence[Question]) -> None:
        """Of two columns that hold the same, the one that nobody named goes, or the later one; targets stay."""
        targets = {question.target for question in questions} & (
            self.named if self.roles.targets is not None else set(self.columns)
        )
        used = [name for name in self.columns if any(name in (q.target, *q.inputs) for q in questions)]
        columns = [column for name in used if (column := self.looks[name].column) is not None]
        in_turn = self.roles.targets is None
        for first, second in find_copies(columns):
            if first in self.copies or second in self.copies:
                continue
            free = [name for name in (second, first) if name not in self.named and (in_turn or name not in targets)]
            # Of two that could go, the one with more gaps.
            free.sort(key=lambda name: -self.looks[name].profile.missing)
            if free:
                self.copies[free[0]] = first if free[0] == second else second

    def _table(self, questions: Sequence[Question]) -> Table:
        used = {name for question in questions for name in (question.target, *question.inputs)}
        columns = {name: column for name in self.columns if name in used and (column := self.looks[name].column)}
        table = Table(columns, len(self.frame), self.source)
        if self.roles.missing != MODEL:
            table = self._without_gaps(table)
        self._check_gaps(table, questions)
        check_questions(table, questions, self.most_inputs)
        return table

    def _without_gaps(self, table: Table) -> Table:
        """missing="refuse" names the gaps, "drop" takes their rows away."""
        gaps = {name: column.gaps for name, column in table.columns.items()}
        if self.roles.missing == REFUSE:
            for name, missing in gaps.items():
                if missing.any():
                    rows = f"row {int(np.argmax(missing)) + 1}"
                    more = f" and {int(missing.sum()) - 1} more rows" if missing.sum() > 1 else ""
                    self._add(
                        f"{self.source}: column '{name}' has no value in {rows}{more}: drop or fill those rows, or "
                        "use missing='model'"
                    )
            return table
        whole = ~np.any([*gaps.values()], axis=0)
        if whole.all():
            return table
        self.order = (np.arange(self.rows) if self.order is None else self.order)[whole]
        self.weights = None if self.weights is None else self.weights[whole]
        return table.take(np.flatnonzero(whole))

    def _check_gaps(self, table: Table, questions: Sequence[Question]) -> None:
        """What dropping rows has made constant, and targets with hardly a value."""
        for name, column in table.columns.items():
            present = column.present
            if not len(present) or present.min() == present.max():
                self._add(
                    f"{self.source}: missing='drop' leaves {table.rows} rows, on which column '{name}' is constant: "
                    "use missing='model'"
                )

    def _result(self, questions: Sequence[Question], table: Table | None) -> Survey:
        uses = tuple(_use(self, name, questions) for name in self.columns)
        problems, asked = tuple(self.problems), tuple(questions)
        return Survey(self.source, self.rows, uses, problems, asked, table, self.order, self.weights)


def _use(found: _Surveyor, name: str, questions: Sequence[Question]) -> ColumnUse:
    seen = found.looks.get(name)
    profile = Profile(name, "-", 0, 0, "") if seen is None else seen.profile
    role, why = _role(found, name, questions)
    return ColumnUse(
        name,
        profile.kind,
        role,
        why,
        profile.missing,
        profile.distinct,
        profile.range,
        profile.resolution,
        found.copies.get(name),
        profile.mark,
    )


def _role(found: _Surveyor, name: str, questions: Sequence[Question]) -> tuple[str, str]:
    seen = found.looks.get(name)
    if name in found.excluded:
        return "excluded", ""
    if name == found.roles.time:
        return "time", "orders the rows"
    if name == found.roles.weights:
        return "weights", "how much each row counts"
    if name in found.copies:
        return "left out", f"copy of '{found.copies[name]}'"
    if any(name == question.target for question in questions):
        return "target", ""
    if any(name in question.inputs and name not in question.always for question in questions):
        return "candidate", ""
    if any(name in question.always for question in questions):
        return "kept", ""
    if name == found.roles.apart:
        return "rows", "says which rows belong together"
    if seen is not None and seen.reason:
        word = "cannot be used" if seen.mendable or name in found.named else "left out"
        return word, seen.why.removeprefix(f"{found.source}: column '{name}' ")
    return ("not asked for" if questions else "-"), ""


def named_texts(roles: Roles) -> Iterator[tuple[str, str]]:
    """Every name or pattern that the user wrote, with the option that it stands in."""
    for option, value in (("targets", roles.targets), ("candidates", roles.candidates), ("keep", roles.keep)):
        if isinstance(value, Mapping):
            for key, names in value.items():
                yield option, str(key)
                for name in _as_list(names):
                    yield f"{option} of target '{key}'", name
        else:
            for name in _as_list(value):
                yield option, name
    if isinstance(roles.groups, Mapping):
        for group, names in roles.groups.items():
            for name in _as_list(names):
                yield f"group '{group}'", name


def _as_list(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, (Sequence, set, frozenset, tuple, pd.Index, np.ndarray)):
        return [str(value)]
    return [str(one) for one in value]


def left_out_told(uses: Sequence[ColumnUse]) -> str:
    """A sentence about the columns that were left out; empty if none was.

    >>> left_out_told([ColumnUse("id", "real", "left out", "identifier"), ColumnUse("x", "real", "kept")])
    "Left out: 'id' (identifier)."
    """
    gone = [use for use in uses if use.role == "left out"]
    return f"Left out: {', '.join(f'{listed([use.name])} ({use.why})' for use in gone)}." if gone else ""
