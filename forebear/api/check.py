"""`forebear.check`: what is in a table, and what `discover` would do with it, without any training."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebear.data.checked import Checked
from forebear.data.said_kinds import with_kinds
from forebear.data.source import open_frame
from forebear.data.survey import Roles, Survey, survey
from forebear.data.weights import check_weights
from forebear.discovery.screen import AUTO, kept_of
from forebear.discovery.structure import declared
from forebear.errors import InputError


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
    return Checked(found, next_command(data, found, targets, exclude, time, weights, kinds))


def next_command(
    data: Any,
    found: Survey,
    targets: Any,
    exclude: Any,
    time: str | None,
    weights: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> str:
    """The line that goes on from here: a command for a file, a call for a table in memory."""
    named = [] if targets is None else [targets] if isinstance(targets, str) else [str(one) for one in targets]
    out = [exclude] if isinstance(exclude, str) else [str(one) for one in exclude]
    if isinstance(data, str | Path) or getattr(data, "source", "").endswith((".csv", ".parquet")):
        words = ["forebear", "discover", found.source]
        for name in named or ["TARGET"]:
            words += ["--target", name]
        for name in out:
            words += ["--exclude", name]
        for name, kind in (kinds or {}).items():
            words += ["--kind", f"{name}={kind}"]
        words += [] if time is None else ["--time", time]
        words += [] if weights is None else ["--weights", weights]
        return shlex.join([*words, "--out", "run"])
    shown = repr(named[0]) if len(named) == 1 else repr(named) if named else "targets=..."
    more = "".join(
        f", {name}={value!r}"
        for name, value in (("exclude", out), ("kinds", kinds), ("time", time), ("weights", weights))
        if value
    )
    return f"fb.discover(table, {shown}{more})"
