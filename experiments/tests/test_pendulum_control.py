"""The pendulum to swing up, SAC, and what `forebear reproduce pendulum-control` says of its units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv

import forebear as fb
from forebear.control import sac_state
from forebear.control.sac import SacSettings, train_sac
from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.storage.arrays import load_arrays
from forebear.systems import pendulum
from forebear.systems.pendulum import DT, GRAVITY, NOISE, TORQUE
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin
from forebear_experiments.framework.experiment import Findings
from forebear_experiments.pendulum import control
from forebear_experiments.pendulum.rig import PendulumVectorEnv, swing_up, twin_pendulum, warm_up

TURN = 2 * np.pi
STATES = 3
"""angles in an observation"""


def _twin(lags: tuple[int, ...]) -> Twin:
    """Hardly trained: what it is given does not depend on what it answers."""
    system = pendulum(episodes=3, steps=40)
    inputs = [name for lag in lags for name in system.groups[f"lag {lag}"]]
    periods = {name: TURN for name in inputs if name.startswith("theta")}
    table = read_columns(system.table, "the table", [*inputs, "dtheta"], periods)
    settings = TwinSettings.resolve({"steps": 1, "width": 4, "depth": 1, "ode_steps": 2})
    return fit_twin(table, {"dtheta": inputs}, joint=False, settings=settings, seed=0)


def _recorded(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The rows that twins are given from now on."""
    given: list[np.ndarray] = []
    core = Twin.core

    def watched(twin: Twin) -> Any:
        inside = core(twin)

        def push(params: Any, x: jax.Array, z: jax.Array) -> jax.Array:
            jax.debug.callback(lambda rows: given.append(np.asarray(rows)), x, ordered=True)
            return inside.push(params, x, z)

        return inside._replace(push=push)

    monkeypatch.setattr(Twin, "core", watched)
    return given


@pytest.mark.parametrize("lags", [(0,), (0, 3), tuple(range(10))])
def test_the_twin_is_given_rows_of_the_training_table(lags: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    given = _recorded(monkeypatch)
    twin = _twin(lags)
    envs = twin_pendulum(twin, 2)
    _, info = envs.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-2, 2, (15, 2, 1)).astype(np.float32)
    angles = [info["state"]]
    for action in actions:
        *_, info = envs.step(action)
        angles.append(info["state"])
    jax.effects_barrier()
    moments = [
        {"episode": place, "theta": float(angles[n][place, 0]), "u": float(actions[min(n, 14)][place, 0])}
        for place in range(2)
        for n in range(16)
    ]
    # The table that the same trajectory would give to a discovery; its first rows have all of their past in it.
    table = fb.lagged(
        pd.DataFrame(moments), state="theta", action="u", lags=max(lags), episode="episode", periodic={"theta": TURN}
    ).table[list(twin.inputs)]
    rows = table.to_numpy().reshape(2, -1, len(twin.inputs))
    assert rows.shape[1] == 15 - max(lags)
    for late in range(rows.shape[1]):
        np.testing.assert_allclose(given[late + max(lags)], rows[:, late], atol=1e-6)


def test_the_tables_of_the_experiment_are_those_of_lagged() -> None:
    """So that the test above speaks of the table that the twins of the experiment learn from."""
    system = pendulum(episodes=2, steps=14)
    raw = fb.systems.pendulum_episodes(episodes=2, steps=14)
    table = fb.lagged(raw, state="theta", action="u", lags=9, episode="episode", periodic={"theta": TURN}).table
    for name in system.candidates:
        apart = table[name].to_numpy() - system.table[name].to_numpy()
        np.testing.assert_allclose(np.sin(apart / 2) if name.startswith("theta") else apart, 0, atol=1e-9)


def _frames(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles and torques (environments, 3), newest first."""
    frames = observation.reshape(len(observation), STATES, 3)
    return np.arctan2(frames[:, :, 1], frames[:, :, 0]), frames[:, :, 2]


@pytest.mark.parametrize("kind", ["true", "twin"])
def test_three_frames_newest_first(kind: str) -> None:
    envs: VectorEnv = PendulumVectorEnv(2) if kind == "true" else twin_pendulum(_twin((0, 1)), 2)
    observation, _ = envs.reset(seed=1)
    first, torques = _frames(observation)
    assert np.all(torques == 0)
    seen = [first[:, 0]]
    for u in (0.5, -1.0, 3.0):
        observation, reward, terminated, truncated, _ = envs.step(np.full((2, 1), u, np.float32))
        angles, torques = _frames(observation)
        seen.append(angles[:, 0])
        np.testing.assert_allclose(reward, -(angles[:, 0] ** 2 + 0.001 * min(u, 2.0) ** 2), rtol=1e-4)
        assert not terminated.any() and not truncated.any()
    np.testing.assert_allclose(torques, [[2.0, -1.0, 0.5]] * 2)
    np.testing.assert_allclose(angles, np.stack(seen[:0:-1], axis=1), atol=1e-5)


def test_episodes_begin_with_true_steps_without_torque() -> None:
    moments, speed = warm_up(np.random.default_rng(0), 4_000)
    assert moments.shape == (4_000, 11, 2) and np.all(moments[:, :, 1] == 0)
    steps = np.diff(moments[:, :, 0], axis=1)
    np.testing.assert_allclose(steps[:, -1], speed * DT)
    # the acceleration of a step tells its noise
    shake = np.diff(steps, axis=1) / (DT**2 * GRAVITY * np.sin(moments[:, 1:-1, 0]))
    clear = np.abs(np.sin(moments[:, 1:-1, 0])) > 0.1
    assert shake[clear].mean() == pytest.approx(1, abs=0.01) and shake[clear].std() == pytest.approx(NOISE, abs=0.01)


def test_a_push_is_worth_its_torque() -> None:
    first, second = (PendulumVectorEnv(3) for _ in range(2))
    for envs in (first, second):
        envs.reset(seed=5)
    still, pushed = first.step(np.zeros((3, 1)))[0], second.step(np.ones((3, 1)))[0]
    apart = _frames(pushed)[0][:, 0] - _frames(still)[0][:, 0]
    np.testing.assert_allclose(apart, DT**2 * TORQUE, atol=1e-5)


def test_the_same_seeds_are_the_same_episodes_for_every_policy() -> None:
    together = PendulumVectorEnv(3)
    alone = PendulumVectorEnv(1)
    still = swing_up(together, lambda seen: np.zeros((len(seen), 1)), seed=7)
    assert swing_up(alone, lambda seen: np.zeros((len(seen), 1)), seed=9)[0] == pytest.approx(still[2])
    first = together.reset(seed=7)[0]
    np.testing.assert_array_equal(first[2], alone.reset(seed=9)[0][0])


def test_returns_without_control_are_those_measured_elsewhere() -> None:
    """-982 ± 441 by an independent simulation."""
    returns = np.array(control.idle(0, False)[0]["returns"])
    assert len(returns) == 500 and abs(returns.mean() + 982) < 80 and abs(returns.std() - 441) < 50


class Copying(VectorEnv):
    """Paid for repeating what is seen; ten steps an episode."""

    def __init__(self, num_envs: int):
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = self.single_action_space = Box(-1, 1, (1,), np.float32)
        self.age = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.seen = self.rng.uniform(-1, 1, (self.num_envs, 1)).astype(np.float32)
        return self.seen, {}

    def step(self, actions: Any) -> Any:
        reward = -((np.asarray(actions) - self.seen) ** 2)[:, 0]
        self.age = (self.age + 1) % 10
        over = np.full(self.num_envs, self.age == 0)
        final, _ = self.reset()
        return self.seen, reward, np.zeros_like(over), over, {"final_obs": final, "final_info": {}} if over[0] else {}


SMALL = SacSettings(
    timesteps=1_600, rate=3e-3, batch=64, widths=(16,), learning_starts=64, updates=4, evaluate_every=800
)


def test_sac_learns_stops_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("sbx")
    places = np.linspace(-0.8, 0.8, 9)[:, None].astype(np.float32)
    scored: list[float] = []

    def score(act: Any) -> np.ndarray:
        if len(scored) == 1:
            scored.append(0.0)
            raise KeyboardInterrupt
        scored.append(float(-np.abs(act(places) - places).mean()))
        return np.array([scored[-1]])

    with pytest.raises(KeyboardInterrupt):
        train_sac(Copying(4), SMALL, seed=0, score=score, place=tmp_path)
    trained = train_sac(Copying(4), SMALL, seed=0, score=score, place=tmp_path)
    assert [row["timesteps"] for row in trained.course.curve] == [800, 1_600]
    assert trained.course.curve[0]["mean"] == scored[0] and len(scored) == 3
    # 800 transitions in four environments, ten steps an episode, all cut off by the limit of time.
    for row in trained.course.curve:
        assert (row["episodes"], row["trained_length"], row["cut_off"]) == (80, 10, 1)
    # Sums over ten steps of what is paid for missing the mark, less and less.
    before, after = (row["trained_return"] for row in trained.course.curve)
    assert -10 * 4 / 3 < before < after < 0
    assert 0 < trained.course.curve[1]["entropy"] < trained.course.curve[0]["entropy"] < 1
    assert np.abs(trained.final(places) - places).mean() < 0.25
    with pytest.raises(InputError, match="belongs to a training with other settings"):
        train_sac(Copying(4), SMALL, seed=1, score=score, place=tmp_path)


def test_a_checkpoint_holds_plain_arrays(tmp_path: Path) -> None:
    pytest.importorskip("sbx")
    settings = SacSettings(timesteps=8, learning_starts=100, widths=(4,), buffer=100, evaluate_every=4)
    train_sac(Copying(2), settings, seed=0, score=lambda act: np.zeros(1), place=tmp_path)
    arrays, about = load_arrays(tmp_path / sac_state._FILE, "")
    assert arrays["observations"].shape == (4, 2, 1) and about["timesteps"] == 8


def _row(regime: str, mean: float, lags: list[int] | None = None) -> list[dict[str, Any]]:
    returns = (mean + np.linspace(-10, 10, 11)).tolist()
    told = {"regime": regime, "curve": [{"timesteps": 10_000, "mean": mean}], "returns": returns, "mean": mean}
    return [{**told, "std": 6.0, "final_mean": mean - 1, **({"lags": lags} if lags else {})}]


def _findings(**means: float) -> Findings:
    names = dict(true=control.TRUE, full=control.FULL, near=control.NEAR, far=control.FAR, alone=control.ALONE)
    names |= dict(found=control.FOUND, idle=control.IDLE)
    good = dict(true=-80.0, full=-90.0, near=-85.0, far=-95.0, alone=-700.0, found=-85.0, idle=-1000.0)
    values = {**good, **means}
    rows = {name: _row(name, values[key], [0, 1]) for key, name in names.items()}
    return Findings(control.EXPERIMENTS["pendulum-control"], {}, rows)


@pytest.mark.parametrize(
    ("means", "broken"),
    [
        ({}, []),
        ({"alone": -90.0}, ["fails"]),
        ({"far": -400.0}, ["lags 0 and 3: transfers"]),
        ({"near": -99.0}, ["at least as good"]),
    ],
)
def test_claims_can_fail(means: dict[str, float], broken: list[str]) -> None:
    findings = _findings(**means)
    lost = [claim for claim in findings.experiment.claims(findings) if not claim.holds]
    assert len(lost) == len(broken) and all(word in claim.claim for word, claim in zip(broken, lost, strict=True))
    assert all(claim.why for claim in lost)
    assert findings.experiment.figure is not None and len(findings.experiment.figure(findings).axes) == 2


def test_quick_is_the_published_training_for_fewer_steps() -> None:
    quick, published = (control.sac_settings(quick) for quick in (True, False))
    changed = {name for name in vars(quick) if getattr(quick, name) != getattr(published, name)}
    assert changed == {"timesteps", "evaluate_every"}
    assert all(getattr(quick, name) < getattr(published, name) for name in changed)


@pytest.mark.slow
def test_a_quick_unit(tmp_path: Path) -> None:
    pytest.importorskip("sbx")
    (row,) = control.practise(control.NEAR, 0, True, tmp_path)
    assert row["lags"] == [0, 1] and len(row["returns"]) == 20 and np.isfinite(row["returns"]).all()
    assert [one["timesteps"] for one in row["curve"]] == [400, 800, 1_200]
    # A second call finds the twin and the finished training.
    (again,) = control.practise(control.NEAR, 0, True, tmp_path)
    assert again["returns"] == row["returns"]


@pytest.mark.slow
def test_sac_is_timed_in_both_arrangements() -> None:
    pytest.importorskip("sbx")
    from forebear_experiments.benchmarks.control import sac_rows

    rows = sac_rows(envs=8, training=20, transitions=64)
    assert len(rows) == 3
    for row in rows:
        assert row["ours_s"] > 0 and row["ratio"] == pytest.approx(row["baseline_s"] / row["ours_s"])
