"""Kernel ridge regression and how much of each target it leaves to noise."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from forebear.kernel.cholesky import cholesky_solve
from forebear.kernel.precision import double


class Ridge(NamedTuple):
    """A fitted ridge regression, alpha = (K + nugget I)^-1 y, in the scaling of the kernel it was given.

    For targets y of shape (rows, targets), `alpha` has that shape, and `signal` and `nsr` have shape (targets,).
    """

    alpha: np.ndarray
    signal: np.ndarray
    """alpha' K alpha"""
    nsr: np.ndarray
    """noise / (signal + noise) with noise = nugget * alpha' alpha; in [0, 1]"""
    nugget: float
    """the nugget that was used; larger than the one asked for when K was singular to working precision"""


_SMALLEST_JITTER = 1e-14
_LARGEST_JITTER = 1e-6


def ridge(kernel: ArrayLike, y: np.ndarray, nugget: float) -> Ridge:
    """Fit all targets by one Cholesky factorisation; when it fails the nugget is raised until it does not.

    >>> fit = ridge(np.eye(2), np.array([[1.0], [-1.0]]), nugget=1.0)
    >>> fit.alpha[:, 0].round(12).tolist(), fit.nsr.round(12).tolist()
    ([0.5, -0.5], [0.5])
    """
    used = nugget
    while True:
        alpha = solve(kernel, y, used)
        if np.isfinite(alpha).all():
            break
        used = max(_SMALLEST_JITTER, 10 * used)
        if used > _LARGEST_JITTER and used > nugget * 1e6:
            raise FloatingPointError(f"the kernel matrix cannot be factorised, even with a nugget of {used:.1e}")
    noise = used * np.sum(alpha**2, axis=0)
    # signal + noise = alpha' (K + nugget I) alpha = alpha' y: no product with K is needed.
    total = np.sum(alpha * y, axis=0)
    return Ridge(alpha, total - noise, np.clip(noise / total, 0.0, 1.0), used)


@double
def solve(kernel: ArrayLike, y: np.ndarray, nugget: float) -> np.ndarray:
    """(K + nugget I)^-1 y by a Cholesky factorisation; NaN where there is none to working precision.

    >>> solve(np.eye(2), np.array([[1.0], [-1.0]]), nugget=1.0).round(12).tolist()
    [[0.5], [-0.5]]
    """
    where = _solve_on_host if jax.default_backend() == "cpu" else _solve_on_device
    return where(kernel, y, nugget)


def _solve_on_host(kernel: ArrayLike, y: np.ndarray, nugget: float) -> np.ndarray:
    """LAPACK itself: JAX transposes and copies on the way to it, which costs half as much as the factorisation."""
    regularised = np.array(kernel, float)
    regularised[np.diag_indices(len(y))] += nugget
    alpha = cholesky_solve(regularised, y)
    return np.full(y.shape, np.nan) if alpha is None else alpha


def _solve_on_device(kernel: ArrayLike, y: np.ndarray, nugget: float) -> np.ndarray:
    return np.asarray(_solve(jnp.asarray(kernel, jnp.float64), jnp.asarray(y, jnp.float64), nugget))


@jax.jit
def _solve(kernel: Array, y: Array, nugget: Array) -> Array:
    regularised = kernel + nugget * jnp.eye(kernel.shape[0], dtype=kernel.dtype)
    lower = jax.lax.linalg.cholesky(regularised, symmetrize_input=False)
    return jax.scipy.linalg.cho_solve((lower, True), y)
