"""Rows that a twin does not learn from: whole groups, whole stretches, or rows at random."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports import changed, made_by_hand

import forebear as fb
from forebear.data.table import Table, read_columns
from forebear.discovery.structure import RowStructure
from forebear.twin import blend_fit
from forebear.twin.aside import divided, set_aside, watched

TINY: dict[str, Any] = {"steps": 20, "width": 4, "depth": 1, "ode_steps": 2, "progress": False}


def _table(rows: int = 300, **more: Any) -> Table:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"]).assign(**more)
    frame["y"] = frame["a"] + rng.normal(size=rows)
    return read_columns(frame, "rig.csv", list(frame))


def _groups(rows: int, numbers: int, seed: int = 0) -> RowStructure:
    """Groups of quite different sizes, their rows mixed."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(numbers))
    groups = np.concatenate([np.arange(numbers), rng.choice(numbers, size=rows - numbers, p=shares)])
    return RowStructure("grouped", groups=rng.permutation(groups), column="machine")


def _shared(structure: RowStructure, some: np.ndarray, rest: np.ndarray) -> set[int]:
    assert structure.groups is not None
    return {*structure.groups[some].tolist()} & {*structure.groups[rest].tolist()}


def _stretches(rows: np.ndarray) -> int:
    """Runs of neighbouring rows."""
    return 1 + int((np.diff(rows) > 1).sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("numbers", [2, 3, 8, 40])
def test_no_group_is_on_both_sides(numbers: int, seed: int) -> None:
    table, structure = _table(), _groups(300, numbers, seed)
    aside = set_aside(table, 0.2, seed, structure)
    rest = np.setdiff1d(np.arange(300), aside)
    assert len(aside) and len(rest) and not _shared(structure, aside, rest)
    assert len(aside) <= 150
    train, watch = watched(300, 0.1, np.random.default_rng(seed), structure)
    assert watch is not None and not _shared(structure, watch, train)
    assert sorted([*train, *watch]) == list(range(300))


def test_many_groups_of_one_size_give_the_share_asked_for() -> None:
    structure = RowStructure("grouped", groups=np.arange(300) % 30)
    draws = [set_aside(_table(), 0.2, seed, structure) for seed in range(3)]
    assert [len(aside) for aside in draws] == [60, 60, 60]
    assert {*draws[0]} != {*draws[1]} != {*draws[2]}


@pytest.mark.parametrize(("rows", "most"), [(300, 8), (1_000, 8), (60_000, 9)])
def test_ordered_rows_are_set_aside_in_whole_stretches(rows: int, most: int) -> None:
    aside = set_aside(_table(rows), 0.2, 0, RowStructure("ordered"))
    wanted = min(2_000, rows // 5)
    assert 0.8 * wanted <= len(aside) <= 1.2 * wanted
    assert 2 <= _stretches(aside) <= most


def test_independent_rows_are_drawn_as_ever() -> None:
    """To the bit: twins of earlier versions are judged on the same rows."""
    order = np.random.default_rng(3).permutation(300)
    for structure in (None, RowStructure()):
        assert (set_aside(_table(), 0.2, 3, structure) == np.sort(order[:60])).all()
        train, watch = watched(300, 0.1, np.random.default_rng(3), structure)
        assert watch is not None and (watch == np.sort(order[:30])).all() and (train == np.sort(order[30:])).all()
    assert watched(300, 0.0, np.random.default_rng(0))[1] is None and not len(set_aside(_table(), 0.0, 0))


def test_a_group_that_alone_varies_in_a_column_is_trained_on() -> None:
    structure = RowStructure("grouped", groups=np.arange(300) // 30)
    rare = (np.arange(300) // 30 == 4).astype(float)
    for seed in range(10):
        aside = set_aside(_table(rare=rare), 0.2, seed, structure)
        assert len(aside) and not rare[aside].any() and not len(aside) % 30


def test_where_no_group_can_be_spared_rows_are_drawn() -> None:
    """Two machines and their nameplate: without one of them the column is constant."""
    structure = RowStructure("grouped", groups=np.arange(300) % 2)
    table = _table(plate=np.arange(300) % 2 * 1.0)
    assert (set_aside(table, 0.2, 0, structure) == set_aside(table, 0.2, 0)).all()
    one = RowStructure("grouped", groups=np.zeros(300, int))
    assert (set_aside(table, 0.2, 0, one) == set_aside(table, 0.2, 0)).all()


@pytest.mark.parametrize("rows", [600, 6_000])
def test_parts_of_a_blend_share_no_group(rows: int) -> None:
    structure = _groups(rows, 12)
    parts = blend_fit._parts(rows, np.random.default_rng(0), structure)
    assert len(parts) == (5 if rows == 600 else 1)
    for part in parts:
        assert not _shared(structure, part.judge, part.learn)
        assert len(part.judge) + len(part.learn) == rows


def test_parts_of_a_blend_of_independent_rows_are_as_ever() -> None:
    fold = np.random.default_rng(0).permutation(600) % 5
    for k, part in enumerate(blend_fit._parts(600, np.random.default_rng(0), RowStructure())):
        assert (part.judge == np.flatnonzero(fold == k)).all() and len(part.learn) == 480


def test_divided_keeps_close_to_the_count() -> None:
    structure = _groups(1_000, 60)
    sizes = [len(divided(1_000, 200, np.random.default_rng(seed), structure)[0]) for seed in range(10)]
    assert 150 <= min(sizes) and max(sizes) <= 250


def _found(rows: str, machine: np.ndarray) -> fb.Found:
    """A result as a discovery with `rows=` leaves it: the column of the groups is not in its table."""
    made = made_by_hand(["y"], ["a", "b"], {"y": ["a"]})
    settings = {**made.record.settings, "rows": rows}
    kinds = {"machine": RowStructure("grouped", machine, "machine"), "ordered": RowStructure("ordered")}
    return fb.Found(changed(made, settings=settings).record, _table(), structure=kinds[rows])


MACHINE = np.random.default_rng(5).integers(0, 25, size=300)


def test_the_twin_of_a_run_knows_its_groups_after_it_is_read_back(tmp_path: Path) -> None:
    found = _found("machine", MACHINE)
    found.save(tmp_path)
    twin = found.twin(**TINY)
    aside = twin.test_rows
    assert len(aside) and not {*MACHINE[aside]} & {*np.delete(MACHINE, aside)}
    again = fb.load(tmp_path)
    assert again.structure.groups is not None and (again.structure.groups == MACHINE).all()
    assert again.structure.column == "machine"
    assert (again.twin(seed=1, **TINY).test_rows == found.twin(seed=1, **TINY).test_rows).all()
    assert (pickle.loads(pickle.dumps(found)).structure.groups == MACHINE).all()
    assert found.validate(twin).rows == len(aside) == fb.load(tmp_path).validate(twin).rows


def test_stretches_after_a_run_is_read_back(tmp_path: Path) -> None:
    _found("machine", MACHINE).save(tmp_path)
    found = _found("ordered", MACHINE)
    found.save(tmp_path)
    again = fb.load(tmp_path)
    assert again.structure.kind == "ordered" and again.structure.groups is None
    assert (again.twin(**TINY).test_rows == found.twin(**TINY).test_rows).all()
    assert _stretches(again.twin(**TINY).test_rows) <= 8


def test_a_run_without_its_groups_goes_by_its_table(tmp_path: Path) -> None:
    """Versions before 0.4 kept none."""
    found = _found("machine", MACHINE)
    found.save(tmp_path)
    (tmp_path / "rows.safetensors").unlink()
    assert fb.load(tmp_path).structure.kind == "independent"
    with_column = fb.Found(found.record, _table(machine=MACHINE * 1.0))
    groups = with_column.structure.groups
    assert groups is not None and len({*zip(groups.tolist(), MACHINE.tolist(), strict=True)}) == 25


def test_damaged_groups_are_told_in_a_line(tmp_path: Path) -> None:
    _found("machine", MACHINE).save(tmp_path)
    (tmp_path / "rows.safetensors").write_bytes(b"nothing")
    with pytest.raises(fb.InputError, match="rows.safetensors: .*run the discovery again"):
        fb.load(tmp_path)


def test_rows_without_a_target_leave_the_groups_of_the_others_whole() -> None:
    found = _found("machine", MACHINE)
    assert found.table is not None
    frame = found.table.frame()
    frame.loc[::7, "y"] = np.nan
    gappy = fb.Found(found.record, read_columns(frame, "t", list(frame), gaps=True), structure=found.structure)
    own = MACHINE[frame["y"].notna()]
    aside = gappy.twin(**TINY).test_rows
    assert len(aside) and not {*own[aside]} & {*np.delete(own, aside)}


def test_other_data_goes_by_its_own_column() -> None:
    found = _found("machine", MACHINE)
    other = np.random.default_rng(6).integers(0, 20, size=300).astype(str)
    assert found.table is not None
    aside = found.twin(data=found.table.frame().assign(machine=other), **TINY).test_rows
    assert len(aside) and not {*other[aside]} & {*np.delete(other, aside)}
    assert len(found.twin(data=found.table.frame(), **TINY).test_rows) == 60


def test_groups_of_a_discovery_reach_its_twin(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    machine = np.repeat([f"m{i}" for i in range(20)], 20)
    table = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]).assign(machine=machine)
    table["y"] = table["a"] + rng.normal(size=400)
    quick = {"steps": 20, "width": 8, "depth": 1, "distilled": 100, "folds": 1, "progress": False}
    fb.discover(table, "y", rows="machine", rule=lambda path: ["a"], out=tmp_path, **quick)
    aside = fb.load(tmp_path).twin(**TINY).test_rows
    assert len(aside) == 80 and not {*machine[aside]} & {*np.delete(machine, aside)}
