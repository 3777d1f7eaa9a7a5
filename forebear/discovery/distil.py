"""Draws from a fitted sampler become the regression problem of the kernel stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from forebear.data.table import Column, Table
from forebear.flow.sampler import Law
from forebear.kernel import factors
from forebear.kinds import kind_named
from forebear.kinds.bounded import standard

# Hyper-parameters are chosen on this many distilled rows: the choice costs their cube at every grid point.
ROWS_TO_TUNE = 1_200


class Draws(NamedTuple):
    """Rows of the table with a draw of every law at each: targets share rows and latents, so that they can share
    kernels."""

    rows: np.ndarray
    """(M,) row numbers"""
    z: np.ndarray
    """(M, latents)"""
    y: np.ndarray
    """(M, outputs) of all laws; each row's draw comes from the law that was not trained on that row"""
    rivals: np.ndarray
    """(folds, few, outputs): what the law of every fold draws at the first few of the rows, from the same latents"""

    def of(self, outputs: Sequence[int]) -> Draws:
        """The draws of some of the outputs."""
        return self._replace(y=self.y[:, list(outputs)], rivals=self.rivals[..., list(outputs)])


def distil(
    laws: Sequence[Sequence[Law]],
    fold: np.ndarray,
    table: Table,
    inputs: Sequence[Sequence[str]],
    count: int,
    *,
    rng: np.random.Generator,
) -> Draws:
    """Draw `count` rows, latents for each, and the answers of the laws of the row's fold.

    `laws` are by fold, then by task, with `inputs` by task; `fold` (rows,) says which of them to ask at a row. No row
    comes twice before every row has come once; beyond that rows are reused with fresh latents.
    """
    rounds = -(-count // table.rows)
    rows = np.concatenate([rng.permutation(table.rows) for _ in range(rounds)])[:count]
    z = rng.normal(size=(count, max(law.latents for law in laws[0])))
    # A law is asked at the rows of its fold, and at the first few, where all are compared.
    asked = [
        np.flatnonzero((fold[rows] == number) | (np.arange(count) < ROWS_TO_TUNE)) for number in range(len(laws))
    ]
    # Folds differ in size, from run to run too. All are filled up to one size, so that nothing is compiled twice.
    roomy = min(count, ROWS_TO_TUNE + 5 * max(0, count - ROWS_TO_TUNE) // (4 * len(laws)))
    size = roomy if max(map(len, asked)) <= roomy else count
    outputs = []
    for task, names in enumerate(inputs):
        given = table.frame(names).iloc[rows]
        by_fold = []
        for number, of_fold in enumerate(laws):
            filled = np.resize(asked[number], size)
            law = of_fold[task]
            told = law.push(given.iloc[filled].reset_index(drop=True), z[filled, : law.latents])
            y = np.full((count, np.asarray(told).size // size), np.nan)
            y[filled] = np.asarray(told, float).reshape(size, -1)
            by_fold.append(y)
        outputs.append(np.stack(by_fold))
    drawn = np.concatenate(outputs, axis=2)
    own, rivals = drawn[fold[rows], np.arange(count)], drawn[:, :ROWS_TO_TUNE]
    if not (np.isfinite(own).all() and np.isfinite(rivals).all()):
        raise FloatingPointError("the sampler returned values that are not finite")
    return Draws(rows, z, own, rivals)


class Lengthscales(NamedTuple):
    """Of the kernel's inputs and latents."""

    inputs: float | Mapping[str, float]
    latents: float

    def of(self, name: str) -> float:
        """The lengthscale of one input."""
        return self.inputs if isinstance(self.inputs, float | int) else self.inputs[name]


def embed(columns: Sequence[Column], rows: np.ndarray, z: np.ndarray, lengthscales: Lengthscales) -> np.ndarray:
    """Points (inputs + latents, width, M) of the product kernel, inputs first.

    Real inputs and latents are standardised on the distilled rows; see `forebear.kinds` for other kinds.
    """
    return factors.stack(
        [*_embed_inputs(columns, rows, lengthscales.of), *_embed_latents(z, lengthscales.latents)], len(rows)
    )


def embed_inputs(columns: Sequence[Column], rows: np.ndarray, inputs: float | Mapping[str, float]) -> np.ndarray:
    """The points of the inputs alone."""
    return factors.stack(_embed_inputs(columns, rows, Lengthscales(inputs, 1.0).of), len(rows))


def embed_latents(z: np.ndarray, lengthscale: float) -> np.ndarray:
    """The points of the latents alone."""
    return factors.stack(_embed_latents(z, lengthscale), len(z))


def _embed_inputs(columns: Sequence[Column], rows: np.ndarray, of: Callable[[str], float]) -> list[np.ndarray]:
    return [kind_named(c.kind).embed(c.values[rows], c, of(c.name)) for c in columns]


def _embed_latents(z: np.ndarray, lengthscale: float) -> list[np.ndarray]:
    return [factors.real(standard(z[:, d]), lengthscale) for d in range(z.shape[1])]
