"""A twin as a pure function of arrays, to be used inside other compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from forebear.data.scaling import FeatureMap
from forebear.twin.encode import OutputCode
from forebear.twin.model import TwinModel


class CoreParams(eqx.Module):
    """All numbers of a twin, in single precision: a pytree of arrays, whatever the kinds of its columns."""

    inputs: FeatureMap
    model: TwinModel
    outputs: OutputCode
    low: Array
    """(inputs,) least value in the data; minus infinity where a column has no ends"""
    high: Array
    scale: Array
    """(inputs,) by which distances from the data are told"""


class Core(NamedTuple):
    """The numbers of a twin and the functions that use them. Both are pure: jit, vmap and scan them at will.

    Raw numbers in, raw numbers out, all single precision: scaling, angles, categories (as codes) and lattices are
    inside.
    """

    params: CoreParams
    push: Callable[[CoreParams, Array, Array], Array]
    """(params, x (rows, inputs), z (rows, latents)) -> y (rows, targets); a draw when z is standard normal"""
    outside: Callable[[CoreParams, Array], Array]
    """(params, x (rows, inputs)) -> (rows,) how far outside the data, in standard deviations; 0 inside"""
    latents: int


def make_core(
    inputs: FeatureMap,
    model: TwinModel,
    outputs: OutputCode,
    low: np.ndarray,
    high: np.ndarray,
    scale: np.ndarray,
) -> Core:
    """The core of a twin whose numbers are still in double precision."""
    params = CoreParams(inputs, model, outputs, *(jnp.asarray(ends) for ends in (low, high, scale)))
    single = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), params)
    return Core(single, push, outside, model.latents)


def push(
    params: CoreParams, x: Float[Array, "rows inputs"], z: Float[Array, "rows latents"]
) -> Float[Array, "rows targets"]:
    """Raw draws y (rows, targets) at raw inputs x (rows, inputs) from latents z (rows, latents)."""
    return params.outputs(params.model.push(params.inputs(x), z))


def outside(params: CoreParams, x: Float[Array, "rows inputs"]) -> Float[Array, " rows"]:
    """How far each row lies beyond the range of the data, in standard deviations of the worst input (rows,)."""
    beyond = jnp.maximum(params.low - x, x - params.high) / params.scale
    return jnp.max(beyond, axis=1, initial=0.0)
