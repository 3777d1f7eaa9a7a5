"""Langevin motion in a double well: do a twin's trajectories keep the stationary law and the rate of well changes?"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from forebear.systems.langevin import langevin
from forebear_experiments.benchmarks.support.accuracy import fit

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
    seeds: Sequence[int] = (0, 1, 2),
    **settings: Any,
) -> list[dict[str, Any]]:
    """Rows of every seed: a second simulation, and twins that see the newest two positions or three; then, for each
    of those, what the rates of all seeds come to. It `holds` when their mean is within a tenth of the simulated rate.

    A seed draws data, training and trajectories anew: rates of twins differ by more than the counting error.
    The twin is trained on the full recipe but for the burn-in. From states of a simulation it makes `rollouts`
    trajectories of `length` points, the first `settle` of which are left out. The simulation to compare with has as
    many points. Well changes are counted a point, from beyond 0.5 on one side to beyond 0.5 on the other;
    `sign_changes` are those of the sign alone; `rate_ratio_error` is one standard error, relative.
    """
    rows = []
    for seed in seeds:
        sizes = (trajectories, points, rollouts, length, settle, burn_in)
        rows += _measured(lags, *sizes, seed, settings)
    return rows + [_mean(rows, name) for name in dict.fromkeys(row["twin"] for row in rows if "twin" in row)]


def _mean(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    ratios = np.array([row["rate_ratio"] for row in rows if row.get("twin") == name])
    moduli = [row["w1_of_modulus"] for row in rows if row.get("twin") == name]
    error = float(ratios.std(ddof=1) / math.sqrt(len(ratios))) if len(ratios) > 1 else None
    return {
        "what": f"{name}: mean of {len(ratios)} twins",
        "w1_of_modulus": float(np.mean(moduli)),
        "w1_of_modulus_of_a_simulation": float(np.mean([r["w1_of_modulus"] for r in rows if "twin" not in r])),
        "rate_ratio": float(ratios.mean()),
        "rate_ratio_error": error,
        "holds": bool(abs(ratios.mean() - 1) <= MOST_OFF),
    }


def _measured(
    lags: Sequence[int],
    trajectories: int,
    points: int,
    rollouts: int,
    length: int,
    settle: int,
    burn_in: int,
    seed: int,
    settings: dict[str, Any],
) -> list[dict[str, Any]]:
    """The rows of one seed: a second simulation first."""
    system = langevin(trajectories, points, burn_in, seed=seed)
    kept = length - settle
    simulated, again = (_simulate(rollouts, kept, burn_in, seed + number) for number in (1, 2))
    truth, other = _facts(simulated), _facts(again)
    rows = [
        {
            "what": f"second simulation, {rollouts:,} trajectories of {kept:,} points, seed {seed}",
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
        name = f"twin on {', '.join(names)}"
        what = f"{name}: {rollouts:,} trajectories, {kept:,} points each after {settle:,}, seed {seed}"
        rows.append({"what": what, "twin": name, "trained_on": len(system.table), **seconds, **told})
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
