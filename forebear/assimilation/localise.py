"""Which states an observation may speak of: weights between states, for small ensembles of many states."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from forebear.errors import check_whole, positive


def ring(states: int, radius: float) -> Float[np.ndarray, "states states"]:
    """Weights of states that stand in a ring, as those of Lorenz-96 do: 1 near, 0 from twice the radius on.

    The fifth-order taper of Gaspari and Cohn.

    >>> ring(6, radius=1.0)[0].round(2).tolist()
    [1.0, 0.21, 0.0, 0.0, 0.0, 0.21]
    """
    check_whole("states", states, 1)
    positive()("radius", radius)
    apart = np.abs(np.arange(states)[:, None] - np.arange(states))
    return taper(np.minimum(apart, states - apart) / radius)


def taper(distance: Float[np.ndarray, "*some"]) -> Float[np.ndarray, "*some"]:
    """The weight at a distance, in radii."""
    r = np.abs(distance)
    near = 1 - 5 / 3 * r**2 + 5 / 8 * r**3 + r**4 / 2 - r**5 / 4
    with np.errstate(divide="ignore", invalid="ignore"):
        far = 4 - 5 * r + 5 / 3 * r**2 + 5 / 8 * r**3 - r**4 / 2 + r**5 / 12 - 2 / (3 * r)
    return np.where(r <= 1, near, np.where(r < 2, far, 0.0))
