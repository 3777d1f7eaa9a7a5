"""Held-out rows weigh laws against one another and straighten what the mixture says of its own certainty."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from forebear.twin.knots import masses

# Weights below this are noise, and cost storage and time.
_LEAST_WEIGHT = 0.03
_STEPS = 3_000
# The map of the latents follows the held-out rows with a share of rows / (rows + this): few of them know little.
_PRIOR_ROWS = 100
# Between its outermost knots a map is learned; each has so many held-out rows at least beyond it.
_MOST_KNOTS, _ROWS_BEYOND = 15, 12


def crps_parts(
    tables: Float[np.ndarray, "laws rows latents"], y: Float[np.ndarray, " rows"]
) -> tuple[Float[np.ndarray, " laws"], Float[np.ndarray, "laws laws"]]:
    """Means over rows of E|Y_j - y| and of E|Y_j - Y_k|: the CRPS of any mixture w is w a - w B w / 2.

    >>> from forebear.twin.knots import LATENTS
    >>> a, b = crps_parts(np.broadcast_to(LATENTS, (1, 3, 41)), np.zeros(3))
    >>> (a - b[0] / 2).round(2).tolist()  # of a standard normal law at its centre: (sqrt 2 - 1) / sqrt pi
    [0.23]
    """
    mass = masses()
    laws = len(tables)
    alone = np.array([(np.abs(own - y[:, None]) @ mass).mean() for own in tables])
    pairs = np.zeros((laws, laws))
    for j in range(laws):
        for k in range(j, laws):
            pairs[j, k] = pairs[k, j] = _distance(tables[j], tables[k], mass)
    return alone, pairs


def _distance(one: np.ndarray, other: np.ndarray, mass: np.ndarray) -> float:
    total = sum(m * (np.abs(one - other[:, i, None]) @ mass).sum() for i, m in enumerate(mass))
    return float(total / len(one))


def best_weights(
    alone: Float[np.ndarray, " laws"], pairs: Float[np.ndarray, "laws laws"]
) -> Float[np.ndarray, " laws"]:
    """The weights of least CRPS; those of little use are zero.

    >>> best_weights(np.array([1.0, 3.0]), np.array([[1.0, 2.0], [2.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    weights = np.full(len(alone), 1 / len(alone))
    rate = 1 / max(float(np.abs(alone).max()), 1e-300)
    for _ in range(_STEPS):
        # Exponentiated gradient: the weights stay a mixture.
        weights = weights * np.exp(-rate * (alone - pairs @ weights))
        weights /= weights.sum()
    kept = np.where(weights < _LEAST_WEIGHT, 0.0, weights)
    return kept / kept.sum()


def straightening(z: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "2 knots"]:
    """Where latents of held-out rows lie, and where they should: knots of a rising map to standard normal ones.

    The map is drawn towards none at all, the more so the fewer the rows. Beyond its ends it is a shift.

    >>> knots = straightening(2 * np.random.default_rng(0).normal(size=5_000))
    >>> bool(0.9 < np.interp(2.0, *knots) < 1.1)
    True
    """
    rows = len(z)
    count = int(min(_MOST_KNOTS, rows // (2 * _ROWS_BEYOND)))
    if count < 2:
        return np.array([[0.0, 1.0], [0.0, 1.0]])
    edge = _ROWS_BEYOND / rows
    levels = np.linspace(edge, 1 - edge, count)
    wanted, seen = ndtri(levels), np.quantile(z, levels)
    believed = rows / (rows + _PRIOR_ROWS)
    seen = wanted + believed * (seen - wanted)
    # Ties among the latents, or a gap, must not make the map flat.
    seen = np.maximum.accumulate(seen - 0.05 * wanted) + 0.05 * wanted
    return np.stack([seen, wanted])


def straightened(knots: Float[np.ndarray, "2 knots"], z: Float[np.ndarray, "*some"]) -> Float[np.ndarray, "*some"]:
    """Latents by the map, which beyond its ends goes on with a slope of one.

    >>> straightened(np.array([[0.0, 2.0], [0.0, 1.0]]), np.array([-1.0, 1.0, 3.0])).tolist()
    [-1.0, 0.5, 2.0]
    """
    seen, wanted = knots
    beyond = np.minimum(z - seen[0], 0.0) + np.maximum(z - seen[-1], 0.0)
    return np.interp(z, seen, wanted) + beyond
