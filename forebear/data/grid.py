"""The decimal grid on which rounded values lie."""

from __future__ import annotations

import numpy as np

# More decimals than instruments have: what needs more is not rounded.
_MOST_DIGITS = 9


def grid_step(values: np.ndarray) -> float:
    """The largest step of a decimal grid that holds all values, up to the noise of doubles; 0 if there is none.

    >>> [grid_step(np.array(values)) for values in ([0.1, 0.3, 1.7], [10.0, 40.0, 100.0], [0.5, 3.14159265358979])]
    [0.2, 30.0, 0.0]
    """
    values = np.asarray(values, np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    if len(values) < 2 or not 0 < largest < 1e15:
        return 0.0
    for digits in range(_MOST_DIGITS + 1):
        scaled = values * 10.0**digits
        if np.abs(scaled).max() > 1e12:  # a grid that fine cannot be told from none
            return 0.0
        whole = np.rint(scaled)
        # A few roundings of the largest value: sums of rounded numbers are not quite on the grid.
        if (np.abs(scaled - whole) <= 64 * np.finfo(float).eps * 10.0**digits * largest).all():
            steps = np.diff(np.unique(whole.astype(np.int64)))
            return float(np.gcd.reduce(steps)) / 10.0**digits if len(steps) else 0.0
    return 0.0
