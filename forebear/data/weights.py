"""Rows that count more than others: weights in one column of the table.

A weight says how many rows of the population a row stands for, as in surveys and in samples drawn unevenly on
purpose: the law that is learned and tested is that of the weighted rows. Weights are scaled to a mean of one, so that
only their ratios matter.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from forebear.errors import InputError, listed, near_miss
from forebear.kinds.cells import tamed

# Draws per row of a lesson: a weight is followed to a fraction of one over this.
_DRAWS = 8


def read_weights(frame: pd.DataFrame, name: str, source: str) -> Float[np.ndarray, " rows"]:
    """The weights in a column, or an `InputError` that says why they are none.

    >>> read_weights(pd.DataFrame({"w": [1, 3]}), "w", "the table").tolist()
    [1.0, 3.0]
    >>> read_weights(pd.DataFrame({"w": [1, -3]}), "w", "the table")
    Traceback (most recent call last):
    forebear.errors.InputError: the table: column 'w' (named in weights) is -3 in row 2: a weight is 0 or more
    """
    check_weights(name)
    if name not in frame.columns:
        raise InputError(f"{source} has no column '{name}' (named in weights). {near_miss(name, frame.columns)}")
    where = f"{source}: column '{name}' (named in weights)"
    cells = tamed(cast(pd.Series, frame[name]))
    if cells.dtype.kind not in "fiub" and not pd.api.types.is_numeric_dtype(cells):
        raise InputError(f"{where} holds {listed([str(cells.dropna().iloc[0])])}, not numbers: a weight is a number")
    values = cells.to_numpy(float, na_value=np.nan)
    for wrong, told in ((~np.isfinite(values), "has no number"), (values < 0, "is {:g}")):
        if wrong.any():
            row = int(np.argmax(wrong))
            remedy = "fill it, or give it 0" if told.startswith("has") else "a weight is 0 or more"
            raise InputError(f"{where} {told.format(values[row])} in row {row + 1}: {remedy}")
    if not values.any():
        raise InputError(f"{where} is 0 in every row: give rows that count a positive weight")
    return values


def check_weights(name: object) -> None:
    """Refuse what does not name a column."""
    if name is None or isinstance(name, str):
        return
    shown = repr(name) if isinstance(name, (int, float, bool)) else f"a {type(name).__name__}"
    raise InputError(f"weights must be the name of a column; got {shown}: make it a column of the table")


def scaled(weights: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """With a mean of one.

    >>> scaled(np.array([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    return weights / weights.mean() if len(weights) else weights


HEAVY = 0.4
"""shape of the tail of weights from which nothing that they weigh is sure: at 1/2 no mean has an error to speak of,
and estimates of the shape scatter by about 0.1"""


def doubt_of(weights: Float[np.ndarray, " rows"], name: str) -> str:
    """Why weights leave every answer in doubt; empty where they do not.

    >>> doubt_of(np.array([1.0, 4.0] * 50), "w")
    ''
    """
    shape = tail_shape(weights)
    if shape < HEAVY:
        return ""
    return (
        f"the largest weights of '{name}' grow without bound (tail of shape {shape:.1f}), so that rows too rare to "
        "be in the table would weigh most: a sample that meets such rows more often, or weights with a bound, would "
        "tell"
    )


def effective_rows(weights: Float[np.ndarray, " rows"]) -> float:
    """The number of equal rows that weighted ones are worth, for a mean (Kish 1965).

    >>> effective_rows(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def tail_shape(weights: Float[np.ndarray, " rows"]) -> float:
    """How heavy the tail of the largest weights is: the shape of a generalised Pareto law fitted to them.

    From 1/2 on weights have no variance, and the mean of what they weigh is carried by rows so rare that the table
    holds none of the heaviest. The estimator is that of Zhang and Stephens (2009), the prior that of Vehtari and
    others (2024).

    >>> rng = np.random.default_rng(0)
    >>> shapes = [tail_shape(1 / rng.uniform(size=5_000) ** shape) for shape in (0.2, 0.8)]
    >>> bool(abs(shapes[0] - 0.2) < 0.1), bool(abs(shapes[1] - 0.8) < 0.2), tail_shape(np.ones(50))
    (True, True, -inf)
    """
    most = min(len(weights) // 5, int(3 * np.sqrt(len(weights))))
    ranked = np.sort(weights)
    tail = ranked[-most:] - ranked[-most - 1] if most else ranked[:0]
    tail = tail[tail > 0]
    if len(np.unique(tail)) < _FEWEST_IN_TAIL:
        return -np.inf
    count = len(tail)
    tried = 30 + int(np.sqrt(count))
    rates = 1 / tail[-1] + (1 - np.sqrt(tried / (np.arange(tried) + 0.5))) / (3 * tail[int(count / 4 + 0.5) - 1])
    shapes = np.log1p(-rates[:, None] * tail).mean(axis=1)
    likely = count * (np.log(-rates / shapes) - shapes - 1)
    rate = float(np.average(rates, weights=np.exp(likely - likely.max())))
    shape = float(np.log1p(-rate * tail).mean())
    return (count * shape + _PRIOR * 0.5) / (count + _PRIOR)


# Weights beyond the bulk that a shape can be told from; rows that the prior, a shape of a half, counts for.
_FEWEST_IN_TAIL, _PRIOR = 10, 10


def weighted_rows(weights: Float[np.ndarray, " rows"], count: int, start: float = 0.5) -> Int[np.ndarray, " count"]:
    """So many row numbers in proportion to their weights, in order: each comes as often as its share says, up to one.

    `start` between 0 and 1 moves the even steps along the weights.

    >>> weighted_rows(np.array([1.0, 3.0, 0.0]), 4).tolist()
    [0, 1, 1, 1]
    """
    ends = np.cumsum(weights) / weights.sum()
    places = np.searchsorted(ends, (np.arange(count) + start) / count, side="right")
    # A step may fall beyond the last end by rounding: it belongs to the last row that counts.
    return np.minimum(places, int(np.flatnonzero(weights)[-1]))


def lesson_rows(weights: Float[np.ndarray, " rows"]) -> Int[np.ndarray, " drawn"]:
    """Row numbers for a training, each many times over in proportion to its weight."""
    return weighted_rows(weights, _DRAWS * len(weights)).astype(np.int32)


def mean_of(values: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"] | None) -> float:
    """The mean of values, weighted where there are weights.

    >>> mean_of(np.array([1.0, 2.0]), None), mean_of(np.array([1.0, 2.0]), np.array([0.0, 5.0]))
    (1.5, 2.0)
    """
    return float(np.mean(values) if weights is None else np.average(values, weights=weights))
