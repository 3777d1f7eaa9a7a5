"""Rollouts: the memory is that of training, the noise that of the twin, and what does not fit is told."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest
from toys import toy_twin

import forebear as fb
from forebear.twin.twin import Twin

TURN = 2 * np.pi


def _episodes(episodes: int = 12, steps: int = 30, seed: int = 0) -> pd.DataFrame:
    """An angle that turns by its speed, and a speed that a torque and a discrete gear drive."""
    rng = np.random.default_rng(seed)
    rows = []
    for episode in range(episodes):
        angle, speed = rng.uniform(-3, 3), 0.0
        for _ in range(steps):
            u, gear = rng.normal(), rng.choice(["fast", "slow"])
            rows.append((episode, angle, speed, u, gear))
            speed = 0.9 * speed + 0.3 * u * (2 if gear == "fast" else 1) + 0.1 * rng.normal()
            angle += speed
    return pd.DataFrame(rows, columns=["episode", "angle", "speed", "u", "gear"])


RAW = _episodes()
LAGGED: dict[str, Any] = {"state": ["angle", "speed"], "action": ["u", "gear"], "episode": "episode"}


def _lagged(frame: pd.DataFrame, lags: int, increments: bool = True) -> fb.Lagged:
    return fb.lagged(frame, lags=lags, increments=increments, periodic={"angle": TURN}, **LAGGED)


def _fit(made: fb.Lagged, ancestors: dict[str, tuple[str, ...]]) -> Twin:
    return toy_twin(made.table, ancestors, made.periodic)


@pytest.fixture(scope="module")
def twin() -> Twin:
    """Pruned, as discovery leaves it: some lags are missing, and each target has its own."""
    return _fit(_lagged(RAW, 3), {"d_angle": ("angle_0", "angle_3", "u_0"), "d_speed": ("speed_0", "u_1", "gear_2")})


def _codes(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(gear=np.array(["fast", "slow"])[frame["gear"].to_numpy(int)])


def _same_rows(twin: Twin, told: fb.Rollout, lags: int, increments: bool = True) -> None:
    """The conditioning vector of every step against the row that `lagged` makes of the trajectory so far."""
    frame = _codes(told.frame(past=True)).rename(columns={"trajectory": "episode"}).drop(columns=["start", "step"])
    made = _lagged(frame, lags, increments).table
    assert told.conditions is not None
    steps, count, _ = told.conditions.shape
    assert len(made) == steps * count
    made["gear_2" if lags >= 2 else "gear_0"] = 0.0 + (made["gear_2" if lags >= 2 else "gear_0"] == "slow")
    rows = made[list(twin.inputs)].to_numpy(np.float32).reshape(count, steps, -1)
    assert (rows == told.conditions.swapaxes(0, 1)).all()


def _actions(steps: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.normal(size=(steps, count)), rng.integers(0, 2, (steps, count))], axis=2)


def test_conditioning_vectors_are_rows_of_lagged(twin: Twin) -> None:
    told = twin.rollout(RAW, 7, actions=_actions(7, 12), episode="episode", conditions=True)
    assert told.states.shape == (8, 12, 2) and told.actions.shape == (7, 12, 2) and told.outside.shape == (7, 12)
    assert told.plan.state == ("angle", "speed") and told.plan.action == ("u", "gear") and told.plan.lags == 3
    _same_rows(twin, told, 3)
    # The first of them is the next row of the data, had the last action been another.
    last = RAW.groupby("episode").tail(4)
    first = last.groupby("episode").head(1)
    assert told.conditions is not None
    assert told.conditions[0, :, twin.inputs.index("angle_3")] == pytest.approx(_wrap(first["angle"]), abs=1e-5)


def _wrap(angle: Any) -> np.ndarray:
    return np.mod(np.asarray(angle, float) + np.pi, TURN) - np.pi


def test_a_lag_table_starts_the_same_trajectories(twin: Twin) -> None:
    actions = _actions(5, 12)
    shorter = RAW.groupby("episode").head(29)
    raw = twin.rollout(shorter, 5, actions=actions, episode="episode")
    rows = _lagged(RAW, 5).table.groupby("episode").tail(1)
    lagged = twin.rollout(rows, 5, actions=actions)
    assert (raw.states == lagged.states).all() and (raw.past == lagged.past).all()


def test_next_values_as_targets_and_a_policy() -> None:
    twin = _fit(_lagged(RAW, 0, increments=False), {"next_angle": ("angle_0", "u_0"), "next_speed": ("speed_0",)})
    wheel = fb.Dynamics(state=["angle", "speed"], action=["u", "gear"])

    def policy(history: fb.History, key: Any) -> Any:
        return jnp.array([-history.state[1], 1.0])

    told = twin.rollout(RAW.head(9), 6, actions=policy, n=2, conditions=True, dynamics=wheel)
    assert told.states.shape == (7, 18, 2)
    assert (told.actions[:, :, 0] == -told.states[:-1, :, 1]).all() and (told.actions[:, :, 1] == 1).all()
    assert told.starts.tolist() == [*range(9), *range(9)]
    assert (told.states[0, :9] == told.states[0, 9:]).all() and (told.states[1, :9] != told.states[1, 9:]).any()
    _same_rows(twin, told, 0, increments=False)


def test_angles_stay_within_the_turn_of_the_data(twin: Twin) -> None:
    told = twin.rollout(RAW, 60, actions=np.full((60, 2), [3.0, 0.0]), episode="episode")
    angle = told.states[:, :, 0]
    assert (np.abs(angle) <= np.pi + 1e-6).all() and np.abs(np.diff(angle, axis=0)).max() > np.pi
    heading = _episodes(4).assign(angle=lambda f: np.mod(np.degrees(f["angle"]), 360.0))
    made = fb.lagged(heading, lags=0, periodic={"angle": 360.0}, **LAGGED)
    compass = _fit(made, {"d_angle": ("angle_0",), "d_speed": ("speed_0",)})
    turned = compass.rollout({"angle": [-10.0, 355.0], "speed": [0.0, 0.0]}, 40).states[:, :, 0]
    assert turned[0].tolist() == [350.0, 355.0]
    assert (turned >= 0).all() and (turned <= 360).all()


@pytest.fixture(scope="module")
def walker() -> Twin:
    """Bare names, and an increment."""
    rng = np.random.default_rng(0)
    return toy_twin(pd.DataFrame(rng.normal(size=(500, 3)), columns=["x", "u", "dx"]), {"dx": ("x", "u")})


def test_steps_have_the_law_of_the_twin(walker: Twin) -> None:
    told = walker.rollout({"x": np.zeros(400)}, 5, actions=np.full(5, 0.5), conditions=True)
    assert told.conditions is not None
    dx = np.diff(told.states[:, :, 0], axis=0).ravel()
    z = walker.latent(told.conditions.reshape(-1, 2), dx[:, None])
    assert kstest(z[:, 0], "norm").pvalue > 1e-3
    # Fresh noise for every step and trajectory.
    assert abs(np.corrcoef(z.reshape(5, 400)[0], z.reshape(5, 400)[1])[0, 1]) < 0.2


def test_seeds_and_copies(walker: Twin) -> None:
    first, again, other = (walker.rollout({"x": [0.0, 1.0]}, 4, actions=np.ones(4), n=3, seed=s) for s in (1, 1, 2))
    assert (first.states == again.states).all() and (first.states[1:] != other.states[1:]).all()
    assert first.starts.tolist() == [0, 1, 0, 1, 0, 1] and first.states[0, :, 0].tolist() == [0.0, 1.0] * 3


def test_a_second_call_compiles_nothing(walker: Twin) -> None:
    traced = []

    def policy(history: fb.History, key: Any) -> Any:
        traced.append(1)
        return -history.state

    walker.rollout({"x": np.zeros(8)}, 4, actions=policy)
    once = len(traced)
    walker.rollout({"x": np.ones(8)}, 4, actions=policy, seed=3)
    assert once and len(traced) == once


def test_states_beyond_the_data_are_flagged(walker: Twin) -> None:
    told = walker.rollout({"x": [0.0, 40.0]}, 2, actions=np.zeros(2))
    assert told.outside[0, 0] == 0 and told.outside[0, 1] > 10
    assert told.outside[0] == pytest.approx(walker.outside({"x": [0.0, 40.0], "u": [0.0, 0.0]}), rel=1e-4)


def test_user_code_moves_what_the_twin_does_not(walker: Twin) -> None:
    both = fb.Dynamics(state=["x", "clock"], action="u")

    def rest(state: Any, action: Any, targets: Any, key: Any) -> Any:
        return jnp.array([state[0] + 2 * targets[0], state[1] + action[0]])

    start = {"x": [0.0, 1.0], "clock": [5.0, 6.0]}
    told = walker.rollout(start, 3, actions=np.array([1.0, 2.0, 3.0]), dynamics=both, step_rest=rest, seed=4)
    assert told.states[:, :, 1].tolist() == [[5, 6], [6, 7], [8, 9], [11, 12]]
    with pytest.raises(fb.InputError, match="the twin does not move the state 'clock'"):
        walker.rollout(start, 3, actions=np.ones(3), dynamics=both)


def test_more_memory_than_the_twin_needs(walker: Twin) -> None:
    deep = fb.Dynamics(state="x", action="u", lags=2)

    def policy(history: fb.History, key: Any) -> Any:
        assert history.states.shape == (3, 1) and history.actions.shape == (2, 1)
        return history.states[2] + history.actions[1]

    start = pd.DataFrame({"x": [9.0, 1.0, 2.0, 3.0], "u": [9.0, 10.0, 20.0, np.nan]})
    told = walker.rollout(start, 3, actions=policy, dynamics=deep)
    assert told.past[:, 0].tolist() == [[1.0, 10.0], [2.0, 20.0]]
    assert told.actions[:2, 0, 0].tolist() == [11.0, 22.0]
    frame = told.frame(past=True)
    assert frame["step"].tolist() == [-2, -1, 0, 1, 2, 3] and frame["x"].tolist()[:3] == [1.0, 2.0, 3.0]
    assert frame["u"].iloc[-1] == frame["u"].iloc[-2]
    assert len(told.frame()) == 4


def test_names_of_another_kind(walker: Twin) -> None:
    renamed = fb.Dynamics("place", "push", columns={"x": ("place", 0), "u": ("push", 0)}, targets={"dx": "place"})
    told = walker.rollout({"place": [0.5]}, 2, actions=np.zeros(2), dynamics=renamed)
    plain = walker.rollout({"x": [0.5]}, 2, actions=np.zeros(2))
    assert (told.states == plain.states).all() and "place" in told.frame()


@pytest.mark.parametrize(
    ("dynamics", "message"),
    [
        (fb.Dynamics("x"), "input 'u' of the twin is neither a state nor an action of the dynamics"),
        (fb.Dynamics("x", ["u", "x"]), "the dynamics name 'x' more than once"),
        (fb.Dynamics([], "u"), "the dynamics have no state"),
        (fb.Dynamics("u", "x"), "target 'dx' of the twin moves no state of the dynamics ('u')"),
        (fb.Dynamics("x", "u", lags=-1), "lags must be a whole number of at least 0; got -1"),
        (fb.Dynamics("x", "u", columns={"v": ("x", 0)}), "columns of the dynamics: no 'v' there."),
        (fb.Dynamics("x", "u", columns={"x": ("w", 0)}), "columns of the dynamics: no variable 'w'."),
        (fb.Dynamics("x", "u", targets={"dy": "x"}), "targets of the dynamics: no 'dy' there. Known: 'dx'."),
        (fb.Dynamics("x", "u", periodic={"x": 0.0}), "the period of 'x' must be a finite number above 0; got 0.0"),
        ("x", "dynamics must be a forebear.Dynamics or None; got 'x'"),
    ],
)
def test_dynamics_that_do_not_fit(walker: Twin, dynamics: Any, message: str) -> None:
    with pytest.raises(fb.InputError) as error:
        walker.rollout({"x": [0.0]}, 2, actions=np.zeros(2), dynamics=dynamics)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("start", "steps", "actions", "message"),
    [
        ({"x": [0.0]}, 0, np.zeros(1), "steps must be a whole number of at least 1; got 0"),
        ({"X": [0.0]}, 1, np.zeros(1), "start: no column 'x', and no lag columns such as 'x_0' either. Did you mean"),
        ({"x": [np.nan]}, 1, np.zeros(1), "start: column 'x' has no value in row 1"),
        ({"x": [0.0]}, 2, None, "actions: the twin is driven by 'u', which no target moves"),
        ({"x": [0.0]}, 2, np.zeros(3), "actions: an array must have shape (2, 1, 1)"),
        ({"x": [0.0]}, 2, np.array([0.0, np.inf]), "actions: every action must be a finite number"),
        (
            {"x": [0.0]},
            2,
            lambda h, key: jnp.zeros(2),
            "the policy must return 1 numbers, shape (1,); got",
        ),
        ({"x": [0.0]}, 2, lambda h, key: np.sin(h.state), "the policy cannot be compiled by JAX"),
        (np.zeros((1, 2, 3)), 2, np.zeros(2), "start: an array must have shape (starts, 1, 2), oldest moment first"),
    ],
)
def test_bad_calls_are_told(walker: Twin, start: Any, steps: int, actions: Any, message: str) -> None:
    with pytest.raises(fb.InputError) as error:
        walker.rollout(start, steps, actions=actions)
    assert message in str(error.value)


def test_short_histories_are_told(twin: Twin) -> None:
    few = RAW.groupby("episode").head(3)
    with pytest.raises(fb.InputError, match="start: episode '0' has 3 rows, but the twin looks 3 steps back"):
        twin.rollout(few, 2, actions=_actions(2, 12), episode="episode")
    with pytest.raises(fb.InputError, match="start has 3 rows"):
        twin.rollout(few.head(3), 2, actions=_actions(2, 1))
    rows = _lagged(RAW, 2).table
    with pytest.raises(fb.InputError, match="start: no column 'angle_3'"):
        twin.rollout(rows, 2, actions=_actions(2, len(rows)))


def test_names_that_say_nothing_are_told() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=["x_0", "u", "y"])
    unclear = toy_twin(frame, {"y": ("x_0", "u")})
    with pytest.raises(fb.InputError, match="the name of target 'y' does not say which state it moves"):
        unclear.rollout(frame, 2)
