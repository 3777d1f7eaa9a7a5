"""MPC within limits: how many trajectories leave them in the true system, and what keeping them costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import stats

from forebear.control.mpc import mpc
from forebear.systems.pendulum import DT, GRAVITY, LARGEST_SPEED, NOISE, TORQUE, TURN, pendulum_episodes

_LIMIT, _KICK = 0.5, np.array([0.005, 0.03])
_MOVES, _PUSH = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([0.0, 0.1])
_PLANS = 20
"""first plans, each from scenarios of its own"""
_SLOWEST = -0.6
_NAMES = ("theta", "speed")


@dataclass(frozen=True)
class Rig:
    """A system to steer, and the limits that it should keep."""

    name: str
    dynamics: Any
    """what plans are made with"""
    options: Mapping[str, Any]
    """of the controller"""
    limits: Any
    start: Any
    """of one trial, as the controller takes it"""
    world: Mapping[str, Any]
    """the true system, as `simulate` takes it"""
    outside: Callable[[np.ndarray], np.ndarray]
    """(…, states) -> which are outside"""
    steps: int


def run(
    trials: int = 40,
    scenarios: int = 100,
    rows: int = 10_000,
    trainings: int = 2,
    steps: int = 700,
    student_steps: int = 1_000,
    systems: Sequence[str] = ("mass", "pendulum"),
) -> Iterator[dict[str, Any]]:
    """A row for each system, dynamics and share; the nominal plan without limits first.

    All controllers of a system meet the same noise. `violating` is the share of trials that left the limits in the
    true system, at any step, when plans were acted on and made anew at each step; `cost` the mean cost of a trial,
    `times_nominal` beside that without limits; `inside` what fresh trajectories of the plans say, and `met` how many
    plans kept enough of their own scenarios. `exact` is the true share of the first plan's trajectories inside, an
    integral of a Gaussian law. Limits of the pendulum, which is to be lifted slowly, are planned with its true
    dynamics, a twin of random motion, and several of them.

    Arguments:
        trials: of the closed loop; the pendulum has a fifth.
        scenarios: of each plan; of the pendulum's two fifths.
        rows, trainings, steps, student_steps: of the pendulum's twins.
    """
    if "mass" in systems:
        yield from _measured(_mass(), (0.8, 0.95), trials, scenarios, exact=True)
    if "pendulum" in systems:
        few = max(trials // 5, 1), max(2 * scenarios // 5, 10)
        yield from _measured(_pendulum("true dynamics", _swing, 1), (0.9,), *few)
        twins = [_fitted(rows, seed, steps, student_steps) for seed in range(trainings)]
        yield from _measured(_pendulum("a twin", twins[0], None), (0.9,), *few)
        yield from _measured(_pendulum(f"{trainings} twins", twins, None), (0.9,), *few, nominal=False)


def _measured(
    rig: Rig, shares: Sequence[float], trials: int, scenarios: int, exact: bool = False, nominal: bool = True
) -> Iterator[dict[str, Any]]:
    free = None
    for share in (None, *shares) if nominal else shares:
        limited = {} if share is None else {"limits": rig.limits, "share": share}
        controller = mpc(rig.dynamics, scenarios=scenarios, **rig.options, **limited)
        start = {name: [value] * trials for name, value in rig.start.items()} if hasattr(rig.start, "items") else None
        began = time.perf_counter()
        told = controller.simulate([rig.start] * trials if start is None else start, rig.steps, **rig.world)
        spent = time.perf_counter() - began
        cost = float(told.cost.mean())
        free = cost if share is None else free
        row = {
            "what": f"{rig.name}: " + ("no limits" if share is None else f"a share of {share:g} within"),
            "violating": float(rig.outside(told.states[1:]).any(axis=0).mean()),
            "cost": cost,
            "ours_s": spent,
            "trials": trials,
            "scenarios": scenarios,
        }
        row |= {} if free is None else {"times_nominal": cost / free}
        if told.inside is not None and told.met is not None:
            row |= {"asked": share, "inside": float(told.inside.mean()), "met": float(told.met.mean())}
        if exact:
            plans = controller.plan([rig.start] * _PLANS)
            row["exact"] = float(np.mean([_exact(actions) for actions in plans.actions]))
        yield row


def _mass() -> Rig:
    """A mass between the wish to be at 1 and a wall at 0.5."""

    def push(state: Any, action: Any, noise: Any) -> Any:
        moves, pushed, kick = (jnp.asarray(part, state.dtype) for part in (_MOVES, _PUSH, _KICK))
        return moves @ state + pushed * action[0] + kick * noise

    def cost(state: Any, action: Any) -> Any:
        return (state[0] - 1) ** 2 + 0.01 * action[0] ** 2

    options = {"cost": cost, "bounds": [(-3.0, 3.0)], "noise": 2, "horizon": 10, "iterations": 100}
    world = {"world": push, "noise": 2}
    limits = [(None, _LIMIT), None]
    return Rig("mass before a wall", push, options, limits, [0.0, 0.0], world, lambda x: x[..., 0] > _LIMIT, 20)


def _exact(actions: np.ndarray) -> float:
    """The probability that every position under these actions, from rest at 0, is below the wall."""
    count, mean, means = len(actions), np.zeros(2), []
    for action in actions[:, 0]:
        mean = _MOVES @ mean + _PUSH * action
        means.append(mean[0])
    # What the noise of step k does to the position at step i.
    effects = np.zeros((count, count, 2))
    for i in range(count):
        for k in range(i + 1):
            effects[i, k] = np.linalg.matrix_power(_MOVES, i - k)[0] * _KICK
    covariance = np.einsum("ikn,jkn->ij", effects, effects)
    law = stats.multivariate_normal(np.array(means), covariance, seed=np.random.default_rng(0))
    return float(law.cdf(np.full(count, _LIMIT)))


def _swing(state: Any, action: Any, noise: Any) -> Any:
    """The pendulum itself, upright at 0; its gravity is shaken at each step."""
    theta, speed = state
    acceleration = GRAVITY * (1 + NOISE * noise[0]) * jnp.sin(theta) + TORQUE * action[0]
    speed = jnp.clip(speed + DT * acceleration, -LARGEST_SPEED, LARGEST_SPEED)
    return jnp.stack([theta + DT * speed, speed])


def _pendulum(word: str, dynamics: Any, noise: int | None) -> Rig:
    """To be lifted upright from 0.3, not faster than at some speed."""

    def cost(state: Any, action: Any) -> Any:
        return 10 * (1 - jnp.cos(state[0])) + 0.001 * action[0] ** 2

    known = noise is not None
    limits = [None, (_SLOWEST, None)] if known else {"speed": (_SLOWEST, None)}
    bounds = [(-2.0, 2.0)] if known else {"u": (-2.0, 2.0)}
    options = {"cost": cost, "bounds": bounds, "noise": noise, "horizon": 8, "iterations": 60}
    start = [0.3, 0.0] if known else {"theta": 0.3, "speed": 0.0}
    world = {"world": _swing, "noise": 1}
    name = f"pendulum lifted slowly, planned with {word}"
    return Rig(name, dynamics, options, limits, start, world, lambda x: x[..., 1] < _SLOWEST, 12)


def _fitted(rows: int, seed: int, steps: int, student_steps: int) -> Any:
    """A distilled twin of random motion, on angle, speed and torque."""
    from forebear.data.lagged import lagged
    from forebear.data.table import read_columns
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    raw = pendulum_episodes(episodes=max(rows // 200, 1))
    raw["speed"] = raw.groupby("episode")["theta"].diff() / DT
    lags = lagged(raw.dropna(), state=_NAMES, action="u", lags=0, episode="episode", periodic={"theta": TURN})
    inputs = ("theta_0", "speed_0", "u_0")
    targets = {f"d_{name}": inputs for name in _NAMES}
    table = read_columns(lags.table, "the table", [*inputs, *targets], {"theta_0": TURN})
    settings = TwinSettings.resolve({"law": "flow", "steps": steps})
    twin = fit_twin(table, targets, joint=False, settings=settings, seed=seed)
    return twin.distil(steps=student_steps, progress=False)
