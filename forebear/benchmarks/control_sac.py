"""Training a policy in a twin: many distilled environments in one call, against an ODE at each step of each one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from forebear.benchmarks.control_mpc import timed_row

if TYPE_CHECKING:
    from forebear.control.sac import SacSettings
    from forebear.twin.twin import Twin

_PUBLISHED_ENVS = 4


def sac_rows(envs: int = 64, training: int = 1_000, transitions: int = 2_000) -> list[dict[str, Any]]:
    """SAC in the pendulum's twin, by the transition; compiled and warmed up before.

    Ours is what `forebear reproduce pendulum-control` trains with, in more environments: SBX, whose updates are one
    compiled loop, and `TwinVectorEnv` around the distilled twin. The other is the published arrangement: SAC of
    Stable-Baselines3, four environments stepped one by one, and the flow solved adaptively at each step. Both
    policies have the same networks, and neither speed depends on how good the twin is: its training is short.

    The first row has the default of both libraries, an update after each step of all environments. The second has as
    many updates a transition as the other side, an update for every four: the policy learns as much from a
    transition, and updates are most of what is left. The third has no policy, and actions at random.
    """
    from forebear.control.sac import SacSettings, check_sac

    check_sac()
    teacher = _twin(training)
    student = teacher.distil(steps=training, progress=False)
    single = _one_by_one(teacher, SacSettings())
    baseline = _seconds(single, _PUBLISHED_ENVS, transitions // 4)
    others = "Stable-Baselines3, four environments one by one, an adaptive ODE at each step"
    rows = []
    for updates, told in ((1, "an update a step of all"), (envs // _PUBLISHED_ENVS, "equal updates a transition")):
        ours = _seconds(_many(student, envs, SacSettings(updates=updates)), envs, transitions)
        what = f"SAC in the pendulum's twin, {envs} distilled environments, {told}, 1,000 transitions"
        rows.append(timed_row(what, ours, others, baseline))
    played = _many(student, envs, SacSettings()).env, single.env
    alone, stepped = (_steps(env, steps) for env, steps in zip(played, (100, 10), strict=True))
    what = f"the pendulum's twin without a policy, {envs} distilled environments in one call, 1,000 transitions"
    return [*rows, timed_row(what, alone, "four environments one by one, an adaptive ODE at each step", stepped)]


def _twin(training: int) -> Twin:
    """On lags 0 and 1, with the published solver."""
    from forebear.data.table import read_columns
    from forebear.systems import pendulum
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    system = pendulum(episodes=50)
    inputs = [name for lag in ("lag 0", "lag 1") for name in system.groups[lag]]
    periods = {name: period for name, period in system.periodic.items() if name in inputs}
    table = read_columns(system.table, "the table", [*inputs, "dtheta"], periods)
    settings = TwinSettings.resolve({"steps": training, "solver": "tsit5"})
    return fit_twin(table, {"dtheta": inputs}, joint=False, settings=settings, seed=0)


def _many(twin: Twin, count: int, settings: SacSettings) -> Any:
    from forebear.control.pendulum import twin_pendulum
    from forebear.control.sac import sac_model
    from forebear.control.schooling import host

    with host():
        envs = twin_pendulum(twin, count)
    return sac_model(envs, settings, seed=0)


def _one_by_one(twin: Twin, settings: SacSettings) -> Any:
    from stable_baselines3 import SAC  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.vec_env import DummyVecEnv  # pyright: ignore[reportMissingImports]

    from forebear.control.pendulum import single_twin_pendulum

    envs = DummyVecEnv([lambda: single_twin_pendulum(twin)] * _PUBLISHED_ENVS)
    networks = {"net_arch": list(settings.widths)}
    return SAC("MlpPolicy", envs, buffer_size=settings.buffer, policy_kwargs=networks, seed=0)


def _seconds(model: Any, count: int, transitions: int) -> float:
    """For 1,000 transitions, after enough of them to have begun learning and compiled everything."""
    model.learn(model.learning_starts + 4 * count, log_interval=10**9)
    steps = max(1, transitions // count) * count
    started = time.perf_counter()
    model.learn(steps, log_interval=10**9, reset_num_timesteps=False)
    return (time.perf_counter() - started) / steps * 1_000


def _steps(env: Any, steps: int) -> float:
    """Seconds of 1,000 transitions with random actions."""
    env.reset()
    actions = [np.stack([env.action_space.sample() for _ in range(env.num_envs)]) for _ in range(steps + 1)]
    env.step(actions[0])  # compiles
    started = time.perf_counter()
    for chosen in actions[1:]:
        env.step(chosen)
    return (time.perf_counter() - started) / (steps * env.num_envs) * 1_000
