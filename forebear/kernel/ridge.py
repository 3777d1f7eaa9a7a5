"""Kernel ridge regression and how much of the target it leaves to noise."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from forebear.kernel.precision import double


class Ridge(NamedTuple):
    """A fitted ridge regression, alpha = (K + nugget I)^-1 y, in the scaling of the kernel it was given."""

    alpha: Array
    signal: Array
    """alpha' K alpha"""
    nsr: Array
    """noise / (signal + noise) with noise = nugget * alpha' alpha; in [0, 1]"""
    nugget: float
    """the nugget that was used; larger than the one asked for when K was singular to working precision"""


_SMALLEST_JITTER = 1e-14
_LARGEST_JITTER = 1e-6


@double
def ridge(kernel: ArrayLike, y: ArrayLike, nugget: float) -> Ridge:
    """Fit by one Cholesky factorisation; when it fails the nugget is raised until it does not.

    >>> import numpy as np
    >>> fit = ridge(np.eye(2), np.array([1.0, -1.0]), nugget=1.0)
    >>> fit.alpha.round(12).tolist(), round(float(fit.nsr), 12)
    ([0.5, -0.5], 0.5)
    """
    kernel, y = jnp.asarray(kernel, jnp.float64), jnp.asarray(y, jnp.float64)
    used = nugget
    while True:
        alpha, signal, nsr = _solve(kernel, y, used)
        if bool(jnp.isfinite(nsr)):
            return Ridge(alpha, signal, nsr, used)
        used = max(_SMALLEST_JITTER, 10 * used)
        if used > _LARGEST_JITTER and used > nugget * 1e6:
            raise FloatingPointError(f"the kernel matrix cannot be factorised, even with a nugget of {used:.1e}")


@jax.jit
def _solve(kernel: Array, y: Array, nugget: Array) -> tuple[Array, Array, Array]:
    regularised = kernel + nugget * jnp.eye(kernel.shape[0], dtype=kernel.dtype)
    lower = jax.lax.linalg.cholesky(regularised, symmetrize_input=False)
    alpha = jax.scipy.linalg.cho_solve((lower, True), y)
    noise = nugget * (alpha @ alpha)
    total = alpha @ y
    # signal + noise = alpha' (K + nugget I) alpha = alpha' y: no product with K is needed.
    return alpha, total - noise, jnp.clip(noise / total, 0.0, 1.0)
