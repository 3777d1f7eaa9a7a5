"""The quantile maps of a distilled twin, computed with rows side by side in memory, as `Network.across` gives them.

The same numbers as `Spline`, faster on a processor: every operation runs along the rows, of which there are many, and
not along the few points of a curve.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def steps_across(
    outputs: Float[Array, " said *some"], reach: float, least_step: float, least_slope: float
) -> tuple[list[Float[Array, "*some"]], list[Float[Array, "*some"]]]:
    """The steps across and up of `Spline.of`, one array (…) each.

    Step by step: on a processor a compiled softmax over the first axis of one array takes longer than the network.
    """
    _, *said = outputs
    count = len(said) // 2
    highest = reduce(jnp.maximum, said[:count])
    shares = [jnp.exp(one - highest) for one in said[:count]]
    total = reduce(operator.add, shares)
    across = [2 * reach * (least_step + (1 - count * least_step) * (share / total)) for share in shares]
    return across, [2 * reach / count * (least_slope + 1 + jax.nn.elu(one)) for one in said[count:]]


def piece_across(
    across: Sequence[Float[Array, "*some"]],
    up: Sequence[Float[Array, "*some"]],
    middle: Float[Array, "*some"],
    reach: float,
    z: Float[Array, "*some"],
) -> list[Float[Array, "*some"]]:
    """The fields of the piece of each curve in which z (…) lies: its ends, their heights, chord and slopes."""
    count = len(across)
    points, heights = [jnp.full_like(z, -reach)], [jnp.zeros_like(z)]
    for step, rise in zip(across, up, strict=True):
        points.append(points[-1] + step)
        heights.append(heights[-1] + rise)
    chords = [rise / step for step, rise in zip(across, up, strict=True)]
    inner = [2 * after * before / (after + before) for before, after in pairwise(chords)]
    slopes = [chords[0], *inner, chords[-1]]
    found = [points[0], points[1], heights[0], heights[1], chords[0], slopes[0], slopes[1]]
    for k in range(1, count):
        # Points lie in order: the last one that z has passed stays.
        passed = z >= points[k]
        later = [points[k], points[k + 1], heights[k], heights[k + 1], chords[k], slopes[k], slopes[k + 1]]
        found = [jnp.where(passed, new, old) for new, old in zip(later, found, strict=True)]
    base = middle - heights[count // 2]
    found[2:4] = found[2] + base, found[3] + base
    return found
