"""Limits that a share of the trajectories keeps: exact answers of linear systems, least violations, several laws."""

from __future__ import annotations

from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toys import toy_twin

import forebear as fb
from forebear.control.chance import share_interval
from forebear.control.model import TwinSteps
from forebear.control.mpc import Mpc
from forebear.errors import InputError

SPREAD = 0.1
A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([0.0, 0.1])


def _walk(state: Any, action: Any, noise: Any) -> Any:
    return state + action + SPREAD * noise


def _strong(state: Any, action: Any, noise: Any) -> Any:
    return state + 1.5 * action + SPREAD * noise


def _ahead(state: Any, action: Any) -> Any:
    return jnp.sum((state - 1) ** 2)


def _end(state: Any) -> Any:
    return jnp.sum((state - 1) ** 2)


def _one_step(dynamics: Any = _walk, scenarios: int = 500, **more: Any) -> Mpc:
    options: dict[str, Any] = {"limits": [(None, 0.5)], "share": 0.9, **more}
    return fb.control.mpc(
        dynamics, _ahead, [(-1, 1)], noise=1, terminal=_end, horizon=1, scenarios=scenarios, **options
    )


def test_the_way_to_a_limit_is_the_tightened_one_of_theory() -> None:
    """One Gaussian step: the limit less as many deviations as the share asks for."""
    exact = 0.5 - SPREAD * stats.norm.ppf(0.9)
    found = [_one_step().plan([[0.0]], seed=seed) for seed in range(5)]
    assert np.mean([plans.actions[0, 0, 0] for plans in found]) == pytest.approx(exact, abs=0.01)
    held = 0
    for plans in found:
        assert plans.met is not None and plans.interval is not None and plans.inside is not None
        true = stats.norm.cdf((0.5 - plans.actions[0, 0, 0]) / SPREAD)
        held += plans.interval[0, 0] <= true <= plans.interval[0, 1]
        assert plans.met[0]
        assert plans.inside[0] == pytest.approx(0.9, abs=0.04)
    assert held >= 4  # each with a chance of 95%


def test_a_limit_that_is_far_away_changes_nothing() -> None:
    free = fb.control.mpc(_walk, _ahead, [(-1, 1)], noise=1, terminal=_end, horizon=1, scenarios=500)
    wide = _one_step(limits=[(-9.0, 9.0)])
    np.testing.assert_allclose(wide.plan([[0.3]]).actions, free.plan([[0.3]]).actions, atol=1e-4)


@pytest.fixture(scope="module")
def mass() -> Mpc:
    def push(state: Any, action: Any, noise: Any) -> Any:
        a, b = jnp.asarray(A, state.dtype), jnp.asarray(B, state.dtype)
        return a @ state + b * action[0] + 0.05 * noise * jnp.asarray([0.2, 1.0], state.dtype)

    def cost(state: Any, action: Any) -> Any:
        return (state[0] - 1) ** 2 + 0.01 * jnp.sum(action**2)

    return fb.control.mpc(
        push, cost, [(-3, 3)], noise=2, horizon=12, scenarios=100, limits=[(None, 0.5), None], share=0.9
    )


def _exact_share(actions: np.ndarray, start: np.ndarray) -> float:
    """That all positions of the horizon are below 0.5: an orthant of a Gaussian vector."""
    mean, moved, covariances = start, [], []
    powers = [np.linalg.matrix_power(A, k) for k in range(len(actions))]
    for action in actions:
        mean = A @ mean + B * action
        moved.append(mean[0])
    kick = np.diag([0.01, 0.05])
    for i in range(len(actions)):
        row = [
            sum((powers[i - k] @ kick @ kick @ powers[j - k].T)[0, 0] for k in range(min(i, j) + 1))
            for j in range(len(actions))
        ]
        covariances.append(row)
    below, covariance = np.full(len(actions), 0.5), cast(Any, np.array(covariances))
    return float(stats.multivariate_normal.cdf(below, np.array(moved), covariance))


def test_the_share_of_whole_trajectories_is_the_one_asked_for(mass: Mpc) -> None:
    start = np.array([0.2, 0.6])
    shares = []
    for seed in range(6):
        plans = mass.plan([start], seed=seed)
        assert plans.inside is not None and plans.met is not None and plans.met[0]
        shares.append(_exact_share(plans.actions[0, :, 0], start))
        assert plans.inside[0] == pytest.approx(shares[-1], abs=0.035)
    assert 0.89 < np.mean(shares) < 0.97


def test_the_closed_loop_says_how_far_it_was_outside(mass: Mpc) -> None:
    starts = np.tile([0.2, 0.3], (5, 1))
    told = mass.simulate(starts, 8)
    assert told.violations is not None and told.inside is not None and told.met is not None
    np.testing.assert_allclose(told.violations, told.states[1:, :, 0] - 0.5)
    np.testing.assert_array_equal(told.violating, (told.states[1:, :, 0] > 0.5).any(axis=0))
    assert told.inside.shape == (8, 5) and told.inside.mean() > 0.85 and told.met.all()
    with pytest.raises(InputError, match="without limits"):
        _ = fb.control.mpc(_walk, _ahead, [(-1, 1)], noise=1, horizon=1).simulate([[0.0]], 1).violating


def test_where_nothing_helps_the_plan_violates_least_and_says_so() -> None:
    controller = _one_step()
    with pytest.warns(UserWarning, match="no plan keeps 90% .* from 1 of 2 starts .* violates them least"):
        plans = controller.plan([[2.0], [0.0]])
    assert plans.met is not None and plans.met.tolist() == [False, True]
    assert plans.actions[0, 0, 0] == pytest.approx(-1.0)
    assert plans.inside is not None and plans.inside[0] == 0.0


def test_few_scenarios_that_mislead_are_told() -> None:
    """The worst of two scenarios is kept inside: far too little for a share of one half."""
    controller = _one_step(scenarios=2, share=0.5)
    with pytest.warns(UserWarning, match="2 scenarios tell too little"):
        found = [controller.plan([[0.0]], seed=seed) for seed in range(20)]
    assert all(plans.met is not None and plans.met[0] for plans in found)


def test_limits_hold_for_every_training_of_a_list() -> None:
    """The strong one decides how far to go; pessimism about the cost does not change that."""
    exact = (0.5 - SPREAD * stats.norm.ppf(0.9)) / 1.5
    plans = _one_step([_walk, _strong], pessimism=1.0).plan([[0.0]])
    assert plans.actions[0, 0, 0] == pytest.approx(exact, abs=0.02)
    assert plans.inside is not None and plans.inside[0] == pytest.approx(0.9, abs=0.04)


def test_a_function_of_the_state_is_a_limit_too() -> None:
    written = _one_step(limits=lambda state: jnp.array([2 * (state[0] - 0.5), -9 - state[0]]))
    np.testing.assert_allclose(written.plan([[0.0]]).actions, _one_step().plan([[0.0]]).actions, atol=2e-3)


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "u": rng.normal(size=200)})
    return frame.assign(d_x=rng.normal(size=200))


def test_limits_of_a_twin_go_by_name() -> None:
    twin = toy_twin(_frame(), {"d_x": ("x", "u")})
    controller = fb.control.mpc(
        twin, lambda state, action: state[0] ** 2, horizon=2, scenarios=20, limits={"x": (-5, 5)}, share=0.9
    )
    assert isinstance(controller.problem.model, TwinSteps) and controller.problem.chance is not None
    assert controller.problem.chance.beyond.names == ("x > -5", "x < 5")
    plans = controller.plan(_frame().head(2))
    assert plans.inside is not None and plans.inside.shape == (2,)
    with pytest.raises(InputError, match="limits: no state 'y'"):
        fb.control.mpc(twin, _ahead, limits={"y": (0, 1)})
    with pytest.raises(InputError, match="go by name, such as {'x'"):
        fb.control.mpc(twin, _ahead, limits=[(0, 1)])


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"limits": {"x": (0, 1)}}, "limits must be a list of pairs"),
        ({"limits": 3}, "limits must be a list of pairs"),
        ({"limits": [(1, 0)]}, "limits of 'state 0' must be two numbers, the lower first"),
        ({"limits": [(None, "far")]}, "limits of 'state 0' must be a pair"),
        ({"limits": [(1,)]}, "limits of 'state 0' must be a pair"),
        ({"limits": [None]}, "every end is open"),
        ({"limits": [(None, 1)], "share": 0}, "share must lie above 0"),
        ({"limits": [(None, 1)], "share": 1.5}, "share must lie above 0"),
        ({"limits": [(None, 1)], "share": 0.999}, "give scenarios=1000 or more"),
    ],
)
def test_bad_limits(options: Any, line: str) -> None:
    with pytest.raises(InputError, match=line) as told:
        _one_step(**options)
    assert "\n" not in str(told.value)


def test_limits_for_another_number_of_states() -> None:
    with pytest.raises(InputError, match="a pair for each of the 1 states; got 2"):
        _one_step(limits=[(None, 1), None]).plan([[0.0]])


def test_intervals_of_shares_cover() -> None:
    rng = np.random.default_rng(0)
    for share in (0.02, 0.5, 0.97):
        low, high = share_interval(rng.binomial(100, share, 4_000), 100).T
        assert np.mean((low <= share) & (share <= high)) >= 0.945
    assert share_interval(np.array([0]), 10)[0, 0] == 0.0
