"""A plain network in place of a twin's ODE, taught at inputs drawn anew: the published way to make a twin fast.

`Twin.distil` is forebear's own: monotone in the latent, and taught at rows of the data. This one is for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax import Array

from forebear.flow.network import Network
from forebear.twin.core import Core
from forebear.twin.twin import Twin

# Steps between two calls of the teacher, which is quicker with many rows at once.
_LESSON = 100


@dataclass(frozen=True)
class StudentSettings:
    """The published network and its training."""

    width: int = 128
    depth: int = 3
    steps: int = 20_000
    batch: int = 512
    rate: float = 1e-3


class Student(eqx.Module):
    """A draw from raw inputs and a latent, in one pass."""

    network: Network
    centre: Array
    scale: Array

    def __call__(self, x: Array, z: Array) -> Array:
        """A target at inputs x (inputs,) and latent z ()."""
        return self.network(jnp.append(x, z))[0] * self.scale + self.centre


def teach(twin: Twin, settings: StudentSettings, seed: int) -> Student:
    """The student of a twin with one target.

    Inputs are drawn as independent normals with the mean and deviation that each has in the twin's data, the latent
    as a standard normal; the student learns the standardised draw by least squares.

    >>> from forebear.data.table import read_columns
    >>> from forebear.twin.fit import fit_twin
    >>> from forebear.twin.settings import TwinSettings
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"x": rng.normal(size=500)})
    >>> frame["y"] = 3 * frame["x"] + rng.normal(size=500)
    >>> table = read_columns(frame, "the table", ["x", "y"])
    >>> small = TwinSettings.resolve({"steps": 200, "width": 16, "depth": 2})
    >>> twin = fit_twin(table, {"y": ["x"]}, joint=False, settings=small, seed=0)
    >>> student = teach(twin, StudentSettings(width=16, steps=500), seed=0)
    >>> at = jnp.array([1.0]), jnp.array(0.5)
    >>> bool(abs(student(*at) - twin.core().push(twin.core().params, at[0][None], at[1][None, None])[0, 0]) < 0.5)
    True
    """
    [target] = twin.outputs
    rng = np.random.default_rng(seed)
    sizes = {"width": settings.width, "depth": settings.depth, "activation": "silu"}
    network = Network(len(twin.inputs) + 1, 1, rng=rng, **sizes)
    places = jnp.asarray(twin.rows.mean(axis=0)), jnp.asarray(twin.rows.std(axis=0))
    units = jnp.float32(target.centre), jnp.float32(target.scale)
    optimiser = optax.adam(settings.rate)
    state = optimiser.init(eqx.filter(network, eqx.is_array))
    key = jr.key(int(rng.integers(2**31)))
    # Labels rounded to the digits of a GPU's fast products would be learned as if they were the law.
    with jax.default_matmul_precision("highest"):
        for first in range(0, settings.steps, _LESSON):
            steps = min(_LESSON, settings.steps - first)
            network, state = _lesson(
                network, state, twin.core(), places, units, optimiser, steps, settings.batch, jr.fold_in(key, first)
            )
    return Student(network, *units)


@eqx.filter_jit
def _lesson(
    network: Network,
    state: optax.OptState,
    teacher: Core,
    places: tuple[Array, Array],
    units: tuple[Array, Array],
    optimiser: optax.GradientTransformation,
    steps: int,
    batch: int,
    key: Array,
) -> tuple[Network, optax.OptState]:
    """Ask the teacher once, then take so many steps, each with fresh rows."""
    x_key, z_key = jr.split(key)
    x = places[0] + places[1] * jr.normal(x_key, (steps * batch, len(places[0])), jnp.float32)
    z = jr.normal(z_key, (steps * batch, 1), jnp.float32)
    y = (teacher.push(teacher.params, x, z) - units[0]) / units[1]
    arrays, static = eqx.partition(network, eqx.is_array)

    def loss(arrays: Network, given: Array, wanted: Array) -> Array:
        return jnp.mean((eqx.combine(arrays, static)(given) - wanted) ** 2)

    def step(
        now: tuple[Network, optax.OptState], rows: tuple[Array, Array]
    ) -> tuple[tuple[Network, optax.OptState], None]:
        arrays, state = now
        updates, state = optimiser.update(jax.grad(loss)(arrays, *rows), state)
        return (eqx.apply_updates(arrays, updates), state), None

    given = jnp.concatenate([x, z], axis=1).reshape(steps, batch, -1)
    (arrays, state), _ = jax.lax.scan(step, (arrays, state), (given, y.reshape(steps, batch, 1)))
    return eqx.combine(arrays, static), state
