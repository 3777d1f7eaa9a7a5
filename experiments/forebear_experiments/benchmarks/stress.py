"""Probabilities of rare events, beside exact numbers and brute force in the true system: error, coverage, calls."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import stats

from forebear.rare.stress import stress
from forebear.systems.heat import NODES, heat_matrices
from forebear.systems.heat import NOISE as HEAT_NOISE
from forebear.systems.langevin import BARRIER, FRICTION
from forebear.systems.pendulum import DT, GRAVITY, LARGEST_SPEED, NOISE, TORQUE, TURN, pendulum, swing

_KEPT, _KICK, _WALK_STEPS = 0.95, 0.3, 50
_LANGEVIN_DT, _LANGEVIN_STEPS = 0.02, 70
_HEAT_STEPS, _HEAT_LIMIT = 30, 10.0
_SWING_STEPS, _SWING_START, _SWING_END, _TORQUE = 60, np.pi - 0.5, np.pi + 0.62, 0.1
_AT_ONCE = 200_000


@dataclass(frozen=True)
class Case:
    """A system, what is asked, and the true answer."""

    name: str
    step: Callable[[Any, Any, Any], Any]
    noise: int
    start: Sequence[Sequence[float]]
    steps: int
    limits: Any
    truth: float
    error: float
    """of the truth, its own deviation; 0 where it is exact"""
    told: str
    """how the truth is known"""
    policy: Any = None


def run(
    brute: int = 4_000_000,
    seeds: int = 12,
    draws: int = 1_000,
    rows: int = 10_000,
    trainings: int = 2,
    steps: int = 700,
    student_steps: int = 1_000,
    systems: Sequence[str] = ("walk", "langevin", "heat", "pendulum"),
) -> Iterator[dict[str, Any]]:
    """A row for each event, of the true law; and for the pendulum one for each twin and one for all of them.

    `error` is the deviation of the answers over the seeds from the truth, relative to it; `coverage` the share of the
    95% intervals in which the truth lies; `calls` the trajectories of one answer, `brute_force_calls` those that
    counting would need for the same error. `truth_error` is the relative deviation of the truth where it was counted.

    Arguments:
        brute: trajectories of the true system that the truth is counted from.
        seeds: answers to each question.
        draws: trajectories at each level of each repeat.
        rows, trainings, steps, student_steps: of the pendulum's twins.
    """
    made = {"walk": _walk, "langevin": _langevin, "heat": _heat, "pendulum": _pendulum}
    for name in systems:
        cases = _walk() if name == "walk" else [made[name](brute)]
        for case in cases:
            yield _measured(case, case.step, case.start, case.noise, seeds, draws)
        if name == "pendulum" and trainings:
            yield from _twins(cases[0], rows, trainings, steps, student_steps, draws)


def _measured(case: Case, dynamics: Any, start: Any, noise: int | None, seeds: int, draws: int) -> dict[str, Any]:
    options = {"noise": noise, "draws": draws, "policy": case.policy}
    stress(dynamics, start, case.steps, case.limits, seed=seeds, **options)  # compiles
    began = time.perf_counter()
    found = [stress(dynamics, start, case.steps, case.limits, seed=seed, **options) for seed in range(seeds)]
    spent = (time.perf_counter() - began) / seeds
    each = np.array([one.probability for one in found])
    error = float(np.sqrt(np.mean((each / case.truth - 1) ** 2)))
    calls = float(np.mean([one.calls for one in found]))
    counted = (1 - case.truth) / (case.truth * error**2)
    return {
        "what": case.name,
        "truth": case.truth,
        "truth_by": case.told,
        "truth_error": case.error / case.truth,
        "mean": float(each.mean()),
        "error": error,
        "coverage": float(np.mean([one.interval[0] <= case.truth <= one.interval[1] for one in found])),
        "calls": calls,
        "brute_force_calls": counted,
        "times_fewer": counted / calls,
        "ours_s": spent,
        "seeds": seeds,
    }


def crossing_probability(kept: float, kick: float, steps: int, limit: float, points: int = 4_000) -> float:
    """That x' = kept x + kick w from 0 exceeds a limit within so many steps: its density on a grid, step by step.

    >>> round(crossing_probability(1.0, 1.0, 1, 2.0), 6)
    0.02275
    """
    grid, gap = np.linspace(-12 * kick * np.sqrt(steps), limit, points, retstep=True)
    weights = np.full(points, gap)
    weights[[0, -1]] /= 2
    density, crossed = stats.norm.pdf(grid, 0, kick) * weights, float(stats.norm.sf(limit, 0, kick))
    moved = stats.norm.pdf(grid[:, None], kept * grid, kick) * weights[:, None]
    leaves = stats.norm.sf(limit, kept * grid, kick)
    for _ in range(steps - 1):
        crossed += float(density @ leaves)
        density = moved @ density
    return crossed


def _walk() -> list[Case]:
    def step(state: Any, action: Any, noise: Any) -> Any:
        return _KEPT * state + _KICK * noise

    found = []
    for limit in (3.0, 4.0, 5.0):
        truth = crossing_probability(_KEPT, _KICK, _WALK_STEPS, limit)
        name = f"an AR(1) process exceeds {limit:g} within {_WALK_STEPS} steps"
        found.append(Case(name, step, 1, [[0.0]], _WALK_STEPS, [(None, limit)], truth, 0.0, "integration"))
    return found


def _counted(count: int, crosses: Callable[[int, np.random.Generator], np.ndarray]) -> tuple[float, float]:
    """Share of so many trajectories that cross, and its deviation."""
    rng = np.random.default_rng(12345)
    sizes = [min(_AT_ONCE, count - first) for first in range(0, count, _AT_ONCE)]
    share = sum(int(crosses(size, rng).sum()) for size in sizes) / count
    return share, float(np.sqrt(share * (1 - share) / count))


def _langevin(brute: int) -> Case:
    """From one well over the barrier into the other, in one unit of time."""
    kick = float(np.sqrt(2 * _LANGEVIN_DT))

    def step(state: Any, action: Any, noise: Any) -> Any:
        x, p = state
        force = 4 * BARRIER * x * (1 - x**2)
        return jnp.stack([x + _LANGEVIN_DT * p, p + _LANGEVIN_DT * (force - FRICTION * p) + kick * noise[0]])

    def crosses(size: int, rng: np.random.Generator) -> np.ndarray:
        x, p, over = np.full(size, -1.0), np.zeros(size), np.zeros(size, bool)
        for _ in range(_LANGEVIN_STEPS):
            force = 4 * BARRIER * x * (1 - x**2)
            x, p = x + _LANGEVIN_DT * p, p + _LANGEVIN_DT * (force - FRICTION * p) + kick * rng.standard_normal(size)
            over |= x > 1
        return over

    name = f"Langevin: from -1 beyond 1 within {_LANGEVIN_STEPS} steps of {_LANGEVIN_DT:g}"
    truth, error = _counted(brute, crosses)
    start, limits = [[-1.0, 0.0]], [(None, 1.0), None]
    return Case(name, step, 1, start, _LANGEVIN_STEPS, limits, truth, error, f"{brute:,} trajectories")


def _heat(brute: int) -> Case:
    """A rod at 1 throughout: any node too hot."""
    transfer, _ = heat_matrices()
    stay = np.eye(NODES) + transfer

    def step(state: Any, action: Any, noise: Any) -> Any:
        return jnp.asarray(stay, state.dtype) @ state + HEAT_NOISE * state * noise

    def crosses(size: int, rng: np.random.Generator) -> np.ndarray:
        x, over = np.ones((size, NODES), np.float32), np.zeros(size, bool)
        matrix = stay.T.astype(np.float32)
        for _ in range(_HEAT_STEPS):
            x = x @ matrix + np.float32(HEAT_NOISE) * x * rng.standard_normal(x.shape, np.float32)
            over |= x.max(axis=1) > _HEAT_LIMIT
        return over

    name = f"heat: any of {NODES} nodes beyond {_HEAT_LIMIT:g} within {_HEAT_STEPS} steps, from 1"
    truth, error = _counted(brute // 3, crosses)
    start, limits = [[1.0] * NODES], [(None, _HEAT_LIMIT)] * NODES
    return Case(name, step, NODES, start, _HEAT_STEPS, limits, truth, error, f"{brute // 3:,} trajectories")


def _damping(theta: Any, before: Any, sine: Callable[[Any], Any], clip: Callable[..., Any]) -> Any:
    """A torque against the motion, of the angle now and a step ago."""
    return clip(-_TORQUE * sine(theta - before) / DT, -2.0, 2.0)


def _pendulum(brute: int) -> Case:
    """Hanging, let go at some angle, with a policy that damps it by a weak torque: it swings out too far."""

    def step(state: Any, action: Any, noise: Any) -> Any:
        theta, before = state
        speed = (theta - before) / DT + DT * (GRAVITY * (1 + NOISE * noise[0]) * jnp.sin(theta) + TORQUE * action[0])
        return jnp.stack([theta + DT * jnp.clip(speed, -LARGEST_SPEED, LARGEST_SPEED), theta])

    def policy(state: Any) -> Any:
        return _damping(state[0], state[1], jnp.sin, jnp.clip)[None]

    def crosses(size: int, rng: np.random.Generator) -> np.ndarray:
        theta, over = np.full(size, _SWING_START), np.zeros(size, bool)
        before, speed = theta, np.zeros(size)
        for _ in range(_SWING_STEPS):
            u = _damping(theta, before, np.sin, np.clip)
            before, (theta, speed) = theta, swing(theta, speed, u, 1 + NOISE * rng.standard_normal(size))
            over |= theta > _SWING_END
        return over

    name = "pendulum: weakly damped, let go 0.5 from hanging, 0.62 beyond it within 3 s"
    truth, error = _counted(brute, crosses)
    start, limits = [[_SWING_START, _SWING_START]], [(None, _SWING_END), None]
    return Case(name, step, 1, start, _SWING_STEPS, limits, truth, error, f"{brute:,} trajectories", policy)


def _twins(
    case: Case, rows: int, trainings: int, steps: int, student_steps: int, draws: int
) -> Iterator[dict[str, Any]]:
    """The same question to twins of random motion, each alone and all together.

    `step_width` is how many times as wide as it should be the law of one step is, by rows set aside.
    """
    lags, length = 1, 200
    system = pendulum(max(rows // (length - lags), 1), length, lags)
    twins = [fitted(system, seed, steps, student_steps) for seed in range(trainings)]
    start = {"theta_0": [_SWING_START], "theta_1": [_SWING_START], "u_1": [0.0]}

    def policy(history: Any) -> Any:
        return _damping(history.states[0, 0], history.states[1, 0], jnp.sin, jnp.clip)[None]

    # The angle goes on from where it starts, between -pi and pi.
    limits = {"theta": (None, _SWING_END)}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # counted as doubts
        told = stress(twins, start, case.steps, limits, policy=policy, draws=draws)
    spent = time.perf_counter() - began
    answers = [(f"twin {number}", one) for number, one in enumerate(told.each)]
    for word, one in [*answers, (f"{trainings} twins", told)] if trainings > 1 else [("twin 0", told)]:
        yield {
            "what": f"{case.name}: {word}",
            "truth": case.truth,
            "truth_by": case.told,
            "truth_error": case.error / case.truth,
            "mean": one.probability,
            "low": one.interval[0],
            "high": one.interval[1],
            "holds_truth": bool(one.interval[0] <= case.truth <= one.interval[1]),
            "calls": one.calls,
            "beyond_data": one.outside,
            "step_width": None if one.fit is None else one.fit.width,
            "doubts": len(one.doubts),
            "ours_s": spent * one.calls / told.calls,
        }


def fitted(system: Any, seed: int, steps: int, student_steps: int) -> Any:
    """A distilled twin of the pendulum on its known graph."""
    from forebear.data.table import read_columns
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    inputs = ("theta_0", "theta_1", "u_0")
    periodic: dict[str, float] = {"theta_0": TURN, "theta_1": TURN}
    table = read_columns(system.table, "the table", [*inputs, "dtheta"], periodic)
    settings = TwinSettings.resolve({"law": "flow", "steps": steps, "test": 0.2})
    twin = fit_twin(table, {"dtheta": inputs}, joint=False, settings=settings, seed=seed)
    return twin.distil(steps=student_steps, progress=False)
