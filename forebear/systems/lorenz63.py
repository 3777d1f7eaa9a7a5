"""Stochastic Lorenz-63: every noise is proportional to its own coordinate."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from forebear.systems._paths import column, euler_maruyama, not_negative, numbered, positive
from forebear.systems.laws import Gaussian
from forebear.systems.system import System

SIGMA, RHO, BETA = 10.0, 28.0, 8.0 / 3.0


def lorenz63(
    residuals: bool = False,
    trajectories: int = 50,
    steps: int = 1000,
    burn_in: int = 200,
    dt: float = 0.01,
    noise: float = 0.5,
    seed: int = 0,
) -> System:
    """Increments of the Lorenz-63 equations with multiplicative noise, by Euler-Maruyama.

    `dx_i = b_i(x) dt + noise x_i dW_i`, started uniformly in [-15, 15]^3. With `residuals`, the drift counts
    as known and the targets are `R_i = dx_i - b_i(x) dt`: their mean is zero everywhere and only their spread
    depends on the state. Given the state each target is normal, and the three are independent.

    >>> lorenz63(trajectories=2, steps=10).ancestors["dx1"]
    ('x1', 'x2')
    >>> lorenz63(residuals=True, trajectories=2, steps=10).ancestors["R2"]
    ('x2',)
    """
    positive(trajectories=trajectories, steps=steps, dt=dt)
    not_negative(burn_in=burn_in)
    rng = np.random.default_rng(seed)
    start = rng.uniform(-15, 15, size=(trajectories, 3))
    states, increments = euler_maruyama(_drift, lambda x: noise * x, start, steps=burn_in + steps, dt=dt, rng=rng)
    x = states[:, burn_in:].reshape(-1, 3)
    dx = increments[:, burn_in:].reshape(-1, 3)
    y = dx - _drift(x) * dt if residuals else dx
    candidates = numbered("x", 3)
    targets = numbered("R" if residuals else "dx", 3)
    coupled = dict(zip(targets, (candidates[:2], candidates, candidates), strict=True))
    own = {target: (name,) for target, name in zip(targets, candidates, strict=True)}
    return System(
        name="lorenz63-residual" if residuals else "lorenz63",
        table=pd.DataFrame(np.hstack([x, y]), columns=list(candidates + targets)),
        targets=targets,
        candidates=candidates,
        ancestors=own if residuals else coupled,
        quantiles={
            target: Gaussian(
                mean=_zero if residuals else partial(_mean, i, dt),
                std=partial(_std, candidates[i], noise * np.sqrt(dt)),
            )
            for i, target in enumerate(targets)
        },
    )


def _drift(x: np.ndarray) -> np.ndarray:
    return np.stack([_component(i, *x.T) for i in range(3)], axis=-1)


def _component(i: int, x1: np.ndarray, x2: np.ndarray, x3: np.ndarray) -> np.ndarray:
    if i == 0:
        return SIGMA * (x2 - x1)
    return x1 * (RHO - x3) - x2 if i == 1 else x1 * x2 - BETA * x3


# Module-level functions bound with `partial`, not closures: a law can then be sent to a worker process.
def _mean(i: int, dt: float, given: pd.DataFrame) -> np.ndarray:
    x1, x2 = column(given, "x1"), column(given, "x2")
    # the first component does not read x3, which may be absent from a pruned table
    x3 = column(given, "x3") if i else x1
    return _component(i, x1, x2, x3) * dt


def _zero(given: pd.DataFrame) -> np.ndarray:
    return np.zeros(len(given))


def _std(name: str, scale: float, given: pd.DataFrame) -> np.ndarray:
    # the law depends on |x| alone; without the modulus the map would fall with p where x < 0
    return scale * np.abs(column(given, name))
