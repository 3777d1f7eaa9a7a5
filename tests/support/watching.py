"""Latents whose law is known, beside inputs: what a monitor is told when a twin is right, or wrong in a known way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forebear.watch.batch import Batch
from forebear.watch.features import Input

Wrong = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""the latents (rows,) that a twin sees, from inputs (inputs, rows) and true latents (rows,)"""


def right(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """A twin that is right."""
    return z


def slow(rng: np.random.Generator, rows: int, memory: float, series: int = 1) -> np.ndarray:
    """Series (series, rows) of variance 1 in which each value remembers a share of the one before."""
    from scipy.signal import lfilter

    steps = rng.normal(size=(series, rows)) * np.sqrt(1 - memory**2)
    steps[:, 0] = rng.normal(size=series)
    return np.asarray(lfilter([1.0], [1.0, -memory], steps, axis=1))


def batch_by_hand(
    rng: np.random.Generator,
    rows: int,
    *,
    known: int = 1_000,
    inputs: Sequence[str] = ("a", "b", "c", "d"),
    own: Sequence[str] = ("a", "b"),
    wrong: Wrong = right,
    change: Wrong = right,
    mix: float = 0.0,
    memory: float = 0.0,
    memory_of_latents: float = 0.0,
) -> Batch:
    """One target `y`, whose latents are those of a twin that is wrong by `wrong`, after a `change` of the law.

    `mix` moves the first input, and makes the second wider.
    """
    sides, told = [], []
    for count, new in ((known, False), (rows, True)):
        x = slow(rng, count, memory, len(inputs))
        if new:
            x[0] += mix
            x[1] *= 1 + abs(mix) / 4
        z = slow(rng, count, memory_of_latents)[0]
        told.append(x)
        sides.append(wrong(x, change(x, z) if new else z))
    columns = [Input(name, told[0][i], told[1][i]) for i, name in enumerate(inputs)]
    return Batch(
        ("y",),
        {"y": tuple(own)},
        sides[0][:, None],
        sides[1][:, None],
        columns,
        lambda target, some, amount: sides[1][some] - amount,
        np.ones(1),
        np.arange(rows),
        ordered=memory > 0 or memory_of_latents > 0,
    )
