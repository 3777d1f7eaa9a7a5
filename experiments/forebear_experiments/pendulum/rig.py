"""The noisy pendulum to swing up: the true one and a learned one, as vector environments with the same interface.

Both show three frames, newest first, and hide the speed: `cos theta_n, sin theta_n, u_(n-1)`, and the same one and
two steps earlier. An episode starts with ten steps of the true system without torque, whatever moves it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from forebear.control.sac import Act
from forebear.envs.single import TwinEnv
from forebear.envs.vector import TwinVectorEnv
from forebear.systems.pendulum import LARGEST_TORQUE, NOISE, swing, wrap
from forebear.twin.dynamics import Dynamics
from forebear.twin.history import History
from forebear.twin.twin import Twin

EPISODE_STEPS, WARM_UP, FRAMES = 200, 10, 3
TORQUE_PRICE = 0.001
_BOUNDS = {"u": (-LARGEST_TORQUE, LARGEST_TORQUE)}


class PendulumVectorEnv(VectorEnv):
    """The true stochastic pendulum, many at once; it resets in the same step.

    Environment i is seeded with `seed + i`, as Gymnasium does it, and everything random about an episode, its start
    and the noise of all its steps, is drawn when it begins. So the same seed means the same luck for every policy.

    >>> envs = PendulumVectorEnv(2)
    >>> observation, _ = envs.reset(seed=0)
    >>> observation, reward, *_ = envs.step(np.zeros((2, 1)))
    >>> observation.shape, reward.shape
    ((2, 9), (2,))
    """

    def __init__(self, num_envs: int):
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3 * FRAMES,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-LARGEST_TORQUE, LARGEST_TORQUE, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs = [np.random.default_rng() for _ in range(num_envs)]
        self._angles, self._torques = np.zeros((2, num_envs, FRAMES))
        self._speeds, self._ages = np.zeros(num_envs), np.zeros(num_envs, int)
        self._shakes = np.ones((num_envs, EPISODE_STEPS))

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode everywhere."""
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            self._rngs = [np.random.default_rng(one) for one in seeds]
        self._begin(np.arange(self.num_envs))
        return self._observed(), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Push every pendulum once."""
        u = np.clip(np.asarray(actions, float).reshape(self.num_envs), -LARGEST_TORQUE, LARGEST_TORQUE)
        shake = self._shakes[np.arange(self.num_envs), self._ages]
        theta, self._speeds = swing(self._angles[:, 0], self._speeds, u, shake)
        self._angles = np.concatenate([theta[:, None], self._angles[:, :-1]], axis=1)
        self._torques = np.concatenate([u[:, None], self._torques[:, :-1]], axis=1)
        self._ages = self._ages + 1
        reward = -(wrap(theta) ** 2 + TORQUE_PRICE * u**2)
        over = self._ages >= EPISODE_STEPS
        info: dict[str, Any] = {}
        if over.any():
            final, observed = np.full(self.num_envs, None, object), self._observed()
            for place in np.flatnonzero(over):
                final[place] = observed[place]
            info = {"final_obs": final, "_final_obs": over, "final_info": {}, "_final_info": over}
            self._begin(np.flatnonzero(over))
        return self._observed(), reward, np.zeros(self.num_envs, bool), over, info

    def _begin(self, places: np.ndarray) -> None:
        for place in places:
            moments, speed = warm_up(self._rngs[place], 1)
            self._angles[place] = moments[0, -FRAMES:, 0][::-1]
            self._torques[place], self._speeds[place], self._ages[place] = 0.0, speed[0], 0
            self._shakes[place] = _shaken(self._rngs[place], EPISODE_STEPS)

    def _observed(self) -> np.ndarray:
        frames = np.stack([np.cos(self._angles), np.sin(self._angles), self._torques], axis=2)
        return frames.reshape(self.num_envs, -1).astype(np.float32)


def warm_up(rng: np.random.Generator, count: int, moments: int = WARM_UP + 1) -> tuple[np.ndarray, np.ndarray]:
    """The last moments (count, moments, 2) of ten true steps without torque, oldest first, and the speeds (count,).

    A moment is an angle and a torque.

    >>> moments, speed = warm_up(np.random.default_rng(0), 3, moments=4)
    >>> moments.shape, speed.shape
    ((3, 4, 2), (3,))
    """
    theta, speed = rng.uniform(-np.pi, np.pi, count), rng.uniform(-1, 1, count)
    angles = [theta]
    for _ in range(WARM_UP):
        theta, speed = swing(theta, speed, np.zeros(count), _shaken(rng, count))
        angles.append(theta)
    found = np.zeros((count, moments, 2))
    found[:, :, 0] = np.stack(angles[-moments:], axis=1)
    return found, speed


def twin_pendulum(twin: Twin, num_envs: int) -> TwinVectorEnv:
    """The same task in a twin of `dtheta` given angles and torques at any lags, named as `systems.pendulum` does."""
    return TwinVectorEnv(twin, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **_task(twin))


def single_twin_pendulum(twin: Twin) -> TwinEnv:
    """One of them alone."""
    return TwinEnv(twin, **_task(twin))


def _task(twin: Twin) -> dict[str, Any]:
    lags = max(FRAMES, *(int(name.rpartition("_")[2]) for name in twin.inputs))
    return {
        "start": lambda rng, count: warm_up(rng, count, lags + 1)[0],
        "reward": reward,
        "observe": observe,
        "dynamics": Dynamics("theta", "u", lags=lags, periodic={"theta": 2 * np.pi}),
        "max_steps": EPISODE_STEPS,
        "bounds": _BOUNDS,
    }


def swing_up(envs: VectorEnv, act: Act, seed: int) -> np.ndarray:
    """Returns of one episode in each of these environments, which all begin and end together.

    >>> bool(swing_up(PendulumVectorEnv(3), lambda seen: np.zeros((3, 1)), seed=0).max() < 0)
    True
    """
    seen, _ = envs.reset(seed=seed)
    returns = np.zeros(envs.num_envs)
    for _ in range(EPISODE_STEPS):
        seen, gained, *_ = envs.step(act(seen))
        returns += gained
    return returns


def reward(state: Any, action: Any, after: Any) -> Any:
    """Upright and without effort is best; the angle of a twin stays within one turn."""
    del state
    return -(after[0] ** 2 + TORQUE_PRICE * action[0] ** 2)


def observe(history: History) -> Any:
    """Three frames (9,), newest first; the torque of a frame is the one that led to its angle."""
    angles, torques = history.states[:FRAMES, 0], history.actions[:FRAMES, 0]
    return jnp.stack([jnp.cos(angles), jnp.sin(angles), torques], axis=1).reshape(-1)


def _shaken(rng: np.random.Generator, count: int) -> np.ndarray:
    return 1 + NOISE * rng.standard_normal(count)
