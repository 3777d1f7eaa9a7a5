"""One-dimensional kernels, each written as a squared exponential of points in the plane.

Every input enters the product kernel through a factor k(x, x') = exp(-|p - p'|^2 / 2), where p is the input's
embedding, which is for the kind of a column to say (`Kind.embed` in `forebear.kinds`): a number on a line, a point on
a circle for an angle, codes so far apart that k = 0 for labels. So one compiled loop serves tables of mixed columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike


def real(x: ArrayLike, lengthscale: float) -> Float[np.ndarray, "rows 1"]:
    """Embedding of a real input, shape (rows, 1).

    >>> real([0.0, 3.0], lengthscale=2.0).tolist()
    [[0.0], [1.5]]
    """
    return np.asarray(x, float)[:, None] / lengthscale


def stack(embeddings: Sequence[Float[np.ndarray, "_ _"]], rows: int) -> Float[np.ndarray, "inputs width rows"]:
    """Embeddings of several inputs as one array (inputs, 1 or 2, rows), narrow ones padded with zeros.

    >>> stack([real([0, 1], 1.0), np.zeros((2, 2))], rows=2).shape
    (2, 2, 2)
    """
    width = max((e.shape[1] for e in embeddings), default=1)
    points = np.zeros((len(embeddings), width, rows))
    for i, embedding in enumerate(embeddings):
        points[i, : embedding.shape[1]] = embedding.T
    return points
