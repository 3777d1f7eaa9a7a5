"""How many independent rows the rows of a table are worth, against simulation and the obvious sums."""

from __future__ import annotations

import numpy as np
import pytest
from known import autoregressive, dependence_of, evidence, slow
from scipy.stats import norm
from scipy.stats import t as student

from forebear.discovery.effective import (
    FEWEST,
    RowDependence,
    autocorrelation,
    memory_beyond_inputs,
    normal_equivalent,
)


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.9), (0.5, 0.95), (0.98, 0.8), (0.9, 0.0)])
def test_the_factor_is_the_variance_of_the_mean_product(first: float, second: float) -> None:
    """Of independent autoregressive series, whose mean product is simulated 600 times."""
    rng = np.random.default_rng(0)
    rows, pairs = 2_000, 600
    z, x = autoregressive(rng, rows, first, pairs), autoregressive(rng, rows, second, pairs)
    simulated = rows * (z * x).mean(axis=1).var()
    factors = []
    for number in range(20):
        own = memory_beyond_inputs(z[number, :, None], [], [])
        memory = autocorrelation(x[number, :, None])
        inflation = RowDependence(rows, latents=own).of(z[number, :, None], x[number, :, None], memory)
        factors.append(float(inflation.factor[0, 0]))
    assert np.median(factors) == pytest.approx(simulated, rel=0.25)
    assert np.median(factors) == pytest.approx((1 + first * second) / (1 - first * second), rel=0.25)


def test_autocorrelations_are_those_of_the_definition() -> None:
    values = np.random.default_rng(0).normal(size=(200, 2)).cumsum(axis=0)
    centred = values - values.mean(axis=0)
    for lag in (1, 2, 10, 66):
        expected = (centred[lag:] * centred[:-lag]).sum(axis=0) / (centred**2).sum(axis=0)
        assert autocorrelation(values)[:, lag - 1] == pytest.approx(expected)


@pytest.mark.parametrize("effect", ["none", "mean", "spread"])
def test_a_sweep_with_white_latents_costs_nothing(effect: str) -> None:
    """The input of a ramp is as slow as can be; latents of the full law are white, those without the input not."""
    lost = []
    for seed in range(30):
        x, noise = np.linspace(-2, 2, 1_000), np.random.default_rng(seed).normal(size=1_000)
        z = {"none": noise, "mean": 0.5 * x + noise, "spread": np.exp(0.4 * x) * noise}[effect]
        ordered, plain = evidence(z, slow(x), dependence=dependence_of(noise, [slow(x)])), evidence(z, slow(x))
        lost.append(1 - ordered.statistic / plain.statistic)
    # By chance a white latent looks a little slow now and then.
    assert np.median(lost) < 0.01 and max(lost) < 0.3


def test_groups_are_worth_what_their_sums_say() -> None:
    """Products that have mean 0: the factor is the variance of the groups' sums over that of as many single rows."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 12, 600)
    z = rng.normal(size=12)[groups] + rng.normal(size=600)
    x = rng.normal(size=12)[groups] + 0.5 * rng.normal(size=600)
    terms = z * x
    sums = np.array([terms[groups == group].sum() for group in range(12)])
    by_hand = 12 * sums.var(ddof=1) / (600 * terms.var())
    inflation = RowDependence(600, groups=groups).of(z[:, None], x[:, None], None)
    assert by_hand > 2 and inflation.factor[0, 0] == pytest.approx(by_hand)
    assert inflation.freedom[0, 0] == 11
    # Groups that are single rows are independent rows.
    single = RowDependence(600, groups=np.arange(600)).of(z[:, None], x[:, None], None)
    assert single.factor[0, 0] == pytest.approx(1.0, abs=0.01)


def test_the_level_holds_for_machines_with_a_hidden_effect() -> None:
    """A useless nameplate column beside 30 machines: as if rows were independent, all would be found."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(30), 20)
    p_values, naive = [], []
    for _ in range(100):
        z = rng.normal(size=30)[groups] * 0.8 + 0.6 * rng.normal(size=600)
        plate = slow(rng.normal(size=30)[groups])
        p_values.append(evidence(z, plate, dependence=RowDependence(600, groups=groups)).p_value)
        naive.append(evidence(z, plate).p_value)
    assert np.mean(np.array(p_values) < 0.05) <= 0.12
    assert np.mean(np.array(naive) < 0.05) > 0.9


def test_fewer_than_eight_groups_tell_nothing() -> None:
    rng = np.random.default_rng(4)
    groups, x = np.repeat(np.arange(5), 100), rng.normal(size=500)
    result = evidence(x + 0.1 * rng.normal(size=500), slow(x), dependence=RowDependence(500, groups=groups))
    assert result.rows < FEWEST and result.statistic == 0 and result.limit == 1


@pytest.mark.parametrize("memory", [0.5, 0.9, 0.97])
def test_rows_that_follow_each_other_do_not_feign_dependence(memory: float) -> None:
    """A latent and an input that are both slow, and independent."""
    p_values, naive = [], []
    for seed in range(80):
        z, x = autoregressive(np.random.default_rng(seed), 2_000, memory, 2)
        own = slow(x)
        p_values.append(evidence(z, own, dependence=dependence_of(z, [own])).p_value)
        naive.append(evidence(z, own).p_value)
    assert np.mean(np.array(p_values) < 0.05) <= 0.125
    assert memory < 0.9 or np.mean(np.array(naive) < 0.05) > 0.7


def test_slow_rows_still_show_what_is_there() -> None:
    z, x = autoregressive(np.random.default_rng(5), 3_000, 0.9, 2)
    own = slow(x)
    found = evidence(0.5 * x + z, own, dependence=dependence_of(z, [own]))
    assert found.p_value < 1e-4 and found.order == 1
    assert FEWEST < found.rows < 1_000


def test_a_walk_beside_a_walk_tells_nothing() -> None:
    rng = np.random.default_rng(6)
    z, x = rng.normal(size=(2, 1_000)).cumsum(axis=1)
    own = slow(x)
    result = evidence(z / z.std(), own, dependence=dependence_of(z / z.std(), [own]))
    assert result.rows < FEWEST and result.limit == 1 and result.p_value > 0.5


@pytest.mark.parametrize("freedom", [5, 19, 100])
def test_a_t_value_becomes_the_normal_value_that_is_as_rare(freedom: int) -> None:
    t = np.linspace(0.5, 6, 12)
    exact = norm.isf(student.sf(t, freedom))
    assert normal_equivalent(t, freedom) == pytest.approx(exact, rel=0.01)
