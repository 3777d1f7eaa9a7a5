"""Choose lengthscales and nugget by how well a fit to one sampler's draws predicts another sampler's.

Draws of a trained sampler are deterministic in inputs and latents, so leave-one-out errors or the evidence on them
would praise a kernel that follows every wiggle of the sampler, real or not. Two samplers trained on different rows
share what is real and differ in the rest. So: fit on draws of the first, at some rows; predict the draws of the
second, at other rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from forebear.kernel.product import Dense
from forebear.kernel.profiles import RBF, Kernel
from forebear.kernel.solve import solve
from forebear.kernel.threads import cores

LENGTHSCALES = (0.5, 1.0, 2.0, 4.0)
LATENT_LENGTHSCALES = (0.3, 1.0, 3.0)
NUGGETS = (0.1, 1.0, 10.0)
_RBF = RBF()


class Choice(NamedTuple):
    """One point of the grid."""

    lengthscale: float
    latent_lengthscale: float
    nugget: float


def choose(
    inputs: Callable[[float], np.ndarray],
    latents: Callable[[float], np.ndarray],
    y: Float[np.ndarray, "samplers rows targets"],
    lengthscales: Sequence[float] = LENGTHSCALES,
    latent_lengthscales: Sequence[float] = LATENT_LENGTHSCALES,
    nuggets: Sequence[float] = NUGGETS,
    profile: Kernel = _RBF,
) -> list[Choice]:
    """For each target the grid point with the least cross-prediction error.

    `inputs` and `latents` give the points of their part of the kernel, see `forebear.kernel.factors`, at a
    lengthscale; y has shape (samplers, rows, targets): draws of each sampler at the same inputs and latents. With one
    sampler the error is that of plain prediction at other rows. Nuggets are against factors of 1 + k.

    >>> x = np.random.default_rng(0).normal(size=300)
    >>> y = np.stack([np.sin(6 * x), x], axis=1)
    >>> none = np.empty((0, 1, 300))
    >>> choose(lambda scale: x[None, None] / scale, lambda _: none, y[None], (0.2, 5.0), (1.0,), (0.01,))
    [Choice(lengthscale=0.2, latent_lengthscale=1.0, nugget=0.01), Choice(lengthscale=5.0, latent_lengthscale=1.0, nugget=0.01)]
    """  # noqa: E501
    grid = list(itertools.product(lengthscales, latent_lengthscales))
    # The kernels are small: one core each, rather than several for one.
    with ThreadPoolExecutor(cores() if jax.default_backend() == "cpu" else 1) as pool:
        # The kernel is a product of both parts, each of which comes several times in the grid.
        parts = [*((inputs, scale) for scale in lengthscales), *((latents, scale) for scale in latent_lengthscales)]
        made = list(pool.map(lambda part: _part(part[0], part[1], profile), parts))
        of_inputs = dict(zip(lengthscales, made, strict=False))
        of_latents = dict(zip(latent_lengthscales, made[len(lengthscales) :], strict=True))

        def one(place: tuple[float, float]) -> np.ndarray:
            (known, factors), (random, more) = of_inputs[place[0]], of_latents[place[1]]
            return cross_errors(known * random, y, np.array(nuggets) * 0.5 ** (factors + more))

        errors = np.stack(list(pool.map(one, grid)))
    errors[np.isnan(errors)] = np.inf  # a kernel that cannot be factorised at this nugget
    choices = [Choice(*place, nugget) for place in grid for nugget in nuggets]
    return [choices[best] for best in errors.reshape(len(choices), -1).argmin(axis=0)]


def _part(
    embed: Callable[[float], np.ndarray], lengthscale: float, profile: Kernel
) -> tuple[Float[np.ndarray, "rows rows"], int]:
    """One part of the kernel, and how many factors it has."""
    points = embed(lengthscale)
    return np.asarray(Dense.of(points, profile).entries) if len(points) else np.ones((1, 1)), len(points)


def cross_errors(
    kernel: ArrayLike, y: Float[np.ndarray, "samplers rows targets"], nuggets: Sequence[float] | np.ndarray
) -> Float[np.ndarray, "nuggets targets"]:
    """Mean squared error (nuggets, targets) of predicting one sampler's draws at half of the rows from another's
    draws at the other half; averaged over both directions and all pairs of samplers.

    >>> cross_errors(np.eye(4), np.ones((2, 4, 1)), [1.0]).tolist()
    [[1.0]]
    """
    kernel = np.asarray(kernel)
    samplers, rows, targets = y.shape
    half = rows // 2
    sides = (slice(0, half), slice(half, 2 * half))
    rivals = ~np.eye(samplers, dtype=bool) if samplers > 1 else np.ones((1, 1), bool)
    errors = np.zeros((len(nuggets), targets))
    for place, nugget in enumerate(nuggets):
        for fit, test in (sides, sides[::-1]):
            columns = np.moveaxis(y[:, fit], 0, 1).reshape(half, -1)
            predicted = kernel[test, fit] @ solve(kernel[fit, fit], columns, nugget)
            predicted = np.moveaxis(predicted.reshape(half, samplers, targets), 1, 0)
            squares = np.mean((predicted[:, None] - y[None, :, test]) ** 2, axis=2)
            errors[place] += squares[rivals].mean(axis=0) / 2
    return errors
