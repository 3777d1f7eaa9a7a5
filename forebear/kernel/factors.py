"""One-dimensional kernels, each written as a squared exponential of points in the plane.

Every input enters the product kernel through a factor k(x, x') = exp(-|p - p'|^2 / 2), where p is the input's
embedding:

| kind     | embedding                         | k                                             |
|----------|-----------------------------------|-----------------------------------------------|
| real     | x / lengthscale                   | exp(-(x - x')^2 / (2 lengthscale^2))          |
| periodic | (cos, sin)(2 pi x / period) / l   | exp(-2 sin^2(pi (x - x') / period) / l^2)     |
| category | codes set so far apart that k = 0 | 1 where equal, 0 where not                    |

So one compiled loop serves tables of mixed columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# exp(-100^2 / 2) is exactly 0 in float64.
_APART = 100.0


def real(x: ArrayLike, lengthscale: float) -> np.ndarray:
    """Embedding of a real input, shape (rows, 1).

    >>> real([0.0, 3.0], lengthscale=2.0).tolist()
    [[0.0], [1.5]]
    """
    return np.asarray(x, float)[:, None] / lengthscale


def periodic(x: ArrayLike, period: float, lengthscale: float) -> np.ndarray:
    """Embedding of an angle, shape (rows, 2); `x` is raw, because scaling it would change its period.

    >>> periodic([0.0, 0.25], period=1.0, lengthscale=1.0).round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    angle = 2 * np.pi * np.asarray(x, float) / period
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) / lengthscale


def category(codes: ArrayLike) -> np.ndarray:
    """Embedding of a category, shape (rows, 1).

    >>> category([0, 2, 2]).tolist()
    [[0.0], [200.0], [200.0]]
    """
    return np.asarray(codes, float)[:, None] * _APART


def stack(embeddings: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Embeddings of several inputs as one array (inputs, 1 or 2, rows), narrow ones padded with zeros.

    >>> stack([real([0, 1], 1.0), periodic([0, 1], 2.0, 1.0)], rows=2).shape
    (2, 2, 2)
    """
    width = max((e.shape[1] for e in embeddings), default=1)
    points = np.zeros((len(embeddings), width, rows))
    for i, embedding in enumerate(embeddings):
        points[i, : embedding.shape[1]] = embedding.T
    return points
