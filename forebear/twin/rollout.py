"""Trajectories of a twin: its draws moved through time, with the memory it was trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
from jax import Array

from forebear.errors import InputError, check_whole, listed
from forebear.twin.core import Core
from forebear.twin.dynamics import Dynamics, Plan, resolve
from forebear.twin.history import History, read_starts
from forebear.twin.move import Rest, condition, next_state, shifted, with_action, wrapped

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

Policy = Callable[[History, Array], Array]
"""(history, key) -> action (actions,), of one trajectory; traceable by JAX"""

_UNTRACEABLE = (
    jax.errors.TracerArrayConversionError,
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerIntegerConversionError,
)


@dataclass(frozen=True, eq=False)
class Rollout:
    """Trajectories, each a copy of a start moved on; times first, then trajectories."""

    states: np.ndarray
    """(steps + 1, trajectories, states); states[0] is the start"""
    actions: np.ndarray
    """(steps, trajectories, actions); actions[n] was taken at states[n]"""
    outside: np.ndarray
    """(steps, trajectories) how far the twin's inputs lay beyond its data, in standard deviations; 0 inside"""
    starts: np.ndarray
    """(trajectories,) which start each trajectory has"""
    plan: Plan = field(repr=False)
    past: np.ndarray = field(repr=False)
    """(lags, trajectories, variables) moments before the start, oldest first"""
    conditions: np.ndarray | None = field(default=None, repr=False)
    """(steps, trajectories, inputs) the rows that the twin was given, when asked for"""

    def frame(self, past: bool = False) -> pd.DataFrame:
        """A row for each trajectory and step, as `forebear.lagged` takes it: where and when, states, actions.

        As in any record of trajectories the last row is the end of the last step. Its action was never taken; it
        repeats the one before.

        Arguments:
            past: begin with the moments before the start, at steps below 0.
        """
        count = self.states.shape[1]
        final = self.actions[-1:] if len(self.actions) else np.zeros((1, count, len(self.plan.action)), np.float32)
        moments = np.concatenate([self.states, np.concatenate([self.actions, final])], axis=2)
        before = len(self.past) if past else 0
        if past:
            moments = np.concatenate([self.past, moments])
        rows = moments.swapaxes(0, 1)
        table = {
            "trajectory": np.repeat(np.arange(count), len(moments)),
            "start": np.repeat(self.starts, len(moments)),
            "step": np.tile(np.arange(len(moments)) - before, count),
        }
        clash = [name for name in table if name in self.plan.variables]
        if clash:
            raise InputError(f"a variable has the name {listed(clash)} of a column of the frame: use the arrays")
        numbers = {name: rows[:, :, i].ravel() for i, name in enumerate(self.plan.variables)}
        return pd.DataFrame(table | numbers)


class _Record(NamedTuple):
    state: Array
    action: Array
    outside: Array
    condition: Array | None


def rollout(
    twin: Twin,
    start: Any,
    steps: int,
    *,
    actions: Any = None,
    n: int = 1,
    seed: int = 0,
    dynamics: Dynamics | None = None,
    episode: str | None = None,
    step_rest: Rest | None = None,
    conditions: bool = False,
) -> Rollout:
    """What `Twin.rollout` does; its arguments are explained there."""
    check_whole("steps", steps, 1)
    check_whole("n", n, 1)
    check_whole("seed", seed, 0)
    plan = resolve(dynamics, twin, partial=step_rest is not None)
    histories = read_starts(start, plan, episode)
    starts = np.tile(np.arange(len(histories)), n)
    moments = histories[starts]
    chosen: Any = (
        actions if callable(actions) else jnp.asarray(_given_actions(actions, plan, steps, len(histories), n))
    )
    try:
        told = _roll(twin.core(), jnp.asarray(moments), chosen, step_rest, plan, steps, conditions, jr.key(seed))
    except _UNTRACEABLE as error:
        what = (
            "step_rest" if not callable(actions) else "the policy" if step_rest is None else "the policy or step_rest"
        )
        raise InputError(
            f"{what} cannot be compiled by JAX ({type(error).__name__}): write it with jax.numpy, or step a "
            "forebear.envs.TwinEnv instead"
        ) from error
    return Rollout(
        np.concatenate([moments[None, :, 0, : len(plan.state)], np.asarray(told.state)]),
        np.asarray(told.action),
        np.asarray(told.outside),
        starts,
        plan,
        past=moments[:, :0:-1].swapaxes(0, 1),
        conditions=None if told.condition is None else np.asarray(told.condition),
    )


def _given_actions(actions: Any, plan: Plan, steps: int, starts: int, n: int) -> np.ndarray:
    """Actions (steps, trajectories, actions), from one sequence for all, one a start or one a trajectory."""
    count = len(plan.action)
    if actions is None:
        if count:
            raise InputError(
                f"actions: the twin is driven by {listed(plan.action)}, which no target moves: give them as an array "
                f"({steps}, trajectories, {count}) or as a policy"
            )
        return np.zeros((steps, starts * n, 0), np.float32)
    array = np.asarray(actions, np.float32)
    if array.ndim == 1 and count == 1:
        array = array[:, None]
    if array.ndim == 2:
        array = array[:, None]
    fits = array.ndim == 3 and array.shape[0] == steps and array.shape[1] in (1, starts, starts * n)
    if not fits or array.shape[2] != count:
        raise InputError(
            f"actions: an array must have shape ({steps}, {starts * n}, {count}), (steps, trajectories, actions), "
            f"for {listed(plan.action) or 'no action'}, or lack the axis of trajectories; got {np.shape(actions)}"
        )
    if not np.isfinite(array).all():
        raise InputError("actions: every action must be a finite number")
    if array.shape[1] == 1:
        return np.broadcast_to(array, (steps, starts * n, count))
    return array if array.shape[1] == starts * n else np.tile(array, (1, n, 1))


@eqx.filter_jit
def _roll(
    core: Core,
    moments: Array,
    actions: Array | Policy,
    rest: Rest | None,
    plan: Plan,
    steps: int,
    conditions: bool,
    key: Array,
) -> _Record:
    rows = len(moments)

    def step(moments: Array, now: tuple[Array, Array | None]) -> tuple[Array, _Record]:
        number, given = now
        policy_key, noise_key, rest_key = jr.split(jr.fold_in(key, number), 3)
        if callable(actions):
            chosen = jax.vmap(actions)(History.of(moments, plan), jr.split(policy_key, rows))
            action = _shaped(chosen, (rows, len(plan.action)), "the policy")
        else:
            assert given is not None
            action = given
        full = with_action(plan, moments, action)
        x = condition(plan, full)
        y = core.push(core.params, x, jr.normal(noise_key, (rows, core.latents), jnp.float32))
        state = full[:, 0, : len(plan.state)]
        if rest is None:
            moved = next_state(plan, state, y)
        else:
            moved = jax.vmap(rest)(state, action, y, jr.split(rest_key, rows))
            moved = _shaped(moved, state.shape, "step_rest")
        moved = wrapped(plan, moved)
        record = _Record(moved, action, core.outside(core.params, x), x if conditions else None)
        return shifted(plan, full, moved), record

    given = None if callable(actions) else actions
    return jax.lax.scan(step, moments, (jnp.arange(steps), given))[1]


def _shaped(values: Array, shape: tuple[int, ...], what: str) -> Array:
    """What a user function returned, or a word on its shape; a single number may come without an axis."""
    found = jnp.asarray(values, jnp.float32)
    if found.shape == shape[:1] and shape[1] == 1:
        found = found[:, None]
    if found.shape != shape:
        raise InputError(f"{what} must return {shape[1]} numbers, shape {shape[1:]}; got shape {found.shape[1:]}")
    return found
