"""How much of the fitted signal runs through each removable unit (an input or a group of inputs)."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from forebear.kernel.gram import factor
from forebear.kernel.pieces import over_rows, row_block
from forebear.kernel.precision import double


@double
def energies(kernel: ArrayLike, points: ArrayLike, alpha: ArrayLike, units: ArrayLike, active: ArrayLike) -> Array:
    """alpha' K_u alpha for the units listed in `active`, where K_u holds all terms of K that involve unit u.

    K_u = K o (1 - prod over members of 1 / (1 + k)). `alpha` has shape (rows, targets) and the energies (listed
    units, targets). `units` has shape (units, most members): input numbers padded with -1. `active` lists unit
    numbers and is padded with -1 at the end; the energies come in its order, 0 where it is padded. Divide by the
    signal for scores. The score of a useless input is not near 0,
    because k is not centred: rank by it, never threshold it.

    >>> import numpy as np
    >>> from forebear.kernel.gram import gram
    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> kernel = gram(points, np.array([True, True]))
    >>> energies(kernel, points, np.ones((3, 1)), np.array([[0], [1]]), np.array([1, -1])).shape
    (2, 1)
    """
    arrays = [jnp.asarray(a) for a in (kernel, points, alpha, units, active)]
    return sum_pieces(over_rows(lambda rows: _energies(*arrays, rows, row_block()), arrays[1].shape[2]))


def sum_pieces(pieces: Sequence[Array]) -> Array:
    """In their order, so that the rounding is always the same."""
    return jnp.asarray(sum(np.asarray(piece) for piece in pieces))


@jax.jit(static_argnums=6)
def _energies(
    kernel: Array, points: Array, alpha: Array, units: Array, active: Array, rows: Array, at_once: int
) -> Array:
    def row(i: Array) -> Array:
        return row_energies(kernel[i], points, alpha, units, active, i)

    return jnp.sum(jax.lax.map(row, rows, batch_size=at_once), axis=0)


def row_energies(kernel_row: Array, points: Array, alpha: Array, units: Array, active: Array, i: Array) -> Array:
    """The share of row `i` in the energies; nothing for a row past the end."""
    rows = points.shape[2]
    own = jnp.where(i < rows, alpha[i], 0.0)

    def score(slot: Array, out: Array) -> Array:
        members = units[active[slot]]
        rest = jnp.ones(rows, points.dtype)
        # Unrolled, so that the compiler makes one pass of it; groups are small.
        for member in range(units.shape[1]):
            j = members[member]
            rest = rest / jnp.where(j >= 0, 1.0 + factor(points, j, i), 1.0)
        return out.at[slot].set(own * ((kernel_row * (1.0 - rest)) @ alpha))

    count = jnp.sum(active >= 0)
    return jax.lax.fori_loop(0, count, score, jnp.zeros((active.shape[0], alpha.shape[1]), points.dtype))
