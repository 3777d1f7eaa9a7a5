"""Choose lengthscales and nugget by how well a fit to one sampler's draws predicts another sampler's.

Draws of a trained sampler are deterministic in inputs and latents, so leave-one-out errors or the evidence on them
would praise a kernel that follows every wiggle of the sampler, real or not. Two samplers trained on different rows
share what is real and differ in the rest. So: fit on draws of the first, at some rows; predict the draws of the
second, at other rows.
"""

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

LENGTHSCALES = (0.5, 1.0, 2.0, 4.0)
LATENT_LENGTHSCALES = (0.3, 1.0, 3.0)
NUGGETS = (0.1, 1.0, 10.0)


class Choice(NamedTuple):
    """One point of the grid."""

    lengthscale: float
    latent_lengthscale: float
    nugget: float


def choose(
    embed: Callable[[float, float], np.ndarray],
    y: np.ndarray,
    lengthscales: Sequence[float] = LENGTHSCALES,
    latent_lengthscales: Sequence[float] = LATENT_LENGTHSCALES,
    nuggets: Sequence[float] = NUGGETS,
) -> Choice:
    """The grid point with the least cross-prediction error.

    `embed(lengthscale, latent_lengthscale)` gives the points of the kernel, see `forebear.kernel.factors`; y has
    shape (samplers, rows): draws of each sampler at the same inputs and latents. With one sampler the error is
    that of plain prediction at other rows. Nuggets are against factors of 1 + k.

    >>> x = np.random.default_rng(0).normal(size=300)
    >>> choose(lambda l, _: x[None, None] / l, np.sin(6 * x)[None], (0.2, 5.0), (1.0,), (0.01, 10.0))
    Choice(lengthscale=0.2, latent_lengthscale=1.0, nugget=0.01)
    """
    grid = list(itertools.product(lengthscales, latent_lengthscales))
    errors = np.empty((len(grid), len(nuggets)))
    for place, (lengthscale, latent_lengthscale) in enumerate(grid):
        points = embed(lengthscale, latent_lengthscale)
        kernel = gram(points, np.ones(len(points), bool))
        errors[place] = cross_errors(kernel, y, np.array(nuggets) * 0.5 ** len(points))
    errors[np.isnan(errors)] = np.inf  # a kernel that cannot be factorised at this nugget
    place, which = divmod(int(np.argmin(errors)), len(nuggets))
    return Choice(*grid[place], nuggets[which])


@double
def cross_errors(kernel: Array, y: np.ndarray, nuggets: np.ndarray) -> np.ndarray:
    """Mean squared error, for each nugget, of predicting one sampler's draws at half of the rows from another's
    draws at the other half; averaged over both directions and over all pairs of samplers.

    >>> cross_errors(jnp.eye(4), np.ones((2, 4)), np.array([1.0])).tolist()
    [1.0]
    """
    arrays = (jnp.asarray(a, jnp.float64) for a in (kernel, y, nuggets))
    return np.asarray(_cross_errors(*arrays))


@jax.jit
def _cross_errors(kernel: Array, y: Array, nuggets: Array) -> Array:
    samplers, rows = y.shape
    half = rows // 2
    sides = (slice(0, half), slice(half, 2 * half))
    others = 1 - jnp.eye(samplers) if samplers > 1 else jnp.ones((1, 1))

    def error(nugget: Array) -> Array:
        total = jnp.zeros(())
        for fit, test in (sides, sides[::-1]):
            regularised = kernel[fit, fit] + nugget * jnp.eye(half)
            lower = jax.lax.linalg.cholesky(regularised, symmetrize_input=False)
            alpha = jax.scipy.linalg.cho_solve((lower, True), y[:, fit].T)
            predicted = (kernel[test, fit] @ alpha).T
            squares = jnp.mean((predicted[:, None] - y[None, :, test]) ** 2, axis=-1)
            total += jnp.sum(others * squares) / jnp.sum(others) / 2
        return total

    return jax.lax.map(error, nuggets)
