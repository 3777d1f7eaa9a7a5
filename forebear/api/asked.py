"""What a discovery of a file was asked, kept in its run folder, so that whoever finds the folder can go on with it;
and the command or the call that asks the same."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forebear.data.lagged import Lagged, lagged
from forebear.errors import InputError
from forebear.storage.files import read_json, write_json

FILE = "asked.json"
_NOT_ASKED = ("data", "out", "jobs", "progress", "settings")
"""parameters that are no part of the question"""
TRAJECTORY = "trajectory"
"""in a question: the arguments of `lagged` where the table is made of trajectories"""
_OPTIONS = {
    "targets": "--target",
    "candidates": "--candidate",
    "keep": "--keep",
    "exclude": "--exclude",
    "rows": "--rows",
    "time": "--time",
    "weights": "--weights",
    "missing": "--missing",
    "regime": "--regime",
    "rule": "--rule",
    "preset": "--preset",
    "sampler": "--sampler",
    "runs": "--runs",
    "seed": "--seed",
    "sample": "--sample",
    "screen": "--screen",
}


def keep_asked(
    out: str | Path, data: Any, said: Mapping[str, Any], settings: Mapping[str, Any], of: Callable[..., Any]
) -> None:
    """Write down the question, where it is about a file and can be written down.

    Arguments:
        out: the run folder.
        said: arguments of `of`, among them those that are no part of the question.
        settings: those that `of` takes beside its parameters.
        of: `discover`; what is its default is left out.
    """
    past: dict[str, Any] = {}
    if isinstance(data, Lagged) and data.asked:
        told = _said_otherwise({name: v for name, v in data.asked.items() if name != "data"}, lagged)
        past, data = {TRAJECTORY: {**told, "lags": data.asked["lags"]}}, data.asked["data"]
    if not isinstance(data, str | Path):
        return
    asked = {n: v for n, v in _said_otherwise(said, of).items() if n not in _NOT_ASKED}
    asked = {
        "data": str(Path(data).absolute()),
        **asked,
        **past,
        **({"settings": dict(settings)} if settings else {}),
    }
    try:
        plain = json.loads(json.dumps(asked, allow_nan=False))
    except (TypeError, ValueError):  # a rule or a sampler of the user's own; a number that JSON does not have
        return
    if asked_of(Path(out)) != plain:  # a run that goes on is left as it is
        write_json(Path(out) / FILE, {"format": 1, **plain})


def _said_otherwise(said: Mapping[str, Any], of: Callable[..., Any]) -> dict[str, Any]:
    """Arguments that are not the default."""
    usual = {name: one.default for name, one in inspect.signature(of).parameters.items()}
    return {name: value for name, value in said.items() if name in usual and not _same(value, usual[name])}


def _same(value: Any, usual: Any) -> bool:
    """Whether an argument is the default, a list of nothing as well as an empty one; arrays are not compared."""
    nothing = isinstance(value, list | tuple) and not value and usual == ()
    return nothing or (type(value) is type(usual) and value == usual)


def asked_of(folder: Path) -> dict[str, Any] | None:
    """The question of a run: `data`, arguments of `discover`, and `settings` if there are any; None if nobody knows.

    >>> asked_of(Path("no/such/run")) is None
    True
    """
    try:
        record = read_json(folder / FILE)
    except InputError:
        return None
    if not isinstance(record, dict) or not isinstance(record.get("data"), str):
        return None
    return {name: value for name, value in record.items() if name != "format"}


def command_line(data: str, asked: Mapping[str, Any], out: str) -> str | None:
    """What to type for the same; None where the command line cannot say it, as with a comma in a group's column.

    >>> command_line("a.csv", {"targets": ["y"], "periodic": {"wind": 360.0}, "settings": {"steps": 50}}, "run")
    'forebear discover a.csv --target y --periodic wind=360 --set steps=50 --out run'
    >>> command_line("a.csv", {"targets": ["y"], "groups": {"g": ["a,b", "c"]}}, "run") is None
    True
    >>> command_line("a.csv", {"trajectory": {"state": ["x"], "lags": 2, "missing": "model"}}, "run")
    'forebear discover a.csv --lags 2 --state x --out run'
    """
    words: list[str] = []
    if TRAJECTORY in asked:
        own = _of_trajectory(asked[TRAJECTORY], asked)
        if own is None:
            return None
        words, asked = [*own, *words], {name: value for name, value in asked.items() if name != TRAJECTORY}
    for name, value in asked.items():
        if name == "joint":
            words += ["--joint"] if value else []
        elif name in _PAIRS:
            for key, one in value.items():
                members = one if isinstance(one, list) else [_written(one)]
                if not _stands_before(key, members):
                    return None
                words += _said(_PAIRS[name], f"{key}={','.join(members)}")
        elif name not in _OPTIONS or isinstance(value, Mapping):
            return None
        else:
            for one in value if isinstance(value, list) else [value]:
                words += _said(_OPTIONS[name], _written(one))
    line = ["forebear", "discover", data, *words, "--out", out]
    return shlex.join(line) if all(word.isprintable() for word in line) else None


def _of_trajectory(past: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str] | None:
    """The options of trajectories; None where table and question have options that the command line has once."""
    shared = {"missing": ("refuse", "model"), "regime": (None, None)}
    if any(past.get(name, ours) != asked.get(name, theirs) for name, (ours, theirs) in shared.items()):
        return None
    if any(name in asked for name in ("periodic", "kinds", "time")):
        return None
    words = ["--lags", str(past["lags"])]
    for name in ("state", "action", "episode", "time", "step", "tolerance"):
        value = past.get(name)
        for one in [] if value is None else value if isinstance(value, list | tuple) else [value]:
            words += _said(f"--{name}", _written(one))
    for name in ("periodic", "kinds"):
        for key, one in (past.get(name) or {}).items():
            if not _stands_before(key, [_written(one)]):
                return None
            words += _said(_PAIRS[name], f"{key}={_written(one)}")
    return [*words, "--next"] if past.get("increments") is False else words


_PAIRS = {"groups": "--group", "periodic": "--periodic", "kinds": "--kind", "settings": "--set"}


def _stands_before(key: str, members: list[str]) -> bool:
    """Whether a name can stand before an equals sign, and names behind it between commas."""
    plain = (text == text.strip() and text and "," not in text for text in members)
    return bool(key) and key == key.strip() and "=" not in key and all(plain)


def _said(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def _written(value: Any) -> str:
    if value is None:
        return "all"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def call(data: str, asked: Mapping[str, Any], out: str) -> str:
    """The same in Python, whatever the names are.

    >>> print(call("a.csv", {"targets": ["y,z"]}, "run"))
    import forebear as fb
    <BLANKLINE>
    found = fb.discover("a.csv", targets=['y,z'], out="run")
    found.report("report.html")
    """
    apart = ("settings", TRAJECTORY)
    given = {**{n: v for n, v in asked.items() if n not in apart}, **asked.get("settings", {})}
    said, past = (
        "".join(f", {name}={value!r}" for name, value in one.items()) for one in (given, asked.get(TRAJECTORY, {}))
    )
    quoted = [
        f'"{text}"' if text.isprintable() and not set(text) & set('"\\') else repr(text) for text in (data, out)
    ]
    made = f"made = fb.lagged({quoted[0]}{past})\n" if past else ""
    data = "made" if past else quoted[0]
    return (
        f"import forebear as fb\n\n{made}found = fb.discover({data}{said}, out={quoted[1]})\n"
        'found.report("report.html")'
    )
