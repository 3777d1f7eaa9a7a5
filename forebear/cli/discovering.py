"""`forebear discover`: from options to a call of `forebear.discover`, and from its answer to words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forebear
from forebear.cli.next_steps import next_steps
from forebear.cli.options import (
    Names,
    by_target,
    is_plain,
    parse_groups,
    parse_kinds,
    parse_periods,
    parse_settings,
)
from forebear.cli.output import (
    check_figure,
    draw,
    found_table,
    long_work,
    note,
    regime_lines,
    say,
    table_lines,
    verdict_lines,
)
from forebear.data.names import expand
from forebear.errors import InputError


@dataclass(frozen=True)
class Trajectory:
    """How to look back in time, as typed; without `lags`, rows stand alone and nothing else may be given."""

    lags: int | None = None
    state: Sequence[str] = ()
    action: Sequence[str] = ()
    episode: str | None = None
    time: str | None = None
    increments: bool | None = None
    step: str | None = None
    tolerance: str | None = None
    missing: str = "model"
    regime: str | None = None


@dataclass(frozen=True)
class ColumnRoles:
    """The table and what its columns are for, as typed."""

    data: str
    target: Sequence[str] = ()
    candidate: Sequence[str] = ()
    keep: Sequence[str] = ()
    group: Sequence[str] = ()
    periodic: Sequence[str] = ()
    trajectory: Trajectory = Trajectory()
    exclude: Sequence[str] = ()
    kind: Sequence[str] = ()


@dataclass(frozen=True)
class OutputOptions:
    """Where the result goes and how it is shown."""

    out: Path | None = None
    resume: bool = False
    figure: Path | None = None
    table: Path | None = None
    json: bool = False
    passed: dict[str, Any] = field(default_factory=dict)
    """arguments of `discover` that need no translation"""
    settings: Sequence[str] = ()


def run_discover(roles: ColumnRoles, options: OutputOptions) -> None:
    """Check, discover, show."""
    check_figure(options.figure, options.out)
    _check_table(options)
    _check_out(options)
    with long_work(options.out, f"run the same command with --out {options.out} --resume to go on"):
        settings = parse_settings(options.settings, forebear.discover)
        arguments = {**arguments_of(roles), **options.passed, **settings}
        _note_fresh(options)
        found = forebear.discover(**arguments, out=options.out)
        if options.figure is not None:
            draw(found, options.figure)
        if options.table is not None:
            found.save_table(options.table)
    if options.json:
        from forebear.api.found import as_json

        say(as_json(found))
    else:
        why = [*verdict_lines(found), *regime_lines(found), *table_lines(found)]
        after = next_steps(found, options.out, options.figure, options.table)
        say(found_table(found), "", *why, *([""] if why else []), after)


def _check_out(options: OutputOptions) -> None:
    if options.out is None:
        if options.resume:
            raise InputError("--resume needs --out DIR, the folder of the run to go on with")
        return
    if (options.out / "run.json").is_file() and not options.resume:
        raise InputError(
            f"--out {options.out}: holds a run already: add --resume to go on with it, or choose another"
        )


def _check_table(options: OutputOptions) -> None:
    if options.table is not None:
        from forebear.discovery.tables import check_table_file

        check_table_file(options.table, "--table ")


def _note_fresh(options: OutputOptions) -> None:
    if options.resume and options.out is not None and not (options.out / "run.json").is_file():
        note(f"there is no run in {options.out} to resume: starting one")


def arguments_of(roles: ColumnRoles, strict: bool = True) -> dict[str, Any]:
    """The arguments of `forebear.discover` that say what is asked of which table; unless `strict`, patterns that
    match nothing are left for others to tell."""
    periods = parse_periods(roles.periodic) or None
    groups = parse_groups(roles.group) or None
    kinds = parse_kinds(roles.kind) or None
    if roles.trajectory.lags is not None:
        return _lagged_arguments(roles, roles.trajectory.lags, periods, groups, kinds)
    _refuse_trajectory(roles.trajectory)
    named = [*roles.target, *roles.candidate, *roles.keep]
    data: Any = roles.data
    columns: Sequence[str] = ()
    if not is_plain(named):
        from forebear.data.source import open_frame

        data = open_frame(roles.data)
        columns = list(data.frame.columns)
    asked = _asked(roles, columns, roles.data, strict)
    return {
        "data": data,
        **asked,
        "groups": groups,
        "periodic": periods,
        "exclude": list(roles.exclude),
        "time": roles.trajectory.time,
        "kinds": kinds,
    }


def _asked(roles: ColumnRoles, columns: Sequence[str], source: str, strict: bool = True) -> dict[str, Names]:
    """Names and patterns as they were typed: what a pattern matches may be left out, what is named may not."""
    targets = expand(roles.target, columns, source, "given with --target") if strict else list(roles.target)
    return {
        "targets": list(roles.target) or None,
        "candidates": by_target(roles.candidate, columns, source, "--candidate", targets, strict),
        "keep": by_target(roles.keep, columns, source, "--keep", targets, strict) or [],
    }


def _refuse_trajectory(trajectory: Trajectory) -> None:
    given = {
        "--state": trajectory.state,
        "--action": trajectory.action,
        "--episode": trajectory.episode,
        "--step": trajectory.step,
        "--tolerance": trajectory.tolerance,
        "--increments/--next": trajectory.increments is not None,
    }
    for option, value in given.items():
        if value:
            raise InputError(f"{option} says something about trajectories: add --lags, or leave it out")


def _lagged_arguments(
    roles: ColumnRoles,
    lags: int,
    periods: dict[str, float] | None,
    groups: dict[str, list[str]] | None,
    kinds: dict[str, str] | None,
) -> dict[str, Any]:
    """Targets, candidates, groups and periods default to those of the lag table; what is kept leaves its group."""
    trajectory = roles.trajectory
    if not trajectory.state:
        raise InputError("--lags needs --state: name at least one column that the system moves")
    made = forebear.lagged(
        roles.data,
        state=list(trajectory.state),
        action=list(trajectory.action),
        lags=lags,
        episode=trajectory.episode,
        increments=trajectory.increments is not False,
        time=trajectory.time,
        periodic=periods,
        step=trajectory.step,
        tolerance=trajectory.tolerance,
        missing=trajectory.missing,
        regime=trajectory.regime,
        kinds=kinds,
    )
    asked = _asked(roles, list(made.table.columns), f"{roles.data} with lags")
    return {"data": made, **asked, "groups": groups, "exclude": list(roles.exclude)}
