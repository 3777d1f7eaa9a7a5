"""Many rows through a compiled function, in pieces of few shapes and bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32

MOST = 2**14
"""rows in a piece: more do not run faster on a processor, where a layer should fit into its cache"""
LEAST = 2**4


def in_pieces(
    function: Callable[..., Sequence[Any]],
    arguments: Callable[[slice], tuple[np.ndarray, ...]],
    rows: int,
    networks: int = 1,
) -> list[np.ndarray]:
    """Call `function` on `arguments(piece)` for consecutive pieces; its arrays come back whole, in float64.

    A piece is padded to a power of two, so that a new number of rows seldom compiles anything. With many networks
    side by side pieces are smaller, since each needs memory of its own.

    >>> [doubled] = in_pieces(lambda a: (2 * a,), lambda piece: (np.arange(20.0)[piece],), 20)
    >>> doubled.tolist() == [2.0 * i for i in range(20)]
    True
    """
    whole: list[np.ndarray] | None = None
    most = max(LEAST, MOST >> max(0, networks.bit_length() - 4))
    for start in range(0, max(rows, 1), most):
        piece = slice(start, min(start + most, rows))
        size = piece.stop - piece.start
        results = function(*(_padded(np.asarray(a, np.float32), bucket(size)) for a in arguments(piece)))
        if whole is None:
            whole = [np.empty((rows, *np.shape(result)[1:])) for result in results]
        for all_rows, result in zip(whole, results, strict=True):
            all_rows[piece] = np.asarray(result)[:size]
    assert whole is not None
    return whole


def bucket(rows: int) -> int:
    """The least power of two that holds so many rows.

    >>> bucket(3), bucket(100)
    (16, 128)
    """
    return max(LEAST, 1 << (max(rows, 1) - 1).bit_length())


def _padded(values: Float32[np.ndarray, " size *rest"], rows: int) -> Float32[np.ndarray, " padded *rest"]:
    return np.concatenate([values, np.zeros((rows - len(values), *values.shape[1:]), values.dtype)])
