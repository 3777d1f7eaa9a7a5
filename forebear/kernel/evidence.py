"""Choose lengthscales and nugget by how well they explain the distilled rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.kernel.gram import gram
from forebear.kernel.precision import double


class Choice(NamedTuple):
    """One point of the grid."""

    lengthscale: float
    latent_lengthscale: float
    nugget: float


LENGTHSCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
LATENT_LENGTHSCALES = (0.3, 1.0, 3.0)
NUGGETS = (0.01, 0.1, 1.0, 10.0)


@double
def log_evidence(kernel: Array, y: Array, nugget: Array) -> Array:
    """Log marginal likelihood a row of y ~ N(0, s (K + nugget I)), the scale s at its best value.

    >>> round(abs(float(log_evidence(np.eye(2), np.array([1.0, -1.0]), 1.0))), 12)
    0.0
    """
    return _log_evidence(jnp.asarray(kernel), jnp.asarray(y), jnp.asarray(nugget, float))


@jax.jit
def _log_evidence(kernel: Array, y: Array, nugget: Array) -> Array:
    lower = jax.lax.linalg.cholesky(
        kernel + nugget * jnp.eye(len(y), dtype=kernel.dtype), symmetrize_input=False
    )
    white = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
    return -0.5 * jnp.log(jnp.mean(white**2)) - jnp.mean(jnp.log(jnp.diag(lower)))


def choose(
    embed: Callable[[float, float], np.ndarray],
    y: np.ndarray,
    lengthscales: Sequence[float] = LENGTHSCALES,
    latent_lengthscales: Sequence[float] = LATENT_LENGTHSCALES,
    nuggets: Sequence[float] = NUGGETS,
) -> Choice:
    """The grid point of largest evidence.

    `embed(lengthscale, latent_lengthscale)` gives the points of the kernel, see `forebear.kernel.factors`;
    nuggets are against factors of 1 + k. A grid point whose kernel cannot be factorised does not take part;
    when none can, the largest nugget is taken.

    >>> x = np.random.default_rng(0).normal(size=300)
    >>> choose(lambda l, _: x[None, None] / l, np.sin(6 * x), (0.2, 5.0), (1.0,), (0.01, 10.0))
    Choice(lengthscale=0.2, latent_lengthscale=1.0, nugget=0.01)
    """
    best, choice = -np.inf, Choice(max(lengthscales), max(latent_lengthscales), max(nuggets))
    for lengthscale, latent_lengthscale in itertools.product(lengthscales, latent_lengthscales):
        points = embed(lengthscale, latent_lengthscale)
        kernel = gram(points, np.ones(len(points), bool))
        for nugget in nuggets:
            value = float(log_evidence(kernel, y, nugget * 0.5 ** len(points)))
            if value > best:
                best, choice = value, Choice(lengthscale, latent_lengthscale, nugget)
    return choice
