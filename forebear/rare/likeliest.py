"""The likeliest ways to a limit: trajectories that cross it with latents of the largest density.

The density of standard normal latents falls with their distance from 0, so the likeliest way is the nearest: the
design point of structural reliability. It is searched by gradients from trajectories that cross, and only what truly
crosses counts; where gradients lead nowhere, as for integers, the nearest of the trajectories seen remains.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.control.lbfgs import minimise
from forebear.rare.course import Course, Latents

_ROUNDS, _ITERATIONS = 6, 60
_SOFT = 0.02
"""the smooth maximum over the moments may look so far away from the largest, in deviations of the heights"""
_HALVINGS = 24
_APART = 0.35
"""two ways differ when their states do, on average by so many deviations of those of all that cross"""


class Found(NamedTuple):
    """Candidates for the likeliest way."""

    latents: Latents
    distance: Array
    """(candidates,) of the path from 0; infinite where it does not cross"""
    states: Array
    """(candidates, steps + 1, states)"""


def nearest_ways(course: Course, crossing: Latents, spread: float, most: int) -> Latents:
    """The nearest ways from some trajectories that cross, no two of them alike."""
    seen = [np.asarray(leaf) for leaf in crossing]
    shrunk = _shrunk(course, crossing)
    states = np.asarray(shrunk.states)
    with jax.enable_x64(True):
        latents = Latents(*(jnp.asarray(leaf, jnp.float64) for leaf in seen))
        path = np.asarray(_searched(course, latents, jnp.asarray(spread)), np.float32)
    # A search that ends just below the limit is lengthened until it crosses.
    searched = Latents(jnp.asarray(seen[0]), jnp.asarray(1.05 * path))
    found = [shrunk, _shrunk(course, searched)]
    starts, paths = (np.concatenate([np.asarray(one.latents[i]) for one in found]) for i in (0, 1))
    distance = np.concatenate([np.asarray(one.distance) for one in found])
    told = np.concatenate([np.asarray(one.states) for one in found])
    kept = _told_apart(distance, told / np.maximum(states.std(axis=(0, 1)), 1e-12), most)
    return Latents(jnp.asarray(starts[kept]), jnp.asarray(paths[kept]))


def _told_apart(distance: np.ndarray, states: np.ndarray, most: int) -> list[int]:
    kept: list[int] = []
    for place in np.argsort(distance, kind="stable"):
        apart = [np.sqrt(np.mean((states[place] - states[other]) ** 2)) for other in kept]
        if np.isfinite(distance[place]) and all(one > _APART for one in apart):
            kept.append(int(place))
        if len(kept) == most:
            break
    return kept


@eqx.filter_jit
def _shrunk(course: Course, latents: Latents) -> Found:
    """Along the ray to 0 as far as it crosses."""

    def crosses(share: Array) -> Array:
        scaled = Latents(latents.start, share[:, None, None] * latents.path)
        return jax.vmap(lambda one: course.heights(course.follow(one)).max())(scaled) > 0

    def halve(ends: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        low, high = ends
        middle = (low + high) / 2
        over = crosses(middle)
        return (jnp.where(over, low, middle), jnp.where(over, middle, high)), None

    ones = jnp.ones_like(latents.start)
    (_, high), _ = jax.lax.scan(halve, (0 * ones, ones), None, length=_HALVINGS)
    path = high[:, None, None] * latents.path
    distance = jnp.sqrt(jnp.sum(path**2, axis=(1, 2)))
    scaled = Latents(latents.start, path)
    states = jax.vmap(course.follow)(scaled).states
    return Found(scaled, jnp.where(crosses(high), distance, jnp.inf), states)


@eqx.filter_jit
def _searched(course: Course, latents: Latents, spread: Array) -> Array:
    """Paths (candidates, steps, width) of least distance on the limit, by an augmented Lagrangian."""
    count = len(latents.start)
    shape = latents.path.shape

    def short(flat: Array) -> Array:
        """How far below the limit (candidates,), in deviations; smooth in the moments."""
        moved = Latents(latents.start, flat.reshape(shape))
        heights = jax.vmap(lambda one: course.heights(course.follow(one)))(moved) / spread
        return -_SOFT * jax.nn.logsumexp(heights / _SOFT, axis=1)

    def a_round(now: tuple[Array, Array], weight: Array) -> tuple[tuple[Array, Array], None]:
        flat, multipliers = now

        def lagrangian(flat: Array) -> Array:
            pressed = jnp.maximum(multipliers / weight + short(flat), 0.0)
            return 0.5 * jnp.sum(flat**2, axis=1) + 0.5 * weight * pressed**2

        found = minimise(lagrangian, flat, iterations=_ITERATIONS, tolerance=1e-3)
        return (found.x, jnp.maximum(multipliers + weight * short(found.x), 0.0)), None

    begin = (latents.path.reshape(count, -1), jnp.zeros(count, latents.path.dtype))
    (flat, _), _ = jax.lax.scan(a_round, begin, 10.0 * 4.0 ** jnp.arange(_ROUNDS))
    return flat.reshape(shape)
