"""Every kind of bad input: status 2, one line on standard error that names the culprit, and nothing written.

What looks bad but can be used works, and says what was done where that is not plain. All cases are one matrix, run
through the command line in this process.
"""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from toys import toy_twin

import forebear
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
    "huge integers": (_set("load", lambda c: [2**60 + i for i in range(len(c))]), ["'load'", "2**53"]),
    "integers past 64 bits": (_set("load", lambda c: [10**30 + i for i in range(len(c))]), ["'load'"]),
    "scale 1e300": (_set("load", lambda c: [1e300 * v for v in c]), ["'load'", "too large", "rescale"]),
    "scale 1e-300": (_set("load", lambda c: [1e-300 * v for v in c]), ["'load'", "too little", "rescale"]),
    "target of scale 1e-300": (_set("y", lambda c: [1e-300 * v for v in c]), ["'y'", "too little"]),
    "nearly constant": (_set("load", lambda c: [1e9 + 1e-6 * (v > 0) for v in c]), ["'load'", "nearly constant"]),
    "nearly equal columns": (
        lambda t: t.update(speed=[v * (1 + 1e-9 * i / 80) for i, v in enumerate(t["load"])]),
        ["'load'", "'speed'", "same values"],
    ),
    "nearly the target": (lambda t: t.update(load=[v + 1e-9 for v in t["y"]]), ["'y'", "'load'"]),
    "all missing": (_set("load", lambda c: [None] * len(c)), ["'load'"]),
    "one value, else missing": (_set("load", lambda c: [1.0] + [None] * (len(c) - 1)), ["'load'", "constant"]),
    "numbers with units": (_set("load", lambda c: [f"{v:.6f} kg" for v in c]), ["'load'", "identifier"]),
    "a word behind the numbers": (
        _cell("load", "Total"),
        ["'load'", "'Total' in row 8", "empty those without a value"],
    ),
    "thousands with commas": (_set("load", lambda c: [f"1,{i:03d}" for i in range(len(c))]), ["'load'"]),
    "words for missing": (_set("load", lambda c: [*c[:5], "missing", "unknown", *c[7:]]), ["'load'", "missing"]),
    "a constant label": (_set("load", lambda c: ["on"] * len(c)), ["'load'", "constant"]),
    "a constant flag": (_set("load", lambda c: [True] * len(c)), ["'load'", "constant"]),
    "lists as cells": (_set("load", lambda c: [f"[{i}, 2]" for i in range(len(c))]), ["'load'", "identifier"]),
    "markup in a label": (_set("load", lambda c: ["<b>x</b>"] * len(c)), ["'load'", "constant"]),
    "line breaks in cells": (_cell("load", "two\nlines"), ["'load'", "two"]),
    "a page of text in a cell": (_cell("load", "x" * 100_000), ["'load'", "xxx..."]),
    "times": (_set("load", lambda c: [f"12:{i // 60:02d}:{i % 60:02d}" for i in range(len(c))]), ["'load'"]),
    "complex numbers": (_set("load", lambda c: [f"{v:.3f}+1j" for v in c]), ["'load'", "identifier"]),
    "hexadecimal": (_set("load", lambda c: [hex(i + 4096) for i in range(len(c))]), ["'load'", "identifier"]),
    "dates": (_set("load", lambda c: list(pd.date_range("2026-01-01", periods=len(c)).astype(str))), ["'load'"]),
}


FILES: dict[str, tuple[str, bytes | None, list[str]]] = {
    "missing file": ("dta.csv", None, ["dta.csv", "no such file"]),
    "half a gzip file": ("e.csv.gz", gzip.compress(b"a,y\n" + b"1,2\n" * 200)[:-10], ["e.csv.gz", "gzip"]),
    "a gzip file that is none": ("e.csv.gz", b"a,y\n1,2\n", ["e.csv.gz", "gzip"]),
    "a packed format that is not read": ("e.parquet.gz", b"x", ["e.parquet.gz", ".csv or .parquet"]),
    "HDF5 in name alone": ("e.h5", b"a,y\n1,2\n", ["e.h5", "readable .h5 file"]),
    "NetCDF in name alone": ("e.nc", b"a,y\n1,2\n", ["e.nc"]),
    "JSON lines with a broken line": ("e.jsonl", b'{"a": 1}\n{"a": \n', ["e.jsonl", "readable .jsonl file"]),
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
    "gzip": ("e.csv", gzip.compress(b"a,y\n1,2\n" * 50), ["e.csv"]),
    "a late zero byte": ("e.csv", b"a,y\n" + b"1.5,2.5\n" * 20_000 + b"\0\0,1\n", ["e.csv"]),
    "half of UTF-16": ("e.csv", "a,y\n1,2\n".encode("utf-16") + b"\x00", ["e.csv"]),
    "UTF-16 without its mark": ("e.csv", "a,y\n1,2\n".encode("utf-16-le"), ["e.csv", "binary"]),
    "UTF-32": ("e.csv", "a,y\n1,2\n".encode("utf-32"), ["e.csv"]),
    "an unclosed quote": ("e.csv", b'a,y\n"1,2\n3,4\n5,6\n', ["e.csv"]),
    "a cell of megabytes": ("e.csv", b"a,y\n" + b"x" * 2_000_000 + b",2\n1,2\n", ["e.csv"]),
    "names of spaces": ("e.csv", b"   ,y\n1,2\n", ["e.csv", "column 1"]),
    "names that differ in spaces": ("e.csv", b"a, a,y\n1,2,3\n", ["e.csv", "'a'"]),
    "one column": ("e.csv", b"y\n" + b"1\n2\n" * 20, ["e.csv", "no candidates"]),
    "one cell": ("e.csv", b"y", ["e.csv"]),
    "a mark and nothing else": ("e.csv", b"\xef\xbb\xbf", ["e.csv"]),
    "only delimiters": ("e.csv", b",,,\n,,,\n", ["e.csv", "column 1"]),
    "JSON": ("e.csv", b'{"a": [1, 2], "y": [3, 4]}', ["e.csv"]),
    "a title above the names": ("e.csv", b"Plant 7\n\na,y\n1,2\n3,5\n", ["e.csv", "'Plant 7' above the names"]),
    "notes above the names": ("e.csv", b"# a\n# b\na;y\n1;2\n3;5\n4;4\n", ["e.csv", "'# a' and 1 more above"]),
    "units and nothing else": ("e.csv", b"a,y\nbar,kW\n", ["e.csv", "constant"]),
    "HTML": ("e.csv", b"<html><body>not found</body></html>\n", ["e.csv"]),
    "one row": ("e.csv", b"a,y\n1,2\n", ["e.csv", "constant"]),
    "two rows": ("e.csv", b"a,y\n1,2\n2,4\n", ["e.csv"]),
    "parquet cut short": ("e.parquet", b"PAR1" + b"\0" * 40 + b"PAR1", ["e.parquet"]),
    "empty parquet": ("e.parquet", b"", ["e.parquet"]),
    "parquet with a footer of 2 GB": ("e.parquet", b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1", ["e.parquet"]),
    "unknown ending": ("e.xlsx", b"a,y\n1,2\n", ["e.xlsx", ".csv or .parquet"]),
    "no ending": ("table", b"a,y\n1,2\n", ["table", ".csv or .parquet"]),
    "no parquet inside": ("e.parquet", b"a,y\n1,2\n", ["e.parquet"]),
}


Y = ["--target", "y"]
LAGS = ["--lags", "2", "--state", "y"]
OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "unknown target": (["--target", "laod"], ["data.csv", "'laod'", "'load'"]),
    "unknown weights": ([*Y, "--weights", "laod"], ["'laod'", "weights", "'load'"]),
    "weights below zero": ([*Y, "--weights", "load"], ["'load'", "weights", "0 or more"]),
    "weights among candidates": ([*Y, "--candidate", "load", "--weights", "load"], ["'load'", "weights"]),
    "weights of text": ([*Y, "--weights", "y"], ["'y'", "weights"]),
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
    "excluded and asked for": ([*Y, "--exclude", "y"], ["'y'", "exclude", "targets"]),
    "unknown column excluded": ([*Y, "--exclude", "sped"], ["'sped'", "exclude", "'speed'"]),
    "everything excluded": ([*Y, "--exclude", "*[a-x]*"], ["'y'", "no candidates"]),
    "gaps in a strange way": ([*Y, "--missing", "fill"], ["missing", "fill", "'model', 'drop', 'refuse'"]),
    "time without timestamps": ([*Y, "--time", "load"], ["'load'", "no timestamps"]),
    "time by an unknown column": ([*Y, "--time", "clock"], ["'clock'", "time"]),
    "several slips at once": (
        [*Y, "--candidate", "laod", "--candidate", "sped", "--keep", "angel"],
        ["3 problems", "'load'", "'speed'", "'angle'"],
    ),
    "rows by an unknown column": ([*Y, "--rows", "episodes"], ["rows='episodes'", "data.csv", "'episode'"]),
    "rows by a misspelt word": ([*Y, "--rows", "indepedent"], ["rows='indepedent'", "'independent'"]),
    "rows by nothing": ([*Y, "--rows", ""], ["rows=''", "data.csv"]),
    "rows without a value": ([*Y, "--rows"], ["--rows"]),
    "rows as a setting": ([*Y, "--set", "rows=ordered"], ["--set", "rows"]),
    "unknown family": ([*Y, "--set", "family=both"], ["family", "both"]),
    "margin above one": ([*Y, "--set", "margin=2"], ["'margin'", "2"]),
    "few confirmed rows": ([*Y, "--set", "confirmed=5"], ["'confirmed'", "100"]),
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
    "negative steps": ([*Y, "--set", "steps=-5"], ["'steps'", "-5"]),
    "negative distilled": ([*Y, "--set", "distilled=-1"], ["'distilled'", "-1"]),
    "too few distilled": ([*Y, "--set", "distilled=3"], ["'distilled'", "20"]),
    "lengthscale nan": ([*Y, "--set", "lengthscale=nan"], ["'lengthscale'", "nan"]),
    "nugget inf": ([*Y, "--set", "nugget=inf"], ["'nugget'", "inf"]),
    "rate zero": ([*Y, "--set", "rate=0"], ["'rate'", "0"]),
    "level above one": ([*Y, "--set", "level=2"], ["'level'", "2"]),
    "subset of nothing": ([*Y, "--set", "subset=0"], ["'subset'", "0"]),
    "averaging of one": ([*Y, "--set", "averaging=1"], ["'averaging'", "1"]),
    "few tested rows": ([*Y, "--set", "tested=5"], ["'tested'", "100"]),
    "no folds": ([*Y, "--set", "folds=0"], ["'folds'", "0"]),
    "more folds than rows": ([*Y, "--set", "folds=500"], ["folds", "500", "80 rows"]),
    "unknown activation": ([*Y, "--set", "activation=gelu"], ["'activation'", "gelu"]),
    "width in words": ([*Y, "--set", "width=wide"], ["'width'", "wide"]),
    "a kernel beyond any memory": ([*Y, "--set", "distilled=100000000"], ["memory", "distilled"]),
    "a network beyond any memory": ([*Y, "--set", "width=100000000"], ["memory", "width"]),
    "a batch of nothing": ([*Y, "--set", "batch=0"], ["'batch'", "0"]),
    "a huge seed": ([*Y, "--seed", "1" + "0" * 400], ["seed"]),
    "seed in words": ([*Y, "--seed", "lucky"], ["--seed", "lucky"]),
    "period nan": ([*Y, "--periodic", "angle=nan"], ["'angle'", "nan"]),
    "period inf": ([*Y, "--periodic", "angle=inf"], ["'angle'", "inf"]),
    "empty target": (["--target", ""], ["''"]),
    "empty candidate": ([*Y, "--candidate", ""], ["''"]),
    "out of a name too long": ([*Y, "--out", "x" * 5_000], ["too long"]),
    "out with a zero byte": ([*Y, "--out", "a\0b"], ["--out"]),
    "option cut short": ([*Y, "--perodic", "angle=1"], ["--perodic", "'--periodic'"]),
    "jobs in words": ([*Y, "--jobs", "all"], ["--jobs", "all"]),
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
    "kind of no column": ([*Y, "--kind", "laod=category"], ["'laod'", "'load'", "kinds"]),
    "kind that is none": ([*Y, "--kind", "load=ordinal"], ["'load'", "'ordinal'", "'category'"]),
    "kind without a word": ([*Y, "--kind", "load"], ["--kind", "COLUMN=category|real"]),
    "a measurement as a category": ([*Y, "--kind", "load=category"], ["'load'", "too many for a category"]),
    "an angle without a period": ([*Y, "--kind", "load=periodic"], ["'load'", "periodic"]),
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
    "rows by a column that no lag table has": ([*LAGS, "--rows", "episode"], ["rows='episode'"]),
}


COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "unknown command": (["discoverr"], ["'discoverr'", "'discover'"]),
    "no table": (["discover"], ["DATA", "missing"]),
    "unknown benchmark": (["bench", "lorenz36"], ["'lorenz36'", "'lorenz63'"]),
    "benchmark without a name": (["bench"], ["NAME", "--list"]),
    "demo into a file": (["demo", "--out", "data.csv"], ["data.csv", "not a folder"]),
    "demo below a file": (["demo", "--out", "data.csv/demo"], ["data.csv/demo", "cannot be written"]),
    "report of nothing": (["report", "nowhere"], ["nowhere", "no such run"]),
    "report of a file": (["report", "data.csv"], ["data.csv"]),
    "studio without a folder": (["studio", "--folder", "nowhere", "--no-browser"], ["--folder nowhere", "no such"]),
    "studio at no port": (["studio", "--port", "x", "--no-browser"], ["--port", "'x'"]),
    "studio at a port too high": (["studio", "--port", "99999", "--no-browser"], ["--port 99999", "65535"]),
    "studio of another machine": (["studio", "--host", "203.0.113.1", "--no-browser"], ["--host 203.0.113.1"]),
    "monitor without rows": (["monitor", "nowhere"], ["--data", "missing"]),
    "monitor of nothing": (["monitor", "nowhere", "--data", "data.csv"], ["nowhere", "found.json"]),
    "monitor at no level": (["monitor", "nowhere", "--data", "data.csv", "--level", "high"], ["--level", "high"]),
    "update without rows": (["update", "nowhere"], ["--data", "missing"]),
    "update of nothing": (["update", "nowhere", "--data", "data.csv"], ["nowhere", "found.json"]),
    "update from no row": (["update", "nowhere", "--data", "data.csv", "--since", "0"], ["--since"]),
    "update at no level": (["update", "nowhere", "--data", "data.csv", "--level", "high"], ["--level", "high"]),
    "roll back nothing": (["update", "nowhere", "--roll-back", "1"], ["nowhere", "twin.json is missing"]),
    "roll back to a word": (["update", "nowhere", "--roll-back", "first"], ["--roll-back"]),
    "monitor to a picture": (
        ["monitor", "nowhere", "--data", "data.csv", "--out", "a.png"],
        ["--out a.png", ".html"],
    ),
    "sample without rows": (["sample", "nowhere"], ["--given", "missing"]),
    "sample from nowhere": (["sample", "nowhere", "--given", "data.csv"], ["nowhere", "found.json"]),
    "sample, no such word": (
        ["sample", "nowhere", "--given", "data.csv", "--outside", "maybe"],
        ["--outside", "warn, raise or ignore", "maybe"],
    ),
    "unknown option before the command": (["--verson"], ["--verson", "'--version'"]),
}


class Bed(NamedTuple):
    """A finished run and a saved twin, to be damaged."""

    run: Path
    twin: Path


RUNS: dict[str, tuple[Callable[[Path], object], list[str], list[str]]] = {}
"""name -> damage done to a run folder, the command, the words"""
TWINS: dict[str, tuple[Callable[[Path], object], list[str]]] = {}
"""name -> damage done to a twin's folder, the words"""


def _edit(file: Path, change: Callable[[Any], Any]) -> None:
    file.write_text(json.dumps(change(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")


def _cut(file: Path, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])


def _without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: {name: value for name, value in record.items() if name not in names}


def _with(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: {**record, **changes}


def _tensors(header: Mapping[str, Any] | bytes, size: int | None = None, body: bytes = b"") -> bytes:
    """A safetensors file as anyone could write it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + body


REPORT, RESUME = ["report", "run", "--no-laws"], ["discover", "data.csv", "--target", "y", "--out", "run", "--resume"]
_ABOUT = {"__metadata__": {"about": "{}"}}
_RESULTS: dict[str, Callable[[Path], object]] = {
    "result missing": lambda run: (run / "found.json").unlink(),
    "result cut short": lambda run: _cut(run / "found.json", 0.5),
    "result empty": lambda run: (run / "found.json").write_bytes(b""),
    "result is a list": lambda run: (run / "found.json").write_text("[]"),
    "result is a number": lambda run: (run / "found.json").write_text("7"),
    "result nested too deep": lambda run: (run / "found.json").write_text("[" * 200_000),
    "result is binary": lambda run: (run / "found.json").write_bytes(b"\xff\xfe\x00\x01"),
    "result of a newer forebear": lambda run: _edit(run / "found.json", _with(format=99)),
    "result of no format": lambda run: _edit(run / "found.json", _with(format="one")),
    "result without questions": lambda run: _edit(run / "found.json", _without("questions")),
    "result without targets": lambda run: _edit(run / "found.json", _with(questions=[])),
    "result without runs": lambda run: _edit(run / "found.json", _with(runs=[])),
    "result with a run of another target": lambda run: _edit(run / "found.json", _with(runs=[{"z": 1}])),
    "result with choices of nothing": lambda run: _edit(run / "found.json", _with(choices=[])),
    "result with choices of another target": lambda run: _edit(run / "found.json", _with(choices=[{"z": []}])),
    "result without certificates": lambda run: _edit(run / "found.json", _with(certified=None)),
    "result with settings of text": lambda run: _edit(run / "found.json", _with(settings="fast")),
    "result with seconds of text": lambda run: _edit(run / "found.json", _with(seconds="long")),
    "result is a folder": lambda run: ((run / "found.json").unlink(), (run / "found.json").mkdir()),
    "table cut short": lambda run: _cut(run / "data.safetensors", 0.5),
    "table with a bit flipped": lambda run: _flip(run / "data.safetensors"),
    "table of nothing": lambda run: (run / "data.safetensors").write_bytes(_tensors(_ABOUT)),
    "table with a huge header": lambda run: (run / "data.safetensors").write_bytes(_tensors(b"{}", 2**62)),
}
RUNS |= {name: (damage, REPORT, ["run"]) for name, damage in _RESULTS.items()}
_RECORDS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "another seed": (lambda run: _edit(run / "run.json", _with(seed=1)), ["'seed'", "now 0"]),
    "other data": (lambda run: _edit(run / "run.json", _with(data="0")), ["'data'"]),
    "another version": (
        lambda run: _edit(run / "run.json", _with(**{"version of jax": "0.1"})),
        ["'version of jax'"],
    ),
    "a setting gone": (lambda run: _edit(run / "run.json", _without("steps")), ["'steps'", "null"]),
    "a setting more": (lambda run: _edit(run / "run.json", _with(luck=7)), ["'luck'", "7"]),
    "record cut short": (lambda run: _cut(run / "run.json", 0.5), ["run.json", "damaged"]),
    "record is a list": (lambda run: (run / "run.json").write_text("[1]"), ["run.json", "damaged"]),
    "a piece cut short": (lambda run: _cut(run / "pieces/00000.json", 0.5), ["00000.json", "damaged"]),
    "a piece of another target": (
        lambda run: _edit(run / "pieces/00000.json", lambda p: {"z": p["y"]}),
        ["00000.json"],
    ),
    "a piece of nothing": (lambda run: (run / "pieces/00000.json").write_text("{}"), ["00000.json"]),
}
RUNS |= {name: (damage, RESUME, ["run", *words]) for name, (damage, words) in _RECORDS.items()}


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(bytes(content))


def _weights(twin: Path, content: bytes) -> None:
    (twin / "twin.safetensors").write_bytes(content)


def _twin(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    return lambda twin: _edit(twin / "twin.json", change)


def _entry(shape: list[int], stop: int, kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [0, stop]}


TWINS |= {
    "twin missing": (lambda twin: (twin / "twin.json").unlink(), ["twin.json"]),
    "weights missing": (lambda twin: (twin / "twin.safetensors").unlink(), ["twin.safetensors", "cannot be read"]),
    "weights cut short": (lambda twin: _cut(twin / "twin.safetensors", 0.7), ["twin.safetensors", "damaged"]),
    "weights empty": (lambda twin: _weights(twin, b""), ["twin.safetensors", "damaged"]),
    "weights by pickle": (lambda twin: _weights(twin, b"\x80\x04cos\nsystem\n"), ["twin.safetensors", "damaged"]),
    "header of 4 EB": (lambda twin: _weights(twin, _tensors(b"{}", 2**62)), ["twin.safetensors", "damaged"]),
    "header of 100 MB": (lambda twin: _weights(twin, _tensors(b"{}", 10**8)), ["twin.safetensors", "damaged"]),
    "header that is no JSON": (lambda twin: _weights(twin, _tensors(b"{{{{")), ["twin.safetensors", "damaged"]),
    "tensor of 4 EB": (
        lambda twin: _weights(twin, _tensors({**_ABOUT, "rows": _entry([2**30, 2**30], 2**62)})),
        ["twin.safetensors", "damaged"],
    ),
    "tensor past the end": (
        lambda twin: _weights(twin, _tensors({**_ABOUT, "rows": _entry([1000], 4000)}, body=b"\0" * 8)),
        ["twin.safetensors", "damaged"],
    ),
    "tensor of a negative shape": (
        lambda twin: _weights(twin, _tensors({**_ABOUT, "rows": _entry([-1], 4)}, body=b"\0" * 4)),
        ["twin.safetensors", "damaged"],
    ),
    "tensor of an unknown type": (
        lambda twin: _weights(twin, _tensors({**_ABOUT, "rows": _entry([1], 4, "X99")}, body=b"\0" * 4)),
        ["twin.safetensors", "damaged"],
    ),
    "tensors under other names": (
        lambda twin: _weights(twin, _tensors({**_ABOUT, "rows": _entry([1], 4)}, body=b"\0" * 4)),
        ["damaged"],
    ),
    "description cut short": (lambda twin: _cut(twin / "twin.json", 0.5), ["twin.json", "damaged"]),
    "description is a list": (lambda twin: (twin / "twin.json").write_text("[]"), ["twin.json", "damaged"]),
    "description nested too deep": (lambda twin: (twin / "twin.json").write_text("[" * 200_000), ["twin.json"]),
    "a newer twin": (_twin(_with(format=99)), ["newer forebear"]),
    "layers beyond counting": (_twin(_with(layers=10**12)), ["damaged"]),
    "no layers": (_twin(_with(layers=0)), ["damaged"]),
    "negative layers": (_twin(_with(layers=-1)), ["damaged"]),
    "an unknown model": (_twin(_with(model="pickle")), ["damaged"]),
    "an unknown activation": (_twin(_with(activation="exec")), ["damaged"]),
    "steps of a solver beyond patience": (
        _twin(lambda r: {**r, "settings": {**r["settings"], "ode_steps": 10**12}}),
        ["damaged"],
    ),
    "inputs of another twin": (_twin(_with(inputs=[])), ["damaged"]),
    "targets of nothing": (_twin(_with(targets=[])), ["damaged"]),
    "a scale of zero": (_twin(lambda r: {**r, "targets": [{**r["targets"][0], "scale": 0.0}]}), ["damaged"]),
    "a scale of nan": (_twin(lambda r: {**r, "targets": [{**r["targets"][0], "scale": float("nan")}]}), ["damaged"]),
    "ranges of nothing": (_twin(_with(ranges=[])), ["damaged"]),
    "ancestors that are no inputs": (_twin(_with(ancestors={"y": ["z"]})), ["damaged"]),
}
GIVEN: dict[str, tuple[str, list[str], list[str]]] = {
    "rows without an input": ("speed\n1\n", [], ["'load'"]),
    "rows with text": ("load\nfast\n", [], ["'load'", "fast"]),
    "rows with a gap": ("load\n1\n\n", ["--n", "0"], ["--n", "0"]),
    "rows with nan": ("load\nnan\n1\n", [], ["'load'", "row 1"]),
    "rows with inf": ("load\ninf\n1\n", [], ["'load'", "infinite"]),
    "no rows": ("load\n", [], ["given.csv", "no rows"]),
    "negative draws": ("load\n1\n", ["--n", "-3"], ["--n", "-3"]),
    "draws beyond any memory": ("load\n1\n", ["--n", "1000000000000"], ["n=1000000000000", "memory"]),
    "draws to an unknown kind": ("load\n1\n", ["--out", "draws.xlsx"], ["draws.xlsx", ".csv"]),
    "draws to no folder": ("load\n1\n", ["--out", "no/draws.csv"], ["no"]),
}


def _many_columns(folder: Path) -> None:
    names = [f"x{i}" for i in range(10_000)]
    pd.DataFrame(np.random.default_rng(0).normal(size=(40, 10_000)), columns=names).to_csv(
        folder / "w.csv", index=False
    )


def _parquet(**columns: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"load": rng.normal(size=80), "y": rng.normal(size=80)}).assign(**columns)
        frame.to_parquet(folder / "e.parquet")

    return write


def _arrow(write: Callable[[Any, Path], None]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        import pyarrow

        write(pyarrow, folder / "e.parquet")

    return prepare


def _write_arrow(arrow: Any, table: Any, file: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, file)


def _latin(arrow: Any) -> Any:
    raw = arrow.array([b"gr\xf6n", b"rot"] * 40, type=arrow.binary())
    text = arrow.Array.from_buffers(arrow.string(), 80, raw.buffers())
    return arrow.table([np.random.default_rng(0).normal(size=80), text], names=["y", "label"])


def _rows(change: Change) -> Callable[[Path], None]:
    return lambda folder: _write(folder, change)


PREPARED: dict[str, tuple[Callable[[Path], None], list[str], list[str]]] = {
    "a folder in place of a file": (lambda f: (f / "d.csv").mkdir(), ["d.csv", *Y], ["d.csv", "folder"]),
    "a link to itself": (lambda f: (f / "d.csv").symlink_to(f / "d.csv"), ["d.csv", *Y], ["d.csv"]),
    "rows by a column with an empty cell": (
        _rows(_cell("episode", None)),
        ["data.csv", *Y, "--rows", "episode"],
        ["data.csv", "'episode'", "row 8"],
    ),
    "rows by a column with one value": (
        _rows(_set("episode", lambda cells: [1] * len(cells))),
        ["data.csv", *Y, "--rows", "episode"],
        ["data.csv", "'episode'", "one value"],
    ),
    "10,000 columns": (_many_columns, ["w.csv", "--target", "x0"], ["w.csv", "40 rows", "80 inputs"]),
    "fewer rows than inputs": (
        lambda f: pd.DataFrame(np.random.default_rng(0).normal(size=(40, 61))).to_csv(f / "w.csv", index=False),
        ["w.csv", "--target", "0"],
        ["w.csv", "40 rows", "60 inputs"],
    ),
    "parquet with dates": (
        _parquet(day=pd.date_range("2026-01-01", periods=80)),
        ["e.parquet", *Y, "--candidate", "day"],
        ["'day'", "timestamps", "time='day'"],
    ),
    "parquet with spans of time": (
        _parquet(span=pd.to_timedelta(range(80), unit="s")),
        ["e.parquet", *Y, "--candidate", "span"],
        ["'span'", "durations"],
    ),
    "parquet with lists": (_parquet(many=[[i] for i in range(80)]), ["e.parquet", *Y], ["'many'"]),
    "parquet with records": (_parquet(rec=[{"a": i} for i in range(80)]), ["e.parquet", *Y], ["'rec'", "dict"]),
    "parquet with bytes": (_parquet(raw=[bytes([i]) for i in range(80)]), ["e.parquet", *Y], ["'raw'", "bytes"]),
    "parquet with 64-bit integers": (
        _parquet(big=np.arange(80, dtype=np.uint64) + np.uint64(2**63)),
        ["e.parquet", *Y, "--candidate", "big"],
        ["'big'", "2**53"],
    ),
    "parquet with decimals that are missing": (
        _parquet(dec=[Decimal(i) for i in range(79)] + [None]),
        ["e.parquet", *Y, "--missing", "refuse"],
        ["'dec'", "no value", "row 80"],
    ),
    "parquet without rows": (
        lambda f: pd.DataFrame({"load": [1.0], "y": [1.0]}).head(0).to_parquet(f / "e.parquet"),
        ["e.parquet", *Y],
        ["e.parquet", "no rows"],
    ),
    "parquet without columns": (
        lambda f: pd.DataFrame(index=range(80)).to_parquet(f / "e.parquet"),
        ["e.parquet", *Y],
        ["e.parquet", "no columns"],
    ),
    "parquet with a name twice": (
        _arrow(lambda a, f: _write_arrow(a, a.table([[1.0], [2.0], [3.0]], names=["load", "load", "y"]), f)),
        ["e.parquet", *Y],
        ["e.parquet", "load"],
    ),
    "parquet with text of another encoding": (
        _arrow(lambda a, f: _write_arrow(a, _latin(a), f)),
        ["e.parquet", *Y],
        ["'label'", "not UTF-8"],
    ),
    "parquet cut in the middle": (
        lambda f: (_parquet()(f), _cut(f / "e.parquet", 0.6)),  # type: ignore[func-returns-value]
        ["e.parquet", *Y],
        ["e.parquet"],
    ),
}

QUICK = ["--rule", "nsr-jump", "--sampler", "mean"]
for _setting in ("steps=5", "distilled=40", "width=4", "depth=1", "folds=1", "nugget=1", "lengthscale=1"):
    QUICK += ["--set", _setting]


def _text(encoding: str = "utf-8", names: Mapping[str, str] | None = None, **how: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({name: rng.normal(size=80) for name in ("load", "speed", "angle", "y")})
        text = frame.rename(columns=dict(names or {})).to_csv(index=False, **how)
        (folder / "data.csv").write_bytes(text.encode(encoding))

    return write


def _change(change: Change) -> Callable[[Path], None]:
    return lambda folder: _write(folder, change)


WORKS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "semicolons and decimal commas": (_text(sep=";", decimal=","), []),
    "tabs": (_text(sep="\t"), []),
    "bars": (_text(sep="|"), []),
    "UTF-16 with its mark": (_text("utf-16"), []),
    "UTF-8 with its mark": (_text("utf-8-sig"), []),
    "Windows-1252": (_text("cp1252", {"load": "größe"}), ["Windows-1252", "save it as UTF-8"]),
    "line ends of DOS": (_text(lineterminator="\r\n"), []),
    "unicode names": (_text(names={"load": "größe", "speed": "速度", "angle": "😀"}), []),
    "composed and decomposed names": (_text(names={"load": "\u00e9", "speed": "e\u0301"}), []),
    "markup in names": (_text(names={"load": "<script>alert(1)</script>", "speed": "[bold]x[/]"}), []),
    "quotes and line breaks in names": (_text(names={"load": 'a "b"', "speed": "two\nlines"}), []),
    "names of thousands of letters": (_text(names={"load": "x" * 5_000}), []),
    "scale 1e100": (_change(_set("load", lambda c: [1e100 * v for v in c])), []),
    "scale 1e-100": (_change(_set("load", lambda c: [1e-100 * v for v in c])), []),
    "target of scale 1e100": (_change(_set("y", lambda c: [1e100 * v for v in c])), []),
    "two alike but for a thousandth": (
        lambda f: _write(
            f, lambda t: t.update(speed=[v + 1e-3 * w for v, w in zip(t["load"], t["angle"], strict=True)])
        ),
        [],
    ),
    "a flag": (_change(_set("load", lambda c: [v > 0 for v in c])), []),
    "a rare flag": (_change(_set("load", lambda c: [i == 3 for i in range(len(c))])), []),
    "few dates": (_change(_set("load", lambda c: [f"2026-01-0{1 + i % 4}" for i in range(len(c))])), []),
    "one integer of 26 digits": (_change(_cell("load", 10**25)), []),
    "an outlier": (_change(_cell("load", 1e12)), []),
}


class Case(NamedTuple):
    """What is there, what is typed, and what must be told."""

    prepare: Callable[[Path, Bed], object]
    arguments: list[str]
    words: list[str]
    works: bool = False


def _cases() -> dict[str, Case]:
    # Named, since what nobody asks for by name is left out where it says nothing.
    named = [word for name in ("load", "speed", "angle") for word in ("--candidate", name)]
    whole = ["--missing", "refuse"]
    found = ["discover", "data.csv", "--target", "y", *named, *whole, "--out", "run", "--figure", "run/graph.png"]
    cases = {f"table: {n}": Case(lambda f, _, c=c: _write(f, c), found, w) for n, (c, w) in TABLES.items()}
    for name, (file, content, words) in FILES.items():

        def put(folder: Path, _: Bed, file: str = file, content: bytes | None = content) -> None:
            if content is not None:
                (folder / file).write_bytes(content)

        cases[f"file: {name}"] = Case(put, ["discover", file, "--target", "y", "--out", "run"], words)
    for name, (options, words) in OPTIONS.items():
        cases[f"option: {name}"] = Case(lambda f, _: _write(f), ["discover", "data.csv", *options], words)
    for name, (arguments, words) in COMMANDS.items():
        cases[f"command: {name}"] = Case(lambda f, _: _write(f), arguments, words)
    for name, (prepare, arguments, words) in PREPARED.items():
        cases[f"file: {name}"] = Case(lambda f, _, p=prepare: p(f), ["discover", *arguments, "--out", "run"], words)
    for name, (damage, arguments, words) in RUNS.items():

        def spoil(folder: Path, bed: Bed, damage: Callable[[Path], object] = damage) -> None:
            _write(folder)
            shutil.copytree(bed.run, folder / "run")
            damage(folder / "run")

        quick = QUICK if arguments is RESUME else []
        cases[f"run: {name}"] = Case(spoil, [*arguments, *quick], words)
    for name, (damage, words) in TWINS.items():

        def mar(folder: Path, bed: Bed, damage: Callable[[Path], object] = damage) -> None:
            _write(folder)
            shutil.copytree(bed.twin, folder / "twin")
            damage(folder / "twin")

        cases[f"twin: {name}"] = Case(mar, ["sample", "twin", "--given", "data.csv", "--n", "1"], ["twin", *words])
    for name, (text, options, words) in GIVEN.items():

        def give(folder: Path, bed: Bed, text: str = text) -> None:
            (folder / "given.csv").write_text(text)
            shutil.copytree(bed.twin, folder / "twin")

        cases[f"sample: {name}"] = Case(give, ["sample", "twin", "--given", "given.csv", *options], words)
    for name, (prepare, words) in WORKS.items():
        arguments = ["discover", "data.csv", "--target", "y", *QUICK, "--json"]
        cases[f"works: {name}"] = Case(lambda f, _, p=prepare: p(f), arguments, words, works=True)
    return cases


CASES = _cases()


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Bed:
    place = tmp_path_factory.mktemp("bed")
    _write(place)
    twin = toy_twin(pd.read_csv(place / "data.csv"), {"y": ["load"]})
    twin.save(place / "twin")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["discover", "data.csv", "--target", "y", "--out", "run", *QUICK]) == 0
    return Bed(place / "run", place / "twin")


def _snapshot(folder: Path) -> dict[Path, int]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock"]
    return {path: path.stat().st_mtime_ns for path in files}


def test_the_matrix_is_large_enough() -> None:
    by_kind = pd.Series([name.partition(":")[0] for name in CASES]).value_counts().to_dict()
    print(f"{len(CASES)} cases: {by_kind}")
    assert len(CASES) >= 120


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", CASES)
def test_bad_input(
    name: str, bed: Bed, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    case.prepare(tmp_path, bed)
    capsys.readouterr()
    before = _snapshot(tmp_path)
    status = main(case.arguments)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert [word for word in case.words if word not in captured.err] == [], captured.err
    if case.works:
        assert status == 0, captured.err
        assert set(json.loads(captured.out)["targets"]) == {"y"}
        assert all(line.startswith("forebear: ") for line in captured.err.splitlines())
        assert bool(captured.err) == bool(case.words)
        return
    assert status == 2 and captured.out == "", captured.err
    assert len(captured.err.splitlines()) == 1 and captured.err.startswith("forebear: ")
    assert len(captured.err) < 1_000
    assert _snapshot(tmp_path) == before


@pytest.mark.parametrize("cells", [[Decimal("sNaN")], [Decimal("NaN")], [1.0, Decimal("sNaN"), "x"]])
def test_a_decimal_that_is_no_number(cells: list[object]) -> None:
    """It is a missing cell, whatever its sort, and named where those are refused."""
    table = {"load": [*cells, *np.arange(40.0)], "y": np.arange(40.0 + len(cells)) ** 2}
    with pytest.raises(forebear.InputError, match="column 'load'"):
        forebear.discover(table, "y", missing="refuse")
