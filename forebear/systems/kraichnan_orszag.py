"""Stochastic Kraichnan-Orszag: three coupled modes with additive noise."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from forebear.systems._paths import column, euler_maruyama, numbered, positive
from forebear.systems.laws import Gaussian
from forebear.systems.system import System

NOISE = 0.1
PAIRS = (("x1", "x3"), ("x2", "x3"), ("x1", "x2"))
"""the two coordinates that drive each component"""


def kraichnan_orszag(trajectories: int = 50, steps: int = 10_000, dt: float = 0.001, seed: int = 0) -> System:
    """Increments of `dx1 = x1 x3 dt`, `dx2 = -x2 x3 dt`, `dx3 = (x2^2 - x1^2) dt`, each with noise 0.1 dW_i.

    Euler-Maruyama from N(0, 4 I), recorded from the first step on. The drift conserves x1^2 + x2^2 + x3^2, so
    each trajectory stays near its own sphere and the start decides which states are seen. The spread of an
    increment is constant: only its mean depends on the state.

    >>> kraichnan_orszag(trajectories=2, steps=10).ancestors
    {'dx1': ('x1', 'x3'), 'dx2': ('x2', 'x3'), 'dx3': ('x1', 'x2')}
    """
    positive(trajectories=trajectories, steps=steps, dt=dt)
    rng = np.random.default_rng(seed)
    start = 2.0 * rng.standard_normal((trajectories, 3))
    states, increments = euler_maruyama(_drift, lambda x: np.full(x.shape, NOISE), start, steps=steps, dt=dt, rng=rng)
    candidates, targets = numbered("x", 3), numbered("dx", 3)
    values = np.hstack([states.reshape(-1, 3), increments.reshape(-1, 3)])
    return System(
        name="kraichnan-orszag",
        table=pd.DataFrame(values, columns=list(candidates + targets)),
        targets=targets,
        candidates=candidates,
        ancestors=dict(zip(targets, PAIRS, strict=True)),
        quantiles={
            target: Gaussian(partial(_mean, i, dt), partial(_std, NOISE * np.sqrt(dt)))
            for i, target in enumerate(targets)
        },
    )


def _component(i: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return b * b - a * a if i == 2 else (a * b if i == 0 else -a * b)


def _drift(x: np.ndarray) -> np.ndarray:
    x1, x2, x3 = x.T
    return np.stack([_component(0, x1, x3), _component(1, x2, x3), _component(2, x1, x2)], axis=-1)


def _mean(i: int, dt: float, given: pd.DataFrame) -> np.ndarray:
    first, second = PAIRS[i]
    return _component(i, column(given, first), column(given, second)) * dt


def _std(scale: float, given: pd.DataFrame) -> np.ndarray:
    return np.full(len(given), scale)
