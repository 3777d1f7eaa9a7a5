"""The built-in samplers: the conditional flow, a heteroscedastic Gaussian, and the plain mean."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, PRNGKeyArray

from forebear.errors import InputError, near_miss
from forebear.flow.matching import matching_loss
from forebear.flow.network import Network
from forebear.flow.sampler import NetworkSampler, Sampler
from forebear.flow.settings import FlowSettings
from forebear.flow.solve import Velocity, integrate


def _network(settings: FlowSettings, inputs: int, outputs: int, rng: np.random.Generator) -> Network:
    return Network.fresh(
        inputs,
        outputs,
        width=settings.width,
        depth=settings.depth,
        activation=settings.activation,
        rng=rng,
    )


@dataclass(frozen=True)
class FlowSampler(NetworkSampler):
    """A conditional flow, trained by flow matching: any law, also skewed, heavy-tailed or with several modes.

    Path zeta_t = (1 - t) z + t y: noise z at t = 0, data y at t = 1. The network sees (zeta, t, x) and learns
    the velocity y - z; for one output the flow map is the conditional quantile map of y.

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> given = pd.DataFrame({"x": rng.normal(size=2_000)})
    >>> y = pd.DataFrame({"y": given["x"] * rng.normal(size=2_000)})
    >>> law = FlowSampler(FlowSettings(steps=300, width=32, depth=2)).fit(given, y, seed=0)
    >>> at = pd.DataFrame({"x": [0.1, 2.0]})
    >>> spread = [np.std([law.push(at, z) for z in rng.normal(size=(200, 2, 1))], axis=0)[i, 0] for i in (0, 1)]
    >>> bool(spread[1] > 3 * spread[0])
    True
    """

    def make(self, features: int, outputs: int, *, rng: np.random.Generator) -> Network:
        """A fresh velocity network."""
        return _network(self.settings, outputs + 1 + features, outputs, rng)

    def latents(self, outputs: int) -> int:
        """One latent per output."""
        return outputs

    @staticmethod
    def loss(
        model: Network, x: Float[Array, "batch features"], y: Float[Array, "batch outputs"], key: PRNGKeyArray
    ) -> Float[Array, ""]:
        """Squared error of the velocity."""
        time_key, latent_key = jr.split(key)

        def velocity(zeta: Array, t: Array) -> Array:
            return model(jnp.concatenate([zeta, t, x], axis=1))

        return matching_loss(velocity, y, time_key=time_key, latent_key=latent_key)

    def push(
        self, model: Network, x: Float[Array, "rows features"], z: Float[Array, "rows latents"]
    ) -> Float[Array, "rows outputs"]:
        """Integrate from noise to data."""
        return integrate(self._velocity(model, x), z, self.settings)

    def pull(
        self, model: Network, x: Float[Array, "rows features"], y: Float[Array, "rows outputs"]
    ) -> Float[Array, "rows latents"]:
        """Integrate from data to noise."""
        return integrate(self._velocity(model, x), y, self.settings, backward=True)

    @staticmethod
    def _velocity(model: Network, x: Float[Array, "rows features"]) -> Velocity:
        def velocity(t: ArrayLike, zeta: Array) -> Array:
            time = jnp.full((zeta.shape[0], 1), t, zeta.dtype)
            return model(jnp.concatenate([zeta, time, x], axis=1))

        return velocity


@dataclass(frozen=True)
class GaussianSampler(NetworkSampler):
    """A normal law whose mean and spread depend on the inputs; outputs are independent of one another.

    Sees location and scale only. Faster and steadier than the flow where the law is known to be normal.
    """

    def make(self, features: int, outputs: int, *, rng: np.random.Generator) -> Network:
        """A network for means and log spreads."""
        return _network(self.settings, features, 2 * outputs, rng)

    def latents(self, outputs: int) -> int:
        """One latent per output."""
        return outputs

    @staticmethod
    def loss(
        model: Network, x: Float[Array, "batch features"], y: Float[Array, "batch outputs"], key: PRNGKeyArray
    ) -> Float[Array, ""]:
        """Negative log likelihood, up to a constant."""
        del key
        mean, spread = _mean_and_spread(model, x)
        return jnp.mean(jnp.sum(0.5 * ((y - mean) / spread) ** 2 + jnp.log(spread), axis=1))

    def push(
        self, model: Network, x: Float[Array, "rows features"], z: Float[Array, "rows latents"]
    ) -> Float[Array, "rows outputs"]:
        """mean + spread * z."""
        mean, spread = _mean_and_spread(model, x)
        return mean + spread * z

    def pull(
        self, model: Network, x: Float[Array, "rows features"], y: Float[Array, "rows outputs"]
    ) -> Float[Array, "rows latents"]:
        """(y - mean) / spread."""
        mean, spread = _mean_and_spread(model, x)
        return (y - mean) / spread


# A spread below this share of the target's own would let one exactly predictable row rule the likelihood.
_LEAST_SPREAD = 1e-3


def _mean_and_spread(
    model: Network, x: Float[Array, "rows features"]
) -> tuple[Float[Array, "rows outputs"], Float[Array, "rows outputs"]]:
    mean, raw = jnp.split(model(x), 2, axis=1)
    # softplus(0.5413) = 1: training starts from the target's own spread.
    return mean, _LEAST_SPREAD + jax.nn.softplus(raw + 0.5413)


@dataclass(frozen=True)
class MeanSampler(NetworkSampler):
    """The conditional mean and no latent: discovery of functional dependence, as mean-based methods have it."""

    def make(self, features: int, outputs: int, *, rng: np.random.Generator) -> Network:
        """A regression network."""
        return _network(self.settings, features, outputs, rng)

    def latents(self, outputs: int) -> int:
        """None: the law is a point."""
        return 0

    @staticmethod
    def loss(
        model: Network, x: Float[Array, "batch features"], y: Float[Array, "batch outputs"], key: PRNGKeyArray
    ) -> Float[Array, ""]:
        """Squared error."""
        del key
        return jnp.mean(jnp.sum((y - model(x)) ** 2, axis=1))

    def push(
        self, model: Network, x: Float[Array, "rows features"], z: Float[Array, "rows latents"]
    ) -> Float[Array, "rows outputs"]:
        """The mean; `z` is empty."""
        return model(x)

    def pull(
        self, model: Network, x: Float[Array, "rows features"], y: Float[Array, "rows outputs"]
    ) -> Float[Array, "rows latents"]:
        """No latents."""
        return jnp.zeros((y.shape[0], 0), y.dtype)


SAMPLERS = {"flow": FlowSampler, "gaussian": GaussianSampler, "mean": MeanSampler}
"""the names that `discover(sampler=…)` knows"""


def find_sampler(sampler: str | Sampler, settings: FlowSettings) -> Sampler | NetworkSampler:
    """A sampler by its name, with these settings, or the sampler itself.

    >>> find_sampler("flwo", FlowSettings())
    Traceback (most recent call last):
    forebear.errors.InputError: unknown sampler 'flwo'. Did you mean 'flow'?
    """
    if isinstance(sampler, str):
        if sampler not in SAMPLERS:
            raise InputError(f"unknown sampler '{sampler}'. {near_miss(sampler, SAMPLERS)}")
        return SAMPLERS[sampler](settings)
    if not isinstance(sampler, Sampler):
        raise InputError(f"sampler must be a name or have a method fit(given, y, *, seed); got {sampler!r}")
    return sampler
