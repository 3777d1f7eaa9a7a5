"""How states move: a twin, or a function of the user's, as one step of many histories at once."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Float

from forebear.errors import InputError
from forebear.twin.core import Core
from forebear.twin.dynamics import Dynamics, Plan, resolve
from forebear.twin.move import condition, next_state, shifted, with_action, wrapped
from forebear.twin.twin import Twin

Move = Callable[[Array, Array, Array], Array]
"""(state (states,), action (actions,), key) -> next state, of one member; traceable by JAX"""


@dataclass(frozen=True)
class Transition:
    """A transition that is known, in place of a twin: to compare with, or because it is known.

    >>> walk = Transition(["x"], lambda state, action, key: state + jr.normal(key, state.shape))
    >>> walk.plan.state
    ('x',)
    """

    state: Sequence[str]
    move: Move
    action: Sequence[str] = ()
    periodic: Mapping[str, float] = field(default_factory=dict)
    """state -> period; such a state stays within half a period of 0"""

    @property
    def plan(self) -> Plan:
        """The names as a twin's dynamics have them."""
        state, action = tuple(self.state), tuple(self.action)
        count = len(state)
        turns = tuple(
            (float(self.periodic.get(name, 0.0)), -float(self.periodic.get(name, 0.0)) / 2) for name in state
        )
        places = tuple((0, i) for i in range(count + len(action)))
        movers, levels = tuple(range(count)), ((),) * (count + len(action))
        return Plan(state, action, 0, places, movers, (False,) * count, turns, levels)


class Step(eqx.Module):
    """One step of histories (members, lags + 1, variables), the newest moment first."""

    plan: eqx.AbstractVar[Plan]

    def __call__(
        self, moments: Float[Array, "members lags variables"], action: Float[Array, " actions"], key: Array
    ) -> Float[Array, "members lags variables"]:
        """All members moved on, the same action for each."""
        actions = jnp.broadcast_to(action, (len(moments), len(self.plan.action)))
        full = with_action(self.plan, moments, actions)
        return shifted(self.plan, full, wrapped(self.plan, self.next(full, actions, key)))

    @abc.abstractmethod
    def next(self, full: Array, actions: Array, key: Array) -> Array:
        """The next states (members, states)."""


@final
class TwinStep(Step):
    """The law of a twin."""

    core: Core
    plan: Plan = eqx.field(static=True)

    def next(self, full: Array, actions: Array, key: Array) -> Array:
        """Draws of the targets, added to the states or in their place."""
        z = jr.normal(key, (len(full), self.core.latents), jnp.float32)
        y = self.core.push(self.core.params, condition(self.plan, full), z)
        return next_state(self.plan, full[:, 0, : len(self.plan.state)], y)


@final
class KnownStep(Step):
    """A function of the user's."""

    move: Move = eqx.field(static=True)
    plan: Plan = eqx.field(static=True)

    def next(self, full: Array, actions: Array, key: Array) -> Array:
        """Each member alone."""
        states = full[:, 0, : len(self.plan.state)]
        moved = jnp.asarray(jax.vmap(self.move)(states, actions, jr.split(key, len(full))), jnp.float32)
        if moved.shape != states.shape:
            raise InputError(f"move must return the next state, shape {states.shape[1:]}; got {moved.shape[1:]}")
        return moved


def step_of(twin: Twin | Transition, dynamics: Dynamics | None) -> Step:
    """The step of a twin, whose columns mean what `dynamics` or their names say, or of a known transition."""
    if isinstance(twin, Transition):
        if dynamics is not None:
            raise InputError(
                "dynamics say what the columns of a twin mean, and a Transition has none: leave them out"
            )
        return KnownStep(move=twin.move, plan=twin.plan)
    if not isinstance(twin, Twin):
        raise InputError(f"twin must be a forebear.Twin or a forebear.assimilation.Transition; got {twin!r:.60}")
    return TwinStep(core=twin.core(), plan=resolve(dynamics, twin))


def deviation(plan: Plan, apart: Array) -> Array:
    """Differences of states (…, states), those of angles the short way round."""
    period = jnp.array([period for period, _ in plan.turns], jnp.float32)
    turned = apart - period * jnp.round(apart / jnp.where(period > 0, period, 1.0))
    return jnp.where(period > 0, turned, apart)
