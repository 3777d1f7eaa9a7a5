"""Many trials of scenario MPC in one compiled loop, against the same trials one after another."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from forebear.control.mpc import Mpc

_TOLERANCE, _ITERATIONS = 1e-3, 300


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
    from forebear.control.rod import BOUNDS, cost, final_cost, true_step
    from forebear.systems.heat import NODES

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
