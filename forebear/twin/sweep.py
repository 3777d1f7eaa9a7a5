"""The law of one target along one of its inputs, the others held: what a fan chart draws, and a sentence tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

Along = Literal["number", "angle", "labels"]
# Rows that stand for the data when it is asked whether a combination is like any of them; as in a page.
_ROWS = 256
# A number with so few values is looked at where they are, and nowhere between.
_FEW_VALUES = 12
_DRAWS = 2_000
# How much further than rows commonly are from each other a combination may be (squared), and the share of the span
# of a single number around which some row must lie.
FURTHER, _EMPTY = 2.25, 1 / 16


class Sweep(NamedTuple):
    """The law of a target at points along an input."""

    input: str
    along: Along
    rows: Float[np.ndarray, "points inputs"]
    """raw numbers; of a category its codes"""
    at: Float[np.ndarray, " points"]
    """the column of the input in them"""
    labels: tuple[str, ...]
    """of a category, one for each point; else empty"""
    quantiles: Float[np.ndarray, "points levels"]
    seen: Bool[np.ndarray, " points"]
    """whether any row of the data is near"""


def typical(twin: Twin) -> Float[np.ndarray, " inputs"]:
    """The row in the middle of the data: an actual one, since medians of inputs that depend on each other may be far
    from every row."""
    if not twin.columns:
        return np.zeros(0)
    features = twin.encoder(twin.rows)
    far = ((features - np.median(features, axis=0)) ** 2).sum(axis=1)
    whole = ~np.isnan(twin.rows).any(axis=1)
    if whole.any():
        return twin.rows[np.argmin(np.where(whole, far, np.inf))]
    return np.array([own[~np.isnan(own)][0] for own in twin.rows.T])


def sweep(
    twin: Twin,
    target: str,
    name: str,
    levels: Sequence[float] | np.ndarray,
    *,
    row: np.ndarray | None = None,
    points: int = 13,
    ends: tuple[float, float] = (0.05, 0.95),
    exact: bool = False,
    further: float = FURTHER,
) -> Sweep:
    """Quantiles of `target` while the input `name` goes through its values and the others stay as in `row`.

    `row` (inputs,) is the typical one if it is not given. A number goes from one quantile of the data to another
    (`ends`, moved a little to be easily said unless `exact`), an angle once around, a category through its labels.
    """
    place = twin.inputs.index(name)
    along, at = stops(twin, place, points, ends, exact)
    rows = np.repeat((typical(twin) if row is None else row)[None], len(at), axis=0)
    rows[:, place] = at
    found = twin.quantile(padded(rows), levels, outside="ignore")[:, : len(rows), twin.targets.index(target)]
    labels = tuple(str(twin.columns[place].levels[int(code)]) for code in at) if along == "labels" else ()
    return Sweep(name, along, rows, at, labels, found.T, near_data(twin, target, rows, place, further))


def stops(
    twin: Twin, place: int, points: int, ends: tuple[float, float] = (0.05, 0.95), exact: bool = False
) -> tuple[Along, np.ndarray]:
    """What kind of way it is through the values of an input, and where to stop on it; ends are moved a little to be
    easily said, unless `exact`."""
    column, own = twin.columns[place], twin.rows[:, place]
    values = np.unique(own[~np.isnan(own)])
    if column.levels:
        return "labels", values
    if column.period is not None:
        start = -column.period / 2 if (values < 0).any() else 0.0
        return "angle", start + column.period * np.arange(points) / (points - 1)
    low, high = np.nanquantile(own, ends)
    if len(values) <= _FEW_VALUES:
        usual = values[(low <= values) & (values <= high)]
        return "number", usual if len(usual) > 1 else values
    first, last = (low, high) if exact else _rounded(low, high, values[0], values[-1])
    return "number", np.linspace(first, last, points)


def padded(rows: np.ndarray) -> np.ndarray:
    """As many rows as one of a few sizes has, the last one repeated: compiled code is made for each size anew."""
    return rows[np.minimum(np.arange(max(16, 1 << (len(rows) - 1).bit_length())), len(rows) - 1)]


def chances(twin: Twin, target: str, rows: np.ndarray) -> Float[np.ndarray, "rows values"]:
    """The probability of each value of a lattice, or of each atom, at rows of inputs; of a joint law from draws."""
    place = twin.targets.index(target)
    values = twin.outputs[place].dequantiser.values
    if twin.joint:
        draws = twin.sample(rows, n=_DRAWS, outside="ignore")[:, :, place]
        return np.stack([(draws == value).mean(axis=0) for value in values], axis=1)
    whole = padded(rows)
    y = np.repeat(twin.quantile(whole, 0.5, outside="ignore"), len(values), axis=0)
    y[:, place] = np.tile(values, len(whole))
    found = np.exp(twin.log_prob(np.repeat(whole, len(values), axis=0), y)[:, place])
    return found.reshape(len(whole), len(values))[: len(rows)]


def near_data(
    twin: Twin, target: str, rows: np.ndarray, place: int, further: float = FURTHER
) -> Bool[np.ndarray, " rows"]:
    """Whether any row of the data is near each of these, in what the target depends on and in input `place` alone."""
    mask, seen, gap = _data(twin, target)
    own = np.sort(twin.rows[:, place][~np.isnan(twin.rows[:, place])])
    near = np.ones(len(rows), bool)
    if twin.ranges[place] is not None and len(own):
        span = np.quantile(own, 0.95) - np.quantile(own, 0.05)
        near = _distance(rows[:, place], own) <= _EMPTY * span
    if np.isfinite(gap):
        features = twin.encoder(rows)[:, mask]
        near &= ((features[:, None] - seen[None]) ** 2).sum(axis=2).min(axis=1) <= further * gap
    return near


def _distance(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """To the nearest of the known values, which are sorted."""
    after = np.searchsorted(known, values).clip(1, len(known) - 1) if len(known) > 1 else np.zeros(len(values), int)
    return np.minimum(np.abs(values - known[after]), np.abs(values - known[after - 1]))


def _data(twin: Twin, target: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Which features the target sees, those of some rows, and the squared distance that rows commonly have."""
    own = np.isin(twin.inputs, twin.ancestors[target])
    mask = np.repeat(own, [column.width for column in twin.columns])
    rows = twin.rows[np.linspace(0, len(twin.rows) - 1, min(_ROWS, len(twin.rows))).astype(int)]
    seen = twin.encoder(rows[~np.isnan(rows[:, own]).any(axis=1)])[:, mask]
    if own.sum() < 2 or len(seen) < 2:
        return mask, seen, np.inf
    apart = ((seen[:, None] - seen[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return mask, seen, float(np.quantile(apart.min(axis=1), 0.99, method="lower"))


# An end may be moved by such a share of the span, to be easily said.
_EASY = 0.06


def _rounded(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Ends that are easily said, where these are inside the data.

    >>> _rounded(8.45, 16.61, 8.0, 17.0), _rounded(0.0123, 0.0981, 0.0, 0.1), _rounded(0.62, 2.9, 0.5, 3.0)
    ((8.0, 17.0), (0.01, 0.1), (0.6, 3.0))
    """
    span = high - low
    if not span > 0:
        return low, high
    digits = -int(np.floor(np.log10(span)))

    def easy(end: float) -> float:
        near = (round(float(end), digits + more) for more in (0, 1))
        return next((one for one in near if abs(one - end) <= _EASY * span and least <= one <= most), float(end))

    return easy(low), easy(high)
