"""What the twin itself gets wrong, as a function of the inputs: learned on rows set aside, taken out of new rows.

A twin is never perfect, and where it errs depends on the inputs. A change of the inputs' mix alone would then move
the latents' mean. So the features of the latents are regressed on features of the inputs over rows that no training
has seen; what the regression says is taken out of new rows, and its own error enters every test.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float

from forebear.watch.features import InputFeatures
from forebear.watch.memory import inflation, memory

# Known rows for each feature of the regression; the curves of a twin's own inputs come first, then products of their
# first features, then the first feature of other columns, then the ends of its own inputs.
_ROWS_PER_FEATURE = 12
_RIDGE = 1e-3
# Of the misfit's own spread over the known rows, the share that it may be off by where other inputs come.
_DOUBT = 0.5
# Stretches of known rows that are compared with one another, and the fewest rows of each.
_STRETCHES, _ROWS_OF_STRETCH = 8, 25
# What the regression may leave of a feature that it knows.
_COVERED = 0.02


@dataclass(frozen=True, eq=False)
class Misfit:
    """A regression of the scores of known rows on a design of inputs, with the influence of every known row."""

    weights: Float[np.ndarray, "features orders"]
    inverse: Float[np.ndarray, "features features"]
    design: Float[np.ndarray, "known features"]
    left: Float[np.ndarray, "known orders"]
    """what the regression leaves, as large as on rows that it has not seen"""
    slow: Float[np.ndarray, "orders lags"]
    """the memory of what is left"""
    groups: np.ndarray | None = None
    """(known,) rows that hang together"""
    doubt: np.ndarray = field(default_factory=lambda: np.zeros(1))
    """(orders,) what a mean may be off by although the misfit was taken out: a share of how much the misfit itself
    varies, since a regression that finds so much has not found all"""

    stretches: int = 0
    """into which known rows that follow one another are cut, to see how unlike they are; 0: not at all"""

    @property
    def rows(self) -> int:
        """Known rows; 0 when the twin was taken at its word."""
        return len(self.left)

    def variance(self, means: Float[np.ndarray, "some features"]) -> Float[np.ndarray, "orders some"]:
        """Of what the regression says at these means of the design."""
        if not self.rows:
            return np.zeros((self.weights.shape[1], len(means)))
        lever = self.design @ (self.inverse @ means.T)
        if self.groups is not None:
            count = int(self.groups.max()) + 1
            sums = np.stack([_summed(one[:, None] * lever, self.groups, count) for one in self.left.T])
            return (sums**2).sum(axis=1) / self.rows**2 * count / max(1, count - 1)
        plain = np.square(self.left).T @ np.square(lever) / self.rows**2
        return plain * inflation(self.slow)

    def between(self, features: Float[np.ndarray, "known some"]) -> Float[np.ndarray, "orders some"]:
        """Variance of means of left * feature from stretch to stretch, beyond what chance and memory make of it.

        Inputs come otherwise in each stretch, and what a twin gets wrong with them; so they will in the next one.
        """
        if not self.stretches:
            return np.zeros((self.left.shape[1], features.shape[1]))
        parts = np.array_split(np.arange(self.rows), self.stretches)
        means = np.stack([self.left[own].T @ features[own] / len(own) for own in parts])
        chance = self.spread[:, None] * np.square(features).mean(axis=0) * self.stretches / self.rows
        return (means.var(axis=0, ddof=1) - chance * inflation(self.slow, memory(features))).clip(0)

    def stranger(self, design: Float[np.ndarray, "rows features"]) -> float:
        """The share of the doubt that stands: none where inputs come as they did, all where they come otherwise."""
        if not self.rows:
            return 1.0
        apart = design.mean(axis=0) - self.design.mean(axis=0)
        by_chance = (design.shape[1] - 1) * (1 / max(1, len(design)) + 1 / self.rows)
        return float(min(1.0, 2 * np.sqrt(max(0.0, apart @ self.inverse @ apart - by_chance))))

    def covers(self, features: Float[np.ndarray, "known some"]) -> Bool[np.ndarray, " some"]:
        """Which features of the known rows the regression knows."""
        if not self.rows:
            return np.ones(features.shape[1], bool)
        told = self.design @ (self.inverse @ (self.design.T @ features) / self.rows)
        return np.square(features - told).mean(axis=0) < _COVERED * np.maximum(features.var(axis=0), 1e-12)

    @property
    def spread(self) -> Float[np.ndarray, " orders"]:
        """Mean square of what is left; 1 where nothing is known."""
        return np.square(self.left).mean(axis=0) if self.rows else np.ones(self.left.shape[1])

    @property
    def freedom(self) -> Float[np.ndarray, " orders"]:
        """Of its variances, at most."""
        if self.groups is not None:
            return np.full(self.left.shape[1], float(self.groups.max()))
        return np.maximum(1.0, (self.rows - len(self.weights)) / inflation(self.slow)[:, 0])


def _summed(values: Float[np.ndarray, "rows some"], groups: np.ndarray, count: int) -> np.ndarray:
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, groups, values)
    return sums


def design_of(
    own: list[InputFeatures], others: list[InputFeatures], known: int, rows: int, worth: float
) -> tuple[Float[np.ndarray, "known features"], Float[np.ndarray, "rows features"]]:
    """A one, features of the twin's inputs, products of two, one feature of every other column, and the ends of the
    twin's inputs, as many as so many independent rows can tell: for known rows, and for new ones."""
    room = max(1, int(worth) // _ROWS_PER_FEATURE - 1)
    left, right = [], []
    for curve in range(max((one.smooth for one in own), default=0)):
        for one in own:
            if curve < one.smooth:
                left.append(one.known[:, curve])
                right.append(one.new[:, curve])
    firsts = [one for one in own if one.known.shape[1]]
    for place, one in enumerate(firsts):
        for other in firsts[:place]:
            left.append(one.known[:, 0] * other.known[:, 0])
            right.append(one.new[:, 0] * other.new[:, 0])
    for one in others:
        if one.known.shape[1]:
            left.append(one.known[:, 0])
            right.append(one.new[:, 0])
    for one in own:
        left += list(one.known[:, one.smooth :].T)
        right += list(one.new[:, one.smooth :].T)
    return (
        np.column_stack([np.ones(known), *left[:room]]),
        np.column_stack([np.ones(rows), *right[:room]]),
    )


def fit_misfit(
    scores: Float[np.ndarray, "known orders"],
    design: Float[np.ndarray, "known features"],
    ordered: bool = False,
    groups: np.ndarray | None = None,
) -> Misfit:
    """Ridge regression, hardly shrunk: its bias has no place in an error that is told."""
    rows, features = design.shape
    inverse = np.linalg.inv(design.T @ design / rows + _RIDGE * np.eye(features))
    weights = inverse @ (design.T @ scores) / rows
    lever = np.einsum("rf,fg,rg->r", design, inverse, design) / rows
    left = (scores - design @ weights) / (1 - np.minimum(lever, 0.5))[:, None]
    slow = memory(left) if ordered else np.zeros((scores.shape[1], 1))
    stretches = _STRETCHES if ordered and rows >= _STRETCHES * _ROWS_OF_STRETCH else 0
    found = Misfit(weights, inverse, design, left, slow, groups, stretches=stretches)
    spread = (design @ weights).var(axis=0) - found.variance(design - design.mean(axis=0)).mean(axis=1)
    return replace(found, doubt=_DOUBT * np.sqrt(spread.clip(0)))


def misfit_of(
    known: Float[np.ndarray, "known orders"],
    own: list[InputFeatures],
    others: list[InputFeatures],
    rows: int,
    ordered: bool,
    groups: np.ndarray | None,
) -> tuple[Misfit, Float[np.ndarray, "rows features"]]:
    """The misfit that known scores show, and the design of the new rows; without known rows the twin is taken at its
    word."""
    if not len(known):
        return no_misfit(1, known.shape[1]), np.ones((rows, 1))
    worth = len(known) / float(inflation(memory(known))[:, 0].max()) if ordered else len(known)
    known_design, design = design_of(own, others, len(known), rows, worth)
    return fit_misfit(known, known_design, ordered, groups), design


def no_misfit(features: int, orders: int) -> Misfit:
    """Nothing is taken out, and nothing adds to an error."""
    none = np.zeros((0, features))
    return Misfit(
        np.zeros((features, orders)),
        np.zeros((features, features)),
        none,
        np.zeros((0, orders)),
        np.zeros((orders, 1)),
        doubt=np.zeros(orders),
    )
