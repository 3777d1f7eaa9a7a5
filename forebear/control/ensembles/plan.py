"""Planning with an ensemble: every candidate, particle and iteration of several runs in one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Float, Key

from forebear.control.ensembles.cem import Judge, Limits, judged_by_particles, search, shifted
from forebear.control.ensembles.ensemble import Ensemble, law, prepare
from forebear.control.ensembles.settings import PetsSettings

Cost = Callable[[Any, Any, Any], Any]
"""(state, action, next state) of one row -> number; traceable by JAX"""


@partial(jax.jit, static_argnames=("cost", "settings"))
def act(
    ensembles: Ensemble,
    states: Float[Array, "runs states"],
    plans: Float[Array, "runs horizon actions"],
    limits: Limits,
    keys: Key[Array, " runs"],
    *,
    cost: Cost,
    settings: PetsSettings,
) -> tuple[Float[Array, "runs actions"], Float[Array, "runs horizon actions"]]:
    """What every run does now (runs, actions), and where its next search begins (runs, horizon, actions)."""

    def alone(ensemble: Ensemble, state: Array, plan: Array, key: Array) -> tuple[Array, Array]:
        judge = judged_by(ensemble, state, cost, settings)
        found = search(judge, plan, limits, settings.cem, key=key)
        return found[0], shifted(found, limits)

    return jax.vmap(alone)(ensembles, states, plans, keys)


def judged_by(ensemble: Ensemble, state: Float[Array, " states"], cost: Cost, settings: PetsSettings) -> Judge:
    """Plans judged by an ensemble; a particle stays with its member from the first step to the last."""
    weights, members = ensemble.weights, settings.ensemble.members
    dtype = settings.ensemble.precision
    narrow = weights._replace(matrices=tuple(matrix.astype(dtype) for matrix in weights.matrices))

    def step(states: Array, actions: Array, key: Array) -> tuple[Array, Array, Array]:
        rows = prepare(ensemble.inputs, jnp.concatenate([states, actions], axis=1))
        mean, log_variance = law(narrow, rows.reshape(members, -1, rows.shape[1]), dtype)
        noise = jr.normal(key, states.shape)
        move = mean.reshape(states.shape) + jnp.exp(0.5 * log_variance).reshape(states.shape) * noise
        move = jnp.where(jnp.isnan(ensemble.constant), move, ensemble.constant)
        return states + move, states, states + move

    start = jnp.tile(state, (settings.cem.particles * settings.cem.candidates, 1))
    return judged_by_particles(step, start, cost, settings.cem)
