"""How an input acts on a law: by moving it, by stretching it, or by changing its shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import eval_legendre, ndtri


class Action(NamedTuple):
    """Shares that sum to 1 (all 0 when nothing is seen)."""

    location: float
    scale: float
    shape: float
    dependence: float = 0.0
    """on the other outputs of a joint law; 1 for an input that does nothing else"""


# Coefficients with a smaller |t| are chance, or as good as: three deviations.
_LEAST_T = 3.0
_ROWS, _LEVELS, _GRID = 512, 32, 257


def action(latents: Float[np.ndarray, "rows orders"], values: Float[np.ndarray, "rows some"]) -> Action:
    """The split for one candidate, from latents that were made without it.

    `latents` (rows, orders) are the Legendre features of the latents, `values` (rows, some) those of the candidate,
    both cleared of the kept inputs. The features' regression on each other is the conditional density of the latent
    given the candidate; its quantiles move against those of a standard normal by a shift (location), a stretch
    (scale) and a rest (shape), and the mean squares of the three are compared.

    >>> from forebear.data.table import Column
    >>> from forebear.discovery.dependence import features, latent_features
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 5_000))
    >>> own = features(Column("x", "real", x))
    >>> [max(s._fields, key=lambda f: getattr(s, f)) for s in (
    ...     action(latent_features(0.9 * noise + 0.4 * x), own),
    ...     action(latent_features(noise * np.exp(0.3 * x)), own))]
    ['location', 'scale']
    """
    rows = len(latents)
    mean = latents.T @ values / rows
    deviation = np.sqrt(np.maximum((latents**2).T @ values**2 / rows - mean**2, 1e-300))
    sure = np.sqrt(rows) * np.abs(mean) > _LEAST_T * deviation
    # Together: the features of a column with few values repeat each other, and each alone would count the same again.
    squares, slopes = values.T @ values / rows, np.zeros_like(mean)
    for order, which in enumerate(sure):
        slopes[order, which] = np.linalg.pinv(squares[np.ix_(which, which)], rcond=1e-6) @ mean[order, which]
    chosen = np.linspace(0, rows - 1, min(rows, _ROWS)).astype(int)
    quantiles = _quantiles(values[chosen] @ slopes.T)
    return _split(quantiles, ndtri(_levels()))


def _levels() -> Float[np.ndarray, " levels"]:
    return (np.arange(_LEVELS) + 0.5) / _LEVELS


def _quantiles(coefficients: Float[np.ndarray, "rows orders"]) -> Float[np.ndarray, "rows levels"]:
    """Quantiles (rows, levels) of the latent whose uniform version has density 1 + coefficients . Legendre."""
    v = np.linspace(-1, 1, _GRID)
    orders = range(1, coefficients.shape[1] + 1)
    # The integral of the normalised polynomial of order k, from -1 to v, over dv / 2.
    integrals = [
        np.sqrt(2 * k + 1) * (eval_legendre(k + 1, v) - eval_legendre(k - 1, v)) / (2 * (2 * k + 1)) for k in orders
    ]
    u = (v + 1) / 2
    distribution = np.clip(u + coefficients @ np.stack(integrals), 0, 1)
    # A truncated series can dip; a distribution function cannot.
    distribution = np.maximum.accumulate(distribution, axis=1)
    inverse = np.stack([np.interp(_levels(), row, u) for row in distribution])
    least = 0.5 / _GRID
    return ndtri(np.clip(inverse, least, 1 - least))


def _split(quantiles: Float[np.ndarray, "rows levels"], normal: Float[np.ndarray, " levels"]) -> Action:
    change = quantiles - normal
    shift = change.mean(axis=1, keepdims=True)
    stretch = (change @ normal / (normal @ normal))[:, None] * normal
    sizes = np.array([np.mean(part**2) for part in (shift, stretch, change - shift - stretch)])
    return Action(*(float(size) for size in sizes / max(sizes.sum(), 1e-300)))
