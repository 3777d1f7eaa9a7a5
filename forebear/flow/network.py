"""The multilayer perceptron behind every sampler."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array

_ACTIVATIONS = {"silu": jax.nn.silu, "relu": jax.nn.relu, "tanh": jnp.tanh}


class Network(eqx.Module):
    """Layers of equal width; LeCun-normal weights, zero biases."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activation: str = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, *, width: int, depth: int, activation: str, key: Array):
        sizes = [inputs, *[width] * depth, outputs]
        keys = jr.split(key, len(sizes) - 1)
        self.weights = tuple(
            jr.normal(k, (fan_in, fan_out), jnp.float32) / jnp.sqrt(jnp.float32(fan_in))
            for k, fan_in, fan_out in zip(keys, sizes[:-1], sizes[1:], strict=True)
        )
        self.biases = tuple(jnp.zeros(fan_out, jnp.float32) for fan_out in sizes[1:])
        self.activation = activation

    def __call__(self, x: Array) -> Array:
        """(…, inputs) -> (…, outputs)."""
        hidden = x
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = _ACTIVATIONS[self.activation](hidden @ weight + bias)
        return hidden @ self.weights[-1] + self.biases[-1]
