"""Copies of rows are told from rows that agree by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.copied_rows import copied_rows
from forebear.data.table import read_columns

ROWS = 400


def observations(frame: pd.DataFrame, target: str = "y") -> int | None:
    """How many observations a table is found to have; None: no row is a copy."""
    table = read_columns(frame, "the table", list(frame), gaps=True)
    found = copied_rows(list(table.columns.values()), [target])
    return None if found is None else int(found.max()) + 1


def measured(rng: np.random.Generator) -> pd.DataFrame:
    x = rng.normal(size=(ROWS, 3))
    return pd.DataFrame(x, columns=list("abc")).assign(y=x[:, 0] + rng.normal(size=ROWS))


def surveyed(rng: np.random.Generator) -> pd.DataFrame:
    """People by age and schooling: many agree in every answer, and are different people all the same."""
    age, school = rng.integers(20, 60, ROWS * 10), rng.integers(1, 4, ROWS * 10)
    votes = rng.uniform(size=ROWS * 10) < 0.3 + 0.1 * school
    return pd.DataFrame({"age": age, "age squared": age**2, "school": school, "y": votes.astype(int)})


def read_twice(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return pd.concat([frame, frame]).iloc[rng.permutation(2 * len(frame))].reset_index(drop=True)


@pytest.mark.parametrize("seed", range(3))
def test_a_table_that_was_joined_twice_has_each_observation_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = measured(rng)
    assert observations(frame) is None
    assert observations(read_twice(frame, rng)) == ROWS
    # Gaps are equal to one another.
    assert observations(read_twice(frame.mask(rng.uniform(size=frame.shape) < 0.1), rng)) == ROWS


def test_rare_rows_that_were_repeated_are_found_for_a_target_of_two_values() -> None:
    rng = np.random.default_rng(0)
    frame = measured(rng)
    frame["y"] = (frame["y"] > 2).astype(int)
    balanced = pd.concat([frame, *[frame.loc[frame["y"] == 1]] * 6])
    assert 0 < len(balanced) - ROWS and observations(balanced) == ROWS


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_few_whole_numbers_agree_by_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert observations(surveyed(rng)) is None
    assert observations(pd.DataFrame(rng.poisson(2, size=(1_500, 3)), columns=["a", "b", "y"])) is None
    # A reading that is repeated at the same settings, and rounded, is another reading.
    setting = np.repeat(np.arange(20.0), 50)
    assert observations(pd.DataFrame({"x": setting, "y": np.round(setting + rng.normal(size=1_000), 1)})) is None


def test_a_few_copies_among_many_rows_do_not_matter() -> None:
    frame = measured(np.random.default_rng(0))
    assert observations(pd.concat([frame, frame.head(3)])) is None


def test_check_says_what_will_be_done_about_copies() -> None:
    rng = np.random.default_rng(0)
    checked = fb.check(read_twice(measured(rng), rng), "y")
    told = f"{ROWS} rows are copies of others"
    assert checked.copied_rows == checked.to_dict()["copied_rows"] == ROWS
    assert told in checked.text().replace("\n", " ") and told in checked._repr_html_()
    assert fb.check(measured(rng), "y").copied_rows == 0
