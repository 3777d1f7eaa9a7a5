"""When a series began to have a mean, and when it stopped."""

from __future__ import annotations

import numpy as np
import pytest

from forebear.watch.since import changed_rows


@pytest.mark.parametrize("seed", range(20))
def test_a_transient_has_a_beginning_and_an_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    series = rng.normal(size=2_000)
    series[600:1_100] += 1.2
    found = changed_rows(series, 1.0, slice(750, 1_000))
    assert abs(found.first - 600) < 25 and abs(found.last - 1_100) < 25
    assert found.earliest <= found.first <= found.latest


def test_the_interval_covers_the_step_as_often_as_it_says() -> None:
    rng, inside = np.random.default_rng(0), 0
    for _ in range(200):
        series = rng.normal(size=800) + np.repeat([0.0, 0.7], [500, 300])
        found = changed_rows(series, 1.0, slice(600, 800))
        inside += found.earliest <= 500 <= found.latest
    assert inside >= 180


def test_a_change_from_the_first_row_on() -> None:
    series = np.random.default_rng(0).normal(size=500) + 1.0
    found = changed_rows(series, 1.0, slice(0, 500))
    assert found.earliest == 0 and found.first < 10 and found.last == 500
