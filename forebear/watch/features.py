"""What of latents and of inputs is compared: bounded features, on the scale of the rows set aside.

Latents are seen through Legendre polynomials of their place in the standard normal law: the first moves with the
location, the second with the spread, the third and fourth with the shape. Beside them stand the outer quarters and
fortieths of that law: a tail that holds more than it did hardly moves a polynomial. All are bounded, so that a mean
of fifty of them is nearly normal and a spike cannot pose as a change of the law.

Inputs are seen through smooth curves of their rank, and through its lowest and highest quarter: what changes there
alone is diluted in a curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from forebear.kinds.bounded import legendre

ORDERS = 4
"""polynomials; after them come the tails"""
LOCATION, SPREAD = 0, 1
ORDER_SHARES = np.array([0.25, 0.25, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
"""of the error that a test may spend, by order"""
# How much of the law a tail holds; each is looked at on both sides.
_TAILS = (0.25, 0.025)
MOST = np.array([*np.sqrt(2 * np.arange(1, ORDERS + 1) + 1), *(np.sqrt(1 / one - 1) for one in _TAILS for _ in "ab")])
"""the largest size of each order"""
# Polynomials of the rank of an input; their shares of the error; labels of a category that are told apart.
_CURVES, _MOST_LABELS = 3, 6
_CURVE_SHARES = (0.35, 0.2, 0.15)
# The share of an input's values that is its lowest part, and its highest; the share of the error of each.
_PART, _PART_SHARE = 0.25, 0.15


def scores(z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape orders"]:
    """Features of latents on a last axis, orthonormal when the latents are standard normal.

    >>> z = np.random.default_rng(0).normal(size=100_000)
    >>> bool(abs(np.cov(scores(z).T) - np.eye(ORDERS)).max() < 0.03)
    True
    """
    return legendre(2 * ndtr(z.reshape(-1)) - 1, ORDERS).reshape(*z.shape, ORDERS)


def all_scores(z: Float[np.ndarray, " rows *draws"]) -> Float[np.ndarray, "rows all_orders"]:
    """The same, and after them whether a latent lies in a tail: low and high, of mean 0 and variance 1.

    A value that stands for an interval of latents, such as a count or a label, has several draws of them: what counts
    is their mean, which leaves out the chance of a single draw.

    >>> z = np.random.default_rng(0).normal(size=100_000)
    >>> bool(abs(all_scores(z).mean(axis=0)).max() < 0.02 and abs(all_scores(z).std(axis=0) - 1).max() < 0.02)
    True
    >>> drawn = np.random.default_rng(0).normal(size=(100, 2))
    >>> bool(np.allclose(all_scores(drawn), (all_scores(drawn[:, 0]) + all_scores(drawn[:, 1])) / 2))
    True
    """
    if z.ndim == 2:
        return np.mean([all_scores(own) for own in z.T], axis=0) if z.size else np.zeros((len(z), len(ORDER_SHARES)))
    place = ndtr(z)
    tails = [(own < part) - part for part in _TAILS for own in (place, 1 - place)]
    scale = [np.sqrt(part * (1 - part)) for part in _TAILS for _ in "ab"]
    return np.concatenate([scores(z), np.stack(tails, axis=1) / scale], axis=1)


@dataclass(frozen=True, eq=False)
class Input:
    """One column of the rows set aside (`known`) and of the new rows, as raw numbers; NaN is a gap.

    A category holds codes, -1 for a label that was never seen.
    """

    name: str
    known: Float[np.ndarray, " known"]
    new: Float[np.ndarray, " rows"]
    period: float | None = None
    labels: int = 0
    """how many a category has; 0 for numbers"""

    def take(self, rows: np.ndarray) -> Input:
        """The same with some of the new rows."""
        return Input(self.name, self.known, self.new[rows], self.period, self.labels)

    @property
    def number(self) -> bool:
        """Whether it lies on a line, with ends."""
        return not self.labels and self.period is None


@dataclass(frozen=True, eq=False)
class InputFeatures:
    """Features of an input on both sides, most telling first, and the share of an error that each may spend."""

    name: str
    known: Float[np.ndarray, "known some"]
    new: Float[np.ndarray, "rows some"]
    shares: Float[np.ndarray, " some"]
    smooth: int = 0
    """how many of them are no parts of the input's range"""

    def part(self, rows: slice) -> InputFeatures:
        """With some of the new rows."""
        return InputFeatures(self.name, self.known, self.new[rows], self.shares, self.smooth)


def features_of(one: Input) -> InputFeatures:
    """Polynomials of the rank among the known values, waves of an angle, indicators of labels; of a column with gaps
    also whether the cell is there; last the lowest and the highest quarter of numbers. Each has mean 0 and variance 1
    over the known rows.

    >>> known, new = np.arange(101.0), np.array([0.0, 50.0, 1e6])
    >>> [round(float(abs(one)), 1) for one in features_of(Input("x", known, new)).new[:, 0]]
    [1.7, 0.0, 1.7]
    """
    known, new = (_curves(values, one) for values in (one.known, one.new))
    shares = list(_CURVE_SHARES) if one.number else [1.0] * known.shape[1]
    gaps = np.isnan(one.known)
    if 0.01 < gaps.mean() < 0.99:
        known, new = (
            np.column_stack([own, np.isnan(values)]) for own, values in ((known, one.known), (new, one.new))
        )
        shares.append(sum(shares) / max(1, len(shares)))
    smooth = known.shape[1]
    if one.number:
        parts = (_parts(values, one.known) for values in (one.known, one.new))
        known, new = (np.column_stack(pair) for pair in zip((known, new), parts, strict=True))
        shares += [_PART_SHARE, _PART_SHARE]
    centre, scale = known.mean(axis=0), known.std(axis=0)
    varies = scale > 1e-9
    known, new = ((own - centre)[:, varies] / scale[varies] for own in (known, new))
    kept = np.array(shares)[varies]
    return InputFeatures(one.name, known, new, kept / max(kept.sum(), 1e-300), int(varies[:smooth].sum()))


def _ranks(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """From 0 to 1 among the known values, in the middle of those that are tied."""
    known = np.sort(among[~np.isnan(among)])
    middle = (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / 2
    return middle / max(1, len(known))


def _parts(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    ranks = np.where(np.isnan(values), 0.5, _ranks(values, among))
    return np.stack([ranks <= _PART, ranks >= 1 - _PART], axis=1).astype(float)


def _curves(values: np.ndarray, one: Input) -> np.ndarray:
    if one.labels:
        counts = np.bincount(one.known[~np.isnan(one.known)].astype(int).clip(0), minlength=one.labels)
        # Of two labels each says what the other does; of more, the most frequent one is told by no other alone.
        first, *others = np.argsort(-counts, kind="stable")[: _MOST_LABELS + 1]
        shown = np.array([*others, first] if len(others) > 1 else others, int)
        return (values[:, None] == shown).astype(float)
    if one.period is not None:
        turn = 2 * np.pi * np.where(np.isnan(values), 0.0, values) / one.period
        waves = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        return np.where(np.isnan(values)[:, None], 0.0, waves)
    curves = legendre(2 * _ranks(values, one.known) - 1, _CURVES)
    return np.where(np.isnan(values)[:, None], 0.0, curves)
