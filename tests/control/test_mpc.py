"""Scenario MPC: minima are minima, plans are those of theory, twins are given the rows they were trained on."""

from __future__ import annotations

import runpy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from quick import trains_briefly
from toys import toy_twin

import forebear as fb
from forebear.control.lbfgs import minimise
from forebear.control.model import TwinSteps
from forebear.control.mpc import ClosedLoop, Mpc, Plans
from forebear.errors import InputError
from forebear.twin.twin import Twin

ROOT = Path(__file__).parents[2]
TURN = 2 * np.pi
A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [0.1]])


def _push(state: Any, action: Any, noise: Any) -> Any:
    """A mass that is pushed; without noise where none is asked for."""
    return A @ state + B @ action + 0.05 * jnp.sum(noise) * jnp.array([0.0, 1.0])


def _cost(state: Any, action: Any) -> Any:
    return jnp.sum(state**2) + 0.1 * jnp.sum(action**2)


def _final(state: Any) -> Any:
    return jnp.sum(state**2)


def test_every_problem_ends_at_its_minimum() -> None:
    """Valleys of different curvature, from different starts; each takes the evaluations that it needs alone."""
    stiff, starts = np.array([1.0, 20.0, 100.0]), np.array([[-1.2, 1.0], [2.0, 2.0], [0.5, -1.0]])

    def valleys(x: Any) -> Any:
        return (1 - x[:, 0]) ** 2 + stiff * (x[:, 1] - x[:, 0] ** 2) ** 2

    with jax.enable_x64(True):
        found = jax.jit(partial(minimise, valleys, iterations=300, tolerance=1e-8))(jnp.asarray(starts))
    np.testing.assert_allclose(found.x, np.ones((3, 2)), atol=1e-6)
    assert len(set(np.asarray(found.evaluations).tolist())) == 3
    alone = scipy.optimize.minimize(lambda x: float(valleys(np.tile(x, (3, 1)))[2]), starts[2], method="L-BFGS-B")
    assert found.evaluations[2] < 2 * alone.nfev


def test_a_value_that_is_no_number_is_too_far() -> None:
    with jax.enable_x64(True):
        found = minimise(
            lambda x: jnp.sum(x - jnp.log(x), axis=1), jnp.full((1, 2), 9.0), iterations=99, tolerance=1e-6
        )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


def test_a_plan_without_noise_or_bounds_is_that_of_riccati() -> None:
    horizon = 15
    value, gains = np.eye(2), []
    for _ in range(horizon):
        gains.append(np.linalg.solve(0.1 * np.eye(1) + B.T @ value @ B, B.T @ value @ A))
        value = np.eye(2) + A.T @ value @ (A - B @ gains[-1])
    starts = np.array([[1.0, 0.0], [-0.5, 2.0]])
    wide = [(-1e3, 1e3)]
    controller = fb.control.mpc(
        _push, _cost, wide, noise=0, terminal=_final, horizon=horizon, scenarios=1, tolerance=1e-7
    )
    plans = controller.plan(starts)
    for start, actions, cost in zip(starts, plans.actions, plans.cost, strict=True):
        state = start
        for gain, action in zip(gains[::-1], actions, strict=True):
            np.testing.assert_allclose(action, -gain @ state, atol=1e-5)
            state = A @ state + B @ action
        assert cost == pytest.approx(start @ value @ start)


@pytest.fixture(scope="module")
def controller() -> Mpc:
    return fb.control.mpc(_push, _cost, [(-1.0, 1.0)], noise=1, terminal=_final, horizon=10, scenarios=8)


def test_actions_stay_within_their_bounds_and_plans_go_on(controller: Any) -> None:
    starts = np.array([[3.0, 1.0], [0.1, 0.0]])
    first = controller.plan(starts, seed=0)
    assert np.abs(first.actions).max() <= 1 and first.actions[0, 0, 0] == -1.0
    again = controller.plan(starts, seed=0, after=Plans(np.roll(first.actions, 1, axis=1), first.cost, first.cost))
    assert again.evaluations[1] < first.evaluations[1]
    np.testing.assert_array_equal(controller.plan(starts, seed=0).actions, first.actions)
    assert (controller.plan(starts, seed=1).actions != first.actions).any()


def test_two_controllers_meet_the_same_noise(controller: Any) -> None:
    """With their hands tied, they see the same states; the world is not what they plan with."""
    starts = np.array([[1.0, 0.0], [0.0, -1.0]])
    tied = [
        fb.control.mpc(_push, _cost, [(-1e-12, 1e-12)], noise=1, horizon=horizon, scenarios=scenarios)
        for horizon, scenarios in ((2, 3), (4, 2))
    ]
    one, other = (c.simulate(starts, 6, world=_push, noise=1, seed=3) for c in tied)
    np.testing.assert_allclose(one.states, other.states, atol=1e-9)
    free = controller.simulate(starts, 6, world=_push, noise=1, seed=3)
    assert free.states.shape == (7, 2, 2) and free.actions.shape == (6, 2, 1)
    noise = (free.states[1:] - free.states[:-1] @ A.T - free.actions @ B.T) / 0.05
    np.testing.assert_allclose(noise[:, :, 0], 0, atol=1e-9)
    untouched = (one.states[1:] - one.states[:-1] @ A.T) / 0.05
    np.testing.assert_allclose(noise[:, :, 1], untouched[:, :, 1], atol=1e-6)
    paid = (free.states[:-1] ** 2).sum(axis=2) + 0.1 * (free.actions**2).sum(axis=2)
    np.testing.assert_allclose(free.cost, paid.sum(axis=0))


def test_a_world_with_more_state_than_the_controller_sees() -> None:
    def world(state: Any, action: Any, noise: Any) -> Any:
        return jnp.array([state[0] + action[0], state[1] + 1.0])

    seen = fb.control.mpc(
        lambda state, action, noise: state + action,
        lambda s, a: s[0] ** 2,
        [(-1, 1)],
        noise=0,
        horizon=3,
        scenarios=1,
    )
    told = seen.simulate([[0.5]], 3, world=world, noise=0, world_start=[[0.5, 7.0]], see=lambda state: state[:1])
    np.testing.assert_allclose(told.states[:, 0, 1], [7, 8, 9, 10])
    np.testing.assert_allclose(told.states[1:, 0, 0], 0, atol=1e-3)


RAW = fb.systems.pendulum_episodes(episodes=3, steps=20)
LAGS = fb.lagged(RAW, state="theta", action="u", lags=3, episode="episode", periodic={"theta": TURN})


@pytest.fixture(scope="module")
def twin() -> Twin:
    return toy_twin(LAGS.table, {"d_theta": ("theta_0", "u_0", "theta_2", "u_3")}, LAGS.periodic)


def test_the_twin_is_given_the_rows_it_was_trained_on(twin: Twin) -> None:
    """Through an episode of the data, moved by what happened: the row of each step is that of the table."""
    controller = fb.control.mpc(
        twin, lambda state, action: 1 - jnp.cos(state[0]), {"u": (-2, 2)}, horizon=3, scenarios=2
    )
    model = controller.problem.model
    assert isinstance(model, TwinSteps)
    rows = LAGS.table[list(twin.inputs)].to_numpy()[: 20 - 3]
    carried = jnp.asarray(model.begin(LAGS.table.head(1))[0])
    theta, u = (RAW[name].to_numpy()[3:20] for name in ("theta", "u"))
    for step, row in enumerate(rows):
        action = jnp.array([u[step]], carried.dtype)
        given = np.asarray(model.condition(carried, action))
        turned = (given - row + np.pi) % TURN - np.pi
        np.testing.assert_allclose(
            np.where([n.startswith("theta") for n in twin.inputs], turned, given - row), 0, atol=1e-5
        )
        drawn = model.step(carried, action, jnp.array([0.3]))
        told = twin.core().push(twin.core().params, jnp.asarray(given, jnp.float32)[None], jnp.array([[0.3]]))
        moved = np.asarray(drawn[0, 0] - carried[0, 0] - told[0, 0]) / TURN
        assert moved == pytest.approx(np.round(moved), abs=1e-4)
        if step + 1 < len(theta):
            carried = model.observe(carried, action, jnp.array([theta[step + 1]], carried.dtype))


def test_a_twin_plans_for_many_starts(twin: Twin) -> None:
    controller = fb.control.mpc(twin, lambda state, action: 1 - jnp.cos(state[0]), horizon=3, scenarios=4)
    plans = controller.plan(LAGS.table.head(5))
    assert plans.actions.shape == (5, 3, 1) and np.abs(plans.actions).max() <= RAW["u"].abs().max()
    told = controller.simulate(LAGS.table.head(5), 2)
    assert told.states.shape == (3, 5, 1)


def test_trainings_that_agree_plan_as_one(twin: Twin) -> None:
    def planned(dynamics: Any, **more: Any) -> np.ndarray:
        controller = fb.control.mpc(
            dynamics, lambda state, action: 1 - jnp.cos(state[0]), horizon=3, scenarios=4, iterations=5, **more
        )
        return controller.plan(LAGS.table.head(2)).actions

    np.testing.assert_allclose(planned([twin, twin], pessimism=2.0), planned(twin), atol=1e-6)


def _counts() -> Twin:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=300), "u": rng.choice(["a", "b"], 300)})
    return toy_twin(table.assign(d_x=rng.normal(size=300)), {"d_x": ("x", "u")})


@pytest.mark.parametrize(
    ("arguments", "settings", "line"),
    [
        ((_push, _cost, [(-1, 1)]), {}, "noise=… must say how many standard normal numbers"),
        ((_push, _cost, [(1, -1)]), {"noise": 1}, "bounds of action 0 must be two finite numbers, the lower first"),
        ((_push, _cost, {"u": (-1, 1)}), {"noise": 1}, "bounds must be a list of pairs"),
        ((_push, None, [(-1, 1)]), {"noise": 1}, "cost must be a function"),
        ((3, _cost, [(-1, 1)]), {"noise": 1}, "dynamics must be a twin or a function"),
        ((_push, _cost, [(-1, 1)]), {"noise": 1, "horizon": 0}, "horizon must be a whole number of at least 1"),
        ((_push, _cost, [(-1, 1)]), {"noise": 1, "tolerance": 0}, "tolerance must be a number above 0"),
        ((_push, _cost, [(-1, 1)]), {"noise": 1, "names": 3}, "names belong to a twin"),
    ],
)
def test_bad_input(arguments: Any, settings: Any, line: str) -> None:
    with pytest.raises(InputError, match=line):
        fb.control.mpc(*arguments, **settings)


def test_bad_input_for_twins_and_calls(twin: Twin, controller: Any) -> None:
    with pytest.raises(InputError, match="no action 'torque'"):
        fb.control.mpc(twin, _cost, {"torque": (-1, 1)})
    with pytest.raises(InputError, match="go by name, such as {'u'"):
        fb.control.mpc(twin, _cost, [(-1, 1)])
    with pytest.raises(InputError, match="'u': a planner that follows gradients needs continuous numbers"):
        fb.control.mpc(_counts(), _cost)
    with pytest.raises(InputError, match="noise belongs to a step function"):
        fb.control.mpc(twin, _cost, noise=1)
    with pytest.raises(InputError, match="must be an array"):
        controller.plan([[np.nan, 0.0]])
    with pytest.raises(InputError, match="after must be plans of shape"):
        controller.plan([[0.0, 0.0]], after=Plans(np.zeros((2, 10, 1)), np.zeros(2), np.zeros(2)))
    with pytest.raises(InputError, match="belong to a world"):
        controller.simulate([[0.0, 0.0]], 2, noise=1)
    with pytest.raises(InputError, match="give one for each trial"):
        controller.simulate([[0.0, 0.0]], 2, world=_push, noise=1, world_start=np.zeros((2, 2)))
    with pytest.raises(InputError, match="cost must return one number"):
        fb.control.mpc(_push, lambda s, a: s, [(-1, 1)], noise=1).plan([[0.0, 0.0]])
    with pytest.raises(InputError, match="the step must return the next state"):
        fb.control.mpc(lambda s, a, n: s[:1], _cost, [(-1, 1)], noise=1).plan([[0.0, 0.0]])


@pytest.mark.slow
def test_the_swing_up_of_the_page_is_the_example_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    script = ROOT / "examples" / "swing_up.py"
    text = script.read_text(encoding="utf-8")
    page = ROOT / "docs" / "howto" / "control.md"
    assert f"```python\n{text}```" in page.read_text(encoding="utf-8") and len(text.splitlines()) < 60
    trains_briefly(monkeypatch)
    simulate = Mpc.simulate
    steps = []

    def short(self: Mpc, start: Any, count: int, **named: Any) -> ClosedLoop:
        steps.append(count)
        told = simulate(self, start, 1, **named)
        assert told.states.shape == (2, 4, 2) and np.abs(told.actions).max() <= 2
        return replace(told, states=np.repeat(told.states[:1], count + 1, axis=0))

    monkeypatch.setattr(Mpc, "simulate", short)
    runpy.run_path(str(script))
    assert steps == [100]


def test_pessimism_prefers_what_all_trainings_agree_on() -> None:
    """Two guesses of a gain, 1 and 3, towards 1: the mean cost is least at 0.4, and both cost the same at 0.5."""

    def learned(gain: float) -> Any:
        return lambda state, action, noise: state + gain * action

    def planned(pessimism: float) -> float:
        controller = fb.control.mpc(
            [learned(1.0), learned(3.0)],
            lambda state, action: 0.0,
            [(-2.0, 2.0)],
            noise=0,
            terminal=lambda state: jnp.sum((state - 1) ** 2),
            horizon=1,
            scenarios=1,
            pessimism=pessimism,
        )
        return float(controller.plan([[0.0]]).actions[0, 0, 0])

    assert planned(0.0) == pytest.approx(0.4, abs=0.01)
    assert planned(3.0) == pytest.approx(0.5, abs=0.02)


def test_pessimism_needs_several_trainings_of_one_system() -> None:
    def step(state: Any, action: Any, noise: Any) -> Any:
        return state

    def cost(state: Any, action: Any) -> Any:
        return 0.0

    with pytest.raises(InputError, match="give a list of twins"):
        fb.control.mpc(step, cost, [(0.0, 1.0)], noise=0, pessimism=1.0)
    with pytest.raises(InputError, match="at least 0"):
        fb.control.mpc([step, step], cost, [(0.0, 1.0)], noise=0, pessimism=-1.0)
