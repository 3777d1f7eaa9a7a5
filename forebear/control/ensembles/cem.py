"""The cross-entropy method: draw plans, keep the best, draw again around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from forebear.control.ensembles.settings import CemSettings

Judge = Callable[[Array, Array], Array]
"""(plans (candidates, horizon, actions), key) -> what each costs (candidates,)"""

_FURTHEST = 2.0
"""deviations at which draws are cut off"""
_WORST = 1e6
"""what a trajectory costs that is not a number"""


class Limits(NamedTuple):
    """Ends of the actions, (actions,) each."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """Where a search begins that knows nothing."""
        return (self.low + self.high) / 2


def search(
    judge: Judge, mean: Float[Array, "horizon actions"], limits: Limits, settings: CemSettings, *, key: PRNGKeyArray
) -> Float[Array, "horizon actions"]:
    """The plan (horizon, actions) at which the search ends, begun at `mean` with a quarter of the range as deviation.

    >>> limits = Limits(jnp.full(1, -2.0), jnp.full(1, 2.0))
    >>> settings = CemSettings(horizon=3, candidates=100, elites=10, iterations=10)
    >>> near_one = lambda plans, key: ((plans - 1.0) ** 2).sum(axis=(1, 2))
    >>> search(near_one, jnp.zeros((3, 1)), limits, settings, key=jr.key(0)).round(1).ravel().tolist()
    [1.0, 1.0, 1.0]
    """

    def improve(number: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        mean, variance = state
        draw_key, judge_key = jr.split(jr.fold_in(key, number))
        # So narrow that no draw leaves the limits.
        room = jnp.minimum(mean - limits.low, limits.high - mean) / _FURTHEST
        deviation = jnp.sqrt(jnp.minimum(variance, room**2))
        shape = (settings.candidates, *mean.shape)
        plans = mean + deviation * jr.truncated_normal(draw_key, -_FURTHEST, _FURTHEST, shape)
        _, best = jax.lax.top_k(-judge(plans, judge_key), settings.elites)
        old, new = settings.smoothing, 1 - settings.smoothing
        elites = plans[best]
        going = variance.max() > settings.least_variance
        moved = old * mean + new * elites.mean(axis=0), old * variance + new * elites.var(axis=0)
        return jnp.where(going, moved[0], mean), jnp.where(going, moved[1], variance)

    variance = jnp.broadcast_to((limits.high - limits.low) ** 2 / 16, mean.shape)
    return jax.lax.fori_loop(0, settings.iterations, improve, (mean, variance))[0]


def shifted(plan: Float[Array, "horizon actions"], limits: Limits) -> Float[Array, "horizon actions"]:
    """What is left of a plan once its first action is taken: where the next search begins."""
    return jnp.concatenate([plan[1:], limits.middle[None]])


def judged_by_particles(
    step: Callable[[Any, Array, Array], tuple[Any, Array, Array]],
    start: Any,
    cost: Callable[[Array, Array, Array], Array],
    settings: CemSettings,
) -> Judge:
    """Plans cost what their particles pay on average from the same start on.

    `step` takes what it carries along, actions (rows, actions) and a key, and returns what it carries then, the
    states before and the states after (rows, states). There is a row for each particle of each candidate; those of
    the first particle come first. `cost` is a function of one row: (state, action, next state).
    """

    def judge(plans: Array, key: Array) -> Array:
        rows = settings.particles * settings.candidates

        def move(state: tuple[Any, Array], now: tuple[Array, Array]) -> tuple[tuple[Any, Array], None]:
            carried, paid = state
            actions, step_key = now
            taken = jnp.tile(actions, (settings.particles, 1))
            carried, before, after = step(carried, taken, step_key)
            return (carried, paid + jax.vmap(cost)(before, taken, after).reshape(rows)), None

        times = plans.swapaxes(0, 1), jr.split(key, settings.horizon)
        (_, paid), _ = jax.lax.scan(move, (start, jnp.zeros(rows)), times)
        paid = jnp.where(jnp.isnan(paid), _WORST, paid)
        return paid.reshape(settings.particles, settings.candidates).mean(axis=0)

    return judge
