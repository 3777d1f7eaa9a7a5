"""What a step of an environment costs, alone and with a thousand others, and rollouts against a loop in Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from forebear.envs import TwinEnv
    from forebear.twin.twin import Twin

# Whatever else a machine does only adds. Jobs of a few milliseconds, shorter than the turns of a busy machine's
# processes, are timed so many times in turn, and the least counts.
_REPEATS = 300
_CALLS, _STEPS = 64, 8


def run(
    envs: int = 1_024, trajectories: int = 4_096, steps: int = 100, training: int = 1_000
) -> list[dict[str, Any]]:
    """Three rows, all with one distilled twin of the pendulum that looks one step back; everything compiled before.

    The fit is short (`training` steps): speed does not depend on how good it is.
    """
    twin = _twin(training)
    return [_together(twin, envs), _alone(twin), _rolled(twin, trajectories, steps)]


def _twin(training: int) -> Twin:
    from forebear.data.table import read_columns
    from forebear.systems import pendulum
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    system = pendulum(episodes=50)
    inputs = [name for lag in ("lag 0", "lag 1") for name in system.groups[lag]]
    periods = {name: period for name, period in system.periodic.items() if name in inputs}
    table = read_columns(system.table, "the table", [*inputs, "dtheta"], periods)
    settings = TwinSettings.resolve({"steps": training})
    twin = fit_twin(table, {"dtheta": inputs}, joint=False, settings=settings, seed=0)
    return twin.distil(steps=training, progress=False)


def _together(twin: Twin, count: int) -> dict[str, Any]:
    from forebear.envs import TwinVectorEnv

    one, many = _env(twin), TwinVectorEnv(twin, count, _start, _reward, observe=_observe, max_steps=200)
    one.reset(seed=0)
    many.reset(seed=0)
    action, actions = one.action_space.sample(), many.action_space.sample()
    vector, single = _least(
        lambda: [many.step(actions) for _ in range(_STEPS)],
        lambda: [one.step(action) for _ in range(_CALLS)],
    )
    vector, single = vector / _STEPS, single / _CALLS * count
    return {
        "what": f"TwinVectorEnv, {count:,} environments, one step",
        "ours_s": vector,
        "baseline": f"{count:,} calls of TwinEnv.step",
        "baseline_s": single,
        "ratio": single / vector,
    }


def _alone(twin: Twin, calls: int = _CALLS) -> dict[str, Any]:
    """Compute is what a compiled step takes beyond a compiled function of the same shapes that does nothing.

    Both are timed apart from the whole call; what is left of it for Python is less than the error of the difference.
    """
    import jax
    import jax.numpy as jnp

    env = _env(twin)
    env.reset(seed=0)
    action = env.action_space.sample()
    env.step(action)
    moments, clock, row = env._advance(env._moments, env._clock, action.reshape(1, 1))
    chosen = action.reshape(1, 1)
    nothing = jax.jit(lambda moments, clock, action: (moments + 1, clock + 1, jnp.zeros(row.shape) + action[0]))

    def many(step: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: [step() for _ in range(calls)]

    whole, compiled, empty = _least(
        many(lambda: env.step(action)),
        many(lambda: np.array(env._advance(moments, clock, chosen)[2])),
        many(lambda: np.array(nothing(moments, clock, chosen)[2])),
    )
    parts = {"dispatch": empty, "compute": compiled - empty}
    return {
        "what": "TwinEnv.step, one call",
        "ours_s": whole / calls,
        **{f"{name}_us": round(1e6 * seconds / calls, 1) for name, seconds in parts.items()},
    }


def _rolled(twin: Twin, trajectories: int, steps: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    start = _start(rng, trajectories)
    actions = rng.uniform(-2, 2, (steps, trajectories, 1)).astype(np.float32)

    def loop() -> np.ndarray:
        past, now = start[:, 0, 0], start[:, 1, 0]
        before = start[:, 0, 1]
        for number in range(steps):
            columns = {"theta_0": now, "u_0": actions[number, :, 0], "theta_1": past, "u_1": before}
            given = np.stack([columns[name] for name in twin.inputs], axis=1)
            past, now = now, now + twin.sample(given, n=1, seed=number, outside="ignore")[0, :, 0]
            before = actions[number, :, 0]
        return now

    ours, theirs = _least(lambda: twin.rollout(start, steps, actions=actions), loop, repeats=min(_REPEATS, 15))
    return {
        "what": f"twin.rollout, {trajectories:,} trajectories of {steps} steps",
        "ours_s": ours,
        "baseline": "a loop over twin.sample, all trajectories at once",
        "baseline_s": theirs,
        "ratio": theirs / ours,
    }


def _env(twin: Twin) -> TwinEnv:
    from forebear.envs import TwinEnv

    return TwinEnv(twin, _start, _reward, observe=_observe, max_steps=200)


def _start(rng: np.random.Generator, count: int) -> np.ndarray:
    """Two moments of (theta, u), oldest first."""
    theta = rng.uniform(-np.pi, np.pi, count)
    moments = np.zeros((count, 2, 2))
    moments[:, 0, 0], moments[:, 1, 0] = theta, theta + rng.uniform(-0.05, 0.05, count)
    return moments


def _reward(state: Any, action: Any, after: Any) -> Any:
    return -(after[0] ** 2 + 0.001 * action[0] ** 2)


def _observe(history: Any) -> Any:
    import jax.numpy as jnp

    angle = history.states[:, 0]
    return jnp.concatenate([jnp.cos(angle), jnp.sin(angle), history.actions[:, 0]])


def _least(*jobs: Callable[[], Any], repeats: int | None = None) -> list[float]:
    """Seconds of each job, all of them in turn, so that a busy moment of the machine hits none of them alone."""
    for job in jobs:
        job()
    seconds = []
    for _ in range(repeats or _REPEATS):
        seconds.append([])
        for job in jobs:
            started = time.perf_counter()
            job()
            seconds[-1].append(time.perf_counter() - started)
    return [float(value) for value in np.min(seconds, axis=0)]
