"""Langevin motion in a double well, seen through its position alone."""

from __future__ import annotations

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.systems._paths import lag_windows, not_negative, numbered, positive
from forebear.systems.system import System

DT, STEPS_BETWEEN, BARRIER, FRICTION = 0.001, 200, 4.0, 1.0
NOISE = np.sqrt(2.0)
"""with friction 1 this is temperature 1: the barrier is four times the thermal energy"""


def langevin(
    trajectories: int = 5_000, points: int = 100, burn_in: int = 20_000, lags: int = 9, seed: int = 0
) -> System:
    """Position increments over 0.2 time units against positions at lags 0 to `lags` (x_0 is the newest).

    `dx = p dt`, `dp = (16 x (1 - x^2) - p) dt + sqrt(2) dW` from rest at the top of the barrier, by
    Euler-Maruyama with step 0.001; a point is recorded every 200 steps after `burn_in` steps, and each
    trajectory of `points` points gives `points - lags - 1` rows. The published burn-in is 160,000 steps;
    20,000 already give the stationary second moment.

    The momentum is hidden, so strictly every lag says something about it. Two positions carry nearly all:
    `ancestors` holds these, the next lag adds about one per cent of explained variance. No law is known in
    closed form over a step this long: `quantiles` is empty.

    >>> data = langevin(trajectories=3, points=12, burn_in=10)
    >>> data.table.shape, data.ancestors
    ((6, 11), {'dx': ('x_0', 'x_1')})
    """
    positive(trajectories=trajectories)
    not_negative(burn_in=burn_in)
    if not 1 <= lags < points - 1:
        raise InputError(f"`lags` must be at least 1 and below `points` - 1; got {lags} and {points}")
    x = _positions(trajectories, points, burn_in, np.random.default_rng(seed))
    names = numbered("x_", lags + 1, 0)
    step = np.diff(x, axis=1)[:, lags:].reshape(-1, 1)
    return System(
        name="langevin",
        table=pd.DataFrame(np.hstack([lag_windows(x[:, :-1], lags), step]), columns=[*names, "dx"]),
        targets=("dx",),
        candidates=names,
        ancestors={"dx": names[:2]},
    )


def _positions(trajectories: int, points: int, burn_in: int, rng: np.random.Generator) -> np.ndarray:
    record = np.empty((points, trajectories))
    x, p = np.zeros(trajectories), np.zeros(trajectories)
    kick, force = np.empty(trajectories), np.empty(trajectories)
    scale = NOISE * np.sqrt(DT)
    for n in range(burn_in + (points - 1) * STEPS_BETWEEN + 1):
        if n >= burn_in and (n - burn_in) % STEPS_BETWEEN == 0:
            record[(n - burn_in) // STEPS_BETWEEN] = x
        # p <- (1 - friction dt) p + 4 barrier x (1 - x^2) dt + kick, in place: this loop is all of the cost
        rng.standard_normal(out=kick)
        kick *= scale
        np.multiply(x, x, out=force)
        np.subtract(1.0, force, out=force)
        force *= x
        force *= 4 * BARRIER * DT
        x += DT * p
        p *= 1 - FRICTION * DT
        p += force
        p += kick
    return record.T
