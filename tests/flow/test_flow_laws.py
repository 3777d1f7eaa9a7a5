"""The samplers against laws that are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from forebear import FlowSampler, GaussianSampler, MeanSampler
from forebear.flow.sampler import NetworkLaw
from forebear.flow.settings import FlowSettings
from forebear.twin.settings import TwinSettings

ROWS, DRAWS = 30_000, 1_000
PLACES = (np.arange(20) + 0.5) / 20
"""levels of x at which the conditional laws are compared"""


@dataclass(frozen=True)
class Known:
    """x is uniform between `low` and `high`; y given x has the quantiles `quantile(x, p)`."""

    low: float
    high: float
    quantile: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def places(self) -> np.ndarray:
        return self.low + (self.high - self.low) * PLACES

    def table(self, seed: int, rows: int = ROWS) -> tuple[pd.DataFrame, pd.DataFrame]:
        rng = np.random.default_rng(seed)
        x = rng.uniform(self.low, self.high, rows)
        return pd.DataFrame({"x": x}), pd.DataFrame({"y": self.quantile(x, rng.uniform(size=rows))})


def normal(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return 2 * x + (0.6 + 0.4 * x) * ndtri(p)


def mixture(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Equal parts N(-x, 0.3^2) and N(x, 0.3^2); the distribution function is inverted by bisection."""
    x, p = np.broadcast_arrays(x, p)
    low, high = -x - 3.0, x + 3.0
    for _ in range(45):
        middle = (low + high) / 2
        below = (ndtr((middle + x) / 0.3) + ndtr((middle - x) / 0.3)) / 2 < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def heavy(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return x * stats.t.ppf(p, 3)


LAWS = {
    "normal": Known(-1.0, 1.0, normal),
    "mixture": Known(0.0, 2.0, mixture),
    "heavy tail": Known(0.5, 2.0, heavy),
}


Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def distances(draw: Draw, law: Known, repeats: int) -> np.ndarray:
    """W1 between DRAWS draws at each place and the exact law there, averaged over repeats.

    In one dimension W1 is the mean distance of the sorted draws to the quantiles.
    """
    rng = np.random.default_rng(0)
    exact = law.quantile(law.places()[:, None], (np.arange(DRAWS) + 0.5) / DRAWS)
    x = np.repeat(law.places(), DRAWS)
    draws = np.stack([draw(x, rng).reshape(exact.shape) for _ in range(repeats)])
    return np.mean(np.abs(np.sort(draws, axis=-1) - exact), axis=(0, 2))


@lru_cache
def floors(name: str) -> np.ndarray:
    """What exact draws score at each place: the error of having no more than DRAWS of them."""
    law = LAWS[name]
    return distances(lambda x, rng: law.quantile(x, rng.uniform(size=len(x))), law, repeats=20)


def scores(sampled: NetworkLaw, law: Known, repeats: int = 5) -> np.ndarray:
    def draw(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return sampled.push(pd.DataFrame({"x": x}), rng.normal(size=(len(x), 1)))[:, 0]

    return distances(draw, law, repeats)


@lru_cache
def fitted(name: str, seed: int = 0) -> NetworkLaw:
    given, y = LAWS[name].table(seed)
    return FlowSampler().fit(given, y, seed=seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LAWS)
def test_flow_is_as_good_as_exact_draws_on_average(name: str, seed: int) -> None:
    """Trained for discovery: a thousand steps."""
    assert scores(fitted(name, seed), LAWS[name]).mean() < 1.5 * floors(name).mean()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n != "mixture" else ()) for n in LAWS])
def test_flow_is_as_good_as_exact_draws_in_every_conditional(name: str) -> None:
    """Trained for a twin: four thousand steps, larger batches. The hardest of the three laws also runs in a hurry."""
    given, y = LAWS[name].table(seed=0, rows=50_000)
    law = FlowSampler(TwinSettings().flow).fit(given, y, seed=0)
    assert (scores(law, LAWS[name], repeats=20) < 1.5 * floors(name)).all()


# How far apart two ways to solve may be: a twin's steps are fine, those of a discovery's draws as coarse as will do.
SOLVERS = {"twin": (TwinSettings().flow, 1e-3), "draws": (FlowSettings(), 1e-2)}


def _solved(law: NetworkLaw, like: FlowSettings, **changes: Any) -> NetworkLaw:
    steps = {"ode_steps": like.ode_steps, "crowding": like.crowding, **changes}
    return replace(law, sampler=FlowSampler(replace(law.sampler.settings, **steps)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", LAWS)
def test_pull_undoes_push(name: str, solver: str) -> None:
    settings, tolerance = SOLVERS[solver]
    law, rng = _solved(fitted(name), settings), np.random.default_rng(0)
    given, _ = LAWS[name].table(seed=9, rows=2_000)
    z = rng.normal(size=(2_000, 1))
    np.testing.assert_allclose(law.pull(given, law.push(given, z)), z, atol=tolerance)


@pytest.mark.parametrize("name", LAWS)
def test_push_rises_with_the_latent(name: str) -> None:
    z = np.linspace(-4, 4, 201)
    for x in LAWS[name].places()[::5]:
        draws = fitted(name).push(pd.DataFrame({"x": np.full(len(z), x)}), z[:, None])
        assert (np.diff(draws[:, 0]) > 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", LAWS)
def test_solvers_agree(name: str, solver: str) -> None:
    settings, tolerance = SOLVERS[solver]
    law = _solved(fitted(name), settings)
    given, _ = LAWS[name].table(seed=9, rows=2_000)
    z = np.random.default_rng(0).normal(size=(2_000, 1))
    adaptive = _solved(law, settings, solver="tsit5")
    apart = np.abs(adaptive.push(given, z) - law.push(given, z)) / law.scale[0]
    # Between two modes neighbouring paths part: there, and nowhere else, fixed steps are a little coarse.
    assert np.quantile(apart, 0.99) < tolerance and np.quantile(apart, 0.999) < 3 * tolerance
    assert apart.max() < 10 * tolerance


def test_pulled_data_are_standard_normal() -> None:
    given, y = LAWS["mixture"].table(seed=9, rows=5_000)
    z = fitted("mixture").pull(given, y.to_numpy())[:, 0]
    assert stats.kstest(z, "norm").statistic < 0.03
    near = given["x"].to_numpy() > 1.5
    assert stats.kstest(z[near], "norm").statistic < 0.05


def test_gaussian_sampler_learns_mean_and_spread() -> None:
    law, known = GaussianSampler().fit(*LAWS["normal"].table(seed=0), seed=0), LAWS["normal"]
    at = pd.DataFrame({"x": known.places()})
    mean = law.push(at, np.zeros((20, 1)))[:, 0]
    spread = law.push(at, np.ones((20, 1)))[:, 0] - mean
    np.testing.assert_allclose(mean, 2 * at["x"], atol=0.05)
    np.testing.assert_allclose(spread, 0.6 + 0.4 * at["x"], atol=0.05)
    y = np.linspace(-3, 3, 20)[:, None]
    np.testing.assert_allclose(law.push(at, law.pull(at, y)), y, atol=1e-4)


def test_mean_sampler_learns_the_mean_and_has_no_latent() -> None:
    law = MeanSampler().fit(*LAWS["normal"].table(seed=0), seed=0)
    at = pd.DataFrame({"x": LAWS["normal"].places()})
    assert law.latents == 0
    np.testing.assert_allclose(law.push(at, np.zeros((20, 0)))[:, 0], 2 * at["x"], atol=0.05)


def test_joint_flow_reproduces_a_correlation_that_depends_on_x() -> None:
    rng = np.random.default_rng(0)
    given = pd.DataFrame({"x": rng.uniform(-0.9, 0.9, ROWS)})
    first, other = rng.normal(size=(2, ROWS))
    second = given["x"] * first + np.sqrt(1 - given["x"] ** 2) * other
    law = FlowSampler().fit(given, pd.DataFrame({"a": first, "b": second}), seed=0)
    assert law.latents == 2
    for x in (-0.8, 0.0, 0.8):
        draws = law.push(pd.DataFrame({"x": np.full(10_000, x)}), rng.normal(size=(10_000, 2)))
        assert np.corrcoef(draws.T)[0, 1] == pytest.approx(x, abs=0.07)
