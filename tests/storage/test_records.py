"""Records as plain JSON, and back without a loss; what was not made so is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebear.storage.records import RecordError, from_record, to_record


class Inner(NamedTuple):
    name: str
    share: float
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outer:
    kind: Literal["real", "angle"]
    count: int
    inner: Inner | None
    by_name: Mapping[str, Inner]
    by_set: Mapping[tuple[str, ...], Mapping[str, Inner]]
    by_level: Mapping[float, float]
    length: float | Mapping[str, float]
    pair: tuple[bool, float]
    chosen: frozenset[str] = frozenset()
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))
    free: Any = None


WHOLE = Outer(
    "angle",
    3,
    Inner("a", 0.1, ("x", "y")),
    {"b": Inner("b", 1.0)},
    {("a", "b"): {"c": Inner("c", 0.0)}, (): {}},
    {0.5: 0.25},
    {"a": 2.0},
    (True, 1e-300),
    frozenset("ba"),
    np.array([[1.5, np.nan], [0.0, -1.0]]),
    {"k": [1, None, "t"]},
)


def _same(one: Outer, other: Outer) -> bool:
    plain = all(getattr(one, name) == getattr(other, name) for name in vars(one) if name != "scores")
    return plain and np.array_equal(one.scores, other.scores, equal_nan=True)


def _through_json(value: Any) -> Any:
    return json.loads(json.dumps(to_record(value), allow_nan=False))


def test_a_record_comes_back_without_a_loss() -> None:
    back = from_record(Outer, _through_json(WHOLE))
    assert _same(back, WHOLE) and isinstance(back.inner, Inner) and isinstance(back.chosen, frozenset)


def test_what_is_left_out_takes_its_default() -> None:
    record = _through_json(WHOLE)
    for name in ("chosen", "scores", "free"):
        del record[name]
    back = from_record(Outer, record)
    assert back.chosen == frozenset() and back.scores.shape == (0,) and back.free is None


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)), st.text())
def test_numbers_and_names_of_any_kind(shares: dict[str, float], name: str) -> None:
    made = {name: {key: Inner(key, share, (name,)) for key, share in shares.items()}}
    assert from_record(dict[str, dict[str, Inner]], _through_json(made)) == made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": True}, "count: True is not a whole number"),
        ({"count": 1.5}, "count: 1.5 is not a whole number"),
        ({"kind": "exec"}, "kind: 'exec' is none of"),
        ({"inner": {"name": "a", "share": None}}, "inner.share: None is not a number"),
        ({"inner": {"name": "a"}}, "inner: a Inner lacks its 'share'"),
        ({"inner": {"name": "a", "share": 1, "more": 2}}, "inner: a Inner has no 'more'"),
        ({"by_name": {"b": 3}}, "by_name.b: int in place of a Inner"),
        ({"by_name": []}, "by_name: list in place of a mapping"),
        ({"by_set": [["a"]]}, "by_set: not pairs"),
        ({"by_set": 3}, "by_set: 3 is not a list"),
        ({"pair": [True]}, "pair: 1 in place of 2"),
        ({"pair": "no"}, "pair: 'no' is not a list"),
        ({"scores": [["a"]]}, "scores: not an array of numbers"),
        ({"scores": [[1.0], [1.0, 2.0]]}, "scores: not an array of numbers"),
        ({"chosen": [1]}, "chosen[0]: 1 is not text"),
    ],
)
def test_what_was_not_made_so_is_refused_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError) as error:
        from_record(Outer, {**_through_json(WHOLE), **change})
    assert message in str(error.value)


def test_a_list_in_place_of_a_record() -> None:
    with pytest.raises(RecordError, match="list in place of a Outer"):
        from_record(Outer, [])
