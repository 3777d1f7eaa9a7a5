"""One step of dynamics as pure functions of arrays: the row that conditions, and the history that comes of it."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.twin.dynamics import Plan

Rest = Callable[[Array, Array, Array, Array], Array]
"""(state, action, the twin's targets, key) -> next state, of one trajectory: what the twin leaves to user code"""


def with_action(plan: Plan, moments: Array, action: Array) -> Array:
    """The history (rows, lags + 1, variables) once the action (rows, actions) of its newest moment is chosen."""
    newest = jnp.concatenate([moments[:, :1, : len(plan.state)], action[:, None]], axis=2)
    return jnp.concatenate([newest, moments[:, 1:]], axis=1)


def condition(plan: Plan, moments: Array) -> Array:
    """The twin's inputs (rows, inputs): the row that `forebear.lagged` makes of this history."""
    width = len(plan.variables)
    places = np.array([lag * width + place for lag, place in plan.places], int)
    return moments.reshape(len(moments), -1)[:, places]


def next_state(plan: Plan, state: Array, targets: Array) -> Array:
    """The state (rows, states) moved by a draw of the targets; a state that the twin does not move stays."""
    moved = [
        state[:, i] if mover < 0 else targets[:, mover] + (state[:, i] if added else 0.0)
        for i, (mover, added) in enumerate(zip(plan.movers, plan.added, strict=True))
    ]
    return jnp.stack(moved, axis=1)


def wrapped(plan: Plan, state: Array) -> Array:
    """Angles brought into their turn, which also keeps their digits in single precision."""
    if not any(period for period, _ in plan.turns):
        return state
    turns = np.array(plan.turns, np.float32)
    period = np.where(turns[:, 0] > 0, turns[:, 0], np.float32(1))
    low = turns[:, 1]
    angle = jnp.mod(state - low, period)
    # The remainder of a tiny negative number rounds up to the period itself.
    angle = jnp.where(angle >= period, 0.0, angle)
    return jnp.where(turns[:, 0] > 0, low + angle, state)


def shifted(plan: Plan, moments: Array, state: Array) -> Array:
    """The history one step later, the action of its newest moment yet to be chosen."""
    newest = jnp.concatenate([state, jnp.zeros((len(state), len(plan.action)), state.dtype)], axis=1)
    return jnp.concatenate([newest[:, None], moments[:, :-1]], axis=1)
