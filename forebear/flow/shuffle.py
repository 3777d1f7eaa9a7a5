"""A random order of the rows of a table, asked for one batch at a time.

`jax.random.permutation` gives an order too, by sorting as many random numbers as there are rows in every epoch: with
hundreds of rows that does not show, with a million it takes longer than the training (`forebear bench libraries`).
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import Array
from jaxtyping import Int, PRNGKeyArray

# Each round mixes one digit of the row number into the other; past four more of them change nothing that shows.
_ROUNDS = 6


def rows_at(places: Int[Array, "*some"], rows: int, key: PRNGKeyArray) -> Int[Array, "*some"]:
    """The row numbers that stand at some places of a random order of `rows` rows; `key` decides which order.

    >>> rows_at(jnp.arange(5), 5, jr.key(0)).tolist()
    [4, 2, 0, 1, 3]
    """
    # Row = high * base + low. A round adds to one digit what a hash makes of the other, which can be undone, so that
    # no two rows end in the same place.
    base = math.isqrt(rows - 1) + 1
    most = -(-rows // base)
    keys = jr.bits(key, (_ROUNDS,), jnp.uint32)

    def mix(row: Array) -> Array:
        high, low = row // base, row % base
        for number in range(0, _ROUNDS, 2):
            low = (low + _hash(high, keys[number]) % base) % base
            high = (high + _hash(low, keys[number + 1]) % most) % most
        return high * base + low

    # base * most is a little more than rows: who lands outside goes on until he is inside.
    inside = jax.lax.while_loop(
        lambda row: jnp.any(row >= rows),
        lambda row: jnp.where(row >= rows, mix(row), row),
        mix(places.astype(jnp.uint32)),
    )
    return inside.astype(jnp.int32)


def _hash(values: Array, key: Array) -> Array:
    """Bits that look random, by multiplying and shifting."""
    values = (values ^ key) * jnp.uint32(0x9E3779B1)
    values = (values ^ (values >> 15)) * jnp.uint32(0x85EBCA77)
    return values ^ (values >> 13)
