"""A trajectory as a function of standard normal numbers, and how high it gets beside its limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtr

from forebear.control.limits import Beyond
from forebear.control.model import Model, TwinSteps
from forebear.errors import InputError
from forebear.twin.history import History

Policy = Callable[[Any], Any]
"""(state) -> action, of one trajectory, traceable by JAX; of a twin with memory (`History`) -> action"""
Height = Callable[[Array], Any]
"""(states (steps + 1, states)) -> number, above 0 where the limit is crossed"""


class Latents(NamedTuple):
    """All that is random in a trajectory: standard normal numbers."""

    start: Array
    """() says which row of the starts it is"""
    path: Array
    """(steps, noise + disturbances)"""


class Path(NamedTuple):
    """A trajectory."""

    states: Array
    """(steps + 1, states), angles without leaps"""
    actions: Array
    """(steps, actions)"""
    outside: Array
    """(steps,) how far the inputs of a twin lay beyond its data, in standard deviations"""
    given: Array
    """(steps, inputs) what a twin was given; of a function none"""


class Course(eqx.Module):
    """What is stressed: dynamics from some starts, what drives them, and the limit."""

    model: Model
    starts: Array
    """(starts, …) what is carried along, equally likely"""
    actions: Array | Policy
    """(steps, actions) or a policy"""
    reach: Array
    """(actions,) half the width of a uniform disturbance of each action; 0 for none"""
    limit: Beyond | Height
    scale: Array
    """(limits,) units in which heights above several limits are compared"""
    periods: tuple[float, ...] = eqx.field(static=True)
    """of the states; 0 for those that are no angles"""
    steps: int = eqx.field(static=True)
    disturbed: tuple[int, ...] = eqx.field(static=True)
    """the actions that are disturbed"""

    @property
    def width(self) -> int:
        """Numbers that a step takes."""
        return self.model.noise + len(self.disturbed)

    @property
    def by_moment(self) -> bool:
        """Whether the limit is one of each moment, not of the trajectory as a whole."""
        return isinstance(self.limit, Beyond)

    def place(self, latents: Latents) -> Array:
        """The number of the start."""
        count = len(self.starts)
        return jnp.clip(jnp.floor(ndtr(latents.start) * count).astype(int), 0, count - 1)

    def follow(self, latents: Latents) -> Path:
        """The trajectory that these latents make."""
        kind = latents.path.dtype
        carried = self.starts[self.place(latents)].astype(kind)
        given = None if callable(self.actions) else self.actions.astype(kind)

        def step(carried: Array, now: tuple[Array, Array | None]) -> tuple[Array, tuple[Array, Array, Array, Array]]:
            numbers, driven = now
            action = self._action(carried, driven, numbers[self.model.noise :])
            moved = self.model.step(carried, action, numbers[: self.model.noise])
            seen = self._given(carried, action)
            return moved, (self.model.state(moved), action, self._outside(seen), seen)

        _, (states, actions, outside, seen) = jax.lax.scan(step, carried, (latents.path, given))
        states = self._unwrapped(jnp.concatenate([self.model.state(carried)[None], states]))
        return Path(states, actions, outside, seen)

    def heights(self, path: Path) -> Array:
        """How high each moment is (steps + 1,); above 0 the limit is crossed.

        Of a limit on the whole trajectory the last moment has its height.
        """
        if isinstance(self.limit, Beyond):
            return jnp.max(jax.vmap(self.limit)(path.states) / self.scale, axis=1)
        height = jnp.asarray(self.limit(path.states), path.states.dtype)
        if height.shape != ():
            raise InputError(
                "limits: a function of the states of a trajectory (steps + 1, states) must return one number, above "
                f"0 where the limit is crossed; it returned shape {height.shape}"
            )
        return jnp.full(self.steps + 1, -jnp.inf).at[-1].set(height / self.scale[0])

    def _action(self, carried: Array, given: Array | None, shaken: Array) -> Array:
        if given is None:
            assert callable(self.actions)
            seen = self.model.state(carried)
            if isinstance(self.model, TwinSteps) and self.model.plan.lags:
                seen = History.of(carried, self.model.plan)
            chosen = jnp.asarray(self.actions(seen), carried.dtype)
            given = chosen[None] if chosen.shape == () else chosen
            if given.shape != self.reach.shape:
                hint = "; a twin with memory hands it a History, with .state" if isinstance(seen, History) else ""
                raise InputError(
                    f"the policy must return {len(self.reach)} numbers, shape {self.reach.shape}; got shape "
                    f"{chosen.shape}{hint}"
                )
        if not self.disturbed:
            return given
        places = np.array(self.disturbed)
        return given.at[places].add((self.reach[places] * (2 * ndtr(shaken) - 1)).astype(given.dtype))

    def _given(self, carried: Array, action: Array) -> Array:
        if not isinstance(self.model, TwinSteps):
            return jnp.zeros(0, carried.dtype)
        return self.model.condition(carried, action)

    def _outside(self, given: Array) -> Array:
        if not isinstance(self.model, TwinSteps):
            return jnp.zeros((), given.dtype)
        core = self.model.core
        return core.outside(core.params, given[None])[0]

    def _unwrapped(self, states: Array) -> Array:
        """Angles that go on instead of leaping back by a turn."""
        if not any(self.periods):
            return states
        period = jnp.asarray(self.periods, states.dtype)
        moves = jnp.diff(states, axis=0)
        turned = moves - period * jnp.round(moves / jnp.where(period > 0, period, 1.0))
        return jnp.concatenate([states[:1], states[:1] + jnp.cumsum(jnp.where(period > 0, turned, moves), axis=0)])
