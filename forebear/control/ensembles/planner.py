"""The same search without an ensemble: particles of a twin, or of a step of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array
from jaxtyping import Float, Key

from forebear.control.ensembles.asked import check_cost, cost_of, limits_of
from forebear.control.ensembles.cem import Limits, judged_by_particles, search, shifted
from forebear.control.ensembles.plan import Cost
from forebear.control.ensembles.settings import CemSettings, cem_settings
from forebear.control.model import Model, Step, TwinSteps, model_of
from forebear.errors import InputError, check_whole
from forebear.twin.dynamics import Dynamics, resolve
from forebear.twin.limits import Bounds
from forebear.twin.twin import Twin


@dataclass(frozen=True, eq=False)
class Cem:
    """A planner, made by `forebear.control.cem`."""

    model: Model = field(repr=False)
    cost: Cost = field(repr=False)
    limits: tuple[np.ndarray, np.ndarray]
    """(actions,) low and high"""
    settings: CemSettings

    def plan(
        self, start: Any, seed: int = 0, *, after: np.ndarray | None = None
    ) -> Float[np.ndarray, "starts horizon actions"]:
        """Actions (starts, horizon, actions) from each start on; the first of them is the one to take.

        Arguments:
            start: states (starts, states); for a twin all that `Twin.rollout` takes.
            seed: of the candidates and the particles.
            after: the plans made a step ago: the search begins with what is left of them.
        """
        check_whole("seed", seed, 0)
        carried = jnp.asarray(self.model.begin(start), jnp.float32)
        limits = Limits(*(jnp.asarray(end, jnp.float32) for end in self.limits))
        shape = (len(carried), self.settings.horizon, len(limits.low))
        if after is not None and np.shape(after) != shape:
            raise InputError(f"after must be plans of shape {shape}, a step old; got {np.shape(after)}")
        warm = jnp.broadcast_to(limits.middle, shape)
        if after is not None:
            warm = jax.vmap(shifted, in_axes=(0, None))(jnp.asarray(after, jnp.float32), limits)
        keys = jr.split(jr.key(seed), len(carried))
        check_cost(self.cost, jax.eval_shape(self.model.state, carried[0]).shape[0], len(limits.low))
        return np.asarray(_plan(self.model, carried, warm, limits, keys, self.cost, self.settings))


def cem(
    dynamics: Twin | Step,
    cost: Callable[..., Any],
    bounds: Bounds | Sequence[tuple[float, float]] | None = None,
    *,
    noise: int | None = None,
    names: Dynamics | None = None,
    **settings: Any,
) -> Cem:
    """A planner that draws plans, follows each with particles, and moves on to the best: no gradients are needed.

    It serves costs and twins that jump (integers, atoms, labels), where `forebear.control.mpc` does not.

    Arguments:
        dynamics: a twin whose columns are states and actions, preferably distilled; or a function (state, action,
            noise) -> next state of one trajectory that JAX can trace, where noise is standard normal.
        cost: (state, action, next state) -> number, or (state, action) -> number, of one trajectory, in jax.numpy.
        bounds: least and greatest value of each action: for a twin by name, by default the range of its data; for a
            function a list of pairs.
        noise: how many numbers the function takes as noise.
        names: what the columns of a twin mean; None reads it from their names, as `Twin.rollout` does.
        **settings: any field of `CemSettings`.

    >>> def step(state, action, noise):
    ...     return state + action + 0.1 * noise
    >>> planner = cem(step, lambda state, action, after: jnp.sum(jnp.abs(after)), [(-1.0, 1.0)], noise=1, horizon=4)
    >>> plans = planner.plan([[0.4], [-3.0]])
    >>> plans.shape, plans[:, 0].round(0).tolist()
    ((2, 4, 1), [[-0.0], [1.0]])
    """
    if isinstance(dynamics, Twin):
        plan = resolve(names, dynamics)
        if not plan.action:
            raise InputError("nothing to plan: every input of the twin is a state, none an action")
        core = dynamics.core()
        model: Model = TwinSteps(core=core, plan=plan, noise=core.latents)
    else:
        model = model_of(dynamics, names, noise)
    return Cem(model, cost_of(cost), limits_of(dynamics, bounds, None), cem_settings(settings))


@eqx.filter_jit
def _plan(
    model: Model,
    carried: Array,
    warm: Float[Array, "starts horizon actions"],
    limits: Limits,
    keys: Key[Array, " starts"],
    cost: Cost,
    settings: CemSettings,
) -> Float[Array, "starts horizon actions"]:
    rows = settings.particles * settings.candidates

    def step(moments: Array, actions: Array, key: Array) -> tuple[Array, Array, Array]:
        noise = jr.normal(key, (rows, model.noise))
        moved = jax.vmap(model.step)(moments, actions, noise)
        before, after = (jax.vmap(model.state)(part) for part in (moments, moved))
        return moved, before, after

    def alone(one: Array, plan: Array, key: Array) -> Array:
        start = jnp.broadcast_to(one, (rows, *one.shape))
        return search(judged_by_particles(step, start, cost, settings), plan, limits, settings, key=key)

    return jax.vmap(alone)(carried, warm, keys)
