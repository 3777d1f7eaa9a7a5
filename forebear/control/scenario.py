"""The expected cost of a sequence of actions, over scenarios of the noise, for many trials at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from forebear.control.chance import Chance, Foretold, Kept, constrained, hard_worst
from forebear.control.lbfgs import minimise
from forebear.control.model import Model
from forebear.errors import InputError

Cost = Callable[[Array, Array], Any]
"""(state, action) -> number, of one trajectory"""
FinalCost = Callable[[Array], Any]
"""(state) -> number"""


_NEXT_TO_NOTHING = 1e-12


class Problem(eqx.Module):
    """What is planned: everything but the state from which, and the noise."""

    model: Model
    cost: Cost
    final: FinalCost | None
    low: Array
    """(actions,)"""
    high: Array
    horizon: int = eqx.field(static=True)
    scenarios: int = eqx.field(static=True)
    iterations: int = eqx.field(static=True)
    tolerance: float = eqx.field(static=True)
    others: tuple[Model, ...] = ()
    """further trainings of the same dynamics"""
    pessimism: float = eqx.field(static=True, default=0.0)
    """how much the deviation of the expected cost among the trainings counts, beside its mean"""
    chance: Chance | None = None
    """where trajectories must stay"""

    def clip(self, actions: Float[Array, "*some actions"]) -> Float[Array, "*some actions"]:
        """Actions within their bounds."""
        return jnp.clip(actions, self.low, self.high)

    def expected(
        self, carried: Array, actions: Float[Array, "trials horizon actions"], noise: Array
    ) -> Float[Array, " trials"]:
        """Mean cost over the scenarios (trials,).

        carried (trials, …); actions (trials, horizon, actions), clipped here; noise (horizon, trials, scenarios, …).
        """
        return self._followed(carried, actions, noise)[0]

    def _followed(self, carried: Array, actions: Array, noise: Array) -> tuple[Array, Array | None]:
        """Mean cost (trials,), and violations (horizon, trials, scenarios, limits) where there are limits."""
        spread = jnp.broadcast_to(carried[:, None], (len(carried), noise.shape[2], *carried.shape[1:]))

        def step(carried: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array | None]]:
            action, noise = now
            paid = _everywhere(self._paid)(carried, action)
            moved = _everywhere(self.model.step)(carried, action, noise)
            return moved, (paid.mean(axis=1), self._beyond(moved))

        moves = self.clip(actions).swapaxes(0, 1)
        carried, (paid, beyond) = jax.lax.scan(step, spread, (moves, noise))
        total = paid.sum(axis=0)
        if self.final is not None:
            final = self.final
            last = jax.vmap(jax.vmap(lambda one: _number(final(self.model.state(one)), "terminal")))(carried)
            total = total + last.mean(axis=1)
        return total, beyond

    def _beyond(self, carried: Array) -> Array | None:
        """How far outside (trials, scenarios, limits)."""
        chance = self.chance
        if chance is None:
            return None
        return jax.vmap(jax.vmap(lambda one: chance.beyond(self.model.state(one))))(carried)

    def trainings(self) -> list[Problem]:
        """The same with each training of the dynamics alone."""
        return [eqx.tree_at(lambda own: own.model, self, model) for model in (self.model, *self.others)]

    def feared(
        self, carried: Array, actions: Float[Array, "trials horizon actions"], noise: Array
    ) -> Float[Array, " trials"]:
        """The expected cost (trials,), and more where the trainings disagree about it."""
        return self.foretold(carried, actions, noise).cost

    def foretold(self, carried: Array, actions: Array, noise: Array) -> Foretold:
        """That cost, and the violations in every training."""
        told = [one._followed(carried, actions, noise) for one in self.trainings()]
        costs = jnp.stack([cost for cost, _ in told])
        beyond = [one for _, one in told if one is not None]
        violations = jnp.stack(beyond) if beyond else jnp.zeros((len(told), 0))
        if not self.others:
            return Foretold(costs[0], violations)
        # The root has no slope at zero, where all agree.
        cost = costs.mean(axis=0) + self.pessimism * jnp.sqrt(costs.var(axis=0) + _NEXT_TO_NOTHING)
        return Foretold(cost, violations)

    def inside(self, carried: Array, actions: Array, scenarios: int, key: PRNGKeyArray) -> Array:
        """How many of so many fresh trajectories stay inside (trainings, trials)."""
        noise = draw_noise(key, (self.horizon, len(carried), scenarios, self.model.noise))
        return jnp.sum(hard_worst(self.foretold(carried, actions, noise).violations) <= 0, axis=2)

    def _paid(self, carried: Array, action: Array) -> Array:
        return _number(self.cost(self.model.state(carried), action), "cost")

    def solve(self, carried: Array, warm: Array, key: PRNGKeyArray) -> Kept:
        """Plans for all trials (trials, horizon * actions), from fresh scenarios."""
        trials = len(carried)
        noise = draw_noise(key, (self.horizon, trials, self.scenarios, self.model.noise))

        def foretell(flat: Array) -> Foretold:
            return self.foretold(carried, flat.reshape(warm.shape), noise)

        flat, chance = warm.reshape(trials, -1), self.chance
        if chance is not None:
            return constrained(chance, foretell, flat, iterations=self.iterations, tolerance=self.tolerance)
        found = minimise(lambda x: foretell(x).cost, flat, iterations=self.iterations, tolerance=self.tolerance)
        return Kept(found, jnp.ones(trials, bool))


def draw_noise(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape"]:
    """Standard normal numbers; drawn in one row, because four axes take twenty times as long to compile."""
    return jr.normal(key, (math.prod(shape),)).reshape(shape)


def shift(actions: Float[Array, "trials horizon actions"]) -> Float[Array, "trials horizon actions"]:
    """What is left of plans (trials, horizon, actions) a step later: the last action is repeated."""
    return jnp.concatenate([actions[:, 1:], actions[:, -1:]], axis=1)


def _everywhere(function: Callable[..., Array]) -> Callable[..., Array]:
    """Over trials and scenarios; all scenarios of a trial share its action."""

    def over_scenarios(carried: Array, action: Array, *noise: Array) -> Array:
        return jax.vmap(lambda c, *n: function(c, action, *n))(carried, *noise)

    return jax.vmap(over_scenarios)


def _number(value: Any, what: str) -> Array:
    found = jnp.asarray(value)
    if found.size != 1:
        raise InputError(f"{what} must return one number for one trajectory; it returned shape {found.shape}")
    return found.reshape(())
