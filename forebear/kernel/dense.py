"""The product kernel in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jax import Array
from jax.typing import ArrayLike

from forebear.kernel.energy import energies
from forebear.kernel.gram import divide_out, gram
from forebear.kernel.solve import solve


class Dense:
    """The product kernel of some inputs, every entry of it; `Tiled` is the same without holding it.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 5))
    >>> bool(np.allclose(Dense.of(points).without([0]).entries, Dense.of(points[1:]).entries))
    True
    """

    def __init__(self, entries: Array, points: ArrayLike):
        self.entries = entries
        self.points = points

    @classmethod
    def of(cls, points: ArrayLike) -> Dense:
        """The kernel of all inputs of `points` (inputs, width, rows)."""
        return cls(gram(points, np.ones(np.shape(points)[0], bool)), points)

    def solve(self, y: np.ndarray, nugget: float) -> np.ndarray:
        """(K + nugget I)^-1 y; NaN where that is singular to working precision."""
        return solve(self.entries, y, nugget)

    def energies(self, alpha: ArrayLike, units: ArrayLike, active: ArrayLike) -> np.ndarray:
        """See `forebear.kernel.energy.energies`."""
        return np.asarray(energies(self.entries, self.points, alpha, units, active))

    def without(self, inputs: Sequence[int]) -> Dense:
        """The kernel of fewer inputs: their factors are divided out."""
        return Dense(divide_out(self.entries, self.points, np.array(inputs, int)), self.points)
