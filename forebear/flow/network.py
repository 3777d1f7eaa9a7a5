"""The multilayer perceptron behind every sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.flow.single import single

Model = TypeVar("Model", bound=eqx.Module)

_ACTIVATIONS = {"silu": jax.nn.silu, "relu": jax.nn.relu, "tanh": jnp.tanh}


class Network(eqx.Module):
    """Layers of equal width; LeCun-normal weights, zero biases."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activation: str = eqx.field(static=True)

    def __init__(
        self, inputs: int, outputs: int, *, width: int, depth: int, activation: str, rng: np.random.Generator
    ):
        sizes = [inputs, *[width] * depth, outputs]
        # Drawn by numpy: JAX would compile a program for every shape, which takes longer than some trainings.
        self.weights = tuple(
            single(rng.normal(size=(fan_in, fan_out)) / np.sqrt(fan_in))
            for fan_in, fan_out in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.biases = tuple(single(np.zeros(fan_out)) for fan_out in sizes[1:])
        self.activation = activation

    def __call__(self, x: Array) -> Array:
        """(…, inputs) -> (…, outputs)."""
        hidden = x
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = _ACTIVATIONS[self.activation](hidden @ weight + bias)
        return hidden @ self.weights[-1] + self.biases[-1]


def stack(models: Sequence[Model]) -> Model:
    """Models of one shape as one model whose arrays have a leading axis, for `train`; `unstack` is the way back.

    >>> rng = np.random.default_rng(0)
    >>> make = lambda: Network(2, 1, width=4, depth=1, activation="silu", rng=rng)
    >>> stack([make(), make(), make()]).weights[0].shape
    (3, 2, 4)
    """
    return _through_numpy(lambda *arrays: np.stack(arrays), *models)


def unstack(models: Model, count: int) -> list[Model]:
    """The single models of a stack of `count`."""
    return [_through_numpy(lambda array, place=place: array[place], models) for place in range(count)]


def _through_numpy(function: Callable[..., np.ndarray], *models: Model) -> Model:
    """Apply to the arrays of the models, without compiling anything."""
    parts = [eqx.partition(model, eqx.is_array) for model in models]
    arrays = jax.tree.map(lambda *a: jax.device_put(function(*(np.asarray(v) for v in a))), *(p[0] for p in parts))
    return eqx.combine(arrays, parts[0][1])
