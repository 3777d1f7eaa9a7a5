"""Kernel ridge regression and how much of each target it leaves to noise."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float


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


class Solvable(Protocol):
    """What can be solved with: `Dense` and `Tiled` of `forebear.kernel.product`."""

    def solve(self, y: Float[np.ndarray, "rows targets"], nugget: float) -> Float[np.ndarray, "rows targets"]:
        """(K + nugget I)^-1 y; NaN where that is singular to working precision."""
        ...


def ridge(kernel: Solvable, y: Float[np.ndarray, "rows targets"], nugget: float) -> Ridge:
    """Fit all targets at once; where the kernel is singular to working precision, the nugget is raised.

    >>> from forebear.kernel.product import Dense
    >>> fit = ridge(Dense.of(np.array([[[0.0, 99.0]]])), np.array([[1.0], [-1.0]]), nugget=1.0)
    >>> fit.alpha[:, 0].round(12).tolist(), fit.nsr.round(12).tolist()
    ([0.666666666667, -0.666666666667], [0.666666666667])
    """
    used = nugget
    while True:
        alpha = kernel.solve(y, used)
        if np.isfinite(alpha).all():
            break
        used = max(_SMALLEST_JITTER, 10 * used)
        if used > _LARGEST_JITTER and used > nugget * 1e6:
            raise FloatingPointError(f"the kernel matrix cannot be factorised, even with a nugget of {used:.1e}")
    noise = used * np.sum(alpha**2, axis=0)
    # signal + noise = alpha' (K + nugget I) alpha = alpha' y: no product with K is needed.
    total = np.sum(alpha * y, axis=0)
    # A target that never varies has no signal to find.
    share = np.divide(noise, total, out=np.ones_like(total), where=total > 0)
    return Ridge(alpha, total - noise, np.clip(share, 0.0, 1.0), used)
