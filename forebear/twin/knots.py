"""Laws as tables: the value of each row's law at fixed latents, straight lines between them and beyond.

A table is a quantile map that can be read both ways, with a density. The law that mixes several has the weighted sum
of their distribution functions for its own, read off at the same latents.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtr, ndtri
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


@jax.jit
def mixed(tables: Float[Array, "laws rows latents"], weights: Float[Array, " laws"]) -> Float[Array, "rows mixed"]:
    """The table of the mixture at `MIXED`, from those of its laws at `LATENTS`.

    >>> z = jnp.asarray(LATENTS, jnp.float32)
    >>> pair = mixed(jnp.stack([z[None] - 3, z[None] + 3]), jnp.array([0.5, 0.5]))[0]
    >>> [round(float(pair[i])) for i in (0, 45, 90)], bool(abs(pair[90] - 7.35) < 0.01)
    ([-7, 0, 7], True)
    """
    return jax.lax.map(partial(_mixed_row, weights=weights), jnp.moveaxis(tables, 1, 0), batch_size=256)


def _mixed_row(tables: Array, weights: Array) -> Array:
    latents = jnp.asarray(LATENTS, tables.dtype)
    tables = _rising(tables, latents)
    pooled = jnp.sort(tables.reshape(-1))
    values = pooled[np.linspace(0, tables.size - 1, _VALUES).round().astype(int)]
    each = jax.vmap(lambda own: line(values, own, latents))(tables)
    below, above = (weights @ ndtr(side * each) for side in (1.0, -1.0))
    tiny = jnp.finfo(tables.dtype).tiny
    together = jnp.where(below < above, ndtri(jnp.maximum(below, tiny)), -ndtri(jnp.maximum(above, tiny)))
    together = _rising(together, jnp.arange(_VALUES))
    at = jnp.asarray(MIXED, tables.dtype)
    return _rising(line(at, together, values), at)


def _rising(table: Array, latents: Array) -> Array:
    """The table, rising by a least slope at least."""
    floor = _LEAST_SLOPE * (latents - latents[0])
    return jax.lax.cummax(table - floor, axis=table.ndim - 1) + floor


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
    right = np.stack([np.searchsorted(own, places, side="right") for own, places in zip(x, at, strict=True)])
    right = right.clip(1, x.shape[1] - 1)
    x0, x1, y0, y1 = (np.take_along_axis(v, place, 1) for v in (x, y) for place in (right - 1, right))
    slope = (y1 - y0) / np.where(x1 > x0, x1 - x0, 1.0)
    return y0 + slope * (at - x0), slope
