"""Many environments around one twin, all of them one step on in one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from forebear.envs.rules import Rules
from forebear.envs.spaces import Bounds
from forebear.envs.world import World, make_world
from forebear.errors import InputError, check_whole
from forebear.twin.dynamics import Dynamics
from forebear.twin.twin import Twin

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv  # pyright: ignore[reportMissingImports]

# Starts that are drawn at once for each environment and kept beside the compiled step; none is used twice.
_POOL = 4


class Carry(NamedTuple):
    """The environments between two steps."""

    moments: Any
    """(environments, lags + 1, variables)"""
    ages: Any
    """(environments,) steps since the last reset"""
    over: Any
    """(environments,) whether the episode has ended"""
    used: Any
    """(environments,) starts of the pool that have been used"""
    clock: Any
    """of `CompiledTransition`, or a numpy generator"""


class Row(NamedTuple):
    """What a step says, an environment a column; one array of all rows costs less to fetch than seven arrays."""

    observation: Any
    final: Any
    """observation and state before a reset in the same step; no rows in the other modes"""
    state: Any
    reward: Any
    terminated: Any
    truncated: Any
    outside: Any


class TwinVectorEnv(VectorEnv):
    """`num_envs` environments like `TwinEnv`, with the same arguments, that step together.

    With rules that JAX can trace (`compiled`) a step of all of them, resets included, is one call of a compiled
    function. `info` holds the arrays `outside` (environments,) and `state` (environments, states).

    When an episode ends, what happens depends on `autoreset_mode`, as Gymnasium has it:

    - `NEXT_STEP`: the next step ignores the action, resets, and returns the first observation with reward 0.
    - `SAME_STEP`: the step itself resets and returns the first observation; `info["final_obs"]` and
      `info["final_info"]` hold what came before it.
    - `DISABLED`: nothing; call `reset(options={"reset_mask": …})` before the next step.

    `as_sb3()` is the same for Stable-Baselines3.
    """

    def __init__(
        self,
        twin: Twin,
        num_envs: int,
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
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ):
        check_whole("num_envs", num_envs, 1)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(mode.name for mode in AutoresetMode)
            raise InputError(f"autoreset_mode must be one of {known}; got {autoreset_mode!r}") from None
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
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        self.single_action_space = self.world.action_space
        self.single_observation_space = self.world.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._advance, self._look, self._ends = _functions(self.world, self.autoreset_mode)
        self._carry: Carry | None = None
        self._pool: Any = None
        self._used = np.zeros(num_envs, np.int32)
        self._over = np.zeros(num_envs, bool)
        self._everywhere = np.ones(num_envs, bool)

    @property
    def compiled(self) -> bool:
        """Whether a whole step is one compiled function."""
        return self.world.compiled

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes, everywhere or where `options["reset_mask"]` (environments,) says so."""
        super().reset(seed=seed)
        mask = self._mask(options)
        if seed is not None or self._carry is None:
            words = self.np_random.integers(2**32, size=2, dtype=np.uint32)
            clock = np.append(words, np.uint32(0)) if self.compiled else self.np_random
            self._pool = None
        else:
            clock = self._carry.clock
        moments = self.world.starts.draw(self.np_random, self.num_envs)
        ages = np.zeros(self.num_envs, np.int32)
        if self._carry is not None:
            moments = np.where(mask[:, None, None], moments, np.asarray(self._carry.moments))
            ages = np.where(mask, ages, np.asarray(self._carry.ages))
        self._over = self._over & ~mask
        self._carry = Carry(moments, ages, self._over, self._used, clock)
        info = self._info(np.zeros(self.num_envs), moments[:, 0, : len(self.world.plan.state)], mask)
        return np.array(self._look(moments)), info

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act once in every environment."""
        row = self._stepped(actions)
        terminated, truncated = row.terminated != 0, row.truncated != 0
        self._over = terminated | truncated
        info = self._info(row.outside.copy(), row.state.T.copy(), self._everywhere.copy())
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            info["outside"] = np.where(self._over, 0.0, row.outside)
            info |= self._final_info(row)
        return np.ascontiguousarray(row.observation.T), row.reward.astype(float), terminated, truncated, info

    def as_sb3(self) -> VecEnv:
        """These environments as a `VecEnv` of Stable-Baselines3, which always resets in the same step."""
        from forebear.envs.sb3 import as_sb3

        return as_sb3(self)

    def _stepped(self, actions: Any) -> Row:
        if self._carry is None:
            raise ResetNeeded("call reset before step")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            raise ResetNeeded("an episode has ended: call reset(options={'reset_mask': …}) before the next step")
        shape = (self.num_envs, len(self.world.plan.action))
        try:
            chosen = np.asarray(actions, np.float32).reshape(shape)
        except ValueError:
            raise InputError(f"actions must have shape {shape}; got {np.shape(actions)}") from None
        if self._pool is None:
            self._refill()
        self._carry, told = self._advance(self._carry, self._pool, chosen)
        whole, [observation, final, state] = np.asarray(told), self._ends
        row = Row(whole[:observation], whole[observation:final], whole[final:state], *whole[state:])
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            self._count((row.terminated + row.truncated) != 0)
        elif self.autoreset_mode == AutoresetMode.NEXT_STEP:
            self._count(self._over)
        return row

    def _count(self, begun: np.ndarray) -> None:
        """Starts that this step has used; a pool with an end in sight is drawn anew before the next."""
        if begun.any():
            self._used = self._used + begun
            if self._used.max() >= _POOL:
                self._pool = None

    def _refill(self) -> None:
        assert self._carry is not None
        drawn = self.world.starts.draw(self.np_random, self.num_envs * _POOL)
        self._pool = jax.device_put(drawn) if self.compiled else drawn
        self._used = np.zeros(self.num_envs, np.int32)
        self._carry = self._carry._replace(used=self._used)

    def _mask(self, options: dict[str, Any] | None) -> np.ndarray:
        mask = (options or {}).get("reset_mask")
        if mask is None or self._carry is None:
            return np.ones(self.num_envs, bool)
        if np.shape(mask) != (self.num_envs,) or np.asarray(mask).dtype != bool:
            raise InputError(f"options['reset_mask'] must be {self.num_envs} booleans; got {mask!r}")
        return np.asarray(mask)

    def _final_info(self, row: Row) -> dict[str, Any]:
        size = len(row.observation)
        final = np.full(self.num_envs, None, object)
        for place in np.flatnonzero(self._over):
            final[place] = row.final[:size, place].copy()
        past = self._info(row.outside, row.final[size:].T, self._over)
        return {"final_obs": final, "_final_obs": self._over, "final_info": past, "_final_info": self._over}

    def _info(self, outside: np.ndarray, state: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        return {"outside": outside, "_outside": mask, "state": state, "_state": mask}


def _functions(world: World, mode: AutoresetMode) -> tuple[Callable[..., Any], Callable[..., Any], list[int]]:
    """(carry, pool, actions) -> (carry, rows); (histories) -> observations; where the first fields of a `Row` end."""
    transition: Any = world.transition
    xp = transition.xp
    states = len(world.plan.state)
    assert world.observation_space.shape is not None
    size = world.observation_space.shape[0]
    longest = 2**31 - 1 if world.max_steps is None else world.max_steps
    limit = np.inf if world.outside_limit is None else world.outside_limit

    def begun(moments: Any, ages: Any, used: Any, where: Any, pool: Any) -> tuple[Any, Any, Any]:
        """New starts where asked, each the next one of the environment's own."""
        places = xp.arange(len(moments)) * (len(pool) // len(moments)) + used
        fresh = pool[xp.minimum(places, len(pool) - 1)]
        return xp.where(where[:, None, None], fresh, moments), xp.where(where, 0, ages), used + where

    def advance(carry: Carry, pool: Any, action: Any) -> tuple[Carry, Any]:
        moved, told = transition.move(carry.moments, action, carry.clock)
        ages, used = carry.ages + 1, carry.used
        played = ~carry.over if mode == AutoresetMode.NEXT_STEP else xp.ones_like(carry.over)
        reward, outside = xp.where(played, told.reward, 0.0), xp.where(played, told.outside, 0.0)
        terminated = played & told.terminated
        truncated = played & ((ages >= longest) | (outside > limit))
        over = terminated | truncated
        final = []
        if mode == AutoresetMode.NEXT_STEP:
            moved, ages, used = begun(moved, ages, used, carry.over, pool)
        elif mode == AutoresetMode.SAME_STEP:
            final = [transition.observe(moved).T, moved[:, 0, :states].T]
            moved, ages, used = begun(moved, ages, used, over, pool)
        parts = [transition.observe(moved).T, *final, moved[:, 0, :states].T]
        parts += [one[None] for one in (reward, terminated, truncated, outside)]
        rows = xp.concatenate([xp.asarray(part, dtype=np.float32) for part in parts])
        clock = carry.clock + np.array([0, 0, 1], np.uint32) if world.compiled else carry.clock
        return Carry(moved, ages, over, used, clock), rows

    ends = np.cumsum([size, size + states if mode == AutoresetMode.SAME_STEP else 0, states]).tolist()
    if world.compiled:
        return jax.jit(advance), jax.jit(transition.observe), ends
    return advance, transition.observe, ends
