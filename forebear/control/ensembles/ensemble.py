"""An ensemble of networks, each of which gives every increment of the state a mean and a variance."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from forebear.control.ensembles.settings import EnsembleSettings

_FIRST_BOUNDS = (-10.0, 0.5)
"""of the log variances before any training"""


class Weights(NamedTuple):
    """What is learned; the first axis of matrices and biases is the member."""

    matrices: tuple[Array, ...]
    """(members, in, out) of each layer"""
    biases: tuple[Array, ...]
    """(members, 1, out)"""
    lower: Array
    """(outputs,) soft bounds of the log variances, which the members share"""
    upper: Array


class Inputs(NamedTuple):
    """How rows of states and actions enter the networks, (inputs,) each."""

    centre: Array
    scale: Array
    seen: Array
    """1, or 0 for an input that is hidden: it is zero after standardisation, whatever its value"""


class Ensemble(NamedTuple):
    """A model of the increments."""

    weights: Weights
    inputs: Inputs
    constant: Array
    """(outputs,) what is known to be always the same, whatever the weights say; NaN for all that varies"""


def fresh_weights(
    seen: Float[Array, " inputs"], outputs: int, settings: EnsembleSettings, *, key: PRNGKeyArray
) -> Weights:
    """Truncated normal matrices of deviation 1 / (2 √fan-in), where hidden inputs do not count, and zero biases.

    >>> weights = fresh_weights(jnp.array([1.0, 1.0, 0.0]), 2, EnsembleSettings(width=8, depth=2), key=jr.key(0))
    >>> [matrix.shape for matrix in weights.matrices]
    [(5, 3, 8), (5, 8, 8), (5, 8, 4)]
    """
    hidden = [settings.width] * settings.depth
    sizes = list(zip([len(seen), *hidden], [*hidden, 2 * outputs], strict=True))
    fans = [jnp.maximum(seen.sum(), 1.0), *hidden]
    keys = jr.split(key, len(sizes))
    matrices = [
        jr.truncated_normal(k, -2.0, 2.0, (settings.members, *size)) / (2 * jnp.sqrt(jnp.float32(fan)))
        for k, size, fan in zip(keys, sizes, fans, strict=True)
    ]
    biases = [jnp.zeros((settings.members, 1, size[1])) for size in sizes]
    lower, upper = (jnp.full(outputs, bound, jnp.float32) for bound in _FIRST_BOUNDS)
    return Weights(tuple(matrices), tuple(biases), lower, upper)


def prepare(inputs: Inputs, rows: Float[Array, "*some inputs"]) -> Float[Array, "*some inputs"]:
    """Standardised rows (…, inputs), hidden inputs at zero."""
    return (rows - inputs.centre) / inputs.scale * inputs.seen


def law(
    weights: Weights, x: Float[Array, "members rows inputs"], dtype: str = "float32"
) -> tuple[Float[Array, "members rows outputs"], Float[Array, "members rows outputs"]]:
    """Mean and log variance, (members, rows, outputs) each, at prepared rows x (members, rows, inputs)."""
    value = x.astype(dtype)
    last = len(weights.matrices) - 1
    for place, (matrix, bias) in enumerate(zip(weights.matrices, weights.biases, strict=True)):
        kind = jnp.float32 if place == last else value.dtype
        product = jnp.einsum("nri,nij->nrj", value, matrix.astype(value.dtype), preferred_element_type=kind)
        value = product + bias.astype(kind)
        if place < last:
            value = jax.nn.swish(value)
    mean, spread = jnp.split(value, 2, axis=-1)
    return mean, _between(spread, weights)


def _between(spread: Float[Array, "members rows outputs"], weights: Weights) -> Float[Array, "members rows outputs"]:
    """Log variances held softly below the upper bounds, then above the lower ones."""
    below = weights.upper - jax.nn.softplus(weights.upper - spread)
    return weights.lower + jax.nn.softplus(below - weights.lower)
