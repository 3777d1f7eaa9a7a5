"""The value that most rows have, as zero is in a table of claims: how often it comes, and what comes otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit, ndtr, ndtri

from forebear.flow.network import Network

# Shares of an atom at which its inside is tabled; how far latents are told; how far points of a table are apart.
_WITHIN = np.concatenate([[0.0, 1e-4, 1e-3, 1e-2], np.arange(1, 20) / 20])
_FAR, _STEP = 7.0, 1e-6


@dataclass(frozen=True, eq=False)
class Chance:
    """How likely a row has another value: networks side by side, made straight by rows that they had not seen."""

    networks: Network
    line: tuple[float, float]
    """what is added to their word, and what it is multiplied with before"""

    def said(self, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, " rows"]:
        """The log odds."""
        added, slope = self.line
        return added + slope * self.networks.plainly(features)[..., 0].astype(float).mean(axis=0)


@dataclass(frozen=True, eq=False)
class Atom:
    """A value below all others. Where it does not come, the law around it says what does: that law has learned from
    those rows alone, and speaks of a number that rises with the distance from the atom and has no end."""

    chance: Chance
    low: float
    """from where to where the value is spread, in standardised units of the target"""
    high: float
    width: float
    """distances from the atom that are small beside this are told by their logarithms"""
    centre: float
    """of the numbers that the law around it learned"""
    scale: float

    def numbers(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """The numbers of values above the atom, before they are standardised."""
        apart = np.maximum((y - self.high) / self.width, _STEP)
        return apart + np.log(-np.expm1(-apart))

    def values(self, numbers: Float[np.ndarray, "rows points"]) -> Float[np.ndarray, "rows points"]:
        """The values of numbers as the law around it tells them.

        >>> atom = Atom(None, -1.0, 0.0, 0.5, 0.3, 2.0)
        >>> y = np.array([0.01, 0.5, 8.0])
        >>> atom.values((atom.numbers(y)[None] - 0.3) / 2.0).round(6).tolist()
        [[0.01, 0.5, 8.0]]
        """
        return self.high + self.width * np.logaddexp(0.0, self.centre + self.scale * numbers)

    def joined(
        self,
        features: Float[np.ndarray, "rows features"],
        latents: Float[np.ndarray, "rows points"],
        numbers: Float[np.ndarray, "rows points"],
    ) -> tuple[Float[np.ndarray, "rows more"], Float[np.ndarray, "rows more"]]:
        """Latents and values of the whole law, from latents and numbers of the law around the atom."""
        said = self.chance.said(features)[:, None]
        # Of the smaller one of both chances: the other has lost its digits.
        edge = np.where(said > 0, ndtri(expit(-said)), -ndtri(expit(said))).clip(-_FAR, _FAR)
        inside = ndtri(ndtr(edge) * _WITHIN).clip(-_FAR - 1.0, None)
        above = -ndtri(ndtr(-edge) * ndtr(-latents))
        filled = np.broadcast_to(self.low + (self.high - self.low) * _WITHIN, inside.shape)
        steps = _STEP * np.arange(1, numbers.shape[1] + 1)
        return (
            np.concatenate([inside, edge, np.maximum(above, edge + steps)], axis=1),
            np.concatenate([filled, np.full(edge.shape, self.high), self.values(numbers) + steps], axis=1),
        )
