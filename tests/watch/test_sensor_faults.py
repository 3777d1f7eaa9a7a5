"""Faults are read off the cells of one column."""

from __future__ import annotations

import numpy as np
import pytest

from forebear.watch.faults import Habit, faulty_rows, find_faults, habit_of


def test_a_healthy_sensor_has_none() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        slow = np.cumsum(rng.normal(size=3_000)).round(1)  # rounded, so that neighbours are often equal
        assert find_faults("x", slow[2_000:], habit_of(slow[:2_000])) == []


def test_set_points_that_are_held_are_not_stuck() -> None:
    rng = np.random.default_rng(0)
    held = np.repeat(rng.normal(size=60), rng.integers(20, 40, 60))
    assert [f for f in find_faults("x", held[1_000:], habit_of(held[:1_000])) if f.kind == "stuck"] == []


@pytest.mark.parametrize("length", [20, 200])
def test_a_sensor_that_is_stuck(length: int) -> None:
    rng = np.random.default_rng(0)
    cells = rng.normal(size=1_000)
    cells[300 : 300 + length] = cells[300]
    [fault] = find_faults("x", cells, habit_of(rng.normal(size=1_000)))
    assert (fault.kind, fault.first, fault.last, fault.value) == ("stuck", 301, 300 + length, cells[300])
    assert faulty_rows([fault], 1_000).sum() == length


def test_spikes_and_gaps() -> None:
    rng = np.random.default_rng(0)
    habit = habit_of(rng.normal(size=1_000))
    cells = rng.normal(size=1_000)
    cells[[100, 500, 900]] += 100
    cells[700:760] = np.nan
    found = {fault.kind: fault for fault in find_faults("x", cells, habit)}
    assert set(found) == {"spikes", "gaps"}
    assert (found["spikes"].first, found["spikes"].last, found["spikes"].count) == (101, 901, 3)
    assert found["gaps"].count == 60


def test_gaps_that_were_always_there_are_no_fault() -> None:
    rng = np.random.default_rng(0)
    cells = np.where(rng.random(2_000) < 0.1, np.nan, rng.normal(size=2_000))
    assert find_faults("x", cells[1_000:], habit_of(cells[:1_000])) == []


def test_labels_have_no_neighbours() -> None:
    assert find_faults("x", np.zeros(500), Habit(), number=False) == []


def _heater(rows: int, seed: int, warm: float) -> np.ndarray:
    """Power of a heater by the weather, which is slow; it is off when it is warm."""
    rng = np.random.default_rng(seed)
    weather = np.empty(rows)
    weather[0] = 0.0
    for row in range(1, rows):
        weather[row] = 0.95 * weather[row - 1] + 0.3 * rng.normal()
    return np.maximum(2.0 - warm - weather + 0.3 * rng.normal(size=rows), 0.0)


def test_a_rest_at_the_end_of_a_range_is_not_stuck_until_it_is_long() -> None:
    habit = habit_of(_heater(2_000, 0, 0.0))
    assert 1 < habit.longest_run < 20
    for seed in range(1, 30):  # a warmer spring: off for longer than it ever was
        found = find_faults("heater", _heater(1_000, seed, 0.5), habit)
        assert [fault for fault in found if fault.kind == "stuck"] == []
    dead = _heater(1_000, 1, 0.0)
    dead[500:] = 0.0
    [fault] = find_faults("heater", dead, habit)
    assert (fault.kind, fault.value) == ("stuck", 0.0) and abs(fault.first - 501) < 20 and fault.last == 1_000
    inside = _heater(1_000, 1, 0.0)
    inside[500:515] = 1.234  # nowhere that it ever rested
    [fault] = find_faults("heater", inside, habit)
    assert (fault.first, fault.last) == (501, 515)


def test_a_valve_at_its_stop_is_not_stuck_and_one_that_drops_out_is() -> None:
    rng = np.random.default_rng(0)
    habit = habit_of(rng.uniform(1, 3, 2_000))
    open_wide = np.minimum(1.4 * rng.uniform(1, 3, 2_000), 3.0)
    assert max(np.diff(np.flatnonzero(open_wide < 3.0))) > 6  # it was never at 3 before, and now is for many rows
    assert [fault for fault in find_faults("push", open_wide, habit) if fault.kind == "stuck"] == []
    drops = rng.uniform(1, 3, 1_000)
    for start in (100, 300, 500, 700):
        drops[start : start + 30] = 0.0
    stuck = [fault for fault in find_faults("push", drops, habit) if fault.kind == "stuck"]
    assert [fault.first for fault in stuck] == [101, 301, 501, 701]
