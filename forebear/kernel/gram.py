"""The product kernel of all active inputs, streamed over inputs: no array larger than rows x rows.

Factors are (1 + k) / 2 rather than 1 + k, so that the diagonal is 1 with any number of inputs; the nugget is
divided by the same power of two (see `ridge`). Noise-to-signal ratios and scores do not change.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from forebear.kernel.pieces import over_rows, row_block
from forebear.kernel.precision import double


def factor(points: Array, j: Array, i: Array) -> Array:
    """k of input `j` between row `i` and every row, from points of shape (inputs, width, rows).

    Written without a reduction, which would keep the compiler from fusing it into the loops around it.
    """
    distance = sum((points[j, w] - points[j, w, i]) ** 2 for w in range(points.shape[1]))
    return jnp.exp(-0.5 * jnp.asarray(distance))


@double
def gram(points: ArrayLike, active: ArrayLike) -> Array:
    """Product over the active inputs of (1 + k) / 2, as a rows x rows float64 matrix.

    `points` has shape (inputs, width, rows), see `factors`; `active` is a boolean mask over inputs.

    >>> gram(np.zeros((3, 1, 2)), np.array([True, True, False])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    points, active = jnp.asarray(points), np.asarray(active)
    inputs, count = listed(np.flatnonzero(active), len(active))
    return _joined(over_rows(lambda rows: block(points, inputs, count, rows, row_block()), points.shape[2]), points)


@double
def divide_out(kernel: Array, points: ArrayLike, members: ArrayLike) -> Array:
    """The kernel without the inputs `members`: each of their factors is divided out of `kernel`.

    `members` holds input numbers, padded with -1. Factors lie in [1/2, 1], so each division costs no more than
    a rounding error, and a pruning step costs one factor instead of all that remain.

    >>> points = np.random.default_rng(0).normal(size=(3, 1, 4))
    >>> full = gram(points, np.array([True, True, True]))
    >>> less = divide_out(full, points, np.array([1]))
    >>> bool(np.allclose(less, gram(points, np.array([True, False, True])), atol=1e-15))
    True
    """
    points, members = jnp.asarray(points), np.asarray(members)
    inputs, count = listed(members[members >= 0], len(points))
    pieces = over_rows(lambda rows: _divided(kernel, points, inputs, count, rows, row_block()), points.shape[2])
    return _joined(pieces, points)


def listed(inputs: np.ndarray, length: int) -> tuple[np.ndarray, int]:
    """The inputs padded to a fixed length, so that one compiled function serves all, and how many there are."""
    return np.pad(inputs, (0, length - len(inputs))), len(inputs)


def _joined(pieces: list[Array], points: Array) -> Array:
    return pieces[0] if len(pieces) == 1 else jnp.asarray(np.concatenate(pieces)[: points.shape[2]])


@jax.jit(static_argnums=4)
def block(points: Array, inputs: Array, count: Array, rows: Array, at_once: int) -> Array:
    """Some rows (rows, all rows) of the kernel of the first `count` of the listed inputs.

    Row numbers past the end give rows of no meaning.
    """
    return jax.lax.map(lambda i: kernel_row(points, inputs, count, i), rows, batch_size=at_once)


def kernel_row(points: Array, inputs: Array, count: Array, i: Array) -> Array:
    """One row of the kernel of the first `count` of the listed inputs."""

    def multiply(slot: Array, product: Array) -> Array:
        return product * (0.5 + 0.5 * factor(points, inputs[slot], i))

    return jax.lax.fori_loop(0, count, multiply, jnp.ones(points.shape[2], points.dtype))


@jax.jit(static_argnums=5)
def _divided(kernel: Array, points: Array, inputs: Array, count: Array, rows: Array, at_once: int) -> Array:
    def row(i: Array) -> Array:
        def divide(slot: Array, product: Array) -> Array:
            return product / (0.5 + 0.5 * factor(points, inputs[slot], i))

        return jax.lax.fori_loop(0, count, divide, kernel[i])

    return jax.lax.map(row, rows, batch_size=at_once)
