"""Subset simulation: a rare event as the last of a ladder of events, each a tenth as likely as the one before.

Chains move within the trajectories that reach a level and leave their law as it is, by two kinds of move: all latents
a little (preconditioned Crank-Nicolson), and everything anew after the moment at which the level is first reached
(splitting). All states of a chain are kept (Au and Beck 2001; waste-free, Dau and Chopin 2022). A first climb chooses
levels and lengths of moves; those that count have them fixed, so that their product of shares has no bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array
from jaxtyping import PRNGKeyArray

from forebear.rare.course import Course, Latents

SHARE = 0.1
"""of the trajectories of a level that reach the next one"""
MOVES = 10
"""of a chain"""
_ACCEPTED, _GAIN = 0.3, 0.7
"""what the first climb aims at, and how fast"""


class Level(NamedTuple):
    """A rung of the ladder."""

    height: float
    size: float
    """of the moves of chains above it"""


class Crowd(NamedTuple):
    """Trajectories of several repeats (repeats, draws, …)."""

    latents: Latents
    heights: Array
    """(repeats, draws) the highest moment of each"""


class Climbed(NamedTuple):
    """What a climb found."""

    shares: np.ndarray
    """(levels + 1, repeats) of trajectories above each level and, last, above the limit"""
    crowd: Crowd
    """above the last level"""


@eqx.filter_jit
def first_crowd(course: Course, repeats: int, draws: int, key: PRNGKeyArray) -> Crowd:
    """Trajectories as they come."""
    start_key, path_key = jr.split(key)
    path = jr.normal(path_key, (repeats * draws * course.steps * course.width,), jnp.float32)
    latents = Latents(
        jr.normal(start_key, (repeats, draws), jnp.float32), path.reshape(repeats, draws, course.steps, course.width)
    )
    return Crowd(latents, jax.vmap(jax.vmap(lambda one: course.heights(course.follow(one)).max()))(latents))


@eqx.filter_jit
def go_on(
    course: Course, crowd: Crowd, height: Array, size: Array, gain: Array, key: PRNGKeyArray
) -> tuple[Crowd, Array]:
    """The crowd above a height, and the length of moves that suits it (unchanged where gain is 0)."""
    repeats, draws = crowd.heights.shape
    chains = draws // MOVES
    pick_key, move_key = jr.split(key)
    picked = jax.vmap(lambda heights, own: _picked(heights > height, chains, own))(
        crowd.heights, jr.split(pick_key, repeats)
    )
    seeds = jax.tree.map(lambda leaf: jax.vmap(lambda rows, own: rows[own])(leaf, picked), crowd.latents)
    flat = jax.tree.map(lambda leaf: leaf.reshape(repeats * chains, *leaf.shape[2:]), seeds)
    profiles = jax.vmap(lambda one: course.heights(course.follow(one)))(flat)

    def move(now: tuple[Latents, Array, Array], given: tuple[Array, Array]) -> tuple[tuple, tuple]:
        latents, profiles, size = now
        number, own = given
        shake, draw = jr.split(own)
        lengths = jnp.minimum(size * jnp.exp(0.5 * jr.normal(shake, (repeats * chains,))), 1.0)
        fresh = _alike(latents, draw)
        nudged = jax.tree.map(lambda old, new: _mixed(old, new, lengths), latents, fresh)
        split = (number % 2 == 1) & course.by_moment
        branched = _branched(latents, fresh, profiles > height)
        offered = jax.tree.map(lambda one, other: jnp.where(split, one, other), branched, nudged)
        told = jax.vmap(lambda one: course.heights(course.follow(one)))(offered)
        taken = told.max(axis=1) > height
        latents = jax.tree.map(lambda new, old: _where(taken, new, old), offered, latents)
        profiles = _where(taken, told, profiles)
        fitting = jnp.minimum(size * jnp.exp(gain * (taken.mean() - _ACCEPTED)), 1.0)
        return (latents, profiles, jnp.where(split, size, fitting)), (latents, profiles.max(axis=1))

    begin = (flat, profiles, size)
    (_, _, size), (latents, heights) = jax.lax.scan(move, begin, (jnp.arange(MOVES), jr.split(move_key, MOVES)))

    def gathered(leaf: Array) -> Array:
        """(moves, repeats · chains, …) to (repeats, moves · chains, …)"""
        split = leaf.reshape(MOVES, repeats, chains, *leaf.shape[2:]).swapaxes(0, 1)
        return split.reshape(repeats, MOVES * chains, *leaf.shape[2:])

    return Crowd(jax.tree.map(gathered, latents), gathered(heights)), size


def ladder(course: Course, repeats: int, draws: int, least: float, key: PRNGKeyArray) -> list[Level]:
    """Levels, each reached by a tenth of what reaches the one before; none more once the limit is reached so often.

    It ends as well where the limit is less likely than `least`, or out of reach.
    """
    levels: list[Level] = []
    most = int(np.ceil(np.log(least) / np.log(SHARE)))
    crowd, size = first_crowd(course, repeats, draws, jr.fold_in(key, 0)), jnp.asarray(0.5, jnp.float32)
    while len(levels) < most:
        height = _next_height(np.asarray(crowd.heights).ravel())
        if height is None:
            break
        own = jr.fold_in(key, len(levels) + 1)
        crowd, size = go_on(course, crowd, jnp.float32(height), size, jnp.float32(_GAIN), own)
        levels.append(Level(height, float(size)))
    return levels


def _next_height(heights: np.ndarray) -> float | None:
    """What a tenth exceeds; where more are equally high, what fewer do. None where that is the limit, or the end."""
    if np.mean(heights > 0) >= SHARE:
        return None
    height = np.quantile(heights, 1 - SHARE)
    if not np.any(heights > height):
        lower = heights[heights < height]
        return float(lower.max()) if len(lower) else None
    return float(height)


def climb(course: Course, levels: list[Level], repeats: int, draws: int, key: PRNGKeyArray) -> Climbed:
    """Up the ladder, as it is."""
    shares: list[np.ndarray] = []
    crowd = first_crowd(course, repeats, draws, jr.fold_in(key, 0))
    for number, level in enumerate(levels):
        shares.append(np.mean(np.asarray(crowd.heights) > np.float32(level.height), axis=1))
        own = jr.fold_in(key, number + 1)
        size, still = jnp.asarray(level.size, jnp.float32), jnp.float32(0.0)
        crowd, _ = go_on(course, crowd, jnp.float32(level.height), size, still, own)
    shares.append(np.mean(np.asarray(crowd.heights) > 0, axis=1))
    return Climbed(np.stack(shares), crowd)


def climbs(
    course: Course, levels: list[Level], waves: int, repeats: int, draws: int, key: PRNGKeyArray
) -> Iterator[Climbed]:
    """Independent ones, some repeats at a time."""
    for wave in range(waves):
        yield climb(course, levels, repeats, draws, jr.fold_in(key, wave))


def _picked(above: Array, count: int, key: PRNGKeyArray) -> Array:
    """Places of so many that are above, each equally often: systematic resampling. Any, where none is."""
    order = jnp.argsort(~above, stable=True)
    alive = jnp.maximum(above.sum(), 1)
    places = (jnp.arange(count) + jr.uniform(key)) * alive / count
    return order[jnp.minimum(places.astype(int), alive - 1)]


def _alike(latents: Latents, key: PRNGKeyArray) -> Latents:
    start_key, path_key = jr.split(key)
    path = jr.normal(path_key, (latents.path.size,), latents.path.dtype).reshape(latents.path.shape)
    return Latents(jr.normal(start_key, latents.start.shape, latents.start.dtype), path)


def _mixed(old: Array, new: Array, lengths: Array) -> Array:
    share = lengths.reshape(-1, *[1] * (old.ndim - 1))
    return jnp.sqrt(1 - share**2) * old + share * new


def _branched(latents: Latents, fresh: Latents, above: Array) -> Latents:
    """The same until the first moment above, new after it."""
    first = jnp.argmax(above, axis=1)
    later = jnp.arange(latents.path.shape[1]) >= first[:, None]
    return Latents(latents.start, jnp.where(later[:, :, None], fresh.path, latents.path))


def _where(mask: Array, new: Array, old: Array) -> Array:
    return jnp.where(mask.reshape(-1, *[1] * (new.ndim - 1)), new, old)
