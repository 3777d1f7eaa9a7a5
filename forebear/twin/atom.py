"""The value that most rows have, as zero is in a table of claims: how often it comes, and what comes otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from forebear.twin.votes import FAR, STEP, Votes, spread_over


@dataclass(frozen=True, eq=False)
class Atom:
    """A value below all others. Where it does not come, the law around it says what does: that law has learned from
    those rows alone, and speaks of a number that rises with the distance from the atom and has no end."""

    votes: Votes
    """for the atom, and against it"""
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
        apart = np.maximum((y - self.high) / self.width, STEP)
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
        here, other = np.exp(self.votes.chances(features)).T[:, :, None]
        # Of the smaller one of both chances: the other has lost its digits.
        edge = np.where(here < 0.5, ndtri(here), -ndtri(other)).clip(-FAR, FAR)
        inside, filled = spread_over(edge, self.low, self.high)
        above = -ndtri(ndtr(-edge) * ndtr(-latents))
        steps = STEP * np.arange(1, numbers.shape[1] + 1)
        return (
            np.concatenate([inside, edge, np.maximum(above, edge + steps)], axis=1),
            np.concatenate([filled, np.full(edge.shape, self.high), self.values(numbers) + steps], axis=1),
        )
