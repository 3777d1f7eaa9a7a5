"""How rows hang together: what the data says of it, what a user declares, and how rows are then divided."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from known import autoregressive

import forebear as fb
from forebear.data.question import ask
from forebear.data.table import read_columns
from forebear.discovery.structure import RowStructure, declared, doubt_of_copies, judge
from forebear.errors import InputError

ROWS = 1_000


def judged(frame: pd.DataFrame, gaps: bool = False) -> RowStructure:
    return judge(read_columns(frame, "the table", list(frame), gaps=gaps), ask(list(frame), "the table", targets="y"))


def white(rng: np.random.Generator) -> pd.DataFrame:
    x = rng.normal(size=ROWS)
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=ROWS)})


def sweep(rng: np.random.Generator) -> pd.DataFrame:
    x = np.linspace(-3, 3, ROWS)
    return pd.DataFrame({"x": x, "y": np.sin(2 * x) + np.exp(0.3 * x) * rng.normal(size=ROWS)})


def sorted_by_an_input(rng: np.random.Generator) -> pd.DataFrame:
    """A ramp of one input beside another that is drawn afresh for every row."""
    x = np.sort(rng.normal(size=ROWS))
    other = rng.normal(size=ROWS)
    return pd.DataFrame({"x": x, "other": other, "y": 2 * x + other + rng.normal(size=ROWS)})


def factorial(rng: np.random.Generator) -> pd.DataFrame:
    """All settings of three inputs, one after another, ten rows each."""
    settings = np.repeat(list(product(range(5), range(5), range(4))), 10, axis=0).astype(float)
    frame = pd.DataFrame(settings, columns=["a", "b", "c"])
    return frame.assign(y=frame["a"] * frame["b"] + frame["c"] ** 2 + 3 * rng.normal(size=len(frame)))


@pytest.mark.parametrize("make", [white, sweep, sorted_by_an_input, factorial])
@pytest.mark.parametrize("seed", range(5))
def test_white_noise_makes_rows_independent_whatever_their_order(make: Any, seed: int) -> None:
    found = judged(make(np.random.default_rng(seed)))
    assert (found.kind, found.why, found.describe()) == ("independent", "", "independent")


@pytest.mark.parametrize("seed", range(3))
def test_a_designed_experiment_keeps_its_power_and_names_the_doubt(seed: int) -> None:
    """Hulls times speeds, as in a towing tank: what a hull shares beyond its columns cannot be told from them."""
    rng = np.random.default_rng(seed)
    hull, speed = np.repeat(np.arange(22), 14), np.tile(np.linspace(0.1, 0.5, 14), 22)
    shape = rng.normal(size=(22, 2))[hull]
    y = speed**2 + 0.1 * shape[:, 0] + 0.2 * rng.normal(size=22)[hull] + 0.01 * rng.normal(size=len(hull))
    frame = pd.DataFrame({"beam": shape[:, 0], "draught": shape[:, 1], "speed": speed, "y": y})
    found = judged(frame)
    assert found.kind == "independent" and "every value of 'speed'" in found.why
    assert "declare that (rows=)" in found.doubt
    # The same hulls at speeds that were met, not laid out, are groups.
    assert judged(frame.assign(speed=speed + 0.01 * rng.normal(size=len(speed)))).kind != "independent"


def test_a_long_record_is_judged_in_little_memory() -> None:
    """A count of every value beside every setting of the others would need the square of the rows: 6 GB here."""
    rng = np.random.default_rng(0)
    rows = 30_000
    x = rng.normal(size=(rows, 3))
    frame = pd.DataFrame(x, columns=list("abc")).assign(y=x[:, 0] + autoregressive(rng, rows, 0.99)[0])
    tracemalloc.start()
    assert judged(frame).kind == "ordered"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5e9


def test_a_layout_with_an_empty_cell_is_no_designed_experiment() -> None:
    """It is judged all the same: the empty cell counts as none of the values."""
    rng = np.random.default_rng(0)
    hull, speed = np.repeat(np.arange(22), 14), np.tile(np.linspace(0.1, 0.5, 14), 22)
    shape = rng.normal(size=22)[hull]
    y = speed**2 + 0.2 * rng.normal(size=22)[hull] + 0.01 * rng.normal(size=len(hull))
    frame = pd.DataFrame({"beam": shape, "speed": speed, "y": y})
    frame.loc[3, "speed"] = np.nan
    assert judged(frame, gaps=True).kind != "independent"


@pytest.mark.parametrize("memory", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_slow_noise_makes_rows_ordered(memory: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = white(rng)
    found = judged(frame.assign(y=frame["x"] + autoregressive(rng, ROWS, memory)[0]))
    assert found.kind == "ordered" and "'y' alike beyond what the inputs explain" in found.why


def test_a_slow_spread_makes_rows_ordered_too() -> None:
    rng = np.random.default_rng(0)
    slow = autoregressive(rng, 2_000, 0.98)[0]
    frame = pd.DataFrame({"x": rng.normal(size=2_000), "y": np.exp(slow) * rng.normal(size=2_000)})
    assert judged(frame).kind == "ordered"


@pytest.mark.parametrize("order", ["one machine after another", "in turn", "shuffled"])
def test_machines_with_a_hidden_effect_make_groups(order: str) -> None:
    """Two useless nameplate columns tell which rows are of one machine; no column names it."""
    rng = np.random.default_rng(1)
    machines, each = 20, 50
    machine = np.repeat(np.arange(machines), each)
    if order != "one machine after another":
        machine = np.tile(np.arange(machines), each) if order == "in turn" else rng.permutation(machine)
    frame = pd.DataFrame({"x": rng.normal(size=len(machine))})
    frame["power"], frame["year"] = (rng.normal(size=machines)[machine] for _ in range(2))
    frame["y"] = frame["x"] + rng.normal(size=machines)[machine] + rng.normal(size=len(machine))
    found = judged(frame)
    assert found.kind == "grouped" and "'power' and 'year'" in found.why and "20 groups" in found.why
    assert found.groups is not None
    assert len({(group, number) for group, number in zip(found.groups, machine, strict=True)}) == machines


def test_machines_without_a_hidden_effect_are_no_groups() -> None:
    rng = np.random.default_rng(2)
    machine = np.repeat(np.arange(20), 50)
    frame = pd.DataFrame({"x": rng.normal(size=1_000), "power": rng.normal(size=20)[machine]})
    frame["year"] = rng.normal(size=20)[machine]
    frame["y"] = frame["x"] + np.tanh(frame["power"]) + rng.normal(size=1_000)
    assert judged(frame).kind == "independent"


def test_few_rows_are_not_judged() -> None:
    slow = np.cumsum(np.random.default_rng(0).normal(size=(2, 50)), axis=1)
    assert judged(pd.DataFrame({"x": slow[0], "y": slow[1]})).kind == "independent"


def test_what_follows_the_number_of_the_row_is_named_unless_it_was_sorted() -> None:
    rng = np.random.default_rng(3)
    number = np.arange(ROWS) / ROWS
    frame = pd.DataFrame({"wear": number + 0.05 * rng.normal(size=ROWS), "set": number, "down": -np.sort(number)})
    frame = frame.assign(free=rng.normal(size=ROWS), y=rng.normal(size=ROWS))
    assert judged(frame).drifting == ("wear",)


def stretches(fold: np.ndarray) -> int:
    """How often the fold changes from a row to the next, and one."""
    return int((np.diff(fold) != 0).sum()) + 1


@pytest.mark.parametrize("count", [2, 3, 5])
def test_folds_of_ordered_rows_are_a_few_whole_stretches(count: int) -> None:
    fold = RowStructure("ordered").folds(1_003, count, np.random.default_rng(0))
    assert stretches(fold) == 6 * count
    assert np.ptp(np.bincount(fold, minlength=count)) <= 6
    assert stretches(RowStructure().folds(1_003, count, np.random.default_rng(0))) > 300


def test_folds_keep_groups_whole() -> None:
    groups = np.random.default_rng(0).integers(0, 15, 400)
    fold = RowStructure("grouped", groups).folds(400, 2, np.random.default_rng(1))
    assert set(fold) == {0, 1}
    assert all(len(set(fold[groups == group])) == 1 for group in range(15))


def test_fewer_groups_than_folds_are_divided_by_rows() -> None:
    fold = RowStructure("grouped", np.repeat([0, 1], 50)).folds(100, 5, np.random.default_rng(0))
    assert np.bincount(fold).tolist() == [20] * 5


def test_every_order_is_one_of_all_rows_and_keeps_together_what_belongs_together() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 12, 500)
    for structure in (RowStructure(), RowStructure("ordered"), RowStructure("grouped", groups)):
        assert sorted(structure.order(500, rng)) == list(range(500))
    by_group = groups[RowStructure("grouped", groups).order(500, rng)]
    assert stretches(by_group) == 12
    # Forty stretches of ordered rows, each in its own order, and not the first rows of the table alone.
    order = RowStructure("ordered").order(1_000, rng)
    assert int((np.diff(order) != 1).sum()) <= 39
    assert order[:500].max() > 800 and order[:500].min() < 200


def test_groups_of_some_rows_are_numbered_anew() -> None:
    structure = RowStructure("grouped", np.array([5, 5, 2, 7, 2]), "batch")
    some = structure.take(np.array([0, 3, 4]))
    assert some.groups is not None and some.groups.tolist() == [1, 2, 0]
    assert some.name == "batch" and some.describe() == "grouped by 'batch'"


@pytest.mark.parametrize("word", ["independent", "ordered"])
def test_a_declared_structure_is_taken_as_it_is(word: str) -> None:
    found = declared(word, pd.DataFrame({"x": [1.0]}), "the table")
    assert found is not None and (found.kind, found.name, found.why) == (word, word, "")
    assert declared("auto", pd.DataFrame({"x": [1.0]}), "the table") is None


def test_a_declared_column_groups_rows_by_its_values() -> None:
    found = declared("run", pd.DataFrame({"run": ["b", "a", "b"], "x": 1.0}), "the table")
    assert found is not None and found.groups is not None
    assert (found.kind, found.name, found.groups.tolist()) == ("grouped", "run", [0, 1, 0])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("machin", "rows='machin' is neither a structure of rows nor a column of rig.csv. Did you mean 'machine'?"),
        ("orderd", "Did you mean 'ordered'?"),
        (3, "rows must be one of auto, independent, ordered or the name of a column; got 3"),
        ("gaps", "rig.csv: column 'gaps' says which rows belong together and is empty in row 2: fill it"),
        ("same", "rig.csv: column 'same' has one value only, so it groups no rows: leave rows= out"),
    ],
)
def test_a_slip_is_told_in_one_line(rows: Any, told: str) -> None:
    frame = pd.DataFrame({"machine": [1, 2, 1], "gaps": ["a", None, "b"], "same": "s"})
    with pytest.raises(InputError) as error:
        declared(rows, frame, "rig.csv")
    assert told in str(error.value) and "\n" not in str(error.value)


def test_copies_of_rows_make_groups_and_what_the_observations_share_counts_first() -> None:
    rng = np.random.default_rng(0)
    frame = white(rng)
    found = judged(pd.concat([frame] * 3).sample(frac=1.0, random_state=1))
    assert found.kind == "grouped" and found.groups is not None and found.groups.max() + 1 == ROWS
    assert "2,000 of 3,000 rows are copies of others" in found.why
    # A record in which every value is held for some rows, of something slow: neighbours come before copies.
    slow = frame.assign(y=frame["x"] + autoregressive(rng, ROWS, 0.9)[0])
    assert judged(slow.loc[np.repeat(np.arange(ROWS), 3)]).kind == "ordered"
    assert judged(frame.loc[np.repeat(np.arange(ROWS), 3)]).kind == "grouped"
    # Of the rows that were repeated most, the first copy comes early: that is no order of the observations.
    often = rng.permutation(np.repeat(np.arange(ROWS), np.where(frame["y"] > 1.5, 8, 1)))
    assert judged(frame.loc[often]).kind == "grouped"


def test_groups_of_observations_are_groups_of_their_copies() -> None:
    rng = np.random.default_rng(1)
    machine = rng.permutation(np.repeat(np.arange(20), 50))
    frame = pd.DataFrame({"x": rng.normal(size=ROWS)})
    for name in ("size", "age"):
        frame[name] = rng.normal(size=20)[machine]
    frame["y"] = frame["x"] + rng.normal(size=20)[machine] + rng.normal(size=ROWS)
    rows = rng.permutation(np.tile(np.arange(ROWS), 2))
    found = judged(frame.loc[rows])
    assert found.groups is not None
    assert (pd.crosstab(found.groups, machine[rows]).to_numpy() > 0).sum() == 20


def test_rows_that_were_copied_bring_no_evidence() -> None:
    """Four times the same 150 rows: taken as 600, nearly every input seemed to matter."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
    frame["y"] = 1.5 * frame["a"] + rng.normal(size=150)
    copied = pd.concat([frame] * 4).sample(frac=1.0, random_state=1)
    found = fb.discover(copied, "y", subset_steps=100)
    assert found.ancestors["y"] == ("a",) and found.verdicts["y"] == "cannot tell"
    assert found.rows == "grouped" and "450 of 600 rows" in str(found.settings["rows_why"])


def test_rows_declared_independent_that_are_copies_are_doubted() -> None:
    rng = np.random.default_rng(3)
    copied = pd.concat([white(rng)] * 2)
    table = read_columns(copied, "the table", list(copied))
    doubt = doubt_of_copies(table, ask(list(copied), "the table", targets="y"), RowStructure("independent"))
    assert "1,000 of 2,000 rows are copies of others" in doubt and "leave rows= out" in doubt


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("make", ["number", "rounded", "labels"])
def test_a_table_that_was_sorted_by_its_target_is_independent(make: str, down: bool) -> None:
    """Neighbours are alike in the target whatever the rows are, and so is every input that it follows."""
    frame = white(np.random.default_rng(0)).assign(other=np.random.default_rng(1).normal(size=ROWS))
    if make != "number":
        frame["y"] = frame["y"].round(1) if make == "rounded" else np.where(frame["y"] > 0, "pass", "fail")
    found = judged(frame.sort_values("y", ascending=not down))
    assert (found.kind, found.why, found.drifting) == ("independent", "the rows are sorted by 'y'", ())


def test_a_target_that_only_grows_beside_slow_inputs_is_a_record() -> None:
    """Wear that adds up beside a load that wanders: the rows follow each other, and are no sorted table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"load": autoregressive(rng, ROWS, 0.95)[0], "y": np.cumsum(rng.gamma(2.0, size=ROWS))})
    assert judged(frame).kind == "ordered"


def test_other_targets_of_a_sorted_table_are_judged_beyond_the_one_that_it_is_sorted_by() -> None:
    frame = white(np.random.default_rng(0)).assign(second=lambda f: f["y"] + np.sin(9 * f["x"]))
    questions = ask(list(frame), "the table", targets=["y", "second"], candidates="x")
    table = read_columns(frame.sort_values("y"), "the table", list(frame))
    assert judge(table, questions).kind == "independent"
