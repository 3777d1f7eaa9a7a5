"""Values made comparable: standardised, or as bounded polynomials."""

from __future__ import annotations

import numpy as np
from scipy.special import eval_legendre


def standard(values: np.ndarray) -> np.ndarray:
    """Mean 0 and standard deviation 1 in every column; zeros where the values never vary.

    >>> standard(np.array([1.0, 3.0])).tolist(), standard(np.ones(2)).tolist()
    ([-1.0, 1.0], [0.0, 0.0])
    """
    spread = values.std(axis=0)
    # A column can be constant on some rows although it is not in the table (a rare flag).
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def centred(values: np.ndarray) -> np.ndarray:
    """The same for features, whose spread is taken after they are centred."""
    moved = values - values.mean(axis=0)
    spread = moved.std(axis=0)
    return moved / np.where(spread > 0, spread, 1.0)


def legendre(u: np.ndarray, orders: int) -> np.ndarray:
    """Legendre polynomials (rows, orders) of u (rows,) in [-1, 1], orthonormal when u is uniform there.

    >>> legendre(np.array([1.0]), 2).round(3).tolist()
    [[1.732, 2.236]]
    """
    return np.stack([np.sqrt(2 * k + 1) * eval_legendre(k, u) for k in range(1, orders + 1)], axis=1)
