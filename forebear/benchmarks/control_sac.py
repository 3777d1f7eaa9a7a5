"""Training a policy in a twin: many distilled environments in one call, against an ODE at each step of each one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forebear.control.sac import SacSettings
    from forebear.twin.twin import Twin

_PUBLISHED_ENVS = 4


def sac_row(envs: int = 64, training: int = 1_000, transitions: int = 2_000) -> dict[str, Any]:
    """SAC in the pendulum's twin, by the transition; compiled and warmed up before, an update for every four of them.

    Ours is what `forebear reproduce pendulum-control` trains with, in more environments: SBX, whose updates are one
    compiled loop, and `TwinVectorEnv` around the distilled twin. The other is the published arrangement: SAC of
    Stable-Baselines3, four environments stepped one by one, and the flow solved adaptively at each step. Both
    policies have the same networks, and neither speed depends on how good the twin is: its training is short.
    """
    from forebear.control.sac import SacSettings, check_sac

    check_sac()
    settings = SacSettings(updates=envs // _PUBLISHED_ENVS)
    teacher = _twin(training)
    ours = _seconds(_many(teacher.distil(steps=training, progress=False), envs, settings), envs, transitions)
    baseline = _seconds(_one_by_one(teacher, settings), _PUBLISHED_ENVS, transitions // 4)
    return {
        "what": f"SAC in the pendulum's twin, {envs} distilled environments in one call, 1,000 transitions",
        "ours_s": ours,
        "baseline": "Stable-Baselines3, four environments one by one, an adaptive ODE at each step; equal updates",
        "baseline_s": baseline,
        "ratio": baseline / ours,
    }


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
