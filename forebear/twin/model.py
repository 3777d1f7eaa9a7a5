"""The networks inside a twin: every target's law side by side, standardised numbers in and out."""

from __future__ import annotations

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float

from forebear.flow.network import Network
from forebear.flow.sampler import NetworkSampler
from forebear.flow.settings import FlowSettings
from forebear.flow.solve import integrate


class TwinModel(eqx.Module):
    """A law on standardised numbers: features x (rows, features), latents z and outputs y (rows, targets)."""

    networks: eqx.AbstractVar[Network]

    @property
    @abc.abstractmethod
    def shape(self) -> dict[str, int | float | bool]:
        """What describes the model beside its networks, as plain numbers."""

    @property
    @abc.abstractmethod
    def latents(self) -> int:
        """Latents of a draw of all targets."""

    @property
    @abc.abstractmethod
    def rises(self) -> bool | None:
        """Whether each target rises with a latent of its own; None: not known."""

    @abc.abstractmethod
    def push(self, x: Float[Array, "rows features"], z: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """Latents to outputs."""

    @abc.abstractmethod
    def pull(self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """Outputs to latents, the inverse of `push`."""

    @abc.abstractmethod
    def pull_with_slope(
        self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]
    ) -> tuple[Float[Array, "rows targets"], Float[Array, "rows slopes"]]:
        """Latents, and log |dz/dy|: of each target (rows, targets), or of all together (rows, 1) in a joint model."""


def with_slope(pull: Callable[[Array], Array], y: Array, outputs: int) -> tuple[Array, Array]:
    """What `pull` makes of y (rows, targets), and its slope, where each network has so many outputs.

    The slope is that of the solver's own map, so that densities agree with latents to rounding.
    """
    if outputs == 1:
        z, slope = jax.jvp(pull, (y,), (jnp.ones_like(y),))
        return z, jnp.log(jnp.abs(slope))
    basis = jnp.broadcast_to(jnp.eye(outputs, dtype=y.dtype)[:, None], (outputs, *y.shape))
    columns = jax.vmap(lambda direction: jax.jvp(pull, (y,), (direction,))[1])(basis)
    return pull(y), jnp.linalg.slogdet(jnp.moveaxis(columns, 0, 2))[1][:, None]


class FlowModel(TwinModel):
    """Flows: one network for each target, or one for all of them."""

    networks: Network
    """each sees (zeta, t, x), as `forebear.FlowSampler` has it"""
    outputs: int = eqx.field(static=True)
    """of each network"""
    settings: FlowSettings = eqx.field(static=True)

    @property
    def shape(self) -> dict[str, int | float | bool]:
        """What describes the model beside its networks and the settings of the twin."""
        return {"outputs": self.outputs}

    @property
    def latents(self) -> int:
        """One for each target."""
        return len(self.networks.weights[0]) * self.outputs

    @property
    def rises(self) -> bool:
        """A flow on a line keeps the order of its points."""
        return self.outputs == 1

    def push(self, x: Float[Array, "rows features"], z: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """Integrate from noise to data."""
        return self._carry(x, z, backward=False)

    def pull(self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """Integrate from data to noise."""
        return self._carry(x, y, backward=True)

    def pull_with_slope(
        self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]
    ) -> tuple[Float[Array, "rows targets"], Float[Array, "rows slopes"]]:
        """By forward differentiation of the solver."""
        return with_slope(lambda y: self.pull(x, y), y, self.outputs)

    def _carry(self, x: Array, start: Array, backward: bool) -> Array:
        # The inputs stay what they are along the way: their part of the first layer is computed once.
        fixed = self.networks.first(x, slice(self.outputs + 1, None))
        moving = self.networks.weights[0][:, : self.outputs]
        clock = self.networks.weights[0][:, self.outputs, None]

        def velocity(t: ArrayLike, zeta: Array) -> Array:
            return self.networks.rest(fixed + zeta @ moving + t * clock)

        split = start.reshape(len(start), -1, self.outputs).swapaxes(0, 1)
        end = integrate(velocity, split, self.settings, backward=backward)
        return end.swapaxes(0, 1).reshape(start.shape)


class SamplerModel(TwinModel):
    """The networks of any `NetworkSampler`, which says what they mean."""

    networks: Network
    seen: Array
    """(networks, features) 1 for a feature that a network sees, 0 for one that is hidden from it"""
    outputs: int = eqx.field(static=True)
    """of each network"""
    sampler: NetworkSampler = eqx.field(static=True)

    @property
    def shape(self) -> dict[str, int | float | bool]:
        """What describes the model beside its networks and its sampler."""
        return {"outputs": self.outputs}

    @property
    def latents(self) -> int:
        """As the sampler has it."""
        return len(self.seen) * self.sampler.latents(self.outputs)

    @property
    def rises(self) -> bool | None:
        """Not known where each network has one latent and one output."""
        return None if self.outputs == self.sampler.latents(self.outputs) == 1 else False

    def push(self, x: Array, z: Array) -> Array:
        """What the sampler makes of latents."""
        return self._each(lambda network, on, own: self.sampler.push(network, x * on, own), z)

    def pull(self, x: Array, y: Array) -> Array:
        """What the sampler makes of outputs."""
        return self._each(lambda network, on, own: self.sampler.pull(network, x * on, own), y)

    def pull_with_slope(self, x: Array, y: Array) -> tuple[Array, Array]:
        """By forward differentiation."""
        return with_slope(lambda y: self.pull(x, y), y, self.outputs)

    def _each(self, function: Callable[[Network, Array, Array], Array], values: Array) -> Array:
        """Every network with its own share of values (rows, networks * some), and back."""
        count = len(self.seen)
        own = values.reshape(len(values), count, values.shape[1] // count).swapaxes(0, 1)
        told = jax.vmap(function)(self.networks, self.seen, own)
        return told.swapaxes(0, 1).reshape(len(values), count * told.shape[2])


def masked(weight: Array, mask: np.ndarray, outputs: int) -> Array:
    """The first layer of a flow that never sees some features, as it was trained."""
    return weight * jnp.asarray(np.concatenate([np.ones(outputs + 1), mask])[:, None], weight.dtype)
