"""One step of many environments, as one pure function, or with rules that JAX cannot compile called one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array

from forebear.envs.rules import Rules, check_size, rows
from forebear.twin.core import Core
from forebear.twin.dynamics import Plan
from forebear.twin.history import History
from forebear.twin.move import condition, next_state, shifted, with_action, wrapped

Limits = tuple[tuple[float, ...], tuple[float, ...]] | None


class Told(NamedTuple):
    """What a step says, for each environment."""

    reward: Any
    terminated: Any
    outside: Any
    """how far the twin's inputs lay beyond its data"""


class CompiledTransition:
    """A step that JAX can trace; `clock` (3,) is a key and a count, and the noise depends on nothing else."""

    xp: Any = jnp

    def __init__(self, core: Core, plan: Plan, rules: Rules, limits: Limits):
        self.core, self.plan, self.rules, self.limits = core, plan, rules, limits

    def move(self, moments: Array, action: Array, clock: Array) -> tuple[Array, Told]:
        """Histories (environments, lags + 1, variables) one step on."""
        core, plan, rules = self.core, self.plan, self.rules
        key = jr.fold_in(jr.wrap_key_data(clock[:2]), clock[2])
        if self.limits is not None:
            low, high = (np.array(ends, np.float32) for ends in self.limits)
            action = jnp.clip(action, low, high)
        full = with_action(plan, moments, action)
        x = condition(plan, full)
        y = core.push(core.params, x, jr.normal(key, (len(x), core.latents), jnp.float32))
        state = full[:, 0, : len(plan.state)]
        if rules.step_rest is None:
            moved = next_state(plan, state, y)
        else:
            keys = jr.split(jr.fold_in(key, 1), len(x))
            moved = rows(rules.step_rest, state, action, y, keys, size=len(plan.state))
        moved = wrapped(plan, moved)
        reward = rows(rules.reward, state, action, moved).astype(jnp.float32)
        terminated = jnp.zeros(len(x), bool) if rules.terminated is None else rows(rules.terminated, moved) != 0
        return shifted(plan, full, moved), Told(reward, terminated, core.outside(core.params, x))

    def observe(self, moments: Array) -> Array:
        """Observations (environments, size)."""
        past = History.of(moments, self.plan)
        if self.rules.observe is None:
            return jnp.concatenate([part.reshape(len(moments), -1) for part in past], axis=1)
        return jnp.asarray(jax.vmap(self.rules.observe)(past), jnp.float32).reshape(len(moments), -1)

    def size(self) -> int:
        """Numbers in an observation."""
        moments = jax.ShapeDtypeStruct((1, self.plan.lags + 1, len(self.plan.variables)), jnp.float32)
        return jax.eval_shape(self.observe, moments).shape[1]


class PlainTransition:
    """The same with numpy arrays: the twin is compiled, the rules are called as they are, environment by environment.

    Where `CompiledTransition` gives `step_rest` a key, this one gives it a numpy generator.
    """

    xp: Any = np

    def __init__(self, core: Core, plan: Plan, rules: Rules, limits: Limits):
        self.plan, self.rules, self.limits = plan, rules, limits
        self._push = jax.jit(lambda full, z: _asked(core, plan, full, z))
        self._latents = core.latents

    def move(self, moments: np.ndarray, action: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, Told]:
        """Histories (environments, lags + 1, variables) one step on."""
        plan, rules = self.plan, self.rules
        count = len(plan.state)
        if self.limits is not None:
            action = np.clip(action, *np.array(self.limits, np.float32))
        full = moments.copy()
        full[:, 0, count:] = action
        z = rng.standard_normal((len(full), self._latents), np.float32)
        y, moved, outside = (np.asarray(part) for part in self._push(full, z))
        state = full[:, 0, :count]
        if rules.step_rest is not None:
            rest = [rules.step_rest(s, a, t, rng) for s, a, t in zip(state, action, y, strict=True)]
            moved = np.asarray(wrapped(plan, jnp.asarray(self._stacked("step_rest", rest, count))))
        triples = zip(state, action, moved, strict=True)
        reward = self._stacked("reward", [rules.reward(*triple) for triple in triples], 1)[:, 0]
        over = [False if rules.terminated is None else rules.terminated(s) for s in moved]
        terminated = self._stacked("terminated", over, 1)[:, 0] != 0
        newest = np.concatenate([moved, np.zeros_like(action)], axis=1)
        later = np.concatenate([newest[:, None], full[:, :-1]], axis=1)
        return later, Told(reward, terminated, outside)

    def observe(self, moments: np.ndarray) -> np.ndarray:
        """Observations (environments, size)."""
        pasts = [History.of(one, self.plan) for one in moments]
        if self.rules.observe is None:
            return np.stack([np.concatenate([part.ravel() for part in past]) for past in pasts])
        return self._stacked("observe", [self.rules.observe(past) for past in pasts], None)

    @staticmethod
    def _stacked(name: str, values: list[Any], size: int | None) -> np.ndarray:
        for value in values[:1]:
            check_size(name, np.shape(value), size)
        return np.stack([np.atleast_1d(np.asarray(value, np.float32)) for value in values])


Transition = CompiledTransition | PlainTransition


def _asked(core: Core, plan: Plan, full: Array, z: Array) -> tuple[Array, Array, Array]:
    x = condition(plan, full)
    y = core.push(core.params, x, z)
    moved = wrapped(plan, next_state(plan, full[:, 0, : len(plan.state)], y))
    return y, moved, core.outside(core.params, x)
