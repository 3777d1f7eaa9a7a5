"""Langevin motion in a double well: do a twin's trajectories keep the stationary law and the rate of well changes?"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from forebear.benchmarks.accuracy import fit
from forebear.systems.langevin import langevin

MOST_OFF = 0.1
"""of the rate of well changes"""
_SIDE = 0.5
"""a trajectory has changed wells once it is this far on the other side: the top itself may be crossed many times"""
_LEVELS = (np.arange(2_000) + 0.5) / 2_000


def run(
    trajectories: int = 5_000,
    points: int = 100,
    lags: Sequence[int] = (2, 3),
    rollouts: int = 3_000,
    length: int = 600,
    settle: int = 100,
    burn_in: int = 20_000,
    seed: int = 0,
    **settings: Any,
) -> list[dict[str, Any]]:
    """A row a set of inputs, the newest two positions or three, and one of a second simulation.

    The twin is trained on the full recipe but for the burn-in. From states of a simulation it makes `rollouts`
    trajectories of `length` points, the first `settle` of which are left out. The simulation to compare with has as
    many points. Well changes are counted a point, from beyond 0.5 on one side to beyond 0.5 on the other;
    `sign_changes` are those of the sign alone; `rate_ratio_error` is one standard error, relative.
    """
    system = langevin(trajectories, points, burn_in, seed=seed)
    kept = length - settle
    simulated, again = (_simulate(rollouts, kept, burn_in, seed + number) for number in (1, 2))
    truth, other = _facts(simulated), _facts(again)
    rows = [
        {
            "what": f"second simulation, {rollouts:,} trajectories of {kept:,} points",
            **_compared(again, other, simulated, truth),
        }
    ]
    for count in lags:
        names = system.candidates[:count]
        started = time.perf_counter()
        twin = fit(system, {"dx": names}, seed=seed, **settings)
        trained = time.perf_counter()
        moved = twin.rollout(simulated[:, : len(names), None], length, seed=seed)
        x = moved.states[1 + settle :, :, 0].T
        seconds = {"fit_s": trained - started, "rollout_s": time.perf_counter() - trained}
        told = _compared(x, _facts(x), simulated, truth)
        what = f"twin on {', '.join(names)}: {rollouts:,} trajectories, {kept:,} points each after {settle:,}"
        holds = abs(told["rate_ratio"] - 1) <= MOST_OFF
        rows.append({"what": what, "trained_on": len(system.table), **seconds, **told, "holds": bool(holds)})
    return rows


def _simulate(trajectories: int, points: int, burn_in: int, seed: int) -> np.ndarray:
    """Positions (trajectories, points)."""
    # A table of one lag has a row for each point but the first and the last.
    table = langevin(trajectories, points + 2, burn_in, lags=1, seed=seed).table
    return table["x_0"].to_numpy().reshape(trajectories, points)


def _facts(x: np.ndarray) -> dict[str, float]:
    """Of trajectories (trajectories, points)."""
    return {
        "well_changes": well_changes(x),
        "sign_changes": float(np.mean(np.sign(x[:, 1:]) != np.sign(x[:, :-1]))),
        "second_moment": float(np.mean(x**2)),
        "right_well": float(np.mean(x > 0)),
    }


def well_changes(x: np.ndarray) -> float:
    """A point, of trajectories (trajectories, points).

    >>> well_changes(np.array([[-1.0, 0.1, -1.0, 0.2, 1.0]]))
    0.25
    """
    side = np.where(np.abs(x) > _SIDE, np.sign(x), 0.0)
    # Between the wells a trajectory belongs to the one it was last in.
    last = np.maximum.accumulate(np.where(side != 0, np.arange(x.shape[1]), 0), axis=1)
    held = np.take_along_axis(side, last, axis=1)
    return float(np.mean(held[:, 1:] * held[:, :-1] < 0))


def _compared(
    x: np.ndarray, facts: dict[str, float], truth: np.ndarray, true_facts: dict[str, float]
) -> dict[str, Any]:
    rate, true_rate = facts["well_changes"], true_facts["well_changes"]
    return {
        "w1": _distance(x, truth),
        # Without the sides: which well a trajectory is in changes so seldom that it rules the noise of w1.
        "w1_of_modulus": _distance(np.abs(x), np.abs(truth)),
        "w1_to_gibbs": float(np.mean(np.abs(np.quantile(x, _LEVELS) - _gibbs()))),
        **facts,
        "true_well_changes": true_rate,
        "true_sign_changes": true_facts["sign_changes"],
        "true_second_moment": true_facts["second_moment"],
        "rate_ratio": rate / true_rate if true_rate else float("nan"),
        "rate_ratio_error": _ratio_error(rate * x.size, true_rate * truth.size),
    }


def _ratio_error(events: float, others: float) -> float:
    """The standard error of a ratio of counts, relative to it, if events come independently of one another.

    >>> _ratio_error(200.0, 200.0)
    0.1
    """
    return math.sqrt(1 / events + 1 / others) if events and others else math.nan


def _distance(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.mean(np.abs(np.quantile(first, _LEVELS) - np.quantile(second, _LEVELS))))


def _gibbs() -> np.ndarray:
    """Quantiles of the stationary law, with density proportional to exp(-4 (1 - x^2)^2)."""
    grid = np.linspace(-2.5, 2.5, 20_001)
    mass = np.cumsum(np.exp(-4 * (1 - grid**2) ** 2))
    return np.interp(_LEVELS, mass / mass[-1], grid)
