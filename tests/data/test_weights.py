"""Weights of rows: read, refused, and drawn by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.weights import doubt_of, effective_rows, lesson_rows, read_weights, weighted_rows
from forebear.errors import InputError


def table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["x", "y"])
    return made.assign(w=1.0 + np.arange(rows) % 3)


def test_every_row_is_drawn_as_often_as_its_weight_says() -> None:
    weights = np.random.default_rng(1).lognormal(size=500)
    counts = np.bincount(weighted_rows(weights, 5_000), minlength=500)
    assert np.abs(counts - 5_000 * weights / weights.sum()).max() < 1


def test_a_lesson_follows_small_weights_too() -> None:
    weights = np.array([1.0, 0.25, 0.0, 2.75])
    counts = np.bincount(lesson_rows(weights), minlength=4)
    assert counts[2] == 0 and counts / counts[0] == pytest.approx(weights, abs=0.13)


def test_equal_weights_are_worth_all_rows() -> None:
    assert effective_rows(np.full(70, 3.0)) == pytest.approx(70)


@pytest.mark.parametrize(
    ("weights", "doubted"),
    [
        (np.random.default_rng(0).uniform(1, 5, 2_000), False),
        (np.exp(0.8 * np.random.default_rng(0).normal(size=2_000)), False),
        (np.random.default_rng(0).integers(1, 4, 2_000).astype(float), False),
        (1 / np.random.default_rng(0).uniform(size=2_000), True),
        (np.r_[np.ones(20), 5.0], False),
    ],
)
def test_weights_are_doubted_where_the_largest_grow_without_bound(weights: np.ndarray, doubted: bool) -> None:
    assert bool(doubt_of(weights, "w")) == doubted


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.assign(w=np.nan), "has no number in row 1"),
        (lambda t: t.assign(w=np.where(np.arange(len(t)) == 4, np.inf, 1.0)), "has no number in row 5"),
        (lambda t: t.assign(w=np.where(np.arange(len(t)) == 4, -2.0, 1.0)), "is -2 in row 5"),
        (lambda t: t.assign(w=0.0), "is 0 in every row"),
        (lambda t: t.assign(w="heavy"), "holds 'heavy', not numbers"),
        (lambda t: t.drop(columns="w"), "has no column 'w'"),
    ],
)
def test_what_is_no_weight_is_refused_in_one_line(change, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")) as refusal:
        read_weights(change(table()), "w", "data.csv")
    assert "\n" not in str(refusal.value)


def test_an_array_of_weights_is_answered_with_what_to_do() -> None:
    with pytest.raises(InputError, match="weights must be the name of a column; got a ndarray"):
        fb.discover(table(), "y", weights=np.ones(60))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no argument 'sample_weight': write weights='w'"):
        fb.discover(table(), "y", sample_weight="w")


def test_the_column_of_weights_is_no_input() -> None:
    checked = fb.check(table(), "y", weights="w")
    assert checked.columns["role"].to_dict() == {"x": "candidate", "y": "target", "w": "weights"}
    assert checked.command == "fb.discover(table, 'y', weights='w')"


def test_a_column_is_a_weight_or_an_input() -> None:
    checked = fb.check(table(), "y", ["x", "w"], weights="w")
    assert checked.problems == ("the table: column 'w' is in weights and in candidates: leave it in one of them",)


def test_censored_targets_are_refused_with_what_to_use() -> None:
    with pytest.raises(InputError, match="survival model") as refusal:
        fb.discover(table(), "y", censored="w")
    assert "\n" not in str(refusal.value)
