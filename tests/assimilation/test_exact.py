"""Against the exact filter and smoother of a linear Gaussian system: mean, spread, log evidence, gaps."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.assimilation import Transition, ring

A = np.array([[0.9, 0.3], [-0.2, 0.95]])
Q = np.array([0.3, 0.2])
"""standard deviations of the system's noise"""
R = 0.5
ROWS = 60


def _move(state: Any, action: Any, key: Any) -> Any:
    return jnp.asarray(A) @ state + jnp.asarray(Q) * jr.normal(key, (2,))


LINEAR = Transition(["x", "v"], _move)


def _record(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States (rows, 2), and observations of the first with gaps."""
    rng = np.random.default_rng(seed)
    states = [rng.normal(size=2)]
    for _ in range(ROWS - 1):
        states.append(A @ states[-1] + Q * rng.normal(size=2))
    seen = np.array(states)[:, 0] + R * rng.normal(size=ROWS)
    seen[rng.random(ROWS) < 0.3] = np.nan
    seen[20:26] = np.nan
    return np.array(states), seen


def _kalman(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, list[np.ndarray], list[np.ndarray]]:
    """Exact means and covariances, given all rows so far, the log evidence, and the predictions before each row."""
    mean, covariance = np.zeros(2), np.eye(2)
    means, covariances, evidence, before, wide = [], [], 0.0, [], []
    for row, y in enumerate(seen):
        if row:
            mean, covariance = A @ mean, A @ covariance @ A.T + np.diag(Q**2)
        before.append(mean)
        wide.append(covariance)
        if not np.isnan(y):
            s = covariance[0, 0] + R**2
            gain, missed = covariance[:, 0] / s, y - mean[0]
            evidence += -0.5 * (missed**2 / s + np.log(2 * np.pi * s))
            mean, covariance = mean + gain * missed, covariance - np.outer(gain, covariance[0])
        means.append(mean)
        covariances.append(covariance)
    return np.array(means), np.array(covariances), evidence, before, wide


def _smoother(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rauch, Tung and Striebel: exact means and variances given all rows."""
    means, covariances, _, before, wide = _kalman(seen)
    mean, covariance = means[-1], covariances[-1]
    found = [(mean, covariance)]
    for row in range(len(seen) - 2, -1, -1):
        gain = covariances[row] @ A.T @ np.linalg.inv(wide[row + 1])
        mean = means[row] + gain @ (mean - before[row + 1])
        covariance = covariances[row] + gain @ (covariance - wide[row + 1]) @ gain.T
        found.append((mean, covariance))
    return np.array([m for m, _ in found[::-1]]), np.array([np.diag(c) for _, c in found[::-1]])


STATES, SEEN = _record()
PRIOR = np.random.default_rng(1).normal(size=(20_000, 2))


def _told(method: Any, particles: int, **options: Any) -> fb.Assimilated:
    start = pd.DataFrame(PRIOR[:particles], columns=["x", "v"])
    return fb.assimilate(
        LINEAR, {"x": SEEN}, start=start, noise={"x": R}, method=method, particles=particles, seed=2, **options
    )


@pytest.mark.parametrize(("method", "particles"), [("particle", 20_000), ("ensemble", 2_000)])
def test_the_exact_filter(method: str, particles: int) -> None:
    told = _told(method, particles)
    means, covariances, evidence, _, _ = _kalman(SEEN)
    sd = np.sqrt(covariances[:, [0, 1], [0, 1]])
    assert np.abs((told.mean - means) / sd).mean() < 0.05 and np.abs((told.mean - means) / sd).max() < 0.25
    assert np.abs(told.states.spread / sd - 1).mean() < 0.05
    assert told.log_evidence == pytest.approx(evidence, abs=0.7)
    assert told.effective.shape == (ROWS,) and told.evidence[np.isnan(SEEN)] == pytest.approx(0.0, abs=1e-4)
    low, high = told.bands(0.9)
    np.testing.assert_allclose(high - low, 2 * 1.645 * sd, rtol=0.15)


@pytest.mark.parametrize(("method", "particles"), [("particle", 20_000), ("ensemble", 1_000)])
def test_waiting_for_all_rows_is_the_exact_smoother(method: str, particles: int) -> None:
    told = _told(method, particles, smooth=15)
    means, variances = _smoother(SEEN)
    assert told.smoothed is not None and told.mean.shape == (ROWS, 2)
    apart = np.abs((told.mean - means) / np.sqrt(variances))
    # Fifteen rows later hardly anything more is to be learned here.
    assert apart.mean() < 0.12
    filtered = np.abs((told.filtered.mean - means) / np.sqrt(variances)).mean()
    assert apart.mean() < filtered / 3
    assert np.abs(told.states.spread / np.sqrt(variances) - 1).mean() < 0.1


def test_an_ensemble_with_weights_between_states_leaves_far_ones_alone() -> None:
    start, nothing, something = pd.DataFrame(PRIOR[:500], columns=["x", "v"]), [np.nan, np.nan], [np.nan, 2.0]

    def ask(seen: list[float], **options: Any) -> np.ndarray:
        told = fb.assimilate(
            LINEAR, {"x": seen}, start=start, noise={"x": R}, method="ensemble", particles=500, **options
        )
        return told.mean[1]

    blind, plain = ask(nothing), ask(something)
    whole, own, none = (ask(something, near=near) for near in (np.ones((2, 2)), np.eye(2), np.zeros((2, 2))))
    assert whole == pytest.approx(plain, abs=1e-4) and abs(plain[1] - blind[1]) > 0.1
    # What is seen of x says nothing of v then.
    assert own == pytest.approx([plain[0], blind[1]], abs=1e-4)
    assert none == pytest.approx(blind, abs=1e-4)


def test_the_ring_is_a_correlation() -> None:
    weights = ring(12, 3.0)
    assert (weights == weights.T).all() and (np.diag(weights) == 1).all() and weights[0, 6] == 0
    assert np.linalg.eigvalsh(weights).min() > -1e-9 and (np.diff(weights[0, :7]) < 0).all()


def test_noise_of_any_form_for_particles() -> None:
    """A Gaussian written as a function is the Gaussian; heavy tails shrug off an outlier."""

    def gaussian(y: Any, x: Any) -> Any:
        return -0.5 * ((y - x) / R) ** 2 - jnp.log(R) - 0.5 * jnp.log(2 * jnp.pi)

    def heavy(y: Any, x: Any) -> Any:
        return -jnp.log1p(((y - x) / R) ** 2) - jnp.log(jnp.pi * R)

    start = pd.DataFrame(PRIOR[:2_000], columns=["x", "v"])
    plain = _told("particle", 2_000)
    same = fb.assimilate(LINEAR, {"x": SEEN}, start=start, noise={"x": gaussian}, particles=2_000, seed=2)
    np.testing.assert_allclose(plain.mean, same.mean, atol=1e-3)
    spoiled = SEEN.copy()
    spoiled[40] = 12.0
    sturdy = fb.assimilate(LINEAR, {"x": spoiled}, start=start, noise={"x": heavy}, particles=2_000, seed=2)
    assert abs(sturdy.mean[40, 0] - STATES[40, 0]) < 1.0


def test_forecasts_have_the_law_of_the_system() -> None:
    told = _told("ensemble", 2_000)
    means, covariances, _, _, _ = _kalman(SEEN)
    ahead = told.forecast(5, seed=3)
    mean, covariance = means[-1], covariances[-1]
    for step in range(5):
        mean, covariance = A @ mean, A @ covariance @ A.T + np.diag(Q**2)
        assert ahead.mean[step] == pytest.approx(mean, abs=0.1)
        assert ahead.spread[step] == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.08)
    assert ahead.first == ROWS and ahead.frame()["row"].tolist() == list(range(ROWS, ROWS + 5))


def test_the_same_seed_is_the_same_answer_and_gaps_may_be_all_there_is() -> None:
    first, again = (_told("particle", 300) for _ in range(2))
    assert (first.mean == again.mean).all() and first.log_evidence == again.log_evidence
    start = pd.DataFrame(PRIOR[:2_000], columns=["x", "v"])
    blind = fb.assimilate(LINEAR, {"x": [np.nan] * 8}, start=start, noise={"x": R}, particles=2_000)
    assert blind.log_evidence == pytest.approx(0.0, abs=1e-3) and blind.effective == pytest.approx(2_000, rel=1e-3)
