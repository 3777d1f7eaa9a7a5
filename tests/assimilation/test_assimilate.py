"""Twins as transitions, angles, actions and memory; what goes wrong is told."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from toys import toy_twin

import forebear as fb
from forebear.assimilation import Transition

WALK = Transition(["x"], lambda state, action, key: 0.9 * state + action + 0.3 * jr.normal(key, state.shape), ["u"])
TURN = 2 * np.pi


def _ask(**changes: Any) -> fb.Assimilated:
    asked: dict[str, Any] = {
        "twin": WALK,
        "observations": pd.DataFrame({"x": [0.0, np.nan, 1.0], "u": [0.1, 0.2, np.nan]}),
        "start": {"x": np.linspace(-1, 1, 50)},
        "noise": {"x": 0.5},
        "particles": 200,
        **changes,
    }
    return fb.assimilate(asked.pop("twin"), asked.pop("observations"), **asked)


def test_actions_drive_the_states() -> None:
    pushed = _ask(observations={"x": [0.0, np.nan, np.nan], "u": [5.0, 5.0, 0.0]})
    still = _ask(observations={"x": [0.0, np.nan, np.nan], "u": [0.0, 0.0, 0.0]})
    assert (pushed.mean - still.mean)[:, 0] == pytest.approx([0.0, 5.0, 9.5], abs=1e-4)
    ahead = pushed.forecast(2, actions=[[1.0], [0.0]])
    assert ahead.mean.shape == (2, 1) and ahead.mean[0, 0] == pytest.approx(0.9 * pushed.mean[-1, 0] + 1, abs=0.1)


@pytest.mark.parametrize("method", ["particle", "ensemble"])
def test_a_twin_with_memory_moves_as_its_rollouts_do(method: Any) -> None:
    """Nothing seen: the members are trajectories of the twin; something seen: they come near it."""
    rng = np.random.default_rng(0)
    rows = []
    for episode in range(10):
        x = rng.normal(size=30).cumsum() * 0.1
        rows.append(pd.DataFrame({"episode": episode, "x": x, "u": rng.normal(size=30)}))
    raw = pd.concat(rows, ignore_index=True)
    lagged = fb.lagged(raw, lags=2, state=["x"], action=["u"], episode="episode")
    twin = toy_twin(lagged.table, {"d_x": ("x_0", "x_2", "u_1")})
    start = lagged.table.iloc[[5]]
    u = rng.normal(size=6)
    told = fb.assimilate(
        twin,
        {"x": [np.nan] * 6, "u": u},
        start=start,
        noise={"x": 0.1},
        method=method,
        particles=4_000,
    )
    moved = twin.rollout(start, 5, actions=u[:5], n=4_000)
    np.testing.assert_allclose(told.mean[:, 0], moved.states.mean(axis=1)[:, 0], atol=0.05)
    np.testing.assert_allclose(told.states.spread[1:, 0], moved.states[1:, :, 0].std(axis=1), rtol=0.1)
    goal = moved.states[:, 7, 0]
    seen = fb.assimilate(
        twin, {"x": goal, "u": u}, start=start, noise={"x": 0.02}, method=method, particles=4_000, smooth=2
    )
    assert np.abs(seen.mean[1:, 0] - goal[1:]).max() < 0.08 and (seen.states.spread[1:] < 0.05).all()


@pytest.mark.parametrize("method", ["particle", "ensemble"])
def test_angles_go_the_short_way_round(method: Any) -> None:
    """A wheel that turns steadily, seen now and then, across the end of its turn."""

    def move(state: Any, action: Any, key: Any) -> Any:
        return jnp.array([state[0] + state[1], state[1]]) + 0.01 * jr.normal(key, (2,))

    wheel = Transition(["angle", "speed"], move, periodic={"angle": TURN})
    true = 2.5 + 0.3 * np.arange(30)
    seen = (true + np.pi) % TURN - np.pi
    seen[np.arange(30) % 3 > 0] = np.nan
    rng = np.random.default_rng(0)
    start = {"angle": 2.5 + 0.3 * rng.normal(size=500), "speed": 0.3 + 0.1 * rng.normal(size=500)}
    told = fb.assimilate(
        wheel, {"angle": seen}, start=start, noise={"angle": 0.05}, method=method, particles=500, smooth=3
    )
    apart = (told.mean[:, 0] - true + np.pi) % TURN - np.pi
    assert np.abs(apart).max() < 0.15 and np.abs(told.mean[10:, 1] - 0.3).max() < 0.05
    low, high = told.bands(0.9)
    assert (high - low)[:, 0].max() < 1.5 and np.abs(told.mean[:, 0]).max() <= np.pi + 1e-6


def test_the_record_of_it() -> None:
    told = _ask(smooth=1)
    assert list(told.frame()) == ["row", "x", "x_low", "x_high", "effective"]
    assert told.draws(7).shape == (7, 3, 1) and told.bands(0.5).shape == (2, 3, 1)
    assert "3 rows of 'x', 200 members" in repr(told)
    axis = told.plot("x")
    assert axis.get_ylabel() == "x" and len(axis.lines) == 1


def test_members_that_run_out_are_told() -> None:
    with pytest.warns(UserWarning, match=r"few members count: .* at row 2, .*: use more particles"):
        _ask(observations={"x": [0.0, np.nan, 6.0], "u": [0.0, 0.0, 0.0]}, noise={"x": 0.1})
    with pytest.warns(UserWarning, match="no member can explain what was seen at row 2"):
        told = _ask(observations={"x": [0.0, np.nan, 1e30], "u": [0.0, 0.0, 0.0]}, noise={"x": 1e-3})
    assert told.log_evidence == -np.inf and np.isfinite(told.mean).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ask()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"twin": "twin"}, "twin must be a forebear.Twin or a forebear.assimilation.Transition"),
        ({"observations": {"z": [1.0], "u": [0.0]}}, "no column is a state of the twin ('x')"),
        ({"observations": {"x": [1.0]}}, "no column 'u', an action that drives the twin"),
        ({"observations": {"x": ["a", "b"], "u": [0.0, 0.0]}}, "'x' holds something that is no number"),
        ({"observations": {"x": [1.0, np.inf], "u": [0.0, 0.0]}}, "'x' holds an infinite number"),
        ({"noise": {}}, "noise: none for 'x', which is observed"),
        ({"noise": {"x": 0.0}}, "noise of 'x' must be a number above 0; got 0.0"),
        ({"noise": 0.5}, "noise must be a dict"),
        ({"noise": {"x": 0.5, "v": 1.0}}, "noise: no observed state 'v'"),
        ({"noise": {"x": lambda y, x: -((y - x) ** 2)}, "method": "ensemble"}, "takes standard deviations"),
        ({"method": "kalman"}, "method is 'kalman'"),
        ({"particles": 1}, "particles must be a whole number of at least 2; got 1"),
        ({"inflation": 1.1}, "near and inflation are options of an ensemble"),
        ({"near": np.ones((2, 2)), "method": "ensemble"}, "near must hold weights between 0 and 1, (1, 1)"),
        ({"dynamics": fb.Dynamics("x")}, "a Transition has none"),
        ({"start": {"y": [0.0]}}, "start: no column 'x'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.InputError) as told:
        _ask(**changes)
    assert message in str(told.value) and "\n" not in str(told.value)


def test_a_forecast_needs_its_actions() -> None:
    with pytest.raises(fb.InputError, match=r"actions: give 3 rows of finite numbers, one of each action \('u'\)"):
        _ask().forecast(3)
