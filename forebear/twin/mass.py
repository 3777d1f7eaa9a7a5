"""Probabilities of values that stand for an interval of latents: lattice values and atoms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

# Points in the cells of a row whose densities are averaged, in a joint law.
_POINTS = 64


def log_normal(z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Log density of the standard normal law."""
    return -0.5 * z**2 - 0.5 * np.log(2 * np.pi)


def log_between(
    below: Float[np.ndarray, "*shape"], above: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """log(Phi(above) - Phi(below)) without cancellation in either tail.

    >>> log_between(np.array([-np.inf, 9.0]), np.array([0.0, np.inf])).round(3).tolist()
    [-0.693, -43.628]
    """
    # By symmetry the interval is looked at from the tail it is closer to, where Phi is small and exact.
    flip = below + above > 0
    far, near = np.where(flip, -above, below), np.where(flip, -below, above)
    upper, lower = log_ndtr(near), log_ndtr(far)
    with np.errstate(divide="ignore"):
        return upper + np.log(-np.expm1(np.minimum(lower - upper, 0.0)))


def draw_between(
    below: Float[np.ndarray, "*shape"], above: Float[np.ndarray, "*shape"], rng: np.random.Generator
) -> Float[np.ndarray, "*shape"]:
    """Standard normal latents, each restricted to its interval; an interval of one point gives that point.

    >>> draw_between(np.array([1.0, -np.inf]), np.array([1.0, 0.0]), np.random.default_rng(0)).round(2).tolist()
    [1.0, -1.1]
    """
    share = rng.random(below.shape)
    flip = below + above > 0
    far, near = np.where(flip, -above, below), np.where(flip, -below, above)
    inside = ndtri(ndtr(far) + share * (ndtr(near) - ndtr(far)))
    with np.errstate(invalid="ignore"):
        inside = np.clip(inside, far, near)
    return np.where(below == above, below, np.where(flip, -inside, inside))


def joint_log_prob(
    twin: Twin, x: Float[np.ndarray, "rows inputs"], values: Float[np.ndarray, "rows targets"]
) -> Float[np.ndarray, " rows"]:
    """Log density (rows,) of several targets together; lattice values and atoms count with their cells."""
    cells = [target.dequantiser.cells(values[:, i]) for i, target in enumerate(twin.outputs)]
    low, high = (np.stack([cell[side] for cell in cells], axis=1) for side in (0, 1))
    width = np.where(high > low, high - low, 1.0)
    discrete = bool((high > low).any())
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(_POINTS if discrete else 1):
        parts.append(twin.law.log_density(x, low + rng.random(low.shape) * (high - low))[:, 0])
    return logsumexp(parts, axis=0) - np.log(len(parts)) + np.log(width).sum(axis=1)
