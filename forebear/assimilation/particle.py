"""The bootstrap particle filter: members move by the law, and weigh by what was seen.

When few members carry the weight they are drawn anew, systematically. Each member remembers its last states, so that
an estimate can wait for some observations more: fixed-lag smoothing along the members' own past.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array

from forebear.assimilation.observed import Observed, log_likelihood
from forebear.assimilation.transition import Step


class Told(NamedTuple):
    """What a filter says, a row for each moment."""

    states: Array
    """(rows, members, states)"""
    weights: Array
    """(rows, members)"""
    later: Array
    """(rows, members, states) of the moment `smooth` rows before; those of the first rows are of no moment"""
    effective: Array
    """(rows,) how many members count"""
    evidence: Array
    """(rows,) log density of what was seen, given all before"""


class Final(NamedTuple):
    """Where a filter stands after the last row."""

    moments: Array
    weights: Array
    past: Array
    """(members, smooth, states) the states of the last rows, the newest first"""


@eqx.filter_jit
def particle_filter(
    step: Step, observed: Observed, moments: Array, smooth: int, threshold: float, key: Array
) -> tuple[Told, Final]:
    """Members (members, lags + 1, variables), all of equal weight at first, through all rows."""
    count, states = len(moments), len(step.plan.state)
    even = jnp.full(count, -jnp.log(count))

    def weigh(carry: Final, log_weights: Array, y: Array, seen: Array) -> tuple[Final, Told]:
        now = carry.moments[:, 0, :states]
        added = log_likelihood(observed, step.plan, now, y, seen)
        evidence = jax.scipy.special.logsumexp(log_weights + added)
        # Where no member can explain what was seen the weights stay as they are, and the evidence says so.
        kept = jnp.where(jnp.isfinite(evidence), log_weights + added - evidence, log_weights)
        weights = jnp.exp(kept)
        # Along the members' memory, whose oldest entry is the moment that has waited long enough.
        later = jnp.concatenate([now[:, None], carry.past], axis=1)
        told = Told(now, weights, later[:, -1], 1.0 / jnp.sum(weights**2), evidence)
        return Final(carry.moments, kept, later[:, :smooth]), told

    def row(carry: Final, now: tuple[Array, ...]) -> tuple[Final, Told]:
        y, seen, action, number = now
        pick, move = jr.split(jr.fold_in(key, number))
        weights = jnp.exp(carry.weights)
        poor = 1.0 / jnp.sum(weights**2) < threshold * count
        chosen = jnp.where(poor, systematic(weights, pick), jnp.arange(count))
        log_weights = jnp.where(poor, even, carry.weights)
        moved = step(carry.moments[chosen], action, move)
        return weigh(Final(moved, log_weights, carry.past[chosen]), log_weights, y, seen)

    y, seen, actions = (jnp.asarray(part) for part in (observed.y, observed.seen, observed.actions))
    y, actions = y.astype(jnp.float32), actions.astype(jnp.float32)
    past = jnp.zeros((count, smooth, states), jnp.float32)
    first, told = weigh(Final(moments, even, past), even, y[0], seen[0])
    rows = (y[1:], seen[1:], actions[:-1], jnp.arange(1, len(y)))
    final, rest = jax.lax.scan(row, first, rows)
    told = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), told, rest)
    return told, Final(final.moments, jnp.exp(final.weights), final.past)


def systematic(weights: Array, key: Array) -> Array:
    """Places of members, each about as often as its weight says, by one draw for all of them.

    >>> systematic(jnp.array([0.5, 0.0, 0.25, 0.25]), jr.key(0)).tolist()
    [0, 0, 2, 3]
    """
    count = len(weights)
    edges = jnp.cumsum(weights)
    places = (jnp.arange(count) + jr.uniform(key)) / count * edges[-1]
    return jnp.clip(jnp.searchsorted(edges, places, side="right"), 0, count - 1)
