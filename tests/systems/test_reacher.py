"""The arm: its bodies, its kinematics, what it does under no torque and under random ones."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from forebear import systems
from forebear.errors import InputError
from forebear.systems.reacher import LINKS, Arm, Rollouts, reacher_rollouts

mujoco = pytest.importorskip("mujoco")

MASSES = {
    "shoulder pan": 24.312,
    "shoulder lift": 10.472,
    "upper arm roll": 0.28484,
    "upper arm": 5.42867,
    "elbow flex": 1.35717,
    "forearm roll": 0.28484,
    "forearm": 3.04473,
    "wrist flex": 0.01676,
    "wrist roll": 0.01676,
    "palm": 0.83776,
    "tip+": 0.03289,
    "tip-": 0.03289,
}
SPREAD = [0.165, 0.193, 1.55, 0.73, 14.6, 0.80, 17.1, 0.47, 0.56, 5.2, 2.4, 16, 8.7, 17.8]
"""of angles and velocities under random torques, from another simulation of the same arm"""


@lru_cache
def random_rollouts() -> Rollouts:
    return reacher_rollouts(rollouts=100, steps=150, seed=0)


def starts(count: int) -> np.ndarray:
    arm = Arm()
    return np.stack([arm.reset(np.random.default_rng(i)) for i in range(count)])


def test_masses() -> None:
    model = Arm().model
    for name, mass in MASSES.items():
        assert model.body(name).mass[0] == pytest.approx(mass, rel=3e-4), name
    fingers = [model.body_mass[model.body(tip).parentid[0]] for tip in ("tip+", "tip-")]
    np.testing.assert_allclose(fingers, 0.03294, rtol=3e-4)


def test_end_effector_is_between_the_finger_tips() -> None:
    arm, rng = Arm(), np.random.default_rng(0)
    np.testing.assert_allclose(Arm.end_effector(np.zeros(7)), [0.98928, -0.188, 0.0], atol=1e-12)
    q = rng.uniform(-4, 4, (50, 7))
    q[:5, 3] = 0.0  # straight elbow
    for angles, found in zip(q, Arm.end_effector(q), strict=True):
        arm.data.qpos[:7] = angles
        mujoco.mj_forward(arm.model, arm.data)
        middle = (arm.data.body("tip+").xpos + arm.data.body("tip-").xpos) / 2
        np.testing.assert_allclose(found, middle, atol=1e-9)


def test_reward_in_jax() -> None:
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    seen, action = rng.normal(size=(4, 3, 17)), rng.normal(size=(4, 3, 7))
    found = jax.jit(Arm.reward)(jnp.asarray(seen), jnp.asarray(action))
    np.testing.assert_allclose(found, Arm.reward(seen, action), rtol=1e-5)


def test_reset() -> None:
    seen = starts(400)
    assert seen.shape == (400, 17)
    assert (np.delete(seen, [7, 8, 9], axis=1) == 0).all()
    np.testing.assert_allclose(seen[:, 7:10].mean(axis=0), [0, 0.25, 0], atol=4 * 0.1 / 20)
    np.testing.assert_allclose(seen[:, 7:10].std(axis=0), 0.1, rtol=4 / np.sqrt(800))


def test_many_arms_move_as_one_does() -> None:
    rng, arm = np.random.default_rng(0), Arm()
    together = starts(3)
    actions = rng.uniform(-20, 20, (40, 3, 7))
    alone = np.empty((40, 3, 17))
    rewards = np.empty((40, 3))
    for i in range(3):
        arm.reset(np.random.default_rng(i))
        for n in range(40):
            alone[n, i], rewards[n, i] = arm.step(actions[n, i])
    for n in range(40):
        together, earned = arm.step_many(together, actions[n])
        np.testing.assert_array_equal(together, alone[n])
        np.testing.assert_array_equal(earned, rewards[n])
    # the arm itself was not moved by the others
    np.testing.assert_array_equal(arm.data.qpos[:7], alone[-1, 2, :7])


def test_reward_is_of_the_state_after_the_step() -> None:
    arm = Arm()
    arm.reset(np.random.default_rng(0))
    action = np.linspace(-15, 15, 7)
    after, reward = arm.step(action)
    miss = Arm.end_effector(after[:7]) - after[7:10]
    assert reward == pytest.approx(-(miss @ miss) - 0.01 * (action @ action))


def test_torques_are_held_within_their_limit() -> None:
    seen = starts(1)
    for one, two in zip(
        Arm().step_many(seen, np.full((1, 7), -50.0)), Arm().step_many(seen, np.full((1, 7), -20.0)), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_return_of_doing_nothing() -> None:
    arm, seen, still, total = Arm(), starts(100), np.zeros((100, 7)), np.zeros(100)
    goals = seen[:, 7:10]
    for _ in range(150):
        seen, rewards = arm.step_many(seen, still)
        total += rewards
    assert total.mean() == pytest.approx(-150 * 1.2005, abs=4 * total.std() / 10)
    # goal by goal: the margin of the limits bends elbow and wrist by a few hundredths, and no more moves
    stretched = -150 * ((goals - [0.98928, -0.188, 0.0]) ** 2).sum(axis=1)
    np.testing.assert_allclose(total, stretched, rtol=0.02)
    np.testing.assert_array_equal(seen[:, 7:10], goals)


def test_return_of_random_torques() -> None:
    total = random_rollouts().rewards.sum(axis=1)
    assert total.mean() == pytest.approx(-1508, abs=4 * total.std() / 10)
    assert total.std() == pytest.approx(50, rel=0.3)


def test_spread_under_random_torques() -> None:
    seen = np.delete(random_rollouts().observations[:, :-1], [7, 8, 9], axis=2)
    # episodes are few and slow to forget: two simulations differ by a twentieth to a sixth
    each = (seen**2).mean(axis=1)
    error = 0.5 * each.std(axis=0) / each.mean(axis=0) / 10
    off = seen.reshape(-1, 14).std(axis=0) / SPREAD - 1
    assert (np.abs(off) < 4 * np.sqrt(2) * error + 0.02).all(), off
    assert np.abs(seen[..., [4, 6]]).max() > 40


def test_limits_hold() -> None:
    angles = random_rollouts().observations[..., :7]
    limits = [link.limits or (-np.inf, np.inf) for link in LINKS if link.axis]
    for joint, (low, high) in enumerate(limits):
        # limits are springs in MuJoCo, and the wrist weighs little
        assert low - 0.35 < angles[..., joint].min() and angles[..., joint].max() < high + 0.35, joint


def test_table() -> None:
    data = systems.reacher(rollouts=3, steps=20)
    assert data.name == "reacher" and data.table.shape == (60, 35)
    assert list(data.table.columns) == [*data.candidates, *data.targets]
    assert len(data.candidates) == 21 and len(data.targets) == 14
    assert data.ancestors == {} and data.periodic == {}
    assert np.isfinite(data.table.to_numpy()).all()
    states = data.table[list(data.candidates[:14])].to_numpy().reshape(3, 20, 14)
    steps = data.table[list(data.targets)].to_numpy().reshape(3, 20, 14)
    np.testing.assert_allclose((states + steps)[:, :-1], states[:, 1:], atol=1e-12)
    assert (states[:, 0] == 0).all()


def test_rows_are_steps_of_the_arm() -> None:
    data = systems.reacher(rollouts=2, steps=10)
    values = data.table.to_numpy()
    seen = np.hstack([values[:, :7], np.zeros((20, 3)), values[:, 7:14]])
    after, _ = Arm().step_many(seen, values[:, 14:21])
    np.testing.assert_allclose(np.delete(after - seen, [7, 8, 9], axis=1), values[:, 21:], atol=1e-12)


def test_seed_decides_the_table() -> None:
    one = systems.reacher(rollouts=2, steps=10).table
    pd.testing.assert_frame_equal(one, systems.reacher(rollouts=2, steps=10, seed=0).table, check_exact=True)
    assert not one.equals(systems.reacher(rollouts=2, steps=10, seed=1).table)
    # more episodes leave the first ones as they were
    np.testing.assert_array_equal(systems.reacher(rollouts=3, steps=10).table.to_numpy()[:20], one.to_numpy())


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="`steps` must be above 0"):
        systems.reacher(steps=0)


def test_absent_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match=r"reacher needs mujoco: run `pip install 'forebear\[control\]'`"):
        systems.reacher(rollouts=1, steps=1)


def test_import_is_light() -> None:
    code = "import sys, forebear.systems; sys.exit('mujoco' in sys.modules or 'gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
