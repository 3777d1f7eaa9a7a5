"""Targets, candidates, kept columns and groups as users write them, and what cannot be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebear.data.question import Question, ask, check_questions
from forebear.data.table import read_columns
from forebear.errors import InputError

COLUMNS = ["a", "b", "c", "y", "z"]


def asked(**options: Any) -> list[Question]:
    return ask(COLUMNS, "data.csv", **options)


def complaint(**options: Any) -> str:
    with pytest.raises(InputError) as caught:
        asked(**options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def single(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: (name,) for name in names}


# ---------------------------------------------------------------- what is asked


def test_one_target() -> None:
    expected = [Question("y", ("a", "b", "c", "z"), single("a", "b", "c", "z"), ())]
    assert asked(targets="y") == asked(targets=["y"]) == asked(targets=("y",)) == expected


def test_targets_are_no_candidates_of_each_other_by_default() -> None:
    first, second = asked(targets=["z", "y"])
    assert (first.target, second.target) == ("z", "y")
    assert first.inputs == second.inputs == ("a", "b", "c")


def test_every_column_in_turn() -> None:
    questions = asked()
    assert [question.target for question in questions] == COLUMNS
    for question in questions:
        assert question.inputs == tuple(name for name in COLUMNS if name != question.target)


def test_every_column_in_turn_from_a_list_of_candidates() -> None:
    assert {q.target: q.inputs for q in asked(candidates=["a", "b"])} == {
        "a": ("b",), "b": ("a",), "c": ("a", "b"), "y": ("a", "b"), "z": ("a", "b"),
    }  # fmt: skip


def test_candidates_come_in_table_order() -> None:
    (question,) = asked(targets="y", candidates=["c", "a"])
    assert question.inputs == ("a", "c") and list(question.candidates) == ["a", "c"]
    (question,) = asked(targets="y", candidates="c")
    assert question.inputs == ("c",)


def test_candidates_by_target() -> None:
    by_target = {"y": ["z", "a"], "z": ["b"]}
    first, second = asked(candidates=by_target)
    assert (first.target, first.inputs, second.target, second.inputs) == ("y", ("a", "z"), "z", ("b",))
    other, same = asked(targets=["c", "y"], candidates={"y": ["a"]})
    assert other.inputs == ("a", "b", "z"), "a target without an entry has the default"
    assert same.inputs == ("a",)


def test_kept_columns_are_inputs_and_no_units() -> None:
    (question,) = asked(targets="y", candidates=["a", "c"], keep=["c", "b"])
    assert question == Question("y", ("a", "b", "c"), single("a"), ("b", "c"))
    assert asked(targets="y", candidates=["a", "c"], keep={"y": ["c", "b"]}) == [question]
    (question,) = asked(targets="y", keep="a")
    assert question.always == ("a",) and question.inputs == ("a", "b", "c", "z")


def test_kept_columns_are_no_targets_when_all_are_asked() -> None:
    questions = asked(keep="a")
    assert [question.target for question in questions] == ["b", "c", "y", "z"]
    assert all(question.always == ("a",) and "a" not in question.candidates for question in questions)


def test_a_kept_target_is_kept_for_the_others() -> None:
    first, second = asked(targets=["y", "z"], keep="z")
    assert first.always == ("z",) and "z" in first.inputs
    assert second.always == () and "z" not in second.inputs


def test_groups_go_by_their_name() -> None:
    groups = {"pair": ["c", "a"], "none": ["z"]}
    (question,) = asked(targets="y", candidates=["a", "b", "c"], groups=groups)
    assert question.candidates == {"pair": ("a", "c"), "b": ("b",)}
    (question,) = asked(targets="y", candidates=["a", "b"], groups=groups)
    assert question.candidates == {"pair": ("a",), "b": ("b",)}
    (question,) = asked(targets="a", candidates=["b", "c"], groups=groups)
    assert question.candidates == {"b": ("b",), "pair": ("c",)}
    (question,) = asked(targets="y", candidates=["a", "b"], groups={"a": ["a", "b"]})
    assert question.candidates == {"a": ("a", "b")}, "a group may bear the name of a member"


@given(st.data())
def test_units_and_kept_columns_make_up_the_inputs(data: st.DataObject) -> None:
    keep = data.draw(st.lists(st.sampled_from(COLUMNS), unique=True, max_size=3))
    free = [name for name in COLUMNS if name not in keep]
    members = data.draw(st.lists(st.sampled_from(free), unique=True, min_size=1))
    for question in asked(keep=keep, groups={"group": members}):
        removable = [name for unit in question.candidates.values() for name in unit]
        assert sorted([*removable, *question.always]) == sorted(question.inputs)
        assert question.target not in question.inputs
        assert list(question.inputs) == [name for name in COLUMNS if name in question.inputs]


# ---------------------------------------------------------------- what cannot be asked


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown target": ({"targets": "yy"}, "no column 'yy' (named in targets). Did you mean 'y'?"),
    "unknown candidate": (
        {"targets": "y", "candidates": ["a", "temperature"]},
        "no column 'temperature' (named in candidates). Known: 'a', 'b', 'c', 'y', 'z'.",
    ),
    "unknown candidate of one target": (
        {"candidates": {"y": ["A"]}},
        "no column 'A' (named in candidates of target 'y'). Did you mean 'a'?",
    ),
    "unknown target in candidates": (
        {"candidates": {"yy": ["a"]}},
        "no column 'yy' (named in candidates). Did you mean 'y'?",
    ),
    "unknown kept": ({"targets": "y", "keep": ["zz"]}, "no column 'zz' (named in keep). Did you mean 'z'?"),
    "unknown in a group": (
        {"targets": "y", "groups": {"lag 1": ["aa"]}},
        "no column 'aa' (named in group 'lag 1'). Did you mean 'a'?",
    ),
    "entry for no target": (
        {"targets": "y", "candidates": {"y": ["a"], "z": ["b"]}},
        "candidates has an entry for 'z', which is not a target: add it to targets or drop the entry",
    ),
    "kept for no target": (
        {"targets": "y", "keep": {"z": ["b"]}},
        "keep has an entry for 'z', which is not a target: add it to targets or drop the entry",
    ),
    "target among candidates": (
        {"targets": "y", "candidates": ["a", "y"]},
        "target 'y' is among its own candidates: take it out of the list",
    ),
    "one of two targets among candidates": (
        {"targets": ["y", "z"], "candidates": ["a", "z"]},
        "target 'z' is among its own candidates: give candidates as {target: list}",
    ),
    "target among its own": (
        {"candidates": {"y": ["a", "y"]}},
        "target 'y' is among its own candidates: take it out of the list",
    ),
    "target kept": (
        {"targets": "y", "keep": "y"},
        "target 'y' is among its own keep: take it out of the list",
    ),
    "no targets": ({"targets": []}, "there is no target: name at least one column in targets"),
    "all kept": ({"keep": COLUMNS}, "there is no target: name at least one column in targets"),
    "no candidates": (
        {"targets": "y", "candidates": []},
        "no candidates are left for target 'y', so there is nothing to choose from: name candidates for it "
        "(without targets, every column is a target of all the others)",
    ),
    "all are targets": (
        {"targets": COLUMNS},
        "no candidates are left for target 'a', so there is nothing to choose from: name candidates for it "
        "(without targets, every column is a target of all the others)",
    ),
    "every candidate kept": (
        {"targets": "y", "candidates": ["a"], "keep": ["a", "b"]},
        "every candidate is kept for target 'y', so there is nothing to choose from: name candidates for it "
        "(without targets, every column is a target of all the others)",
    ),
    "no candidates but kept": (
        {"targets": "y", "candidates": [], "keep": ["b"]},
        "every candidate is kept for target 'y', so there is nothing to choose from: name candidates for it "
        "(without targets, every column is a target of all the others)",
    ),
    "twice": (
        {"targets": "y", "candidates": ["a", "b", "a"]},
        "candidates names 'a' more than once: name each column once",
    ),
    "target twice": ({"targets": ["y", "y"]}, "targets names 'y' more than once: name each column once"),
    "group named as a column": (
        {"targets": "y", "groups": {"c": ["a", "b"]}},
        "group 'c' has the name of a column outside it: rename the group",
    ),
    "in two groups": (
        {"targets": "y", "groups": {"one": ["a", "b"], "two": ["b", "c"]}},
        "column 'b' is in groups 'one' and 'two': leave it in one of them",
    ),
    "kept in a group": (
        {"targets": "y", "keep": ["a"], "groups": {"one": ["a", "b"]}},
        "column 'a' is in keep and in group 'one': what is kept is never removed, so take it out of the group",
    ),
    "empty group": (
        {"targets": "y", "groups": {"one": []}},
        "group 'one' is empty: give it columns or drop it",
    ),
}


@pytest.mark.parametrize("options, told", BAD.values(), ids=BAD)
def test_bad_questions(options: dict[str, Any], told: str) -> None:
    assert complaint(**options) == f"data.csv: {told}"


def test_groups_must_be_a_mapping() -> None:
    assert complaint(targets="y", groups=["a"]) == (
        "groups must map names to lists of columns, like {'lag 1': ['a_1']}; got ['a']"
    )


# ---------------------------------------------------------------- what only the values tell


def check(frame: pd.DataFrame, **options: Any) -> None:
    periodic = options.pop("periodic", None)
    names = list(frame.columns)
    check_questions(read_columns(frame, "data.csv", names, periodic), ask(names, "data.csv", **options))


def refused(frame: pd.DataFrame, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        check(frame, **options)
    return str(caught.value)


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "c", "y"])
    made["k"] = rng.choice(["u", "v", "w"], size=60)
    return made


def test_a_sound_table_passes(frame: pd.DataFrame) -> None:
    check(frame, targets="y")
    check(frame)


def test_too_few_rows(frame: pd.DataFrame) -> None:
    check(frame.head(30), targets="y")
    assert refused(frame.head(29), targets="y", candidates="a") == (
        "data.csv has 29 rows, too few for target 'y' with 1 input: give at least 30 rows"
    )
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(39, 21))).add_prefix("x")
    assert refused(wide, targets="x0") == (
        "data.csv has 39 rows, too few for target 'x0' with 20 inputs: give at least 40 rows"
    )


COPIES = {
    "equal": lambda x: x,
    "shifted and scaled": lambda x: 1e6 - 1e-3 * x,
    "rounding apart": lambda x: x * (1 + 1e-15) + 1e-14,
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies(frame: pd.DataFrame, copy: Any) -> None:
    frame["copy"] = copy(frame["b"])
    assert refused(frame, targets="y") == (
        "data.csv: columns 'b' and 'copy' hold the same values (up to shift and scale), so nothing can "
        "tell them "
        "apart: leave one of them out"
    )
    check(frame, targets="y", candidates=["a", "b"])
    check(frame, targets=["y", "b"], candidates={"y": ["b", "a"], "b": ["a", "c"]})
    told = "hold the same values (up to shift and scale): leave one of them out"
    assert refused(frame, targets="b") == f"data.csv: target 'b' and candidate 'copy' {told}"
    assert refused(frame, targets="copy", keep="b") == f"data.csv: target 'copy' and kept column 'b' {told}"
    assert refused(frame, targets="y", periodic={"copy": 1.0}).startswith("data.csv: columns 'b' and 'copy'")


def test_categories_with_the_same_partition(frame: pd.DataFrame) -> None:
    frame["renamed"] = frame["k"].replace({"u": "2", "v": "0", "w": "1"})
    assert refused(frame, targets="y").startswith("data.csv: columns 'k' and 'renamed' hold the same values")
    frame["renamed"] = np.roll(frame["renamed"], 1)
    check(frame, targets="y")


def test_two_labels_against_two_numbers(frame: pd.DataFrame) -> None:
    frame["on"] = frame["a"] > 0
    frame["switch"] = np.where(frame["on"], -3, 8)
    assert refused(frame, targets="y").startswith("data.csv: columns 'on' and 'switch' hold the same values")


def test_near_copies_and_shared_outliers_are_no_copies(frame: pd.DataFrame) -> None:
    frame["near"] = frame["a"] + 1e-4 * frame["b"]
    frame.loc[7, ["b", "c"]] = 1e9, -1e9
    assert abs(np.corrcoef(frame["b"], frame["c"])[0, 1]) > 1 - 1e-12
    check(frame, targets="y")


def test_copies_are_found_among_many_columns() -> None:
    values = np.random.default_rng(0).normal(size=(400, 200))
    values[:, 150] = -2 * values[:, 20]
    frame = pd.DataFrame(values).add_prefix("x")
    assert "columns 'x20' and 'x150' hold" in refused(frame, targets="x0")


def test_patterns_stand_for_columns() -> None:
    columns = ["x1", "x2", "u", "dx1", "dx2"]
    first, second = ask(columns, "t", targets="d*", candidates="*", keep={"dx?": ["u"]})
    assert first.target == "dx1" and first.inputs == second.inputs == ("x1", "x2", "u") and first.always == ("u",)
    with pytest.raises(InputError, match=r"t: no column matches 'z\*' \(named in targets\): check the pattern"):
        ask(columns, "t", targets="z*")


def test_a_column_may_be_named_like_a_pattern() -> None:
    assert ask(["a*", "ab", "y"], "t", targets="y", candidates=["a*"])[0].inputs == ("a*",)
