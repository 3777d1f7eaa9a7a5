"""Where a result comes from: settings, versions, data, and the call that makes it again."""

from __future__ import annotations

import math
import platform
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

from forebear.data.table import Table, fingerprint
from forebear.discovery.record import Discovery
from forebear.discovery.settings import PRESETS
from forebear.version import __version__

_LIBRARIES = ("jax", "equinox", "numpy", "scipy", "pandas")
_NAMED = {"rule": ("certified", "nsr-jump"), "sampler": ("flow", "gaussian", "mean")}
_DEFAULTS = {"rule": "certified", "sampler": "flow", "preset": "fast", "joint": False, "runs": 1}
# What a name may hold to go through the command line as it is: no pattern, no list, no assignment.
_PLAIN = re.compile(r"[\w .+:()%/-]+")


def provenance(found: Discovery, table: Table | None) -> dict[str, Any]:
    """What the end of a report says."""
    return {
        "version": __version__,
        "settings": {name: _plain(value) for name, value in found.settings.items()},
        "seconds": round(found.seconds, 1),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "data": None
        if table is None
        else {"rows": table.rows, "columns": len(table.columns), "hash": fingerprint(table)},
        "call": call(found, table),
        "command": command(found, table),
    }


def call(found: Discovery, table: Table | None) -> str:
    """Python that discovers the same again and writes the report; what cannot be written down is left as `...`."""
    source = source_file(table)
    arguments = ["table" if source is None else repr(source), f"targets={list(found.targets)!r}"]
    arguments += [f"{name}={value!r}" for name, value in _roles(found, table).items()]
    arguments += [f"rows={rows!r}" for rows in _rows(found)]
    arguments += [f"{name}={value!r}" for name, value in _table_options(found).items()]
    for name, value in _choices(found).items():
        known = name not in _NAMED or value in _NAMED[name]
        arguments.append(f"{name}={value!r}" if known else f"{name}=...")
    line = f"found = fb.discover({', '.join(arguments)})"
    if len(line) > 110:
        line = "found = fb.discover(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    return f'import forebear as fb\n\n{line}\nfound.report("report.html")'


def command(found: Discovery, table: Table | None) -> str | None:
    """The same on the command line, where that can say it."""
    source, roles, choices = source_file(table), _roles(found, table), _choices(found)
    columns = {name for q in found.questions.values() for name in (q.target, *q.inputs, *q.candidates)}
    names = columns | set(_rows(found))
    lists = any(isinstance(value, Mapping | list | tuple) for value in choices.values())
    unknown = any(name in choices and choices[name] not in known for name, known in _NAMED.items())
    if source is None or lists or unknown or not all(_PLAIN.fullmatch(name) for name in names):
        return None
    words = ["forebear", "discover", source]
    for target in found.targets:
        words += ["--target", target]
    for option, name in (("--candidate", "candidates"), ("--keep", "keep")):
        for target, columns in roles.get(name, {}).items():
            words += [option, f"{target}={','.join(columns)}"]
    for candidate, columns in roles.get("groups", {}).items():
        words += ["--group", f"{candidate}={','.join(columns)}"]
    for column, period in roles.get("periodic", {}).items():
        words += ["--periodic", f"{column}={period!r}"]
    for rows in _rows(found):
        words += ["--rows", rows]
    for option, value in _table_options(found).items():
        for word in value if isinstance(value, list) else ["all" if value is None else str(value)]:
            words += [f"--{option}", word]
    for name, value in choices.items():
        if name == "joint":
            words.append("--joint")
        elif name in ("rule", "sampler", "preset", "runs", "seed"):
            words += [f"--{name}", str(value)]
        else:
            words += ["--set", f"{name}={value}"]
    return f"{shlex.join([*words, '--out', 'run'])}\nforebear report run --out report.html"


def source_file(table: Table | None) -> str | None:
    """The name of the file; its folder is left out, since a page is shown to others."""
    source = None if table is None else PurePath(table.source).name
    return source if source is not None and source.lower().endswith((".csv", ".parquet")) else None


def _roles(found: Discovery, table: Table | None) -> dict[str, Any]:
    """Candidates, kept inputs, groups and periods, those that are not the default."""
    questions = found.questions
    known = {name for q in questions.values() for name in q.inputs}
    free = known - set(found.targets)
    roles: dict[str, Any] = {}
    use = found.use
    if use is not None and use.screen:
        # The questions hold what a quick look left; the table tells what it looked at.
        looked_at = [one.name for one in use.columns if one.role in ("candidate", "screened out")]
        if any(one.role == "not asked for" for one in use.columns):
            roles["candidates"] = {target: [name for name in looked_at if name != target] for target in questions}
    elif any(set(q.inputs) != free for q in questions.values()):
        roles["candidates"] = {
            target: [name for columns in q.candidates.values() for name in columns] for target, q in questions.items()
        }
    if any(q.always for q in questions.values()):
        roles["keep"] = {target: list(q.always) for target, q in questions.items() if q.always}
    groups = {u: list(c) for q in questions.values() for u, c in q.candidates.items() if c != (u,)}
    if groups:
        roles["groups"] = groups
    clock = found.settings.get("time")
    periods = {} if table is None else table.periods()
    given = {name: period for name, period in periods.items() if clock is None or not name.startswith(f"{clock}: ")}
    if given:
        roles["periodic"] = given
    return roles


def _rows(found: Discovery) -> list[str]:
    """The structure of rows that was declared; nothing where it was judged."""
    settings = found.settings
    rows, why = str(settings.get("rows", "independent")), settings.get("rows_why", "")
    asked = str(settings.get("rows_asked", "auto" if why or rows == "independent" else rows))
    return [] if asked == "auto" else [asked]


# What `discover` does about the table where nothing is said.
_TABLE_DEFAULTS: dict[str, Any] = {
    "exclude": [],
    "missing": "model",
    "time": None,
    "sample": 100_000,
    "weights": None,
    "screen": "auto",
}


def _table_options(found: Discovery) -> dict[str, Any]:
    """What was said about columns and cells, where it is not the default."""
    said = {name: found.settings.get(name, usual) for name, usual in _TABLE_DEFAULTS.items()}
    return {name: value for name, value in said.items() if value != _TABLE_DEFAULTS[name]}


def _choices(found: Discovery) -> dict[str, Any]:
    """The settings that are not the defaults of their preset, and the seed."""
    preset = PRESETS.get(str(found.settings.get("preset", "fast")), PRESETS["fast"])
    # What was left open has become what follows from the rest, and is nothing that anybody chose.
    told = {**_DEFAULTS, **found.settings}
    sharing = told["rule"] == "certified" and told["sampler"] == "flow" and not told["joint"]
    of_samplers = {**asdict(preset.flow), "folds": preset.folds}
    by_default = all(told.get(name, value) == value for name, value in of_samplers.items())
    usual = {**preset.settled(sharing and by_default, {}).flat(), **_DEFAULTS}
    changed = {name: value for name, value in found.settings.items() if name in usual and value != usual[name]}
    return {**changed, "seed": found.settings.get("seed", 0)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    infinite = isinstance(value, float) and not math.isfinite(value)
    return str(value) if infinite or not isinstance(value, str | int | float | bool | None) else value
