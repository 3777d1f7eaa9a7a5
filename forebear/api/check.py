"""`forebear.check`: what is in a table, and what `discover` would do with it, without any training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebear.api.asked import command_line
from forebear.api.slips import check_slips
from forebear.data.checked import Checked
from forebear.data.said_kinds import with_kinds
from forebear.data.source import open_frame
from forebear.data.survey import MODEL, Roles, Survey, survey
from forebear.data.weights import check_weights
from forebear.discovery.screen import AUTO, kept_of
from forebear.discovery.structure import AUTO as STRUCTURE
from forebear.discovery.structure import declared
from forebear.errors import InputError

ARGUMENTS = (
    *("data", "targets", "candidates", "keep", "groups", "periodic"),
    *("exclude", "missing", "time", "rows", "weights", "kinds"),
)
"""what `check` takes"""


def check(
    data: Any,
    targets: str | Sequence[str] | None = None,
    candidates: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] | Mapping[str, Sequence[str]] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    periodic: Mapping[str, float] | None = None,
    *,
    exclude: str | Sequence[str] = (),
    missing: str = "model",
    time: str | None = None,
    rows: str = "auto",
    weights: str | None = None,
    kinds: Mapping[str, str] | None = None,
    **others: Any,
) -> Checked:
    """Look at a table before anything is trained: kinds, gaps, ranges, what is used and left out, and all problems.

    Arguments:
        data: as in `discover`.
        targets: as in `discover`, like the options that follow; without it every column in turn is a target.
        candidates: the inputs to choose from.
        keep: inputs that are never removed.
        groups: columns that are removed together.
        periodic: {column: period} of angles.
        exclude: columns to leave out, patterns too.
        missing: what to do about gaps.
        time: a column of timestamps.
        rows: how rows hang together.
        weights: a column that says how much each row counts.
        kinds: {column: "category" or "real"} of columns that are not what their cells look like.
        **others: nothing; names of other libraries are answered with the one that is meant.

    Returns:
        A `Checked`, which prints as a table; `columns` is a data frame, `problems` what `discover` would stop with.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = {"x [bar]": rng.normal(size=50).round(2), "site": ["A"] * 50, "y": rng.normal(size=50)}
    >>> checked = check(table, "y")
    >>> checked.columns["role"].to_dict()
    {'x [bar]': 'candidate', 'site': 'left out', 'y': 'target'}
    >>> checked.ok, checked.command
    (True, "fb.discover(table, 'y')")
    """
    check_slips(others, targets)
    if others:
        raise InputError(
            f"check has no argument '{next(iter(others))}': it looks at the table and trains nothing. Its arguments "
            f"are {', '.join(ARGUMENTS)}"
        )
    check_weights(weights)
    opened = open_frame(data)
    problems: list[str] = []
    apart = None
    try:
        opened = with_kinds(opened, kinds)
    except InputError as error:
        problems.append(str(error))
    try:
        structure = declared(rows, opened.frame, opened.source)
        apart = None if structure is None else structure.column
    except InputError as error:
        problems.append(str(error))
    roles = Roles(targets, candidates, keep, groups, periodic, exclude, missing, time, apart, weights)
    most_inputs = kept_of(len(opened.frame.columns), AUTO)
    found = survey(opened, roles, everything=True, most_inputs=most_inputs)
    if problems:
        found = Survey(found.source, found.rows, found.uses, (*problems, *found.problems), found.questions)
    asked = {
        "targets": targets,
        "candidates": candidates,
        "keep": keep,
        "groups": groups,
        "periodic": periodic,
        "exclude": exclude,
        "kinds": kinds,
        "missing": None if missing == MODEL else missing,
        "time": time,
        "rows": None if rows == STRUCTURE else rows,
        "weights": weights,
    }
    return Checked(found, next_command(data, found.source, asked), next_call(data, found.source, asked))


def next_command(data: Any, source: str, asked: Mapping[str, Any]) -> str:
    """The line that goes on from here: a command for a file, a call for a table in memory.

    >>> next_command("a.csv", "a.csv", {"targets": "y", "candidates": ["x?"], "keep": ()})
    "forebear discover a.csv --target y --candidate 'x?' --out run"
    """
    line = command_line(source, {"targets": ["TARGET"], **_said(asked)}, "run") if _is_file(data) else None
    return next_call(data, source, asked) if line is None else line


def next_call(data: Any, source: str, asked: Mapping[str, Any]) -> str:
    """The same as a call, for a notebook.

    >>> next_call("a.csv", "a.csv", {"targets": "y", "candidates": ["x?"], "keep": ()})
    "fb.discover('a.csv', 'y', candidates=['x?'])"
    """
    given = _said(asked)
    targets = given.pop("targets", None)
    shown = "..." if targets is None else repr(targets[0] if len(targets) == 1 else targets)
    about = repr(source) if _is_file(data) else "table"
    first = f"targets={shown}" if targets is None else shown
    return f"fb.discover({', '.join([about, first, *(f'{name}={value!r}' for name, value in given.items())])})"


def _said(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked beyond the defaults, in lists."""
    said = {name: value for name, value in asked.items() if value is not None and len(value)}
    return {name: value if name in _ONE else _plain(value) for name, value in said.items()}


# Arguments that are one word, or one for each column.
_ONE = ("missing", "time", "rows", "weights", "kinds")


def _is_file(data: Any) -> bool:
    return isinstance(data, str | Path) or getattr(data, "source", "").endswith((".csv", ".parquet"))


def _plain(value: Any) -> Any:
    """As a list or a mapping of lists, but for what is one word."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [value] if isinstance(value, str) else value if isinstance(value, float) else [str(one) for one in value]
