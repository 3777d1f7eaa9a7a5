"""The test of dependence on latents that are known: against its definition, its level, its power and its limits."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from known import evidence, host_test, real
from scipy.special import ndtri
from scipy.stats import binom, norm
from scipy.stats import t as student

from forebear.data.table import Column
from forebear.discovery.action import action
from forebear.discovery.dependence import (
    Features,
    MaxStatistic,
    all_latent_features,
    detectable,
    measure,
    probe_candidate,
    result_of,
    strengths,
    upper_limit,
)
from forebear.discovery.residuals import Residualiser, features, latent_features, plain_features, tail_features


def scores(values: np.ndarray) -> np.ndarray:
    """The latents that values have when nothing is known of them: normal scores."""
    return ndtri((np.argsort(np.argsort(values)) + 0.5) / len(values))


def slope_p(x: np.ndarray, y: np.ndarray) -> float:
    """The p-value of the t test of a slope."""
    r, freedom = np.corrcoef(x, y)[0, 1], len(x) - 2
    return float(2 * student.sf(abs(r) * np.sqrt(freedom / (1 - r**2)), freedom))


@pytest.mark.parametrize("dependence", ["independent", "proxy", "curved"])
def test_level_holds_with_dependent_inputs(dependence: str) -> None:
    """Latents that carry a misfit in the kept input, beside an input that depends on it: no false alarms."""
    rng = np.random.default_rng(1)
    rows, pairs = 1_000, 200
    p_values = []
    for _ in range(pairs):
        kept, noise, own = rng.normal(size=(3, rows))
        x = {"independent": own, "proxy": kept + 0.1 * own, "curved": kept**2 + 0.3 * own}[dependence]
        misfit = noise * (1 + 0.1 * np.tanh(kept)) + 0.1 * np.sin(2 * kept)
        p_values.append(evidence(misfit, real(x), [real(kept)]).p_value)
    high = binom.ppf(0.995, pairs, 0.05) / pairs
    # Products overlap with one another and with plain effects: the level is not used up.
    assert 0.005 <= np.mean(np.array(p_values) < 0.05) <= high


@pytest.mark.parametrize("acts", ["location", "scale", "shape"])
def test_every_kind_of_dependence_is_seen(acts: str) -> None:
    rng = np.random.default_rng(2)
    x, noise, heavy = rng.normal(size=4_000), rng.normal(size=4_000), rng.laplace(scale=2**-0.5, size=4_000)
    z = {"location": noise + 0.2 * x, "scale": noise * np.exp(0.2 * x), "shape": np.where(x > 0, noise, heavy)}[acts]
    result = evidence(z, real(x))
    assert result.p_value < 1e-4
    assert min(result.order, 3) == ["location", "scale", "shape"].index(acts) + 1


def test_the_statistic_is_the_largest_of_all_products_one_at_a_time() -> None:
    """The definition, in loops: cleared features, their product row by row, Student's t as a normal value."""
    rng = np.random.default_rng(3)
    rows = 400
    kept, x, w = rng.normal(size=(3, rows))
    z = 0.2 * x + 0.1 * kept * x + w
    clearing = Residualiser([real(kept).values], rows)
    latents = clearing(all_latent_features(z))
    own, given = real(x).values, real(kept).values
    singles = [(clearing(own[:, [i]])[:, 0], i) for i in range(own.shape[1])]
    crossed = [(clearing((own[:, i] * given[:, j])[:, None])[:, 0], 99) for i in range(3) for j in range(3)]
    values, plain, limits = [], [], []
    for order, (feature, rank) in product(range(12), [*singles, *crossed]):
        if rank >= (99 if order < 6 else 2 if order < 10 else 1) and order >= 6:
            continue  # tails against the first two features alone, plain effects against the first
        terms = latents[:, order] * feature
        freedom = rows - clearing.count
        t = np.sqrt(freedom) * abs(terms.mean()) / terms.std()
        (values if order < 10 else plain).append(norm.isf(student.sf(t, freedom)))
        wider = max(terms.var() / (latents[:, order].var() * feature.var()), 1.0)
        limits.append(wider * (t + student.isf(0.05, freedom)) ** 2 / freedom)
    found = measure("x", latents, probe_candidate([real(x)], [real(kept)]), clearing)
    assert (found.tests, found.plain_tests) == (len(values), len(plain)) == (6 * 17 + 4 * 2, 2)
    assert found.statistic == pytest.approx(max(values), rel=1e-3)
    assert found.plain == pytest.approx(max(plain), rel=1e-3)
    assert found.limit == pytest.approx(max(limits), rel=1e-6)
    single = 2 * norm.sf([max(values), max(plain)])
    slow = min((1 - (1 - single[0]) ** len(values)) / 0.35, (1 - (1 - single[1]) ** len(plain)) / 0.65)
    assert result_of([found]).p_value == pytest.approx(slow, rel=0.02)


@pytest.mark.parametrize("units", [2, 5, 40])
def test_pairs_equal_one_product_at_a_time(units: int) -> None:
    """All products of two candidates at once, as matrices, against the definition of the statistic."""
    rng = np.random.default_rng(units)
    rows = 600
    kept, *columns = rng.normal(size=(units + 1, rows))
    named = {f"u{n}": real(column) for n, column in enumerate(columns)}
    test = host_test({"kept": real(kept), **named}, ["kept"])
    latents = test.clear(all_latent_features(rng.normal(size=rows) + 0.2 * columns[0] * columns[1]))
    each = 2 if units * (units - 1) // 2 * 4 <= 6_000 else 1
    cleared = {name: test.clear(one.values[:, :each]) for name, one in named.items()}
    slow = {}
    for a, b in combinations(named, 2):
        for i, j, k in product(range(each), range(each), range(6)):
            terms = latents[:, k] * cleared[a][:, i] * cleared[b][:, j]
            slow[a, b, i, j, k] = np.sqrt(rows - test.count) * abs(terms.mean()) / terms.std()
    fast = test.pairs(latents)
    assert sum(one.tests for one in fast) == len(slow)
    best = max(fast, key=lambda one: one.statistic)
    largest = max(slow.values())
    assert best.statistic == pytest.approx(norm.isf(student.sf(largest, rows - test.count)), rel=1e-3)
    assert best.candidates == max(slow, key=slow.__getitem__)[:2]


def test_pure_interactions_show_only_jointly() -> None:
    rng = np.random.default_rng(3)
    a, b, noise = rng.normal(size=(3, 3_000))
    test = host_test({"a": real(a), "b": real(b)})
    latents = test.clear(all_latent_features(0.5 * np.sign(a * b) + noise))
    alone = test.each(latents)
    jointly = result_of([*alone.values(), *test.pairs(latents)])
    assert min(result_of([one]).p_value for one in alone.values()) > 1e-3
    assert jointly.p_value < 1e-10 and set(jointly.candidates) == {"a", "b"}


def test_most_of_the_level_is_for_plain_effects() -> None:
    """The same statistic weighs much more when it is that of a plain effect; the others lose a factor of three."""
    plain = result_of([MaxStatistic(4.0, 0.1, 5, ("a",), 100, 4.0, 2, 0.2, 500.0, 0.08, 2)])
    fancy = result_of([MaxStatistic(4.0, 0.1, 5, ("a",), 100, 1.0, 2, 0.2, 500.0, 0.01, 2)])
    assert plain.p_value == pytest.approx(2 * 2 * norm.sf(4.0) / 0.65, rel=0.01)
    assert fancy.p_value == pytest.approx(100 * 2 * norm.sf(4.0) / 0.35, rel=0.01)
    # Each with an effect and an order of its own; a plain effect owes less to chance.
    assert (plain.order, fancy.order) == (2, 5)
    assert plain.effect > 0.07 and fancy.effect < 0.06
    assert plain[4:] == fancy[4:]


def test_nothing_to_test_and_nothing_to_tell_are_no_effect() -> None:
    nothing, blind = result_of([]), result_of([MaxStatistic(0.0, 0.9, 1, ("a",), 50, 0.0, 2, 1.0, 10.0)])
    assert (nothing.p_value, nothing.effect, nothing.limit) == (1.0, 0.0, 0.0)
    assert (blind.p_value, blind.effect, blind.limit, blind.rows) == (1.0, 0.0, 1.0, 10.0)


def test_a_copy_of_a_kept_input_has_nothing_left_to_test() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    copy = evidence(x + rng.normal(size=500), real(2 * x + 1), [real(x)])
    assert (copy.p_value, copy.limit, copy.effect) == (1.0, 0.0, 0.0)


def test_tails_are_seen_by_their_own_scores_and_not_by_polynomials() -> None:
    """Only the upper 3% of the law are stretched."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 10_000))
    edge = norm.isf(0.03)
    z = scores(np.where(y > edge, edge + (y - edge) * np.exp(0.6 * x), y))
    result = evidence(z, real(x))
    assert result.p_value < 1e-6 and result.order > 6
    clearing = Residualiser([], len(z))
    alone = result_of([measure("x", clearing(latent_features(z)), probe_candidate([real(x)], []), clearing)])
    assert alone.p_value > 0.01
    # Both ends count: turned around, the lower one is stretched.
    assert evidence(-z, real(x)).statistic == pytest.approx(result.statistic, rel=1e-6)


def test_tail_scores_of_any_latent_are_finite() -> None:
    z = np.array([-40.0, -5.0, 0.0, 5.0, 40.0])
    assert np.isfinite(tail_features(z)).all() and np.abs(tail_features(z)).max() < 100


WAVES = [(wave, periods) for periods in range(1, 7) for wave in (np.cos, np.sin)]


@pytest.mark.parametrize(("wave", "periods"), WAVES)
@pytest.mark.parametrize("acts", ["mean", "spread"])
def test_every_wave_of_an_angle_is_seen(wave: Any, periods: int, acts: str) -> None:
    rng = np.random.default_rng(5)
    angle, noise = rng.uniform(0, 360, 2_000), rng.normal(size=2_000)
    moves = 0.3 * wave(periods * np.deg2rad(angle))
    z = noise + moves if acts == "mean" else noise * np.exp(moves)
    result = evidence(z, Features(features(Column("x", "periodic", angle, period=360.0))))
    assert result.p_value < 1e-6 and result.order == (1 if acts == "mean" else 2)


@pytest.mark.parametrize("levels", [3, 8, 20])
@pytest.mark.parametrize("acts", ["mean", "spread"])
def test_every_level_of_a_category_is_seen(levels: int, acts: str) -> None:
    """The last level is the rarest, with one row in fifty, and the only one that matters."""
    rng = np.random.default_rng(6)
    shares = np.append(np.full(levels - 1, 0.98 / (levels - 1)), 0.02)
    level, noise = rng.choice(levels, 3_000, p=shares).astype(float), rng.normal(size=3_000)
    rare = level == levels - 1
    z = noise + 1.2 * rare if acts == "mean" else noise * np.where(rare, 3.0, 1.0)
    result = evidence(z, Features(features(Column("x", "category", level))))
    assert result.p_value < 1e-3


def test_the_upper_limit_covers_the_truth() -> None:
    """The share of the variance of the latent's feature that x explains is 9/100 of that of ranks."""
    rng = np.random.default_rng(7)

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        x, w = rng.normal(size=(2, rows))
        return 0.3 * x + np.sqrt(1 - 0.09) * w, x

    z, x = draw(400_000)
    truth = np.corrcoef(latent_features(z)[:, 0], real(x).values[:, 0])[0, 1] ** 2
    one, of_candidate = [], []
    for _ in range(300):
        z, x = draw(400)
        clearing = Residualiser([], 400)
        found = strengths(clearing(latent_features(z)[:, :1]), Features(clearing(real(x).values[:, :1])), 399, None)
        one.append(float(found.limit[0, 0]))
        of_candidate.append(evidence(z, real(x)).limit)
    assert 0.93 <= np.mean(np.array(one) >= truth) <= 0.98
    assert np.mean(np.array(of_candidate) >= truth) >= 0.93
    assert np.median(one) < 2 * truth


def test_the_upper_limit_covers_the_truth_of_a_rare_level() -> None:
    """One row in fifty has a level at which the law is three times as wide."""
    rng = np.random.default_rng(9)

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        level = (rng.random(rows) < 0.02).astype(float)
        spread = latent_features(rng.normal(size=rows) * (1 + 2 * level))[:, 1:2]
        return spread - spread.mean(), (level - level.mean())[:, None] / level.std()

    latents, own = draw(400_000)
    truth = np.corrcoef(latents[:, 0], own[:, 0])[0, 1] ** 2
    limits = [
        strengths(*pair, 999, None).limit[0, 0] for pair in ((a, Features(b)) for a, b in map(draw, [1_000] * 300))
    ]
    assert np.mean(np.array(limits) >= truth) >= 0.93


def test_limits_shrink_with_the_rows_and_say_all_where_there_are_too_few() -> None:
    t = np.array([0.0, 1.0, 3.0])
    few, many = upper_limit(t, 200.0, 200.0), upper_limit(t, 20_000.0, 20_000.0)
    assert few == pytest.approx(100 * many, rel=0.02)
    assert upper_limit(t, 29.0, 500.0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("rows", [300, 2_000])
def test_what_is_detectable_is_found_four_times_out_of_five(rows: int) -> None:
    rng = np.random.default_rng(8)
    level, tests = 0.65 * 0.01 / 6, 2
    squared = detectable(rows, level, tests)
    # Ranks of normal values are correlated a little less than these.
    slope = 2 * np.sin(np.pi / 6 * np.sqrt(squared))
    found = []
    for _ in range(200):
        x, w = rng.normal(size=(2, rows))
        result = evidence(scores(slope * x + np.sqrt(1 - slope**2) * w), real(x))
        found.append(result.p_value <= 0.01 / 6)
    assert 0.7 <= np.mean(found) <= 0.9


@pytest.mark.parametrize("rows", [300, 1_000])
@pytest.mark.parametrize("acts", ["mean", "spread"])
def test_plain_effects_cost_a_factor_of_three_in_the_level_and_no_more(acts: str, rows: int) -> None:
    """Most of the level is theirs, and there are two of them.

    The rival knows the form of the effect: a t test of the slope, and of that of absolute deviations, which is
    Levene's test along a line. It finds the effect nine times in ten.
    """
    rng = np.random.default_rng(rows)
    level = 0.01 / 6
    ours, alone, rival = [], [], []
    size = (4.5 if acts == "mean" else 3.6) / np.sqrt(rows)
    for _ in range(300):
        x, noise = rng.normal(size=(2, rows))
        y = noise + size * x if acts == "mean" else noise * np.exp(size * x)
        z, own = scores(y), real(x)
        ours.append(evidence(z, own).p_value <= level)
        alone.append(slope_p(plain_features(z)[:, 0 if acts == "mean" else 1], own.values[:, 0]) <= level / 3)
        rival.append(slope_p(x, y if acts == "mean" else np.abs(y - np.median(y))) <= level)
    # Ours does not count on the same spread of products everywhere, which costs a little in few rows.
    assert np.mean(ours) >= np.mean(alone) - 0.09
    assert 0.85 < np.mean(rival) and np.mean(ours) >= np.mean(rival) - 0.15


def test_a_switch_that_widens_a_law_acts_on_its_scale() -> None:
    """Features of a column of two values repeat each other, and must not count several times."""
    rng = np.random.default_rng(0)
    switch, noise = rng.integers(0, 2, 5_000).astype(float), rng.normal(size=5_000)
    clearing = Residualiser([], 5_000)
    z = scores(noise * (1 + 2 * switch))
    split = action(clearing(latent_features(z)), clearing(real(switch).values[:, :5]))
    assert split.scale > 0.8 and split.location < 0.05
