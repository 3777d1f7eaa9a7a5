"""Where does a law that changed still hold? New rows tell it near them; where none are, nothing speaks against it.

Around each place the nearest new rows are asked: the mean features of their latents are those of a standard normal
law where the law still holds. How often it does, and by how much it is off elsewhere, is estimated from all places
together (two groups, by expectation and maximisation), so that a change in one corner and one everywhere are told
alike.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree
from scipy.special import expit

from forebear.watch.features import ORDERS, scores

# New rows around a place: this many times the root of their number, between these.
_NEAR, _FEWEST, _MOST = 1.5, 20, 150
# A place is beyond the new rows if its neighbours are so many times further than those of most new rows are.
_BEYOND, _MOST_ROWS = 1.5, 0.9
# Both groups keep some share, and the changed one some spread, so that neither can vanish into the other.
_LEAST_SHARE, _LEAST_SPREAD, _ROUNDS = 0.02, 0.02, 50


def still_holds(
    z: Float[np.ndarray, " rows"],
    near: Float[np.ndarray, "rows features"],
    places: Float[np.ndarray, "places features"],
) -> Float[np.ndarray, " places"]:
    """The chance that the law still holds at each place, from latents of new rows of a law that changed somewhere.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(2_000, 1))
    >>> moved = rng.normal(size=2_000) + 1.5 * (x[:, 0] > 0.5)
    >>> holds = still_holds(moved, x, np.array([[-0.8], [0.0], [0.9], [9.0]]))
    >>> (holds > 0.5).tolist()
    [True, True, False, True]
    """
    if not len(places):
        return np.zeros(0)
    count = int(min(len(z), np.clip(_NEAR * np.sqrt(len(z)), _FEWEST, _MOST)))
    if not near.shape[1]:
        near, places = np.zeros((len(near), 1)), np.zeros((len(places), 1))
    tree = KDTree(near)
    own, around_own = _nearest(tree, near, count)
    far, around = _nearest(tree, places, count)
    told = scores(z)
    means = told[around_own].mean(axis=1), told[around].mean(axis=1)
    share, spread = _two_groups(means[0], count)
    chance = _chance(means[1], count, share, spread)
    beyond = far > _BEYOND * max(float(np.quantile(own, _MOST_ROWS)), 1e-12)
    return np.where(beyond, 1.0, chance)


def _nearest(tree: KDTree, places: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """How far the last of so many neighbours is, and which they are."""
    # A single neighbour comes without an axis.
    far, around = (np.reshape(own, (len(places), count)) for own in tree.query(places, k=count))
    return far[:, -1], around


def _two_groups(means: Float[np.ndarray, "places orders"], count: int) -> tuple[float, np.ndarray]:
    """The share of places at which the law holds, and the variance of the means elsewhere, by order."""
    # All features have variance one; of their means one over the count is chance.
    share, spread = 0.5, np.maximum((means**2).mean(axis=0) - 1 / count, _LEAST_SPREAD)
    for _ in range(_ROUNDS):
        changed = 1 - _chance(means, count, share, spread)
        if changed.sum() < 1e-9:
            break
        share = float(np.clip(1 - changed.mean(), _LEAST_SHARE, 1 - _LEAST_SHARE))
        spread = np.maximum(changed @ means**2 / changed.sum() - 1 / count, _LEAST_SPREAD)
    return share, spread


def _chance(means: np.ndarray, count: int, share: float, spread: np.ndarray) -> np.ndarray:
    """That a place is of the group in which the law holds."""
    noise = np.full(ORDERS, 1 / count)
    against = 0.5 * (means**2 * (1 / noise - 1 / (noise + spread)) - np.log((noise + spread) / noise)).sum(axis=1)
    return expit(np.log(share / (1 - share)) - against)
