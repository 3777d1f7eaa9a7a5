"""Files from elsewhere: nothing in them runs, takes memory it does not need, or leads out of its folder."""

from __future__ import annotations

import ast
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear
from forebear.data.source import open_frame
from forebear.storage import memory
from forebear.storage.arrays import load_arrays
from forebear.storage.files import read_json

ROOT = Path(forebear.__file__).parent
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "ctypes"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_METHODS = {"read_pickle", "to_pickle", "HDFStore", "read_hdf"}


def _nodes() -> list[tuple[str, ast.AST]]:
    files = sorted(ROOT.rglob("*.py"))
    return [(str(f.relative_to(ROOT)), n) for f in files for n in ast.walk(ast.parse(f.read_text(encoding="utf-8")))]


def test_nothing_that_runs_code_from_data() -> None:
    found = []
    for file, node in _nodes():
        if isinstance(node, ast.Import):
            found += [(file, a.name) for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
            found.append((file, node.module))
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            numpy_load = method == "load" and ast.unparse(node.func).startswith(("np.", "numpy.", "torch."))
            if name in FORBIDDEN_CALLS or method in FORBIDDEN_METHODS or numpy_load:
                found.append((file, ast.unparse(node.func)))
            if any(k.arg == "shell" or k.arg == "allow_pickle" for k in node.keywords):
                found.append((file, ast.unparse(node)))
    assert found == []


def test_modules_are_named_by_us_alone() -> None:
    """`import_module` is called with names from a table in the code; commands of other packages are entry points."""
    calls = {file for file, n in _nodes() if isinstance(n, ast.Call) and "import_module" in ast.unparse(n.func)}
    assert calls == {"__init__.py"}


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)


def test_a_file_larger_than_memory_is_not_read(little_memory: None, tmp_path: Path) -> None:
    (tmp_path / "big.csv").write_text("a,b\n" + "1.5,2.5\n" * 60_000)
    (tmp_path / "big.json").write_text(json.dumps(["x" * 100] * 2_000))
    with pytest.raises(forebear.InputError, match=r"big.csv: reading it needs about 0.0 GB of memory .* at a time"):
        open_frame(tmp_path / "big.csv")
    with pytest.raises(forebear.InputError, match=r"big.json: reading it needs about .* GB of memory"):
        read_json(tmp_path / "big.json")


def test_a_parquet_file_that_unpacks_to_more_than_memory_is_not_read(little_memory: None, tmp_path: Path) -> None:
    file = tmp_path / "bomb.parquet"
    pd.DataFrame({"a": np.zeros(1_000_000)}).to_parquet(file)
    assert file.stat().st_size < 50_000
    with pytest.raises(forebear.InputError, match="reading 1000000 rows needs about 0.0 GB of memory"):
        open_frame(file)


@pytest.mark.parametrize(
    ("entry", "body"),
    [
        ({"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}, b""),
        ({"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 8]}, b"\0" * 8),
        ({"dtype": "F64", "shape": [1], "data_offsets": [0, 2**60]}, b"\0" * 8),
        ({"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}, b"\0" * 8),
    ],
)
def test_tensors_are_checked_before_there_is_room_for_them(entry: Any, body: bytes, tmp_path: Path) -> None:
    header = json.dumps({"__metadata__": {"about": "{}"}, "x": entry}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + body)
    with pytest.raises(forebear.InputError, match="a.safetensors: not written by forebear, or damaged: again"):
        load_arrays(tmp_path / "a.safetensors", "again")


def test_names_lead_nowhere(tmp_path: Path) -> None:
    """Columns are named as files elsewhere; what is written stays in the folder of the run."""
    rng = np.random.default_rng(0)
    names = ["../../a", "/etc/b", "..\\c"]
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=names)
    quick = {"sampler": "mean", "steps": 2, "distilled": 20, "width": 2, "depth": 1, "folds": 1, "rule": "nsr-jump"}
    out = tmp_path / "deep" / "down" / "run"
    found = forebear.discover(table, "../../a", out=out, nugget=1.0, lengthscale=1.0, **quick)
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and out not in p.parents]
    assert outside == [] and found.targets == ("../../a",)
