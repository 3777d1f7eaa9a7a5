"""The multilayer perceptron behind every sampler and every twin, alone or several of one shape side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from forebear.flow.single import single

Model = TypeVar("Model", bound=eqx.Module)

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"silu": jax.nn.silu, "relu": jax.nn.relu, "tanh": jnp.tanh}


def _plain_silu(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


_PLAIN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "silu": _plain_silu,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}


class Network(eqx.Module):
    """Layers of equal width. A leading axis of weights and biases, if there is one, is that of several networks.

    >>> rng = np.random.default_rng(0)
    >>> one, two = (Network.fresh(3, 1, width=4, depth=2, activation="silu", rng=rng) for _ in range(2))
    >>> one(jnp.ones((5, 3))).shape, stack([one, two])(jnp.ones((5, 3))).shape
    ((5, 1), (2, 5, 1))
    """

    weights: tuple[Array, ...]
    """(…, from, to) of each layer"""
    biases: tuple[Array, ...]
    """(…, to)"""
    activation: str = eqx.field(static=True)

    @classmethod
    def fresh(
        cls, inputs: int, outputs: int, *, width: int, depth: int, activation: str, rng: np.random.Generator
    ) -> Network:
        """One network to be trained: LeCun-normal weights, zero biases."""
        sizes = [inputs, *[width] * depth, outputs]
        # Drawn by numpy: JAX would compile a program for every shape, which takes longer than some trainings.
        weights = tuple(
            single(rng.normal(size=(fan_in, fan_out)) / np.sqrt(fan_in))
            for fan_in, fan_out in zip(sizes[:-1], sizes[1:], strict=True)
        )
        return cls(weights, tuple(single(np.zeros(fan_out)) for fan_out in sizes[1:]), activation)

    def __call__(self, x: Float[Array, "*some inputs"]) -> Float[Array, "*any outputs"]:
        """(…, inputs) -> (…, outputs); of several networks (rows, inputs) -> (networks, rows, outputs)."""
        return self.rest(self.first(x))

    def first(self, x: Float[Array, "*some inputs"], places: slice = slice(None)) -> Float[Array, "*any width"]:
        """What inputs x (rows, some), those at some places of the first layer, add to it, bias included."""
        return self._plus(x @ self.weights[0][..., places, :], self.biases[0])

    def rest(self, hidden: Float[Array, "*any width"]) -> Float[Array, "*any outputs"]:
        """From the sum that enters the first activation to the outputs."""
        activate = ACTIVATIONS[self.activation]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = self._plus(activate(hidden) @ weight, bias)
        return hidden

    def across(self, x: Float[Array, "rows inputs"]) -> Float[Array, "outputs networks rows"]:
        """Of several networks, with rows side by side in memory: (rows, inputs) -> (outputs, networks, rows).

        Faster on a processor where what follows runs along the rows.
        """
        activate = ACTIVATIONS[self.activation]
        hidden = jnp.swapaxes(self.weights[0], 1, 2) @ x.T + self.biases[0][:, :, None]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = jnp.swapaxes(weight, 1, 2) @ activate(hidden) + bias[:, :, None]
        return jnp.moveaxis(hidden, 1, 0)

    def plainly(self, x: Float[np.ndarray, "rows inputs"]) -> Float[np.ndarray, "networks rows outputs"]:
        """Of several networks what a call gives, by numpy alone: for few rows, where compiling takes longest.

        >>> rng = np.random.default_rng(0)
        >>> two = stack([Network.fresh(3, 1, width=4, depth=2, activation="silu", rng=rng) for _ in range(2)])
        >>> x = rng.normal(size=(5, 3)).astype(np.float32)
        >>> bool(np.allclose(two.plainly(x), two(jnp.asarray(x)), atol=1e-6))
        True
        """
        activate, hidden = _PLAIN[self.activation], np.asarray(x, np.float32)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = activate(hidden) if layer else hidden
            hidden = hidden @ np.asarray(weight) + np.asarray(bias)[:, None, :]
        return hidden

    @staticmethod
    def _plus(
        product: Float[Array, "*any width"], bias: Float[Array, "*networks width"]
    ) -> Float[Array, "*any width"]:
        return product + (bias if bias.ndim == 1 else bias[..., None, :])


def stack(models: Sequence[Model]) -> Model:
    """Models of one shape as one model whose arrays have a leading axis, for `train`; `unstack` is the way back.

    >>> rng = np.random.default_rng(0)
    >>> make = lambda: Network.fresh(2, 1, width=4, depth=1, activation="silu", rng=rng)
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
