"""A noisy torque-driven pendulum whose velocity is not observed: the past angle stands in for it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.systems._paths import column, lag_windows, numbered, positive
from forebear.systems.laws import Gaussian
from forebear.systems.system import System

GRAVITY, TORQUE = 1.5 * 9.81, 3.0
"""3g / 2l and 3 / (m l^2), for m = l = 1"""
DT, NOISE, LARGEST_TORQUE, LARGEST_SPEED = 0.05, 0.3, 2.0, 8.0
TURN = 2 * np.pi


def wrap(angle: np.ndarray) -> np.ndarray:
    """The same angle in [-pi, pi).

    >>> wrap(np.array([0.5, np.pi, -np.pi, 7.0])).round(4).tolist()
    [0.5, -3.1416, -3.1416, 0.7168]
    """
    turned = np.mod(angle + np.pi, TURN) - np.pi
    # the remainder of a tiny negative number rounds up to a full turn
    return np.where(turned >= np.pi, turned - TURN, turned)


def swing(theta: np.ndarray, speed: np.ndarray, u: np.ndarray, shake: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angle and speed one step later; `shake` is the 1 + w of the step.

    >>> theta, speed = swing(np.array([0.0]), np.array([1.0]), np.array([2.0]), np.array([1.0]))
    >>> theta.round(4).tolist(), speed.round(4).tolist()
    ([0.065], [1.3])
    """
    acceleration = GRAVITY * shake * np.sin(theta) + TORQUE * u
    speed = np.clip(speed + acceleration * DT, -LARGEST_SPEED, LARGEST_SPEED)
    return theta + speed * DT, speed


def pendulum_episodes(episodes: int = 500, steps: int = 200, seed: int = 0) -> pd.DataFrame:
    """Raw trajectories, one row per time: `episode`, `step`, unwrapped `theta`, torque `u`.

    The angular acceleration is `14.715 (1 + w) sin(theta) + 3 u`, w ~ N(0, 0.3^2) fresh at each step; the new
    speed, held within 8, moves the angle. theta = 0 is upright. An episode starts at theta ~ U(-pi, pi) with
    speed ~ U(-1, 1) and has `steps + 1` rows: the last one is the end of the last step, its torque is unused.

    >>> pendulum_episodes(episodes=2, steps=3).shape
    (8, 4)
    """
    positive(episodes=episodes, steps=steps)
    rng = np.random.default_rng(seed)
    theta = np.empty((episodes, steps + 1))
    theta[:, 0] = rng.uniform(-np.pi, np.pi, episodes)
    speed = rng.uniform(-1, 1, episodes)
    u = rng.uniform(-LARGEST_TORQUE, LARGEST_TORQUE, (episodes, steps + 1))
    shake = 1 + NOISE * rng.standard_normal((episodes, steps))
    for n in range(steps):
        theta[:, n + 1], speed = swing(theta[:, n], speed, u[:, n], shake[:, n])
    return pd.DataFrame(
        {
            "episode": np.repeat(np.arange(episodes), steps + 1),
            "step": np.tile(np.arange(steps + 1), episodes),
            "theta": theta.ravel(),
            "u": u.ravel(),
        }
    )


def pendulum(episodes: int = 500, steps: int = 200, lags: int = 9, seed: int = 0) -> System:
    """Angle increments against angle and torque at lags 0 to `lags`, grouped by lag.

    `dtheta_n = dtheta_(n-1) + dt^2 acceleration(theta_n, u_n, w_n)`, held within 0.4. Lag 0 and the angle at
    lag 1 therefore fix the law, and that law is the one given here, the limit included. The speed changes
    little in a few steps, so another earlier lag serves nearly as well as lag 1: expect lag 0 and exactly one
    other, and which one is arbitrary. `ancestors` names the exact pair. Angles are wrapped to [-pi, pi), and
    so are their differences in the law; a step is at most 0.4 and leaves no doubt about the turn.

    An episode of 200 steps has 191 windows, 95,500 in all; the published runs use the first 95,000.

    >>> data = pendulum(episodes=2, steps=12)
    >>> data.table.shape, data.groups["lag 1"], data.ancestors
    ((6, 21), ('theta_1', 'u_1'), {'dtheta': ('lag 0', 'lag 1')})
    """
    if not 1 <= lags < steps:
        raise InputError(f"`lags` must be at least 1 and below `steps`; got {lags} lags and {steps} steps")
    raw = pendulum_episodes(episodes, steps, seed)
    theta, u = (raw[name].to_numpy().reshape(episodes, steps + 1) for name in ("theta", "u"))
    angles, torques = numbered("theta_", lags + 1, 0), numbered("u_", lags + 1, 0)
    # the final time of an episode has no increment after it
    past = [wrap(lag_windows(theta[:, :-1], lags)), lag_windows(u[:, :-1], lags)]
    step = np.diff(theta, axis=1)[:, lags:].reshape(-1, 1)
    return System(
        name="pendulum",
        table=pd.DataFrame(np.hstack([*past, step]), columns=[*angles, *torques, "dtheta"]),
        targets=("dtheta",),
        candidates=angles + torques,
        ancestors={"dtheta": ("lag 0", "lag 1")},
        groups={f"lag {k}": (angles[k], torques[k]) for k in range(lags + 1)},
        periodic=dict.fromkeys(angles, TURN),
        quantiles={"dtheta": Gaussian(_mean, _std, -LARGEST_SPEED * DT, LARGEST_SPEED * DT)},
    )


def _mean(given: pd.DataFrame) -> np.ndarray:
    now, u = column(given, "theta_0"), column(given, "u_0")
    return wrap(now - column(given, "theta_1")) + DT**2 * (GRAVITY * np.sin(now) + TORQUE * u)


def _std(given: pd.DataFrame) -> np.ndarray:
    return DT**2 * GRAVITY * NOISE * np.abs(np.sin(column(given, "theta_0")))
