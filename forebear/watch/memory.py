"""How long new rows remember: how many independent rows they are worth, whatever may have changed among them.

A change in the middle of a record makes all of it look slow. So the memory is read off within stretches, each around
its own mean, and the stretch that varies most is left out.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_FEWEST, _LONGEST, _STRETCHES = 32, 400, 8
# A series has no memory beyond the first lag whose autocorrelation is smaller than this many standard errors.
_ERRORS = 2.5


def memory(values: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, "some lags"]:
    """Autocorrelations of each column at lags 1, 2, and so on; 0 from where they are not sure.

    >>> rng = np.random.default_rng(0)
    >>> white, slow = rng.normal(size=1_000), np.convolve(rng.normal(size=1_009), np.ones(10), "valid")
    >>> told = memory(np.stack([white, slow], axis=1))
    >>> bool(told[0, 0] == 0), bool(told[1, 0] > 0.8)
    (True, True)
    """
    rows, some = values.shape
    length = int(np.clip(rows // _STRETCHES, _FEWEST, _LONGEST))
    count = rows // length
    if not count or not some:
        return np.zeros((some, 1))
    lags = length // 3
    parts = values[: count * length].reshape(count, length, some)
    parts = parts - parts.mean(axis=1, keepdims=True)
    size = 1 << (2 * length - 1).bit_length()
    shared = np.zeros((lags + 1, some))
    spread = (parts**2).sum(axis=1)
    wildest = spread.argmax(axis=0) if count >= 4 else np.full(some, -1)
    for place, part in enumerate(parts):
        power = np.abs(np.fft.rfft(part, size, axis=0)) ** 2
        shared += np.fft.irfft(power, size, axis=0)[: lags + 1] * (wildest != place)
    found = (shared[1:] / np.maximum(shared[0], 1e-300)).T
    sure = found > _ERRORS / np.sqrt(rows)
    told = found * np.logical_and.accumulate(sure, axis=1)
    # A mean that is taken out of a short stretch takes some of the memory with it (Kendall 1954).
    told[:, 0] = np.where(told[:, 0] > 0, np.minimum(told[:, 0] + (1 + 3 * told[:, 0]) / length, 0.999), 0.0)
    return told


def inflation(
    first: Float[np.ndarray, "one lags"], second: Float[np.ndarray, "other lags"] | None = None
) -> Float[np.ndarray, "one other"]:
    """How much larger the variance of the mean of a product is than independent rows would make it, at least 1
    (Bartlett 1946); without `second`, of the mean of the first alone.

    A series that hardly has the time to forget shows too little memory: one that forgets at the rate of its first lag
    is the least that is believed.
    """
    other = np.ones((1, first.shape[1])) if second is None else second
    lags = min(first.shape[1], other.shape[1])
    shared = first[:, :lags] @ other[:, :lags].T
    rate = np.minimum(np.outer(first[:, 0], other[:, 0]), 0.999)
    return 1 + 2 * np.maximum(np.maximum(shared, rate / (1 - rate)), 0.0)
