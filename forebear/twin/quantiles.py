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
from forebear.twin.knots import LATENTS, line, rows_line
from forebear.twin.model import TwinModel

COUNT = 33
_LEVELS = (np.arange(COUNT) + 0.5) / COUNT
OWN_LATENTS = ndtri(_LEVELS)
"""at which a network says its quantiles"""
# What softplus makes of these are the gaps of a standard normal law, where training begins.
_START = np.log(np.expm1(np.diff(OWN_LATENTS)))
# The line through the quantiles at any latent is a weighted sum of them.
_AT_LATENTS = rows_line(np.tile(LATENTS, (COUNT, 1)), np.tile(OWN_LATENTS, (COUNT, 1)), np.eye(COUNT))[0]
# Of the target's deviation: no density is taken for more than what this allows.
_LEAST_GAP = 1e-4


def quantiles_of(said: Float[Array, "*some said"]) -> Float[Array, "*some quantiles"]:
    """From what a network says, the median and gaps, to quantiles in their order.

    >>> [round(float(quantiles_of(jnp.zeros(COUNT))[i]), 2) for i in (0, 16, 32)]
    [-2.17, 0.0, 2.17]
    """
    gaps = jax.nn.softplus(said[..., 1:] + jnp.asarray(_START, said.dtype))
    rising = jnp.concatenate([jnp.zeros_like(said[..., :1]), jnp.cumsum(gaps, axis=-1)], axis=-1)
    return rising - rising[..., COUNT // 2, None] + said[..., :1]


def law_loss(network: Network, x: Array, y: Array, key: Array) -> Array:
    """Of y (rows, 3): values, how much their likelihood counts, and how much the squares of the weights do.

    What the likelihood leaves is the pinball loss, about the CRPS. The shares are columns of the data, so that
    networks that learn in different ways are compiled once.
    """
    del key
    quantiles, share, decay = quantiles_of(network(x)), y[:, 1], jnp.mean(y[:, 2])
    fit = jnp.mean((1 - share) * _pinball(quantiles, y[:, :1]) - share * _log_density(quantiles, y[:, :1]))
    return fit + decay * sum(jnp.sum(weight**2) for weight in network.weights)


def _pinball(quantiles: Float[Array, "rows quantiles"], y: Float[Array, "rows 1"]) -> Float[Array, " rows"]:
    levels, error = jnp.asarray(_LEVELS, y.dtype), y - quantiles
    return 2 * jnp.mean(jnp.maximum(levels * error, (levels - 1) * error), axis=1)


def _log_density(quantiles: Float[Array, "rows quantiles"], y: Float[Array, "rows 1"]) -> Float[Array, " rows"]:
    """Up to a constant. Sums over all stretches in place of a search: it is as fast, and compiles faster."""
    steps = jnp.asarray(np.diff(OWN_LATENTS), y.dtype)
    left, right = quantiles[:, :-1], quantiles[:, 1:]
    gaps = right - left + _LEAST_GAP
    slopes = steps / gaps
    below, above = jnp.minimum(y - quantiles[:, :1], 0), jnp.maximum(y - quantiles[:, -1:], 0)
    tails = (below * slopes[:, :1] + above * slopes[:, -1:])[:, 0]
    z = OWN_LATENTS[0] + jnp.clip((y - left) / gaps, 0, 1) @ steps + tails
    # The first stretch goes on below, the last one above.
    ends = [jnp.full_like(y, -jnp.inf), jnp.full_like(y, jnp.inf)]
    left = jnp.concatenate([ends[0], left[:, 1:]], axis=1)
    right = jnp.concatenate([right[:, :-1], ends[1]], axis=1)
    slope = jnp.sum(jnp.where((y >= left) & (y < right), slopes, 0), axis=1)
    return jnp.log(slope) - 0.5 * z**2


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
        return self._read(x, z, lambda at, own: line(at, jnp.asarray(OWN_LATENTS, at.dtype), own))

    def pull(self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """The latent of each value."""
        return self._read(x, y, lambda at, own: line(at, own, jnp.asarray(OWN_LATENTS, at.dtype)))

    def pull_with_slope(
        self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]
    ) -> tuple[Float[Array, "rows targets"], Float[Array, "rows slopes"]]:
        """By forward differentiation."""
        z, slope = jax.jvp(lambda y: self.pull(x, y), (y,), (jnp.ones_like(y),))
        return z, jnp.log(jnp.abs(slope))

    def tables(self, x: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "networks rows latents"]:
        """What `push` says at `LATENTS`, without compiling anything."""
        return self.quantiles(x) @ _AT_LATENTS

    def quantiles(self, x: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "networks rows quantiles"]:
        """At the latents `OWN_LATENTS`, without compiling anything."""
        said = self.networks.plainly(x).astype(np.float64)
        gaps = np.logaddexp(0.0, said[..., 1:] + _START)
        rising = np.concatenate([np.zeros_like(said[..., :1]), np.cumsum(gaps, axis=-1)], axis=-1)
        return rising - rising[..., COUNT // 2, None] + said[..., :1]

    def _read(self, x: Array, at: Array, read: eqx.Module | object) -> Array:
        quantiles = quantiles_of(self.networks(x))
        told = jax.vmap(jax.vmap(lambda place, own: read(place[None], own)[0]))(at.T, quantiles)  # type: ignore[operator]
        return told.T
