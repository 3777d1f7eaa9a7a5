"""From which row to which a law was another one, with an interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

# Twice a log likelihood ratio below which a row may as well be the first: about 95% for the place of a step.
_DROP = 7.0
# Beyond which a change has ended: well over what the best of many places gains by chance.
_ENDED = 14.0
_ROUNDS = 6


class Stretch(NamedTuple):
    """Rows from `first` to before `last`, and where the first may lie."""

    first: int
    last: int
    earliest: int
    latest: int


def changed_rows(series: Float[np.ndarray, " rows"], factor: float, start: slice) -> Stretch:
    """The stretch in which a series has a mean, if it has none elsewhere.

    `factor` is by how much the memory of the series blows up variances, `start` a stretch in which it surely has the
    mean.

    >>> rng = np.random.default_rng(0)
    >>> series = rng.normal(size=1_000) + np.repeat([0.0, 1.5], [600, 400])
    >>> found = changed_rows(series, 1.0, slice(500, 1_000))
    >>> abs(found.first - 600) < 10, found.last, found.earliest <= 600 <= found.latest
    (True, 1000, True)
    """
    rows, first, last = len(series), start.start, start.stop
    gains = np.zeros(rows + 1)
    spread = 1.0
    for _ in range(_ROUNDS):
        mean = float(series[first:last].mean())
        inside = np.zeros(rows, bool)
        inside[first:last] = True
        spread = max(float((series - mean * inside).var()), 1e-12) * factor
        # Twice the log likelihood ratio of mean against 0 in the rows up to each place.
        gains = np.append(0.0, np.cumsum(mean * (2 * series - mean))) / spread
        before = (first, last)
        first, last = _best(gains)
        if (first, last) == before or last - first < 2:
            break
    if gains[last] - gains[rows] < _ENDED:
        last = rows
    if last - first < 2:
        first, last = start.start, start.stop
    start_gain = gains[first]
    near = np.flatnonzero(gains[: last - 1] <= start_gain + _DROP)
    return Stretch(first, last, int(near.min()), int(near.max()))


def _best(gains: np.ndarray) -> tuple[int, int]:
    """The two places, in order, between which a sum rises most."""
    lowest = np.minimum.accumulate(gains)
    last = int(np.argmax(gains - lowest))
    return int(np.argmin(gains[: last + 1])), last
