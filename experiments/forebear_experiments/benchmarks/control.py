"""Planning and learning in twins, against the loops that one would write by hand.

Many trials of scenario MPC in one compiled loop, against the same trials one after another; and the training of a
policy in a twin: many distilled environments in one call, against an ODE at each step of each one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from forebear.control.mpc import Mpc
    from forebear.control.sac import SacSettings
    from forebear.twin.twin import Twin

_TOLERANCE, _ITERATIONS = 1e-3, 300
_PUBLISHED_ENVS = 4


def run() -> list[dict[str, Any]]:
    """All rows, one after the other; the last three need the extra `sb3`."""
    from forebear.control.sac import check_sac

    check_sac()
    return [*batched_mpc(), *sac_rows()]


def batched_mpc(trials: int = 50, steps: int = 5, looped: int = 2, scenarios: int = 64) -> list[dict[str, Any]]:
    """The heat equation planned with its true dynamics, 20 steps ahead; the first steps of the published trials.

    The loops plan for some of the trials, and their time is counted for all. Everything is compiled before; the least
    of three times counts. Rows differ in the loop: scipy around a simulation in numpy, gradients by differences;
    optax as its guide shows it, a step compiled and the loop in Python; this very planner, a trial at a time.

    Arguments:
        trials: planned for at once.
        steps: of the closed loop.
        looped: trials that the loops go through.
    """
    from forebear.control import mpc
    from forebear.systems.heat import NODES
    from forebear_experiments.heat.rig import BOUNDS, cost, final_cost, true_step

    settings = {"tolerance": _TOLERANCE, "iterations": _ITERATIONS, "scenarios": scenarios}
    controller = mpc(true_step, cost, BOUNDS, noise=NODES, terminal=final_cost, **settings)
    starts = np.random.default_rng(0).standard_normal((trials, NODES))
    together = partial(controller.simulate, starts, steps, world=true_step, noise=NODES)
    some = together().states[:-1, :looped]
    loops = {
        "trial after trial: scipy's L-BFGS-B, simulation in numpy": partial(_by_scipy, controller, some),
        "trial after trial: optax.lbfgs, its step compiled": partial(_by_optax(controller), some),
        "trial after trial: the same planner, compiled": partial(_one_by_one, controller, some),
    }
    ours, *theirs = _least(together, *loops.values())
    what = f"MPC of the heat equation, {trials} trials at once, {steps} steps"
    return [timed_row(what, ours, name, s * trials / looped) for name, s in zip(loops, theirs, strict=True)]


def timed_row(what: str, ours: float, baseline: str, seconds: float) -> dict[str, Any]:
    """Two times of the same work, and their ratio."""
    return {"what": what, "ours_s": ours, "baseline": baseline, "baseline_s": seconds, "ratio": seconds / ours}


def _one_by_one(controller: Mpc, states: np.ndarray) -> None:
    """Plans at the states (steps, trials, nodes), a trial at a time, each begun with what is left of the last one."""
    for trial in range(states.shape[1]):
        plans = None
        for number, state in enumerate(states[:, trial]):
            plans = controller.plan(state, seed=number, after=plans)


def _by_scipy(controller: Mpc, states: np.ndarray) -> None:
    """The same without JAX; the bounds are scipy's."""
    from scipy.optimize import minimize

    from forebear.systems.heat import NOISE, heat_matrices

    problem = controller.problem
    transfer, inflow = heat_matrices()
    stay = np.eye(len(transfer)) + transfer
    ends = [*zip(problem.low, problem.high, strict=True)] * problem.horizon

    def value(flat: np.ndarray, state: np.ndarray, noise: np.ndarray) -> float:
        x, paid = np.tile(state, (problem.scenarios, 1)), 0.0
        for action, w in zip(flat.reshape(problem.horizon, -1), noise, strict=True):
            paid += (x**2).sum() / len(x) + 0.1 * (action**2).sum()
            x = x @ stay.T + inflow @ action + NOISE * x * w
        return paid + (x**2).sum() / len(x)

    for trial in range(states.shape[1]):
        actions = np.zeros(problem.horizon * len(problem.low))
        for number, state in enumerate(states[:, trial]):
            noise = np.random.default_rng(number).normal(size=(problem.horizon, problem.scenarios, len(state)))
            options = {"maxiter": _ITERATIONS, "maxfun": 10**6}
            found = minimize(
                value, actions, (state, noise), method="L-BFGS-B", bounds=ends, tol=1e-6, options=options
            )
            left = found.x.reshape(problem.horizon, -1)
            actions = np.concatenate([left[1:], left[-1:]]).ravel()


def _by_optax(controller: Mpc) -> Callable[[np.ndarray], None]:
    """The same with optax's solver and its own line search, stepped from Python."""
    import jax
    import jax.numpy as jnp
    import jax.random as jr
    import optax

    from forebear.control.scenario import draw_noise, shift

    problem = controller.problem
    shape = problem.horizon, 1, problem.scenarios, problem.model.noise
    solver = optax.lbfgs()

    def value(actions: Any, state: Any, noise: Any) -> Any:
        return problem.expected(state[None], actions[None], noise)[0]

    @jax.jit
    def step(actions: Any, kept: Any, state: Any, noise: Any) -> Any:
        at = partial(value, state=state, noise=noise)
        now, gradient = optax.value_and_grad_from_state(at)(actions, state=kept)
        updates, kept = solver.update(gradient, kept, actions, value=now, grad=gradient, value_fn=at)
        return optax.apply_updates(actions, updates), kept, jnp.linalg.norm(gradient)

    draw = jax.jit(lambda seed: draw_noise(jr.key(seed), shape))

    def plan_all(states: np.ndarray) -> None:
        with jax.enable_x64(True):
            for trial in range(states.shape[1]):
                actions = jnp.zeros((problem.horizon, len(problem.low)))
                for number, state in enumerate(jnp.asarray(states[:, trial])):
                    kept, noise = solver.init(actions), draw(number)
                    for _ in range(_ITERATIONS):
                        actions, kept, norm = step(actions, kept, state, noise)
                        if norm <= _TOLERANCE:
                            break
                    actions = shift(problem.clip(actions)[None])[0]

    return plan_all


def _least(*jobs: Callable[[], Any], repeats: int = 3) -> list[float]:
    """Seconds of each job, in turn, so that a busy moment of the machine hits none of them alone."""
    for job in jobs:
        job()
    seconds = [[] for _ in jobs]
    for _ in range(repeats):
        for job, own in zip(jobs, seconds, strict=True):
            started = time.perf_counter()
            job()
            own.append(time.perf_counter() - started)
    return [min(own) for own in seconds]


def sac_rows(envs: int = 64, training: int = 1_000, transitions: int = 2_000) -> list[dict[str, Any]]:
    """SAC in the pendulum's twin, by the transition; compiled and warmed up before.

    Ours is what `forebear reproduce pendulum-control` trains with, in more environments: SBX, whose updates are one
    compiled loop, and `TwinVectorEnv` around the distilled twin. The other is the published arrangement: SAC of
    Stable-Baselines3, four environments stepped one by one, and the flow solved adaptively at each step. Both
    policies have the same networks, and neither speed depends on how good the twin is: its training is short.

    The first row has the default of both libraries, an update after each step of all environments. The second has as
    many updates per transition as the other side, an update for every four: the policy learns as much from a
    transition, and updates are most of what is left. The third has no policy, and actions at random.
    """
    from forebear.control.sac import SacSettings, check_sac

    check_sac()
    teacher = _twin(training)
    student = teacher.distil(steps=training, progress=False)
    single = _published_arrangement(teacher, SacSettings())
    baseline = _seconds(single, _PUBLISHED_ENVS, transitions // 4)
    others = "Stable-Baselines3, four environments one by one, an adaptive ODE at each step"
    rows = []
    equal = envs // _PUBLISHED_ENVS
    for updates, told in ((1, "one update per step of all"), (equal, "equal updates per transition")):
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
    from forebear.control.sac import host, sac_model
    from forebear_experiments.pendulum.rig import twin_pendulum

    with host():
        envs = twin_pendulum(twin, count)
    return sac_model(envs, settings, seed=0)


def _published_arrangement(twin: Twin, settings: SacSettings) -> Any:
    from stable_baselines3 import SAC  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.vec_env import DummyVecEnv  # pyright: ignore[reportMissingImports]

    from forebear_experiments.pendulum.rig import single_twin_pendulum

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
