"""Many tests at once, against the definitions."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from reports import made_by_hand

from forebear.discovery.multiple import adjusted, holm
from forebear.errors import InputError

P_VALUES = {"e": 0.04, "a": 0.0001, "d": 0.03, "b": 0.004, "c": 0.004, "f": 0.9}


def holm_by_hand(p_values: dict[str, float]) -> dict[str, float]:
    """The largest of (tests that are left) times p, over all p-values up to one's own."""
    values = sorted(p_values.values())
    return {
        name: min(1.0, max((len(values) - place) * p for place, p in enumerate(values) if p <= own))
        for name, own in p_values.items()
    }


def fdr_by_hand(p_values: dict[str, float]) -> dict[str, float]:
    """The least of m h p / rank, over all p-values from one's own on; h is the sum of 1, 1/2, ..., 1/m."""
    values, m = sorted(p_values.values()), len(p_values)
    h = math.fsum(1 / k for k in range(1, m + 1))
    return {
        name: min(1.0, min(m * h * p / (place + 1) for place, p in enumerate(values) if p >= own))
        for name, own in p_values.items()
    }


@pytest.mark.parametrize(("method", "by_hand"), [("holm", holm_by_hand), ("fdr", fdr_by_hand)])
def test_adjusted_p_values_are_those_of_the_definition(method: str, by_hand: object) -> None:
    rng = np.random.default_rng(0)
    some = {str(n): float(p) for n, p in enumerate(rng.random(30) ** 4)}
    for p_values in (P_VALUES, some, {"only": 0.2}, {"x": 1.0, "y": 0.0}):
        found, expected = adjusted(p_values, method), by_hand(p_values)  # type: ignore[operator]
        assert list(found) == list(p_values)
        assert found == pytest.approx(expected)


def test_adjusted_values_and_the_step_down_rule_say_the_same() -> None:
    for level in (0.001, 0.01, 0.02, 0.05, 0.2, 0.95):
        raised = adjusted(P_VALUES, "holm")
        assert holm(P_VALUES, level) == {name for name, p in raised.items() if p <= level}


def test_no_tests_are_no_rejections() -> None:
    assert holm({}, 0.05) == set() and adjusted({}, "holm") == {}
    assert holm({"a": math.nan}, 0.05) == set()


def test_the_table_of_a_result_corrects_over_all_targets() -> None:
    found = made_by_hand(["y", "s"], ["a", "b", "c"], {"y": ["a"], "s": ["b", "c"]})
    frame = found.adjusted()
    assert list(frame.columns) == ["target", "candidate", "kept", "p_value", "adjusted"]
    kept = [(row["target"], row["candidate"]) for row in frame.to_dict("records") if row["kept"]]
    assert kept == [("y", "a"), ("s", "b"), ("s", "c")]
    p_values = {str(n): float(p) for n, p in enumerate(frame["p_value"])}
    assert frame["adjusted"].tolist() == pytest.approx(list(holm_by_hand(p_values).values()))
    assert found.adjusted("fdr")["adjusted"].tolist() == pytest.approx(list(fdr_by_hand(p_values).values()))
    pd.testing.assert_frame_equal(found.adjusted("holm"), frame)
    with pytest.raises(InputError, match="unknown method 'hol'. Did you mean 'holm'"):
        found.adjusted("hol")
