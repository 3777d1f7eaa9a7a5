"""Networks that say a row's quantiles outright."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy.special import ndtri

from forebear.flow.network import Network
from forebear.twin.knots import line
from forebear.twin.model import TwinModel

COUNT = 33
_LEVELS = (np.arange(COUNT) + 0.5) / COUNT
_LATENTS = ndtri(_LEVELS)
# What softplus makes of these are the gaps of a standard normal law, where training begins.
_START = np.log(np.expm1(np.diff(_LATENTS)))


def quantiles_of(said: Float[Array, "*some said"]) -> Float[Array, "*some quantiles"]:
    """From what a network says, the median and gaps, to quantiles in their order.

    >>> [round(float(quantiles_of(jnp.zeros(COUNT))[i]), 2) for i in (0, 16, 32)]
    [-2.17, 0.0, 2.17]
    """
    gaps = jax.nn.softplus(said[..., 1:] + jnp.asarray(_START, said.dtype))
    rising = jnp.concatenate([jnp.zeros_like(said[..., :1]), jnp.cumsum(gaps, axis=-1)], axis=-1)
    return rising - rising[..., COUNT // 2, None] + said[..., :1]


def quantile_loss(network: Network, x: Array, y: Array, key: Array) -> Array:
    """The pinball loss of all quantiles, whose mean is about the CRPS."""
    del key
    error = y - quantiles_of(network(x))
    levels = jnp.asarray(_LEVELS, y.dtype)
    return 2 * jnp.mean(jnp.maximum(levels * error, (levels - 1) * error))


class QuantileModel(TwinModel):
    """One network per target, which says its quantiles; straight lines between them in the latent."""

    networks: Network

    @property
    def shape(self) -> dict[str, int | float | bool]:
        """Nothing beside the networks."""
        return {}

    @property
    def latents(self) -> int:
        """One for each target."""
        return len(self.networks.weights[0])

    @property
    def rises(self) -> bool:
        """By construction."""
        return True

    def push(self, x: Float[Array, "rows features"], z: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """The quantile at each latent."""
        return self._read(x, z, lambda at, own: line(at, jnp.asarray(_LATENTS, at.dtype), own))

    def pull(self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """The latent of each value."""
        return self._read(x, y, lambda at, own: line(at, own, jnp.asarray(_LATENTS, at.dtype)))

    def pull_with_slope(
        self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]
    ) -> tuple[Float[Array, "rows targets"], Float[Array, "rows slopes"]]:
        """By forward differentiation."""
        z, slope = jax.jvp(lambda y: self.pull(x, y), (y,), (jnp.ones_like(y),))
        return z, jnp.log(jnp.abs(slope))

    def _read(self, x: Array, at: Array, read: eqx.Module | object) -> Array:
        quantiles = quantiles_of(self.networks(x))
        told = jax.vmap(jax.vmap(lambda place, own: read(place[None], own)[0]))(at.T, quantiles)  # type: ignore[operator]
        return told.T
