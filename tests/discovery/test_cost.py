"""What pruning costs: intervals that hold what they promise, and the curve down to fewer inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from known import autoregressive
from reports import made_by_hand

from forebear.discovery.certificate import Certificate
from forebear.discovery.cost import Cost, CurvePoint, Difference, losses, paired, score_curve
from forebear.discovery.structure import RowStructure

ROWS, TIMES = 600, 400


def grouped(rng: np.random.Generator) -> tuple[np.ndarray, RowStructure]:
    groups = rng.integers(0, 30, ROWS)
    return rng.normal(size=30)[groups] + rng.normal(size=ROWS), RowStructure("grouped", groups)


def ordered(rng: np.random.Generator) -> tuple[np.ndarray, RowStructure]:
    return autoregressive(rng, ROWS, 0.8)[0], RowStructure("ordered")


def independent(rng: np.random.Generator) -> tuple[np.ndarray, RowStructure]:
    return rng.exponential(size=ROWS) - 1, RowStructure()


@pytest.mark.parametrize("make", [independent, ordered, grouped])
def test_the_interval_covers_the_truth(make: Any) -> None:
    """Differences of mean 0.3, with rows that hang together; both scores share a part that cancels."""
    rng = np.random.default_rng(0)
    covers, naive = [], []
    for _ in range(TIMES):
        apart, structure = make(rng)
        shared = rng.normal(size=ROWS)
        found, plain = (paired(shared + apart + 0.3, shared, s) for s in (structure, RowStructure()))
        covers.append(found.low <= 0.3 <= found.high)
        naive.append(plain.low <= 0.3 <= plain.high)
        assert found.difference == pytest.approx(float(apart.mean()) + 0.3)
        assert found.error == pytest.approx((found.high - found.low) / 3.92)
    assert 0.9 <= np.mean(covers) <= 0.98
    # As if rows were independent, the interval is far too narrow.
    assert make is independent or np.mean(naive) < 0.75


def test_a_difference_costs_beyond_some_errors_and_only_when_it_is_positive() -> None:
    found = Difference(0.4, 0.4 - 1.96 * 0.1, 0.4 + 1.96 * 0.1)
    assert found.error == pytest.approx(0.1)
    assert found.costs(3.9) and not found.costs(4.1)
    assert not Difference(-0.4, -0.5, -0.3).costs(0.0)
    assert not paired(np.ones(50), np.ones(50), RowStructure()).costs(0.0)


def test_few_trainings_widen_an_interval_as_few_rows_would() -> None:
    """Two means of two trainings that differ by nothing but chance; rows tell them apart without error."""
    rng = np.random.default_rng(0)
    covers = []
    for _ in range(2_000):
        trainings = rng.normal(size=(2, 2))
        error = float(np.sqrt(trainings.var(axis=1, ddof=1).sum() / 2))
        apart = float(np.diff(trainings.mean(axis=1))[0])
        found = Difference(apart, apart, apart).widened(error, 2)
        covers.append(found.low <= 0 <= found.high)
    assert 0.93 <= np.mean(covers) <= 0.975
    assert Difference(1.0, 0.5, 1.5).widened(0.0, 2) == Difference(1.0, 0.5, 1.5)


def test_one_row_cannot_decide_alone() -> None:
    scored = losses(np.array([-1.0, -1e9, -np.inf, np.nan, 2.0]))
    assert scored.tolist() == [1.0, 15.0, 15.0, 15.0, -2.0]


WORTH = {"a": 0.9, "b": 0.09, "c": 0.01}


def loss(kept: frozenset[str]) -> np.ndarray:
    """Of laws of which every input takes its own share away."""
    return np.full(5, 2.0 - sum(WORTH[name] for name in kept))


def test_the_curve_gives_up_the_least_missed_first() -> None:
    curve = score_curve(["a", "b", "c"], loss)
    assert [point.kept for point in curve] == [("a", "b", "c"), ("a", "b"), ("a",), ()]
    assert [point.share for point in curve] == pytest.approx([1.0, 0.99, 0.9, 0.0])
    assert [point.log_loss for point in curve] == pytest.approx([1.0, 1.01, 1.1, 2.0])


def test_the_curve_of_nothing_is_one_point() -> None:
    assert score_curve([], loss) == (CurvePoint((), 2.0, 1.0),)


def certificate() -> Certificate:
    nothing = Difference(0.0, -0.1, 0.1)
    cost = Cost(nothing, nothing, (1.0, 0.5), (1.0, 0.5), score_curve(["a", "b", "c"], loss))
    made = made_by_hand(["y"], list("abcd"), {"y": list("abc")}).certified[0]["y"]
    return replace(made, cost=cost)


@pytest.mark.parametrize(("margin", "kept"), [(0.0, "abc"), (0.005, "abc"), (0.02, "ab"), (0.1001, "a"), (1.0, "")])
def test_the_smallest_set_brings_all_but_the_margin(margin: float, kept: str) -> None:
    assert certificate().smallest(margin) == tuple(kept)


def test_without_a_measured_cost_nothing_is_given_up() -> None:
    plain = replace(certificate(), cost=None)
    assert plain.smallest(0.5) == ("a", "b", "c")
    assert plain.cost_frame().empty and plain.curve_frame().empty
    assert list(plain.curve_frame().columns) == list(CurvePoint._fields)


def test_the_cost_as_a_table() -> None:
    frame = certificate().cost_frame()
    assert list(frame.index) == ["log loss", "CRPS"]
    assert list(frame.columns) == ["pruned", "full", "difference", "low", "high"]
    assert frame.loc["CRPS"].tolist() == [0.5, 0.5, 0.0, -0.1, 0.1]
