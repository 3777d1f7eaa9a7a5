"""Lattices and atoms become continuous and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kstest, norm

from forebear.data.dequantise import Dequantiser, find_atoms

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=2000)
MOSTLY = RNG.random(2000) < 0.25

TARGETS: dict[str, tuple[str, np.ndarray]] = {
    "normal": ("continuous", NORMAL),
    "normal, 30 rows": ("continuous", NORMAL[:30]),
    "each row twice": ("continuous", np.repeat(NORMAL, 2)),
    "fine prices": ("continuous", (100 + 20 * NORMAL).round(4)),
    "wide": ("continuous", np.exp(20 * NORMAL)),
    "large offset": ("continuous", 1e9 + 1e-2 * NORMAL),
    "counts": ("lattice", RNG.poisson(3.0, 2000).astype(float)),
    "large counts": ("lattice", RNG.poisson(1000.0, 20000).astype(float)),
    "counts, 30 rows": ("lattice", RNG.poisson(3.0, 30).astype(float)),
    "boolean": ("lattice", MOSTLY.astype(float)),
    "rare boolean": ("lattice", (np.arange(2000) < 15).astype(float)),
    "rare boolean, 30 rows": ("lattice", (np.arange(30) < 2).astype(float)),
    "grades": ("lattice", np.array([3.0, 4, 5, 6, 7, 8])[RNG.integers(0, 6, 1500)]),
    "half grades": ("lattice", RNG.integers(2, 11, 1500) / 2),
    "years of age": ("lattice", RNG.integers(18, 90, 5000).astype(float)),
    "prices in ticks": ("continuous", (100 + NORMAL).round(2)),
    "prices in cents": ("continuous", np.exp(3 + 0.5 * NORMAL).round(2)),
    "one decimal": ("continuous", (20 + 15 * NORMAL).round(1)),
    "three decimals": ("continuous", (5 + 3 * NORMAL).round(3)),
    "a few thousandths": ("continuous", RNG.integers(950, 1001, 5000) / 1000),
    "watts, in tens": ("continuous", np.exp(4 + 0.6 * RNG.normal(size=20000)).round(-1)),
    "integers, thousands of values": ("continuous", (3000 * NORMAL).round()),
    "integers, thousands of values, more rows": ("continuous", RNG.integers(0, 4000, 50000).astype(float)),
    "rain": ("atoms", np.where(RNG.random(5000) < 0.6, 0.0, RNG.exponential(4.0, 5000).round(1))),
    "capped at 50": ("atoms", np.minimum(22 + 14 * NORMAL, 50.0).round(1)),
    "noisy tenths": ("lattice", np.cumsum(np.full(21, 0.1))[RNG.integers(0, 21, 2000)]),
    "zero in a quarter": ("atoms", np.where(MOSTLY, 0.0, np.exp(NORMAL))),
    "atom inside": ("atoms", np.where(MOSTLY, 0.5, NORMAL)),
    "cut at both ends": ("atoms", NORMAL.clip(-1, 1.5)),
    "nearly always zero": ("atoms", np.where(np.arange(2000) < 1880, 0.0, NORMAL)),
    "zero, or wide": ("atoms", np.where(MOSTLY, 0.0, np.exp(20 * NORMAL))),
    "far atom": ("atoms", np.where(MOSTLY, 1e20, NORMAL)),
    "noisy atom": ("atoms", np.where(MOSTLY, RNG.choice([0.3, 0.1 + 0.2], 2000), NORMAL)),
}


def both_ways(y: np.ndarray) -> tuple[Dequantiser, np.ndarray, np.ndarray]:
    maker = find_atoms(y)
    spread = maker.spread(y, np.random.default_rng(1))
    return maker, spread, maker.collapse(spread)


def check(y: np.ndarray) -> None:
    maker, spread, back = both_ways(y)
    exact = np.full(len(y), True)
    if maker.kind == "atoms":
        moved = maker.shift[np.searchsorted(maker.values, y)]
        exact = np.isin(y, maker.values) | (moved == 0)
        limit = 2 * np.finfo(float).eps * (np.abs(y) + np.abs(maker.shift).max()) + maker.step
        assert (np.abs(back - y) <= limit).all()
    if maker.step:
        # A rounded value stays where it was spread to, within what is rounded to it.
        free = ~np.isin(y, maker.values)
        assert (np.abs(back - y)[free] <= 0.5 * maker.step * (1 + 1e-9) + 4e-16 * np.abs(y[free])).all()
        exact &= ~free
    np.testing.assert_array_equal(back[exact], y[exact])
    order = np.lexsort((spread, y))
    assert (np.diff(spread[order]) >= 0).all(), "the order of the values is kept"
    assert np.isfinite(spread).all()


@pytest.mark.parametrize("kind, y", TARGETS.values(), ids=TARGETS)
def test_kinds_and_the_way_back(kind: str, y: np.ndarray) -> None:
    assert find_atoms(y).kind == kind
    check(y)


@pytest.mark.parametrize("kind, y", TARGETS.values(), ids=TARGETS)
def test_no_ties_are_left(kind: str, y: np.ndarray) -> None:
    _, spread, _ = both_ways(y)
    if kind != "continuous" and np.ptp(y) < 1e6:
        assert len(np.unique(spread)) == len(y)


numbers = st.floats(-1e150, 1e150)
ticks = st.integers(-50, 50).map(lambda i: i * 0.1)


@given(hnp.arrays(np.float64, st.integers(2, 200), elements=st.one_of(ticks, numbers)))
def test_any_values_come_back(y: np.ndarray) -> None:
    assume(np.ptp(y) > 0)
    check(y)


@given(hnp.arrays(np.float64, st.integers(2, 200), elements=st.one_of(ticks, st.sampled_from([0.3, 0.1 + 0.2]))))
def test_ticks_come_back_exactly(y: np.ndarray) -> None:
    maker = find_atoms(np.repeat(y, 10), treat="lattice")
    back = maker.collapse(maker.spread(np.repeat(y, 10), np.random.default_rng(1)))
    np.testing.assert_array_equal(back, np.repeat(y, 10))


@given(st.lists(numbers, min_size=1, max_size=4, unique=True), st.integers(0, 2**32))
def test_atoms_in_a_continuous_part_come_back_exactly(atoms: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(np.concatenate([rng.choice(atoms, 200), rng.normal(size=100)]))


@given(hnp.arrays(np.float64, 50, elements=st.floats(-1e3, 1e3)), st.sampled_from(sorted(TARGETS)))
def test_collapse_is_monotone_and_gives_values_of_the_data(y: np.ndarray, name: str) -> None:
    kind, data = TARGETS[name]
    back = find_atoms(data).collapse(np.sort(y))
    assert (np.diff(back) >= 0).all()
    assert kind != "lattice" or np.isin(back, data).all()


UCI = Path(__file__).parents[2].parent / "shared" / "data" / "uci"


@pytest.mark.parametrize(
    ("name", "kind", "step"),
    [
        ("concrete", "continuous", 0.01),
        ("energy", "continuous", 0.01),
        ("kin8nm", "continuous", 0.0),
        ("naval", "continuous", 0.001),
        ("power", "continuous", 0.01),
        ("protein", "continuous", 0.001),
        ("wine", "lattice", 0.0),
        ("yacht", "continuous", 0.01),
    ],
)
def test_real_targets_are_taken_for_what_they_are(name: str, kind: str, step: float) -> None:
    if not UCI.is_dir():
        pytest.skip("the UCI tables are not beside the checkout")
    found = find_atoms(np.loadtxt(UCI / f"{name}.csv", delimiter=",", skiprows=1)[:, -1])
    assert (found.kind, found.step) == (kind, step)


def test_rounded_values_are_spread_over_what_was_rounded_to_them() -> None:
    y = RNG.normal(size=20_000)
    spread = find_atoms(y.round(1)).spread(y.round(1), np.random.default_rng(2))
    assert abs(spread.std() - y.std()) < 0.002 and len(np.unique(spread)) == len(y)
    assert kstest(spread, norm.cdf).pvalue > 0.01


def test_treat_overrules_what_the_values_look_like() -> None:
    counts, measured = TARGETS["large counts"][1], TARGETS["one decimal"][1]
    assert find_atoms(counts, "continuous").step == 1.0
    assert find_atoms(measured, "lattice").kind == "lattice"
    assert find_atoms(TARGETS["grades"][1], "continuous").taken_for == "continuous, rounded to 1"


def test_adjacent_doubles_come_back() -> None:
    y = np.repeat([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)], 20)
    check(y)


def test_a_lattice_is_spread_between_midpoints() -> None:
    maker = find_atoms(np.repeat([0.0, 1.0, 4.0], 20))
    assert maker.low.tolist() == [-0.5, 0.5, 2.5] and maker.high.tolist() == [0.5, 2.5, 5.5]


def test_a_lattice_takes_unseen_values_as_the_nearest() -> None:
    maker = find_atoms(np.repeat([0.0, 1.0, 4.0], 20))
    low, _ = maker.cells(np.array([-7.0, 0.4, 2.4, 2.6, 9.0]))
    assert low.tolist() == [-0.5, -0.5, 0.5, 2.5, 2.5]


def test_noisy_copies_of_a_value_share_its_cell() -> None:
    y = np.array([0.0] * 20 + [0.3] * 30 + [0.1 + 0.2] * 10 + [0.6] * 20)
    maker = find_atoms(y)
    np.testing.assert_allclose(maker.low, [-0.15, 0.15, 0.15 + 0.75 * 0.3, 0.45])
    np.testing.assert_allclose(maker.high, [0.15, 0.15 + 0.75 * 0.3, 0.45, 0.75])


def test_noise_around_zero_makes_no_spike() -> None:
    y = np.repeat([-0.1, -2e-17, 0.0, 5e-17, 0.1], 20)
    maker = find_atoms(y)
    assert (maker.high - maker.low).min() > 0.03
    check(y)


def test_an_atom_at_the_end_leaves_the_rest_in_place() -> None:
    y = TARGETS["zero in a quarter"][1]
    maker, spread, back = both_ways(y)
    np.testing.assert_array_equal(spread[y > 0], y[y > 0])
    np.testing.assert_array_equal(back, y)
    assert maker.high.tolist() == [0.0]


def test_the_density_is_even_across_an_atom() -> None:
    y = np.where(np.arange(20000) % 3 == 0, 0.5, np.random.default_rng(3).random(20000))
    _, spread, _ = both_ways(y)
    counts, _ = np.histogram(spread, bins=20)
    assert counts.max() < 2 * counts.min()


def test_a_continuous_target_is_a_copy_and_draws_nothing() -> None:
    rng: Any = None
    maker = find_atoms(NORMAL)
    spread = maker.spread(NORMAL, rng)
    np.testing.assert_array_equal(spread, NORMAL)
    assert spread is not NORMAL
    low, high = maker.cells(NORMAL)
    np.testing.assert_array_equal(low, high)


def test_a_single_value_still_has_a_cell() -> None:
    check(np.full(40, 3.0))
