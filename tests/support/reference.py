"""The kernel stage written slowly and plainly, in numpy and from its definition.

Factors are 1 + k and the nugget is the user's own: nothing is scaled, streamed or divided out. Good for a few
inputs, where nothing overflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


def real(x: np.ndarray, lengthscale: float) -> np.ndarray:
    return np.exp(-((x[:, None] - x[None, :]) ** 2) / (2 * lengthscale**2))


def periodic(x: np.ndarray, period: float, lengthscale: float) -> np.ndarray:
    return np.exp(-2 * np.sin(np.pi * (x[:, None] - x[None, :]) / period) ** 2 / lengthscale**2)


def category(codes: np.ndarray) -> np.ndarray:
    return (codes[:, None] == codes[None, :]).astype(float)


def product(factors: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """The kernel of some inputs, each given by its k (rows, rows)."""
    kernel = np.ones((rows, rows))
    for k in factors:
        kernel = kernel * (1 + k)
    return kernel


class Fit(NamedTuple):
    alpha: np.ndarray
    signal: float
    nsr: float


def fit(kernel: np.ndarray, y: np.ndarray, nugget: float) -> Fit:
    alpha = np.linalg.solve(kernel + nugget * np.eye(len(y)), y)
    signal = float(alpha @ kernel @ alpha)
    noise = nugget * float(alpha @ alpha)
    return Fit(alpha, signal, noise / (signal + noise))


class Pruned(NamedTuple):
    removed: tuple[str, ...]
    nsr: tuple[float, ...]
    scores: list[dict[str, float]]


def prune(
    factors: Sequence[np.ndarray], y: np.ndarray, units: Mapping[str, tuple[int, ...]], nugget: float
) -> Pruned:
    """Remove the unit through which the least signal runs, refit from scratch, and so on down to none.

    `factors` holds the k of every input and latent; `units` names those that may be removed, by number.
    """
    inside = list(range(len(factors)))
    left = list(units)
    removed: list[str] = []
    nsr: list[float] = []
    scores: list[dict[str, float]] = []
    while True:
        kernel = product([factors[i] for i in inside], len(y))
        model = fit(kernel, y, nugget)
        nsr.append(model.nsr)
        if not left:
            return Pruned(tuple(removed), tuple(nsr), scores)
        shares = {}
        for unit in left:
            without = product([factors[i] for i in inside if i not in units[unit]], len(y))
            shares[unit] = float(model.alpha @ (kernel - without) @ model.alpha) / model.signal
        scores.append(shares)
        worst = min(left, key=shares.__getitem__)
        left.remove(worst)
        removed.append(worst)
        inside = [i for i in inside if i not in units[worst]]
