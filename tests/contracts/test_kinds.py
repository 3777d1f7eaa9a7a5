"""What every kind of column must do. A new kind is put to the same test: add a table of its cells to `CELLS`."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.column import Column, read_column
from forebear.data.scaling import ColumnCode, Encoder, FeatureMap
from forebear.data.stored import load_table, save_table
from forebear.data.table import read_columns
from forebear.kinds import KINDS, kind_named, registered
from forebear.kinds.kind import Kind
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings

ROOT = Path(__file__).parents[2]
Ordinal: type[Kind] = runpy.run_path(str(ROOT / "docs" / "skeletons" / "kind.py"))["Ordinal"]
ROWS = 240
GRADES = pd.CategoricalDtype(["poor", "fair", "good", "best"], ordered=True)


def _cells(word: str) -> tuple[pd.Series, float | None]:
    """Cells that are of this kind, and the period the user gives with them."""
    rng = np.random.default_rng(0)
    some: dict[str, tuple[Any, float | None]] = {
        "real": (100 + 3 * rng.normal(size=ROWS), None),
        "periodic": (rng.uniform(-180, 180, ROWS), 360.0),
        "category": (rng.choice(["u", "v", "w"], ROWS, p=[0.6, 0.3, 0.1]), None),
        "ordinal": (pd.Categorical.from_codes(rng.integers(0, 4, ROWS).tolist(), dtype=GRADES), None),
    }
    cells, period = some[word]
    return pd.Series(cells), period


@pytest.fixture(params=[*KINDS, "ordinal"])
def column(request: pytest.FixtureRequest) -> Iterator[Column]:
    """A column of each kind: the built-in ones, and the one that the documentation shows how to write."""
    cells, period = _cells(request.param)
    if request.param in KINDS:
        yield read_column(cells, "the table", "x", period)
        return
    with registered(Ordinal()):
        yield read_column(cells, "the table", "x", period)


def test_every_kind_is_known_by_its_word(column: Column) -> None:
    kind = kind_named(column.kind)
    assert kind.name == column.kind and KINDS[column.kind] is kind
    assert column.values.dtype == np.float64 and len(column.values) == ROWS
    assert not column.values.flags.writeable


def test_cells_come_back_and_are_read_the_same(column: Column) -> None:
    cells = kind_named(column.kind).cells(column.values, column)
    again = read_column(cells, "the table", "x", column.period)
    assert (again.kind, again.levels) == (column.kind, column.levels)
    assert (again.values == column.values).all()
    assert (kind_named(column.kind).numbers(cells, column) == column.values).all()


def test_every_label_but_one_of_two_has_a_feature_of_its_own() -> None:
    """A law that is another one at the commonest label is else seen through the others alone, weakly."""
    for labels, features in ((["u", "v"], 1), (["u", "v", "w"], 3)):
        column = Column("x", "category", np.arange(30) % len(labels), tuple(labels))
        seen = kind_named("category").test_features(column.values.astype(float), column)
        assert seen.shape[1] == features
        alone = {tuple(column.values[np.flatnonzero(own > 0)].tolist()[:1]) for own in seen.T}
        assert len(alone) == features


def test_features_have_a_width_and_a_size_of_about_one(column: Column) -> None:
    code = ColumnCode.of(column)
    seen = Encoder((code,))(column.values[:, None])
    assert seen.shape == (ROWS, code.width) and code.width > 0
    assert np.isfinite(seen).all()
    assert (seen.var(axis=0) > 0.01).all() and (np.abs(seen) < 10).all()


def test_numpy_and_jax_see_the_same(column: Column) -> None:
    code = ColumnCode.of(column)
    other = ColumnCode("z", "real", 1.0, 2.0)
    x = np.stack([column.values, np.linspace(0, 1, ROWS)], axis=1)
    of_numpy = FeatureMap.of([code, other])(x)
    of_jax = FeatureMap.of([code, other])(jnp.asarray(x, jnp.float32))
    assert isinstance(of_numpy, np.ndarray) and of_jax.dtype == jnp.float32
    assert np.asarray(of_jax) == pytest.approx(of_numpy, abs=1e-4)


def test_equal_values_look_equal_and_different_ones_do_not(column: Column) -> None:
    values = np.unique(column.values)[:10]
    seen = Encoder((ColumnCode.of(column),))(values[:, None])
    assert len(np.unique(seen.round(9), axis=0)) == len(values)


def test_what_was_never_seen_is_encoded_and_finite(column: Column) -> None:
    encoder = Encoder((ColumnCode.of(column),))
    strange = pd.Series(["never seen"] if column.levels else [column.values.max() + 1.0])
    seen = encoder.encode(pd.DataFrame({"x": strange}))
    assert seen.shape == (1, encoder.width) and np.isfinite(seen).all()
    # A frame without the column gives what a mask would make of it.
    assert (encoder.encode(pd.DataFrame(index=[0])) == 0).all()


@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 8.0])
def test_the_kernel_factor_is_one(column: Column, lengthscale: float) -> None:
    points = kind_named(column.kind).embed(column.values[:60], column, lengthscale)
    assert points.shape[0] == 60 and points.shape[1] in (1, 2)
    k = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) / 2)
    assert (np.diag(k) == 1).all() and (k == k.T).all() and ((k >= 0) & (k <= 1)).all()
    assert np.linalg.eigvalsh(k)[0] > -1e-10
    assert k.min() < 0.999


def test_test_features_are_centred_and_bounded(column: Column) -> None:
    kind = kind_named(column.kind)
    seen = kind.test_features(column.values, column)
    assert seen.shape[0] == ROWS and seen.shape[1] > 0
    assert np.abs(seen.mean(axis=0)).max() < 0.05
    assert seen.var(axis=0) == pytest.approx(np.ones(seen.shape[1]), abs=0.15)
    assert np.abs(seen).max() < 12
    # An order of rows is no information.
    order = np.random.default_rng(1).permutation(ROWS)
    assert kind.test_features(column.values[order], column) == pytest.approx(seen[order], abs=1e-9)


def test_a_range_holds_the_data(column: Column) -> None:
    kind = kind_named(column.kind)
    found = kind.range(column.values)
    if found is not None:
        assert found.low == column.values.min() and found.high == column.values.max()
        assert list(found.quantiles) == sorted(found.quantiles)
    nudge = kind.nudge(ColumnCode.of(column))
    assert nudge.spread >= 0 and (found is not None or not nudge.outwards)


def test_the_widget_goes_into_a_page(column: Column) -> None:
    kind, code = kind_named(column.kind), ColumnCode.of(column)
    start = float(column.values[7])
    told = json.loads(json.dumps(dict(kind.widget(column.values, code, kind.range(column.values), start))))
    assert told["widget"] in ("slider", "dial", "choices")
    if told["widget"] == "choices":
        assert column.levels[told["start"]] == column.levels[int(start)]
    else:
        assert told["from"] <= told["start"] <= told["to"] and told["step"] > 0
    json.dumps([list(feature) for feature in code.features])


def test_a_table_with_it_comes_back(column: Column, tmp_path: Path) -> None:
    cells, _ = _cells(column.kind)
    periods = {"x": column.period} if column.period else None
    table = read_columns(pd.DataFrame({"x": cells}), "the table", ["x"], periods)
    save_table(tmp_path, table)
    back = load_table(tmp_path)
    assert back is not None
    again = back.columns["x"]
    assert (again.kind, again.levels, again.period) == (column.kind, column.levels, column.period)
    assert (again.values == column.values).all()


def test_a_twin_on_it_works_and_comes_back(column: Column, tmp_path: Path) -> None:
    cells, _ = _cells(column.kind)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": cells, "y": rng.normal(size=ROWS)})
    table = read_columns(frame, "the table", ["x", "y"], {"x": column.period} if column.period else None)
    tiny = TwinSettings.resolve({"steps": 5, "width": 4, "depth": 1, "ode_steps": 2})
    twin = fit_twin(table, {"y": ("x",)}, joint=False, settings=tiny, seed=0)
    assert twin.columns[0].kind == column.kind
    student = twin.distil(rows=32, steps=2, progress=False)
    for one in (twin, student):
        one.save(tmp_path / "twin")
        back = fb.load_twin(tmp_path / "twin")
        assert (back.quantile(frame[["x"]].head(9), 0.3) == one.quantile(frame[["x"]].head(9), 0.3)).all()
        core = one.core()
        x, z = jnp.asarray(one.rows[:9], jnp.float32), jnp.full((9, core.latents), 0.5, jnp.float32)
        face = one.at_latents(one.rows[:9], np.full((1, 9, 1), 0.5))[0]
        assert np.asarray(core.push(core.params, x, z)) == pytest.approx(face, abs=1e-3)
        assert (one.outside(frame[["x"]]) == 0).all()


def test_one_file_is_enough(tmp_path: Path) -> None:
    """The kind of the skeleton, registered and nothing else: a discovery, a twin, and a page with it."""
    rng = np.random.default_rng(4)
    rows = 900
    grade = rng.integers(0, 4, rows)
    table = pd.DataFrame({"grade": pd.Categorical.from_codes(grade.tolist(), dtype=GRADES)})
    table["a"] = rng.normal(size=rows)
    table["y"] = 1.5 * grade + 0.5 * rng.normal(size=rows)
    quick: dict[str, Any] = {"steps": 120, "width": 16, "depth": 2, "progress": False}
    with registered(Ordinal()):
        found = fb.discover(table, "y", distilled=200, subset_steps=150, tested=500, **quick)
        assert found.table is not None and found.table.columns["grade"].kind == "ordinal"
        assert found.ancestors == {"y": ("grade",)}
        found.save(tmp_path / "run")
        again = fb.load(tmp_path / "run")
        assert again.table is not None and again.table.columns["grade"].levels == tuple(GRADES.categories)
        student = found.twin(**quick).distil(rows=256, steps=60, progress=False)
        given = pd.DataFrame({"grade": pd.Categorical(["poor", "best"], dtype=GRADES)})
        low, high = student.quantile(given, 0.5)[:, 0]
        assert low + 2 < high
        found.report(tmp_path / "page.html", student, progress=False)
        assert '"step"' in (tmp_path / "page.html").read_text(encoding="utf-8")
        student.save(tmp_path / "twin")
    # Without the kind the same cells are labels, and its files are refused in one line.
    assert read_columns(table, "the table", ["grade"]).columns["grade"].kind == "category"
    for load in (lambda: fb.load(tmp_path / "run"), lambda: fb.load_twin(tmp_path / "twin")):
        with pytest.raises(fb.InputError, match="has a column of the kind 'ordinal', which is not known here"):
            load()


def test_words_are_not_taken_twice() -> None:
    with registered(Ordinal()), pytest.raises(fb.InputError, match="is there already: give yours another name"):
        with registered(Ordinal()):
            pass
    assert "ordinal" not in KINDS
