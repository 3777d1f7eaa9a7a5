"""The loss of flow matching, for every flow.

Path zeta_t = (1 - t) z + t y: noise z at t = 0, data y at t = 1; the velocity to be learned is y - z.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Float, PRNGKeyArray


def matching_loss(
    velocity: Callable[[Array, Array], Array],
    y: Float[Array, "rows outputs"],
    *,
    time_key: PRNGKeyArray,
    latent_key: PRNGKeyArray,
) -> Float[Array, ""]:
    """Squared error of `velocity(zeta, t)`, mean over rows, with one fresh time and latent for each row.

    y has shape (rows, outputs), as zeta and the velocity; t has shape (rows, 1).

    >>> y = jnp.ones((1_000, 1))
    >>> exact = lambda zeta, t: (y - zeta) / (1 - t)  # y is known: straight there
    >>> keys = {"time_key": jr.key(0), "latent_key": jr.key(1)}
    >>> bool(matching_loss(exact, y, **keys) < 1e-6), round(matching_loss(lambda zeta, t: 0 * zeta, y, **keys).item())
    (True, 2)
    """
    t = jr.uniform(time_key, (y.shape[0], 1), y.dtype)
    z = jr.normal(latent_key, y.shape, y.dtype)
    error = y - z - velocity((1 - t) * z + t * y, t)
    return jnp.mean(jnp.sum(error**2, axis=1))
