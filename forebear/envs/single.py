"""One environment around a twin, for Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from jax import Array

from forebear.envs.rules import Rules
from forebear.envs.spaces import Bounds
from forebear.envs.transition import CompiledTransition
from forebear.envs.world import World, make_world
from forebear.errors import InputError
from forebear.twin.dynamics import Dynamics
from forebear.twin.twin import Twin

# Starts that are drawn at once, so that a reset is cheap whatever function draws them.
_POOL = 64


class TwinEnv(gymnasium.Env):
    """A twin to act in, one step at a time.

    The rules are functions of one environment. Written with jax.numpy, they are compiled together with the twin, and
    a step is one call of a compiled function; otherwise they are called as they are (`compiled` says which).

    `info["outside"]` tells how far the state has left the data that the twin was trained on, in standard deviations,
    and `info["state"]` is the state, whatever is observed of it.

    Arguments:
        twin: with states as targets; distil it for speed.
        start: where episodes start: a table, as for `Twin.rollout`, of which each reset takes a random start, or a
            function (rng, count) that returns such a table with `count` starts.
        reward: (state, action, next state) -> number.
        terminated: (next state) -> whether the episode ends there.
        observe: (history) -> vector, with the fields of `forebear.History`. By default the states from now to the
            twin's memory, and then the actions before now.
        step_rest: (state, action, targets, key) -> next state, where the twin is a part of the dynamics only; key is
            a numpy generator where the rules are not compiled.
        dynamics: what the twin's columns mean, where their names do not tell.
        max_steps: truncates an episode.
        bounds: {action: (low, high)}, to which actions are clipped; by default the range of the data.
        observation_space: a Box, where its ends are known.
        outside_limit: truncates an episode whose state is further outside the data than this.
        episode: the column of `start` that tells its trajectories apart.

    >>> import pandas as pd, forebear as fb
    >>> from forebear.data.table import read_columns
    >>> from forebear.twin.fit import fit_twin
    >>> from forebear.twin.settings import TwinSettings
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(500, 2)), columns=["x", "u"])
    >>> table["dx"] = table["u"] - 0.1 * table["x"] + 0.1 * rng.normal(size=500)
    >>> small = TwinSettings.resolve({"steps": 50, "width": 8, "depth": 1, "ode_steps": 2})
    >>> columns = read_columns(table, "the table", ["x", "u", "dx"])
    >>> twin = fit_twin(columns, {"dx": ["x", "u"]}, joint=False, settings=small, seed=0)
    >>> env = fb.envs.TwinEnv(twin, {"x": [0.0]}, lambda state, action, after: -jnp.sum(after**2), max_steps=100)
    >>> observation, info = env.reset(seed=0)
    >>> observation.tolist(), env.compiled
    ([0.0], True)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        twin: Twin,
        start: Any,
        reward: Callable[[Any, Any, Any], Any],
        *,
        terminated: Callable[[Any], Any] | None = None,
        observe: Callable[[Any], Any] | None = None,
        step_rest: Callable[[Any, Any, Any, Any], Any] | None = None,
        dynamics: Dynamics | None = None,
        max_steps: int | None = None,
        bounds: Bounds | None = None,
        observation_space: spaces.Space | None = None,
        outside_limit: float | None = None,
        episode: str | None = None,
    ):
        self.world = make_world(
            twin,
            start,
            Rules(reward, terminated, observe, step_rest),
            dynamics=dynamics,
            max_steps=max_steps,
            bounds=bounds,
            space=observation_space,
            outside_limit=outside_limit,
            episode=episode,
        )
        self.action_space = self.world.action_space
        self.observation_space = self.world.observation_space
        self._size = self.world.observation_space.shape[0]  # type: ignore[index]
        self._states = len(self.world.plan.state)
        self._action_shape = (1, len(self.world.plan.action))
        self._max_steps = np.inf if max_steps is None else max_steps
        self._limit = np.inf if outside_limit is None else outside_limit
        self._advance, self._look = _functions(self.world)
        self._pool: list[np.ndarray] = []
        self._moments: Any = None
        self._clock: Any = None
        self._age = 0

    @property
    def compiled(self) -> bool:
        """Whether a whole step is one compiled function."""
        return self.world.compiled

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode at a random start."""
        super().reset(seed=seed)
        if seed is not None or self._clock is None:
            self._pool = []
            words = self.np_random.integers(2**32, size=2, dtype=np.uint32)
            self._clock = np.append(words, np.uint32(0)) if self.compiled else self.np_random
        if not self._pool:
            self._pool = list(self.world.starts.draw(self.np_random, _POOL))
        self._moments = self._pool.pop()[None]
        self._age = 0
        told = np.array(self._look(self._moments)[0])
        return told, {"outside": 0.0, "state": self._moments[0, 0, : self._states].copy()}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act once."""
        if self._moments is None:
            raise ResetNeeded("call reset before step")
        try:
            chosen = np.asarray(action, np.float32).reshape(self._action_shape)
        except ValueError:
            wanted = self._action_shape[1]
            raise InputError(f"an action must hold {wanted} numbers; got shape {np.shape(action)}") from None
        self._moments, self._clock, told = self._advance(self._moments, self._clock, chosen)
        told = np.array(told)
        self._age += 1
        reward, terminated, outside = told[-3:].tolist()
        truncated = self._age >= self._max_steps or outside > self._limit
        info = {"outside": outside, "state": told[self._size : -3]}
        return told[: self._size], reward, terminated != 0, truncated, info


def _functions(world: World) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(histories, clock, action) -> (histories, clock, row), and (histories) -> observations.

    The row holds observation, state, reward, termination and distance: one array costs less to fetch than five.
    """
    transition, states = world.transition, len(world.plan.state)
    if not isinstance(transition, CompiledTransition):

        def plain(moments: np.ndarray, rng: Any, action: np.ndarray) -> tuple[Any, Any, np.ndarray]:
            moved, told = transition.move(moments, action, rng)
            parts = [transition.observe(moved)[0], moved[0, 0, :states], *told]
            return moved, rng, np.concatenate(parts, dtype=np.float32)

        return plain, transition.observe

    def step(moments: Array, clock: Array, action: Array) -> tuple[Array, Array, Array]:
        moved, told = transition.move(moments, action, clock)
        parts = [transition.observe(moved)[0], moved[0, 0, :states], *(jnp.asarray(t, jnp.float32) for t in told)]
        return moved, clock + jnp.array([0, 0, 1], jnp.uint32), jnp.concatenate(parts)

    return jax.jit(step), jax.jit(transition.observe)
