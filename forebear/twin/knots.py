"""Laws as tables: the value of each row's law at fixed latents, straight lines between them and beyond.

A table is a quantile map that can be read both ways, with a density. The law that mixes several has the weighted sum
of their distribution functions for its own, read off at the same latents.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy import special

LATENTS = np.linspace(-4.0, 4.0, 41)
"""at which every law of a mixture is asked"""
MIXED = np.linspace(-4.5, 4.5, 91)
"""at which the mixture is kept"""
# Values at which the distribution functions of a row are added up.
_VALUES = 160
# Narrower than single precision can tell apart: tables always rise by so much, in deviations of the target.
_LEAST_SLOPE = 1e-6


def masses() -> Float[np.ndarray, " latents"]:
    """The probability around each of `LATENTS`, to average over a table with.

    >>> bool(abs(masses().sum() - 1) < 1e-12), bool(abs((masses() * LATENTS**2).sum() - 1) < 0.01)
    (True, True)
    """
    edges = np.concatenate([[-np.inf], (LATENTS[1:] + LATENTS[:-1]) / 2, [np.inf]])
    return np.diff(special.ndtr(edges))


def mixed(
    tables: Float[np.ndarray, "laws rows latents"], weights: Float[np.ndarray, " laws"]
) -> Float[np.ndarray, "rows mixed"]:
    """The table of the mixture at `MIXED`, from those of its laws at `LATENTS`.

    In numpy: the number of laws and rows is another one each time, and compiling would take longer than most answers.

    >>> pair = mixed(np.stack([LATENTS[None] - 3, LATENTS[None] + 3]), np.array([0.5, 0.5]))[0]
    >>> [round(float(pair[i])) for i in (0, 45, 90)], bool(abs(pair[90] - 7.35) < 0.01)
    ([-7, 0, 7], True)
    """
    tables = _rising(tables, LATENTS)
    laws, rows, latents = tables.shape
    pooled = np.sort(np.moveaxis(tables, 0, 1).reshape(rows, laws * latents), axis=1)
    values = pooled[:, np.linspace(0, laws * latents - 1, _VALUES).round().astype(int)]
    below = np.zeros((rows, _VALUES))
    for own, weight in zip(tables, weights, strict=True):
        below += weight * special.ndtr(rows_line(values, own, np.broadcast_to(LATENTS, own.shape))[0])
    # No value lies beyond all laws: none is less likely than the last latent times the least weight.
    together = _rising(special.ndtri(below.clip(1e-15, 1 - 1e-15)), np.arange(_VALUES))
    at = np.broadcast_to(MIXED, (rows, len(MIXED)))
    return _rising(rows_line(at, together, values)[0], MIXED)


def _rising(table: np.ndarray, latents: np.ndarray) -> np.ndarray:
    """The table, rising by a least slope at least."""
    floor = _LEAST_SLOPE * (latents - latents[0])
    return np.maximum.accumulate(table - floor, axis=-1) + floor


def line(at: Float[Array, " some"], x: Float[Array, " points"], y: Float[Array, " points"]) -> Float[Array, " some"]:
    """The line through points whose x rises, which goes on straight at both ends.

    >>> line(jnp.array([-1.0, 0.5, 3.0]), jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0])).tolist()
    [-2.0, 1.0, 6.0]
    """
    right = jnp.clip(jnp.searchsorted(x, at, side="right"), 1, len(x) - 1)
    left = right - 1
    run = x[right] - x[left]
    share = (at - x[left]) / jnp.where(run > 0, run, 1.0)
    return y[left] + share * (y[right] - y[left])


def rows_line(
    at: Float[np.ndarray, "rows some"], x: Float[np.ndarray, "rows points"], y: Float[np.ndarray, "rows points"]
) -> tuple[Float[np.ndarray, "rows some"], Float[np.ndarray, "rows some"]]:
    """As `line`, for each row a line and places of its own, in double precision: values and slopes.

    >>> values, slopes = rows_line(np.array([[0.5]]), np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]]))
    >>> values.tolist(), slopes.tolist()
    ([[1.0]], [[2.0]])
    """
    right = _places(at, x).clip(1, x.shape[1] - 1)
    x0, x1, y0, y1 = (np.take_along_axis(v, place, 1) for v in (x, y) for place in (right - 1, right))
    slope = (y1 - y0) / np.where(x1 > x0, x1 - x0, 1.0)
    return y0 + slope * (at - x0), slope


def _places(at: np.ndarray, x: np.ndarray) -> np.ndarray:
    """How many points of its row are at most each value.

    Row by row: one search for all of them is no faster, and rounds differently with the number of the row.
    """
    found = np.empty(at.shape, int)
    for row, points in enumerate(x):
        found[row] = np.searchsorted(points, at[row], side="right")
    return found
