"""Gaps: laws, certificate and twin take rows as they are, and the truth is found among them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.copies import find_copies
from forebear.data.question import ask
from forebear.data.scaling import Encoder
from forebear.data.table import Column, Table, read_columns
from forebear.discovery.embed import embed_inputs
from forebear.discovery.problem import make_batches
from forebear.discovery.residuals import features

ROWS = 2_500


def plain(seed: int = 0) -> pd.DataFrame:
    """a moves the location of y, b its spread; c follows a, d says nothing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=list("abcd"))
    table["c"] = table["a"] + 0.5 * table["c"]
    table["y"] = table["a"] + table["b"] * rng.normal(size=ROWS)
    return table


def holed(table: pd.DataFrame, share: float, seed: int = 1) -> pd.DataFrame:
    gone = np.random.default_rng(seed).random((len(table), 4)) < share
    made = table.copy()
    made[list("abcd")] = made[list("abcd")].mask(gone)
    return made


@pytest.fixture(scope="module")
def found() -> fb.Found:
    table = holed(plain(), 0.2)
    table.loc[:99, "y"] = np.nan
    table["z"] = plain(3)["a"].to_numpy() + table["b"].fillna(0.0)
    return fb.discover(table, ["y", "z"], steps=400, distilled=400)


def test_the_truth_is_found_among_gaps(found: fb.Found) -> None:
    assert found.ancestors["y"] == ("a", "b")
    assert found.verdicts["y"] == "certified"


def test_whether_a_cell_is_missing_counts(found: fb.Found) -> None:
    """z is what b was, and 0 where it is missing: b shapes it either way."""
    assert "b" in found.ancestors["z"]


def test_rows_without_a_target_are_not_used_for_that_target_only(found: fb.Found) -> None:
    whole = 0.8**2
    y, z = (found.certified[0][target] for target in ("y", "z"))
    assert abs(y.rows / ((ROWS - 100) * whole) - 1) < 0.1
    assert z.rows > 0.75 * ROWS, "z has all its values, and one ancestor"


def test_twins_answer_for_rows_with_gaps(found: fb.Found) -> None:
    twin = found.twin(steps=400)
    draws = twin.sample({"a": [0.0, np.nan], "b": [0.1, 0.1]}, n=400)[:, :, 0]
    spread = draws.std(axis=0)
    assert spread[0] < 0.6 < 0.8 < spread[1], "without a, its whole law is open"
    with pytest.raises(fb.InputError, match="infinite"):
        twin.sample({"a": [np.inf], "b": [0.1]})


def test_results_with_gaps_are_saved_and_judged(found: fb.Found, tmp_path: object) -> None:
    found.save(f"{tmp_path}/run")
    again = fb.load(f"{tmp_path}/run")
    assert again.ancestors == found.ancestors and int(again.columns["missing"].to_dict()["y"]) == 100
    assert found.validate(found.twin(steps=400)).rows > 300


def test_an_encoder_has_a_feature_for_gaps() -> None:
    frame = pd.DataFrame({"x": [1.0, 3.0, np.nan], "k": ["u", None, "v"]})
    encoder = Encoder.of(read_columns(frame, "t", ["x", "k"], gaps=True), ["x", "k"])
    assert encoder.encode(frame).tolist() == [[-1, 0, 1, 0, 0], [1, 0, 0, 0, 1], [0, 1, 0, 1, 0]]


def test_a_table_gives_its_gaps_back() -> None:
    frame = pd.DataFrame({"x": [1.0, 3.0, np.nan], "k": ["u", None, "v"]})
    back = read_columns(frame, "t", ["x", "k"], gaps=True).frame()
    assert back["x"].isna().tolist() == [False, False, True] and back["k"].isna().tolist() == [False, True, False]
    assert back["k"].dropna().tolist() == ["u", "v"]


def test_features_of_a_test_are_zero_at_gaps() -> None:
    column = Column("x", "real", np.where(np.arange(50) % 5 == 0, np.nan, np.arange(50.0)))
    made = features(column)
    assert (made[column.gaps, :-1] == 0).all() and abs(made[:, -1].mean()) < 1e-12
    assert np.allclose(made[~column.gaps, :-1], features(Column("x", "real", column.present)))


def test_a_gap_is_a_lengthscale_from_every_value() -> None:
    column = Column("x", "real", np.array([-1.0, 1.0, np.nan]))
    points = embed_inputs([column], np.arange(3), 2.0)[0]
    assert np.allclose(points[:, 2], [0.0, 0.5]) and np.allclose(points[1, :2], 0.0)


def test_copies_are_found_across_gaps() -> None:
    x = np.random.default_rng(0).normal(size=200)
    first, second = x.copy(), 3 - x
    first[:20], second[100:130] = np.nan, np.nan
    other = Column("c", "real", np.random.default_rng(1).normal(size=200))
    assert find_copies([Column("a", "real", first), other, Column("b", "real", second)]) == [("a", "b")]


def test_targets_with_other_gaps_have_other_batches() -> None:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=60) for name in "xyzw"}
    values["z"][:9] = np.nan
    table = Table({name: Column(name, "real", own) for name, own in values.items()}, 60, "t")
    questions = ask(list("xyzw"), "t", targets=["y", "z", "w"])
    batches = make_batches(questions, False, 1, 7, None, table)
    assert [[q.target for q in batch.questions] for batch in batches] == [["y", "w"], ["z"]]
    assert [batch.seed for batch in batches] == [(7, 0, 0), (7, 0, 1)]
