"""Latents by seed and number, as exported twins draw them: what a program drew can be drawn again here."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from forebear.errors import check_whole

_STRIDE, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def counted_latents(seed: int, first: int, draws: int, latents: int) -> Float[np.ndarray, "draws latents"]:
    """Standard normal latents of draws number `first`, `first` + 1, …, the same that exported C and FMUs use.

    SplitMix64 by places in its sequence, so that every draw can be made alone, and the cosine half of Box and Muller.

    >>> z = counted_latents(seed=7, first=0, draws=3, latents=2)
    >>> bool((counted_latents(7, 2, 1, 2) == z[2:]).all()), z.round(3).tolist()[0]
    (True, [-0.476, -0.868])
    """
    check_whole("seed", seed, 0)
    check_whole("first", first, 0)
    places = 2 * (np.uint64(first) * np.uint64(latents) + np.arange(draws * latents, dtype=np.uint64))
    start = _scrambled(np.array([seed], np.uint64) + _STRIDE)
    uniforms = [_uniform(start + (places + np.uint64(k)) * _STRIDE) for k in (1, 2)]
    return (np.sqrt(-2 * np.log(uniforms[0])) * np.cos(2 * np.pi * uniforms[1])).reshape(draws, latents)


def _uniform(numbers: np.ndarray) -> np.ndarray:
    return ((_scrambled(numbers) >> np.uint64(11)).astype(float) + 0.5) / 2.0**53


def _scrambled(numbers: np.ndarray) -> np.ndarray:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))
