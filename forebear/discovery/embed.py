"""Rows of the table and latents as points of the product kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from forebear.data.table import Column
from forebear.kernel import factors
from forebear.kinds import kind_named
from forebear.kinds.bounded import standard as standard


class Lengthscales(NamedTuple):
    """Of the kernel's inputs and latents."""

    inputs: float | Mapping[str, float]
    latents: float

    def of(self, name: str) -> float:
        """The lengthscale of one input."""
        return self.inputs if isinstance(self.inputs, float | int) else self.inputs[name]


def embed(
    columns: Sequence[Column],
    rows: Int[np.ndarray, " M"],
    z: Float[np.ndarray, "M latents"],
    lengthscales: Lengthscales,
) -> Float[np.ndarray, "factors width M"]:
    """Points (inputs + latents, width, M) of the product kernel, inputs first.

    Real inputs and latents are standardised on the distilled rows; see `forebear.kinds` for other kinds.
    """
    return factors.stack(
        [*_embed_inputs(columns, rows, lengthscales.of), *_embed_latents(z, lengthscales.latents)], len(rows)
    )


def embed_inputs(
    columns: Sequence[Column], rows: Int[np.ndarray, " M"], inputs: float | Mapping[str, float]
) -> Float[np.ndarray, "inputs width M"]:
    """The points of the inputs alone."""
    return factors.stack(_embed_inputs(columns, rows, Lengthscales(inputs, 1.0).of), len(rows))


def embed_latents(z: Float[np.ndarray, "M latents"], lengthscale: float) -> Float[np.ndarray, "latents width M"]:
    """The points of the latents alone."""
    return factors.stack(_embed_latents(z, lengthscale), len(z))


def _embed_inputs(columns: Sequence[Column], rows: np.ndarray, of: Callable[[str], float]) -> list[np.ndarray]:
    return [_embed_input(c, c.values[rows], of(c.name)) for c in columns]


def _embed_input(column: Column, values: np.ndarray, lengthscale: float) -> np.ndarray:
    """A missing cell is a lengthscale away from every number or angle, and like no label."""
    kind, gaps = kind_named(column.kind), np.isnan(values)
    if not gaps.any():
        return kind.embed(values, column, lengthscale)
    if column.levels:
        return kind.embed(np.where(gaps, -1.0, values), column, lengthscale)
    present = kind.embed(values[~gaps], column, lengthscale)
    points = np.zeros((len(values), 2))
    points[~gaps, : present.shape[1]] = present
    if present.shape[1] == 1:
        points[gaps, 1] = 1 / lengthscale
    return points


def _embed_latents(z: np.ndarray, lengthscale: float) -> list[np.ndarray]:
    return [factors.real(standard(z[:, d]), lengthscale) for d in range(z.shape[1])]
