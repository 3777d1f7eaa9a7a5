"""Twins and tables on disk: back to the bit, or one clear line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.stored import TABLE_FILE, load_table, save_table
from forebear.data.table import read_columns
from forebear.twin import batches
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin


@pytest.fixture(scope="module", autouse=True)
def few_shapes() -> Iterator[None]:
    """Every shape is compiled once; here most of the time would go there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 2**11)
        yield


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "angle": rng.uniform(0, 6, 300), "on": rng.random(300) < 0.5})
    frame["y"] = frame["a"] * rng.normal(size=300)
    frame["n"] = rng.poisson(2.0, 300)
    frame["rain"] = np.maximum(0, frame["a"])
    frame["label"] = rng.choice(["u", "v"], 300)
    return frame


TABLE = read_columns(_frame(), "the table", list(_frame().columns), {"angle": 6.0})
TINY = TwinSettings.resolve({"steps": 20, "width": 8, "depth": 1, "ode_steps": 2})
GIVEN = _frame()[["a", "angle", "on"]].head(20)


@pytest.fixture(scope="module", params=["separate", "distilled joint"])
def twin(request: pytest.FixtureRequest) -> Twin:
    inputs = {name: ("a", "angle", "on") for name in ("y", "n", "rain", "label")}
    joint = "joint" in request.param
    made = fit_twin(TABLE, inputs, joint=joint, settings=TINY, seed=0, units={"a": "kPa", "y": "m"})
    return made.distil(rows=64, steps=20) if "distilled" in request.param else made


def test_a_twin_comes_back_to_the_bit(twin: Twin, tmp_path: Path) -> None:
    twin.save(tmp_path / "twin")
    back = fb.load_twin(tmp_path / "twin")
    assert (back.sample(GIVEN, n=5) == twin.sample(GIVEN, n=5)).all()
    assert (back.log_prob(GIVEN, _frame().head(20)) == twin.log_prob(GIVEN, _frame().head(20))).all()
    for name in ("targets", "inputs", "ancestors", "units", "levels", "settings", "joint", "ranges", "distillation"):
        assert getattr(back, name) == getattr(twin, name), name
    assert sorted(file.name for file in (tmp_path / "twin").iterdir()) == ["twin.json", "twin.safetensors"]
    assert [file.name for file in tmp_path.iterdir()] == ["twin"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = fit_twin(TABLE, {"y": ("a",)}, joint=False, settings=TINY, seed=0)
    made.save(tmp_path / "twin")
    return tmp_path / "twin"


def test_saving_again_replaces_a_twin_and_nothing_else(folder: Path) -> None:
    other = fit_twin(TABLE, {"n": ("a",)}, joint=False, settings=TINY, seed=0)
    other.save(folder)
    assert fb.load_twin(folder).targets == ("n",)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(fb.InputError, match="holds files that are not a twin"):
        other.save(folder)
    (folder.parent / "mine").mkdir()
    (folder.parent / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(fb.InputError, match="holds files that are not a twin: choose another folder"):
        other.save(folder.parent / "mine")
    assert (folder.parent / "mine" / "thesis.tex").read_text() == "x"
    with pytest.raises(fb.InputError, match="not a folder"):
        other.save(folder / "twin.json")


def _edit(folder: Path, **changes: object) -> None:
    file = folder / "twin.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _cut(file: Path, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "twin.json").unlink(), "there is no twin in this folder (twin.json is missing)"),
        (lambda f: (f / "twin.safetensors").unlink(), "twin.safetensors: cannot be read"),
        (lambda f: _cut(f / "twin.safetensors", 0.7), "twin.safetensors: not written by forebear, or damaged"),
        (lambda f: _cut(f / "twin.safetensors", 0.0), "twin.safetensors: not written by forebear, or damaged"),
        (lambda f: _cut(f / "twin.json", 0.5), "twin.json: not a JSON file, or damaged: save the twin again"),
        (lambda f: (f / "twin.json").write_text("[]"), "twin.json: not a forebear twin, or damaged"),
        (lambda f: (f / "twin.json").write_text("{}"), "twin.json: not a forebear twin, or damaged"),
        (lambda f: (f / "twin.json").write_bytes(b"\xff\xfe\x00"), "twin.json: not a JSON file, or damaged"),
        (lambda f: _edit(f, format=99), "written by a newer forebear (format 99): update this one"),
        (lambda f: _edit(f, format="1"), "not a forebear twin, or damaged"),
        (lambda f: _edit(f, layers=9), "not a forebear twin, or damaged"),
        (lambda f: _edit(f, inputs=[]), "not a forebear twin, or damaged"),
        (lambda f: _edit(f, model="pickle"), "not a forebear twin, or damaged"),
        (lambda f: _edit(f, targets=None), "not a forebear twin, or damaged"),
        (lambda f: _edit(f, activation="exec"), "not a forebear twin, or damaged"),
    ],
)
def test_damage_is_told_in_one_line(folder: Path, damage, message: str) -> None:
    damage(folder)
    with pytest.raises(fb.InputError) as error:
        fb.load_twin(folder)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_comes_back_to_the_bit(tmp_path: Path) -> None:
    save_table(tmp_path, TABLE)
    back = load_table(tmp_path)
    assert back is not None and list(back.columns) == list(TABLE.columns) and back.rows == TABLE.rows
    for name, column in TABLE.columns.items():
        again = back.columns[name]
        assert (again.values == column.values).all()
        assert (again.kind, again.levels, again.period) == (column.kind, column.levels, column.period)
    assert load_table(tmp_path / "elsewhere") is None


def test_labels_that_json_does_not_know_are_kept_as_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02"] * 5))})
    save_table(tmp_path, read_columns(frame, "the table", ["day"]))
    back = load_table(tmp_path)
    assert back is not None and back.columns["day"].levels == ("2026-01-01 00:00:00", "2026-01-02 00:00:00")


def test_a_damaged_table_is_told(tmp_path: Path) -> None:
    save_table(tmp_path, TABLE)
    file = tmp_path / TABLE_FILE
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    with pytest.raises(fb.InputError, match="not written by forebear, or damaged: run the discovery again"):
        load_table(tmp_path)
    # One flipped bit among the numbers.
    file.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    with pytest.raises(fb.InputError, match="not the table that was saved there"):
        load_table(tmp_path)
