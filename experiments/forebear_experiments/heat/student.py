"""Plain networks in place of a twin's ODE, taught at inputs drawn anew: the published way to make a twin fast.

`Twin.distil` is forebear's own: monotone in the latent, and taught at rows of the data. This one is to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax import Array

from forebear.errors import check_fields, positive, whole
from forebear.flow.network import Network, stack
from forebear.twin.core import Core
from forebear.twin.twin import Twin

# Steps between two questions to the teacher, which answers many rows at once more quickly.
_LESSON = 100


@dataclass(frozen=True)
class StudentSettings:
    """The published network and its training."""

    width: int = 128
    depth: int = 3
    steps: int = 20_000
    batch: int = 512
    rate: float = 1e-3

    def __post_init__(self) -> None:
        check_fields(self, {**dict.fromkeys(("width", "depth", "steps", "batch"), whole()), "rate": positive()})


class Students(eqx.Module):
    """One network per target: raw inputs and a latent in, a draw out, in one pass."""

    networks: Network
    """stacked"""
    centre: Array
    """(targets,)"""
    scale: Array
    places: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    """of each target's inputs among those of the twin"""

    def __call__(self, x: Array, z: Array) -> Array:
        """Targets (targets,) at the twin's inputs x (inputs,) and latents z (targets,)."""
        given = jnp.concatenate([x[np.array(self.places)], z[:, None]], axis=1)
        return self.standardised(given) * self.scale + self.centre

    def standardised(self, given: Array) -> Array:
        """(targets, inputs and a latent) -> (targets,)."""
        return eqx.filter_vmap(lambda network, row: network(row)[0])(self.networks, given)


def teach(twin: Twin, settings: StudentSettings, seed: int) -> Students:
    """The students of a twin whose targets have equally many inputs.

    Inputs are drawn as independent normals with the mean and deviation that each has in the twin's data, the latent
    as a standard normal; a student learns the standardised draw by least squares.
    """
    rng = np.random.default_rng(seed)
    places = tuple(tuple(twin.inputs.index(name) for name in twin.ancestors[target]) for target in twin.targets)
    sizes = {"width": settings.width, "depth": settings.depth, "activation": "silu"}
    networks = stack([Network.fresh(len(own) + 1, 1, rng=rng, **sizes) for own in places])
    centre, scale = (jnp.array([getattr(t, name) for t in twin.outputs], jnp.float32) for name in ("centre", "scale"))
    students = Students(networks, centre, scale, places)
    spread = jnp.asarray(twin.rows.mean(axis=0)), jnp.asarray(twin.rows.std(axis=0))
    optimiser = optax.adam(settings.rate)
    state = optimiser.init(eqx.filter(networks, eqx.is_array))
    key = jr.key(int(rng.integers(2**31)))
    # Labels rounded to the digits of a GPU's fast products would be learned as if they were the law.
    with jax.default_matmul_precision("highest"):
        for first in range(0, settings.steps, _LESSON):
            steps = min(_LESSON, settings.steps - first)
            lesson = twin.core(), spread, optimiser, steps, settings.batch, jr.fold_in(key, first)
            students, state = _lesson(students, state, *lesson)
    return students


@eqx.filter_jit
def _lesson(
    students: Students,
    state: optax.OptState,
    teacher: Core,
    spread: tuple[Array, Array],
    optimiser: optax.GradientTransformation,
    steps: int,
    batch: int,
    key: Array,
) -> tuple[Students, optax.OptState]:
    """Ask the teacher once, then take so many steps, each with rows of its own."""
    x_key, z_key = jr.split(key)
    inputs, targets = len(spread[0]), len(students.places)
    x = spread[0] + spread[1] * jr.normal(x_key, (steps * batch, inputs), jnp.float32)
    z = jr.normal(z_key, (steps * batch, targets), jnp.float32)
    y = (teacher.push(teacher.params, x, z) - students.centre) / students.scale
    given = jnp.concatenate([x[:, np.array(students.places)], z[:, :, None]], axis=2)
    arrays, static = eqx.partition(students.networks, eqx.is_array)

    def loss(arrays: Network, given: Array, wanted: Array) -> Array:
        told = jax.vmap(eqx.tree_at(lambda s: s.networks, students, eqx.combine(arrays, static)).standardised)(given)
        return jnp.sum(jnp.mean((told - wanted) ** 2, axis=0))

    def step(now: tuple[Network, optax.OptState], rows: tuple[Array, Array]) -> tuple[tuple[Network, Any], None]:
        arrays, state = now
        updates, state = optimiser.update(jax.grad(loss)(arrays, *rows), state)
        return (eqx.apply_updates(arrays, updates), state), None

    rows = given.reshape(steps, batch, targets, -1), y.reshape(steps, batch, targets)
    (arrays, state), _ = jax.lax.scan(step, (arrays, state), rows)
    return eqx.tree_at(lambda s: s.networks, students, eqx.combine(arrays, static)), state
