"""How likely each of a few things is: networks side by side, whose word is the logarithm of a chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, ndtr, ndtri

from forebear.flow.network import Network

# Shares of a cell at which its inside is tabled; how far latents are told; how far points of a table are apart.
WITHIN = np.concatenate([[0.0, 1e-4, 1e-3, 1e-2], np.arange(1, 20) / 20])
FAR, STEP = 7.0, 1e-6


@dataclass(frozen=True, eq=False)
class Votes:
    """Networks that each have not seen one part of the rows; all of them together are asked about new ones."""

    networks: Network
    heat: float
    """what their word is multiplied with: what served those parts best"""

    def chances(self, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows some"]:
        """The logarithm of the chance of each."""
        return log_softmax(self.heat * self.networks.plainly(features).astype(float).mean(axis=0), axis=1)


@dataclass(frozen=True, eq=False)
class Cells:
    """A target of two values, or of labels: how likely each is, and where it is spread on the continuous scale."""

    votes: Votes
    edges: Float[np.ndarray, " edges"]
    """of the cells, in standardised units of the target"""

    def table(
        self, features: Float[np.ndarray, "rows features"]
    ) -> tuple[Float[np.ndarray, "rows points"], Float[np.ndarray, "rows points"]]:
        """Latents and values at each row."""
        chance = np.exp(self.votes.chances(features))
        below = np.cumsum(chance, axis=1) - chance
        within = np.append(WITHIN[1:], 1.0)
        # What is above keeps its digits where what is below has lost them.
        under = (below[..., None] + chance[..., None] * within).reshape(len(features), -1)
        over = ((1 - below)[..., None] - chance[..., None] * within).reshape(len(features), -1)
        z = np.where(under < 0.5, ndtri(under.clip(1e-300, 1)), -ndtri(over.clip(1e-300, 1))).clip(-FAR, FAR)
        widths = np.diff(self.edges)
        values = (self.edges[:-1, None] + widths[:, None] * within).reshape(-1)
        z = np.concatenate([np.full((len(z), 1), -FAR - 1.0), z], axis=1)
        # Of cells without a chance all points lie together: a table rises nevertheless.
        steps = STEP * np.arange(z.shape[1])
        rising = np.maximum.accumulate(z - steps, axis=1) + steps
        return rising, np.broadcast_to(np.append(self.edges[0], values), z.shape)


def spread_over(edge: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Latents and values (rows, points) inside a cell below all others that ends at these latents (rows, 1)."""
    inside = ndtri(ndtr(edge) * WITHIN).clip(-FAR - 1.0, None)
    return inside, np.broadcast_to(low + (high - low) * WITHIN, inside.shape)
