"""How large a kernel matrix may be to be held in memory."""

from __future__ import annotations

import jax

# On a CPU the number is fixed, so that every machine takes the same way: three matrices of 1.8 GB.
_ROWS_ON_CPU = 15_000
# Matrices held at once (the kernel, its factor, the next kernel), and the share of a device that they may take.
_MATRICES, _SHARE = 3, 0.75


def dense_rows() -> int:
    """Distilled rows up to which the kernel is held in memory; with more of them it is made again where it is needed.

    >>> dense_rows() >= 15_000 or jax.default_backend() != "cpu"
    True
    """
    if jax.default_backend() == "cpu":
        return _ROWS_ON_CPU
    about = jax.local_devices()[0].memory_stats() or {}
    return int((_SHARE * about.get("bytes_limit", 8 * 2**30) / (8 * _MATRICES)) ** 0.5)
