"""The networks inside a twin: every target's flow side by side, standardised numbers in and out."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from forebear.flow.network import Network
from forebear.flow.settings import FlowSettings
from forebear.flow.solve import integrate


class TwinModel(eqx.Module):
    """A law on standardised numbers: features x (rows, features), latents z and outputs y (rows, targets)."""

    networks: eqx.AbstractVar[Network]

    @property
    @abc.abstractmethod
    def shape(self) -> dict[str, int | float | bool]:
        """What describes the model beside its networks, as plain numbers."""

    @abc.abstractmethod
    def push(self, x: Array, z: Array) -> Array:
        """Latents to outputs."""

    @abc.abstractmethod
    def pull(self, x: Array, y: Array) -> Array:
        """Outputs to latents, the inverse of `push`."""

    @abc.abstractmethod
    def pull_with_slope(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Latents, and log |dz/dy|: of each target (rows, targets), or of all together (rows, 1) in a joint model."""


class FlowModel(TwinModel):
    """Flows: one network a target, or one for all of them."""

    networks: Network
    """each sees (zeta, t, x), as `forebear.FlowSampler` has it"""
    outputs: int = eqx.field(static=True)
    """of each network"""
    settings: FlowSettings = eqx.field(static=True)

    @property
    def shape(self) -> dict[str, int | float | bool]:
        """What describes the model beside its networks and the settings of the twin."""
        return {"outputs": self.outputs}

    def push(self, x: Array, z: Array) -> Array:
        """Integrate from noise to data."""
        return self._carry(x, z, backward=False)

    def pull(self, x: Array, y: Array) -> Array:
        """Integrate from data to noise."""
        return self._carry(x, y, backward=True)

    def pull_with_slope(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The slope is that of the solver's own map, so that densities agree with latents to rounding."""

        def pull(y: Array) -> Array:
            return self.pull(x, y)

        if self.outputs == 1:
            z, slope = jax.jvp(pull, (y,), (jnp.ones_like(y),))
            return z, jnp.log(jnp.abs(slope))
        basis = jnp.broadcast_to(jnp.eye(self.outputs, dtype=y.dtype)[:, None], (self.outputs, *y.shape))
        columns = jax.vmap(lambda direction: jax.jvp(pull, (y,), (direction,))[1])(basis)
        return pull(y), jnp.linalg.slogdet(jnp.moveaxis(columns, 0, 2))[1][:, None]

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


def masked(weight: Array, mask: np.ndarray, outputs: int) -> Array:
    """The first layer of a flow that never sees some features, as it was trained."""
    return weight * jnp.asarray(np.concatenate([np.ones(outputs + 1), mask])[:, None], weight.dtype)
