"""Lunar Lander tapped at its engines: the closed form of the thrust, the data, and a surrogate in its place."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from forebear import systems
from forebear.errors import InputError
from forebear.systems.lander import engines_off, tapped_lander, tapped_lander_class, thrust

pytest.importorskip("Box2D")

Policy = Callable[[Any, np.ndarray], np.ndarray]


class Episode(NamedTuple):
    seen: np.ndarray
    """(steps, 8), before each step"""
    actions: np.ndarray
    noise: np.ndarray
    """the two draws of each step, as the thrust uses them"""
    thrust: np.ndarray
    rewards: np.ndarray
    terminated: bool
    truncated: bool


def next_noise(env: Any) -> np.ndarray:
    """What the environment will draw in its next step; its generator is left alone."""
    return copy.deepcopy(env.unwrapped.np_random).uniform(-1, 1, 2) / 30


def fly(env: Any, policy: Policy, seed: int) -> Episode:
    seen, _ = env.reset(seed=seed)
    rows, terminated, truncated = [], False, False
    while not (terminated or truncated):
        noise, action = next_noise(env), policy(env, seen)
        after, reward, terminated, truncated, info = env.step(action)
        rows.append((seen, action, noise, info["thrust"], reward))
        seen = after
    states, actions, noises, thrusts, rewards = (np.array(part) for part in zip(*rows, strict=True))
    return Episode(states, actions, noises, thrusts, rewards, terminated, truncated)


def at_random(seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    return lambda env, seen: rng.uniform(-1, 1, 2)


def by_rule(env: Any, seen: np.ndarray) -> np.ndarray:
    from gymnasium.envs.box2d.lunar_lander import heuristic

    return np.asarray(heuristic(env.unwrapped, seen))


class ClosedForm:
    """The thrust with noise of its own, and some error on top."""

    def __init__(self, error: float = 0.0):
        self.rng, self.error = np.random.default_rng(0), error

    def __call__(self, seen: np.ndarray, action: np.ndarray) -> np.ndarray:
        d0, d1 = self.rng.uniform(-1, 1, 2) / 30
        return thrust(seen[4], action[0], action[1], d0, d1) + self.error * self.rng.standard_normal(3)


@lru_cache
def random_episodes() -> list[Episode]:
    env = tapped_lander()
    return [fly(env, at_random(i), seed=i) for i in range(100)]


def test_closed_form() -> None:
    for e in random_episodes():
        expected = thrust(e.seen[:, 4], *e.actions.T, *e.noise.T)
        np.testing.assert_allclose(e.thrust, expected, atol=1e-5, rtol=0)


def test_engines_off_do_nothing() -> None:
    actions, found = (np.concatenate([getattr(e, part) for e in random_episodes()]) for part in ("actions", "thrust"))
    off = np.array([engines_off(action) for action in actions])
    assert (found[off] == 0).all()
    assert (found[~off] != 0).all()
    assert off.mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.1875 / len(off)))


def test_figures_of_random_actions() -> None:
    lengths = np.array([len(e.rewards) for e in random_episodes()])
    returns = np.array([e.rewards.sum() for e in random_episodes()])
    # 110 is the mean over 5,000 episodes
    assert lengths.mean() == pytest.approx(110, abs=4 * lengths.std() / 10)
    assert returns.mean() == pytest.approx(-212, abs=4 * returns.std() / 10)
    assert all(e.terminated and not e.truncated for e in random_episodes())
    increments = np.concatenate([e.thrust for e in random_episodes()])
    np.testing.assert_allclose(increments.std(axis=0), [0.0849, 0.1432, 0.0644], rtol=0.04)
    contact = np.concatenate([e.seen[:, 6:] for e in random_episodes()])
    assert (contact.mean(axis=0) > 0.003).all() and (contact.mean(axis=0) < 0.03).all()


def test_flight_is_that_of_gymnasium() -> None:
    import gymnasium

    own, rng = gymnasium.make("LunarLander-v3", continuous=True), np.random.default_rng(3)
    # in single precision, as Gymnasium's own checks want them
    e = fly(tapped_lander(), lambda env, seen: rng.uniform(-1, 1, 2).astype(np.float32), seed=3)
    seen, _ = own.reset(seed=3)
    for n, action in enumerate(e.actions):
        np.testing.assert_array_equal(seen, e.seen[n])
        seen, reward, terminated, *_ = own.step(action)
        assert reward == e.rewards[n] and terminated == (n + 1 == len(e.actions))


def test_weak_dependences_that_the_published_sets_leave_out() -> None:
    d0, d1 = np.random.default_rng(0).uniform(-1, 1, (2, 1_000)) / 30
    tilted = [thrust(0.5, -1, a2, d0, d1)[:, 1].mean() for a2 in (-1, 0, 1)]
    assert tilted[0] < -0.02 and tilted[1] == 0 and tilted[2] > 0.02
    spin = [thrust(0.0, a1, 0, d0, d1)[:, 2] for a1 in (-1, 0.01, 1)]
    assert [s.std() > low for s, low in zip(spin, (-1, 0.01, 0.02), strict=True)] == [True] * 3
    assert spin[0].std() == 0 and abs(spin[2].mean()) < 4 * spin[2].std() / np.sqrt(1_000)
    upright, lying = (thrust(angle, -1, 1, 0, 0)[2] for angle in (0.0, np.pi / 2))
    assert lying / upright == pytest.approx((17 / 30 - 0.101307) / (14 / 30 - 0.101307))


def test_surrogate_sees_what_the_table_holds() -> None:
    asked: list[np.ndarray] = []

    def surrogate(seen: np.ndarray, action: np.ndarray) -> tuple[float, float, float]:
        asked.append(np.concatenate([seen, action]))
        return 0.01, 0.25, -0.03

    e = fly(tapped_lander(surrogate, time_limit=20), at_random(0), seed=0)
    np.testing.assert_array_equal(np.array(asked), np.hstack([e.seen, e.actions]))
    np.testing.assert_allclose(e.thrust, np.tile([0.01, 0.25, -0.03], (20, 1)), atol=1e-6)
    assert e.truncated and not e.terminated


def test_closed_form_in_place_of_the_engines_flies_the_same() -> None:
    planned: list[np.ndarray] = []
    true, twin = tapped_lander(time_limit=60), tapped_lander(lambda seen, action: planned[-1], time_limit=60)
    e = fly(true, by_rule, seed=1)
    seen, _ = twin.reset(seed=1)
    for n in range(60):
        np.testing.assert_allclose(seen, e.seen[n], atol=1e-4)
        planned.append(thrust(e.seen[n, 4], *np.clip(e.actions[n], -1, 1), *e.noise[n]))
        seen, reward, *_ = twin.step(e.actions[n])
        assert reward == pytest.approx(e.rewards[n], abs=0.02)


@pytest.mark.parametrize("surrogate", [None, ClosedForm(), ClosedForm(0.01)], ids=["engines", "exact", "near"])
def test_landings(surrogate: ClosedForm | None) -> None:
    env = tapped_lander(surrogate)
    flown = [fly(env, by_rule, seed=i) for i in range(10)]
    returns = np.array([e.rewards.sum() for e in flown])
    assert all(e.terminated for e in flown) and (returns > 200).all()
    assert returns.mean() == pytest.approx(286.5, abs=30)
    assert np.mean([len(e.rewards) for e in flown]) == pytest.approx(206, abs=60)


def test_noise_at_rest_keeps_the_lander_awake() -> None:
    restless = fly(tapped_lander(ClosedForm(0.03)), by_rule, seed=0)
    assert restless.truncated and not restless.terminated and len(restless.rewards) == 1_000
    calm = fly(tapped_lander(ClosedForm(0.03), zero_when_off=True), by_rule, seed=0)
    assert calm.terminated and len(calm.rewards) < 1_000
    off = np.array([engines_off(action) for action in calm.actions])
    assert off.any() and (calm.thrust[off] == 0).all() and (restless.thrust != 0).all()


def test_bad_surrogate_is_refused() -> None:
    for answer in (0.0, (0.0, 1.0), (0.0, np.nan, 0.0)):
        env = tapped_lander(lambda seen, action, answer=answer: answer)
        env.reset(seed=0)
        with pytest.raises(InputError, match="three finite numbers"):
            env.step(np.zeros(2))


def test_class_can_be_imported_and_pickled() -> None:
    from forebear.systems.lander import TappedLander

    assert TappedLander is tapped_lander_class()
    again = pickle.loads(pickle.dumps(TappedLander(ClosedForm(), zero_when_off=True)))
    assert isinstance(again, TappedLander) and again.zero_when_off and isinstance(again.surrogate, ClosedForm)
    assert again.continuous
    with pytest.raises(AttributeError, match="has no attribute 'Lander'"):
        _ = sys.modules["forebear.systems.lander"].Lander


def test_table() -> None:
    data = systems.lander(episodes=4)
    assert data.name == "lander"
    assert list(data.table.columns) == [*data.candidates, *data.targets]
    assert len(data.candidates) == 10
    assert set(data.ancestors) == set(data.targets) == {"dvx", "dvy", "domega"}
    values = data.table.to_numpy()
    assert np.isfinite(values).all() and (np.abs(data.table[["a1", "a2"]].to_numpy()) <= 1).all()
    # what the engines did is the change of velocity in flight, but for gravity and the pull of the legs
    vx, dvx = (data.table[name].to_numpy()[:50] for name in ("vx", "dvx"))
    assert np.corrcoef(np.diff(vx) / 0.2, dvx[:-1])[0, 1] > 0.9


def test_seed_and_nothing_else_decides_the_table() -> None:
    one = systems.lander(episodes=30).table
    pd.testing.assert_frame_equal(one, systems.lander(episodes=30, seed=0, jobs=2).table, check_exact=True)
    few = systems.lander(episodes=2).table
    pd.testing.assert_frame_equal(few, one.head(len(few)), check_exact=True)
    assert not few.equals(systems.lander(episodes=2, seed=1).table)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="`episodes` must be above 0"):
        systems.lander(episodes=0)
    with pytest.raises(InputError, match="jobs must be"):
        systems.lander(episodes=1, jobs=0)


@pytest.mark.parametrize("absent", ["gymnasium.envs.box2d.lunar_lander", "Box2D"])
def test_absent_extra_is_named(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    tapped_lander_class.cache_clear()
    try:
        with pytest.raises(InputError, match=r"lander needs gymnasium and Box2D: run `pip install 'forebear\[con"):
            systems.lander(episodes=1)
    finally:
        tapped_lander_class.cache_clear()
