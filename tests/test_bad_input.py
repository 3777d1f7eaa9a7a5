"""Every kind of bad input: status 2, one line on standard error that names the culprit, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forebear.cli import main

Table = dict[str, list]
Change = Callable[[Table], None]


def _set(name: str, values: Callable[[list], list]) -> Change:
    def change(table: Table) -> None:
        table[name] = values(table[name])

    return change


def _cell(name: str, value: object) -> Change:
    return _set(name, lambda cells: [*cells[:7], value, *cells[8:]])


def _write(folder: Path, change: Change | None = None, rows: int = 80) -> None:
    rng = np.random.default_rng(0)
    table: Table = {name: rng.normal(size=rows).tolist() for name in ("load", "speed", "angle", "y")}
    table["episode"] = [row // 20 for row in range(rows)]
    if change is not None:
        change(table)
    pd.DataFrame(table).to_csv(folder / "data.csv", index=False)


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run a command that must fail, and check all that failures have in common; the message comes back."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        before = _snapshot(tmp_path)
        status = main(list(arguments))
        captured = capsys.readouterr()
        assert status == 2, captured.err
        assert captured.out == ""
        assert "Traceback" not in captured.err
        assert len(captured.err.splitlines()) == 1 and captured.err.startswith("forebear: ")
        assert _snapshot(tmp_path) == before
        return captured.err

    return run


def _snapshot(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


TABLES: dict[str, tuple[Change, list[str]]] = {
    "constant candidate": (_set("load", lambda cells: [3.5] * len(cells)), ["data.csv", "'load'", "constant"]),
    "constant target": (_set("y", lambda cells: [0.0] * len(cells)), ["data.csv", "'y'", "constant"]),
    "missing cell": (_cell("speed", None), ["'speed'", "no value", "row 8"]),
    "nan": (_cell("load", "nan"), ["'load'", "row 8"]),
    "inf": (_cell("load", "inf"), ["'load'", "infinite", "row 8"]),
    "minus inf": (_cell("y", "-inf"), ["'y'", "infinite", "row 8"]),
    "too large": (_cell("load", 1e200), ["'load'", "1e+200"]),
    "text in a number column": (_cell("load", "broken"), ["'load'", "broken"]),
    "text in the target": (_cell("y", "n/m"), ["'y'", "n/m"]),
    "identical columns": (lambda t: t.update(speed=t["load"]), ["'load'", "'speed'", "same values"]),
    "rescaled copy": (lambda t: t.update(speed=[3 - 2 * v for v in t["load"]]), ["'load'", "'speed'"]),
    "copy of the target": (lambda t: t.update(load=t["y"]), ["'y'", "'load'", "same values"]),
    "a name for every row": (_set("load", lambda cells: [f"s{i}" for i in range(len(cells))]), ["'load'"]),
    "dates": (_set("load", lambda c: list(pd.date_range("2026-01-01", periods=len(c)).astype(str))), ["'load'"]),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_cannot_be_used(case: str, refused: Callable[..., str], tmp_path: Path) -> None:
    change, words = TABLES[case]
    _write(tmp_path, change)
    message = refused("discover", "data.csv", "--target", "y", "--out", "run", "--figure", "run/graph.png")
    assert [word for word in words if word not in message] == []


FILES: dict[str, tuple[str, bytes | None, list[str]]] = {
    "missing file": ("dta.csv", None, ["dta.csv", "no such file"]),
    "empty file": ("e.csv", b"", ["e.csv", "empty"]),
    "blank lines": ("e.csv", b"\n\n", ["e.csv", "empty"]),
    "header alone": ("e.csv", b"a,y\n", ["e.csv", "no rows"]),
    "no header": ("e.csv", b"1.5,2.5\n3.5,4.5\n", ["e.csv", "column names"]),
    "duplicate names": ("e.csv", b"a,a,y\n1,2,3\n", ["e.csv", "'a'"]),
    "unnamed column": ("e.csv", b",y\n1,2\n", ["e.csv", "column 1"]),
    "ragged rows": ("e.csv", b"a,y\n1,2\n1,2,3\n", ["e.csv"]),
    "semicolons, one row": ("e.csv", b"a;y\n1;2\n", ["e.csv", "constant"]),
    "no encoding has this": ("e.csv", b"a,y\n\x81\x8d,2\n", ["e.csv", "UTF-8"]),
    "binary": ("e.csv", b"a,y\n\0\0\n", ["e.csv", "binary"]),
    "three rows": ("e.csv", b"a,y\n1,2\n2,5\n3,4\n", ["e.csv", "3 rows", "at least 30"]),
    "unknown ending": ("e.xlsx", b"a,y\n1,2\n", ["e.xlsx", ".csv or .parquet"]),
    "no ending": ("table", b"a,y\n1,2\n", ["table", ".csv or .parquet"]),
    "no parquet inside": ("e.parquet", b"a,y\n1,2\n", ["e.parquet"]),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_cannot_be_read(case: str, refused: Callable[..., str], tmp_path: Path) -> None:
    name, content, words = FILES[case]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    message = refused("discover", name, "--target", "y", "--out", "run")
    assert [word for word in words if word not in message] == []


def test_folder_in_place_of_a_file(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "data.csv").mkdir()
    assert "folder" in refused("discover", "data.csv", "--target", "y")


def test_fewer_rows_than_inputs(refused: Callable[..., str], tmp_path: Path) -> None:
    wide = np.random.default_rng(0).normal(size=(40, 61))
    pd.DataFrame(wide, columns=[f"x{i}" for i in range(61)]).to_csv(tmp_path / "wide.csv", index=False)
    message = refused("discover", "wide.csv", "--target", "x0")
    assert "wide.csv" in message and "40 rows" in message and "60 inputs" in message


Y = ["--target", "y"]
LAGS = ["--lags", "2", "--state", "y"]
OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "unknown target": (["--target", "laod"], ["data.csv", "'laod'", "'load'"]),
    "unknown candidate": ([*Y, "--candidate", "sped"], ["'sped'", "'speed'"]),
    "unknown kept column": ([*Y, "--keep", "angel"], ["'angel'", "'angle'"]),
    "target among candidates": ([*Y, "--candidate", "y", "--candidate", "load"], ["'y'", "candidates"]),
    "target kept": ([*Y, "--keep", "y"], ["'y'", "keep"]),
    "target twice": ([*Y, *Y], ["'y'", "more than once"]),
    "every candidate kept": ([*Y, "--candidate", "load", "--keep", "load"], ["'y'", "kept"]),
    "pattern without a match": ([*Y, "--candidate", "q*"], ["data.csv", "'q*'", "--candidate"]),
    "target pattern without a match": (["--target", "d[0-9]"], ["'d[0-9]'", "--target"]),
    "candidates of no target": ([*Y, "--candidate", "load=speed"], ["'load'", "not a target"]),
    "candidates mixed": ([*Y, "--candidate", "y=load", "--candidate", "speed"], ["--candidate", "'speed'"]),
    "candidates with an empty name": ([*Y, "--candidate", "y=load,,speed"], ["--candidate", "y=load,,speed"]),
    "group without a name": ([*Y, "--group", "load,speed"], ["--group", "load,speed", "NAME=a,b"]),
    "group without members": ([*Y, "--group", "pair="], ["--group", "pair="]),
    "group of an unknown column": ([*Y, "--group", "pair=load,sped"], ["'pair'", "'sped'", "'speed'"]),
    "group twice": ([*Y, "--group", "p=load", "--group", "p=speed"], ["--group", "'p'", "twice"]),
    "column in two groups": ([*Y, "--group", "p=load", "--group", "q=load"], ["'load'", "'p'", "'q'"]),
    "group named as a column": ([*Y, "--group", "angle=load,speed"], ["'angle'", "rename"]),
    "kept column in a group": ([*Y, "--keep", "load", "--group", "p=load,speed"], ["'load'", "'p'"]),
    "period without a number": ([*Y, "--periodic", "angle=round"], ["--periodic", "angle=round"]),
    "period without a column": ([*Y, "--periodic", "6.28"], ["--periodic", "6.28"]),
    "period of an unknown column": ([*Y, "--periodic", "angel=6.28"], ["'angel'", "'angle'"]),
    "negative period": ([*Y, "--periodic", "angle=-1"], ["'angle'", "-1"]),
    "unknown rule": ([*Y, "--rule", "nsr-jumpp"], ["rule", "nsr-jumpp", "'nsr-jump'"]),
    "unknown preset": ([*Y, "--preset", "papre"], ["preset", "papre", "'paper'"]),
    "unknown sampler": ([*Y, "--sampler", "flwo"], ["sampler", "flwo", "'flow'"]),
    "unknown setting": ([*Y, "--set", "stesp=10"], ["'stesp'", "'steps'"]),
    "setting without a value": ([*Y, "--set", "steps"], ["--set", "steps", "NAME=VALUE"]),
    "setting of a wrong kind": ([*Y, "--set", "steps=many"], ["'steps'", "many"]),
    "setting out of range": ([*Y, "--set", "width=0"], ["'width'", "0"]),
    "setting with an unknown choice": ([*Y, "--set", "solver=rk5"], ["'solver'", "rk5", "'rk4'"]),
    "setting twice": ([*Y, "--set", "width=8", "--set", "width=9"], ["--set", "'width'", "twice"]),
    "argument as a setting": ([*Y, "--set", "runs=3"], ["--set", "runs"]),
    "no runs": ([*Y, "--runs", "0"], ["--runs", "0"]),
    "half a run": ([*Y, "--runs", "1.5"], ["--runs", "1.5"]),
    "negative seed": ([*Y, "--seed", "-1"], ["--seed", "-1"]),
    "no jobs": ([*Y, "--jobs", "0"], ["--jobs", "0"]),
    "unknown option": ([*Y, "--candidates", "load"], ["--candidates", "'--candidate'"]),
    "option without its value": (["--target"], ["--target"]),
    "two tables": (["more.csv", *Y], ["more.csv"]),
    "joint with different inputs": (
        [*Y, "--target", "load", "--candidate", "y=speed", "--candidate", "load=angle", "--joint"],
        ["joint", "'y'", "'load'"],
    ),
    "out is a file": ([*Y, "--out", "data.csv"], ["data.csv", "not a folder"]),
    "out is below a file": ([*Y, "--out", "data.csv/run"], ["data.csv/run", "cannot write"]),
    "resume without out": ([*Y, "--resume"], ["--resume", "--out"]),
    "figure of an unknown kind": ([*Y, "--figure", "graph.gif"], ["--figure", "graph.gif", ".png"]),
    "figure in no folder": ([*Y, "--figure", "no/graph.png"], ["--figure", "no/graph.png"]),
    "state without lags": ([*Y, "--state", "load"], ["--state", "--lags"]),
    "next without lags": ([*Y, "--next"], ["--next", "--lags"]),
    "lags without a state": (["--lags", "2"], ["--lags", "--state"]),
    "negative lags": (["--lags", "-1", "--state", "y"], ["lags", "-1"]),
    "lags in words": (["--lags", "two", "--state", "y"], ["--lags", "two"]),
    "too many lags": (["--lags", "79", "--state", "y"], ["data.csv", "lags=79"]),
    "unknown state": (["--lags", "2", "--state", "laod"], ["'laod'", "'load'"]),
    "unknown action": ([*LAGS, "--action", "sped"], ["'sped'", "'speed'"]),
    "unknown episode": ([*LAGS, "--episode", "episodes"], ["'episodes'", "'episode'"]),
    "unknown time": ([*LAGS, "--time", "clock"], ["'clock'"]),
    "state as action": ([*LAGS, "--action", "y"], ["'y'", "state and action"]),
    "lag column of no table": ([*LAGS, "--target", "dy"], ["'dy'", "'d_y'"]),
    "period of no state": ([*LAGS, "--periodic", "load=6.28"], ["'load'", "periodic"]),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_cannot_be_followed(case: str, refused: Callable[..., str], tmp_path: Path) -> None:
    _write(tmp_path)
    options, words = OPTIONS[case]
    message = refused("discover", "data.csv", *options)
    assert [word for word in words if word not in message] == []


COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "unknown command": (["discoverr"], ["'discoverr'", "'discover'"]),
    "no table": (["discover"], ["DATA", "missing"]),
    "unknown benchmark": (["bench", "presetz"], ["'presetz'", "'presets'"]),
    "benchmark without a name": (["bench"], ["NAME", "--list"]),
    "demo into a file": (["demo", "--out", "data.csv"], ["data.csv", "not a folder"]),
    "demo below a file": (["demo", "--out", "data.csv/demo"], ["data.csv/demo", "cannot be written"]),
    "unknown option before the command": (["--verson"], ["--verson", "'--version'"]),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_commands_that_do_not_exist(case: str, refused: Callable[..., str], tmp_path: Path) -> None:
    _write(tmp_path)
    arguments, words = COMMANDS[case]
    message = refused(*arguments)
    assert [word for word in words if word not in message] == []
