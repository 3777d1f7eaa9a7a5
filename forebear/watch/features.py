"""What of latents and of inputs is compared: bounded features, on the scale of the rows set aside.

Latents are seen through Legendre polynomials of their place in the standard normal law: the first moves with the
location, the second with the spread, the third and fourth with the shape. They are bounded, so that a mean of fifty
of them is nearly normal and a spike cannot pose as a change of the law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from forebear.kinds.bounded import legendre

ORDERS = 4
LOCATION, SPREAD = 0, 1
ORDER_SHARES = np.array([0.35, 0.35, 0.15, 0.15])
"""of the error that a test may spend, by order"""
# Polynomials of the rank of an input; their shares of the error; labels of a category that are told apart.
_CURVES, _MOST_LABELS = 3, 6
_CURVE_SHARES = (0.5, 0.3, 0.2)


def scores(z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape orders"]:
    """Features of latents on a last axis, orthonormal when the latents are standard normal.

    >>> z = np.random.default_rng(0).normal(size=100_000)
    >>> bool(abs(np.cov(scores(z).T) - np.eye(ORDERS)).max() < 0.03)
    True
    """
    return legendre(2 * ndtr(z.reshape(-1)) - 1, ORDERS).reshape(*z.shape, ORDERS)


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

    def part(self, rows: slice) -> InputFeatures:
        """With some of the new rows."""
        return InputFeatures(self.name, self.known, self.new[rows], self.shares)


def features_of(one: Input) -> InputFeatures:
    """Polynomials of the rank among the known values, waves of an angle, indicators of labels; of a column with gaps
    also whether the cell is there. Each has mean 0 and variance 1 over the known rows.

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
    centre, scale = known.mean(axis=0), known.std(axis=0)
    varies = scale > 1e-9
    known, new = ((own - centre)[:, varies] / scale[varies] for own in (known, new))
    kept = np.array(shares)[varies]
    return InputFeatures(one.name, known, new, kept / max(kept.sum(), 1e-300))


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
    known = np.sort(one.known[~np.isnan(one.known)])
    middle = (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / 2
    curves = legendre(2 * middle / max(1, len(known)) - 1, _CURVES)
    return np.where(np.isnan(values)[:, None], 0.0, curves)
