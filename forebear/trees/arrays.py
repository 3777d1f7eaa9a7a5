"""Regression trees as plain arrays: they can be saved, loaded and asked without running anybody's code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

# Places of trees times rows that are followed at once.
_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Trees:
    """Some trees, their nodes one after the other.

    A row goes left at a node where its feature is at most the threshold. A leaf leads to itself.

    >>> stump = Trees.of([np.array([0, 0, 0])], [np.array([0.5, 0, 0])], [np.array([1, 1, 2])],
    ...                  [np.array([2, 1, 2])], [np.array([[0.0], [10.0], [20.0]])])
    >>> stump.values(np.array([[0.0], [1.0]]))[..., 0].tolist()
    [[10.0, 20.0]]
    """

    feature: np.ndarray
    """(nodes,)"""
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    """(nodes, width) what a leaf says; of other nodes nothing"""
    roots: np.ndarray
    """(trees,)"""

    @classmethod
    def of(
        cls,
        feature: Sequence[np.ndarray],
        threshold: Sequence[np.ndarray],
        left: Sequence[np.ndarray],
        right: Sequence[np.ndarray],
        value: Sequence[np.ndarray],
    ) -> Trees:
        """From the arrays of each tree, whose nodes count from its own root, 0."""
        sizes = np.array([len(own) for own in feature])
        roots = np.cumsum(sizes) - sizes
        moved = [[own + root for own, root in zip(side, roots, strict=True)] for side in (left, right)]
        return cls(
            np.concatenate(feature).astype(np.int32),
            np.concatenate(threshold).astype(np.float32),
            np.concatenate(moved[0]).astype(np.int32),
            np.concatenate(moved[1]).astype(np.int32),
            np.concatenate(value).astype(np.float32),
            roots.astype(np.int32),
        )

    @classmethod
    def joined(cls, several: Sequence[Trees]) -> Trees:
        """All trees of several, in order."""
        sizes = np.array([len(own.feature) for own in several])
        starts = np.cumsum(sizes) - sizes

        def along(name: str, moved: bool = False) -> np.ndarray:
            parts = [getattr(own, name) + (start if moved else 0) for own, start in zip(several, starts, strict=True)]
            return np.concatenate(parts).astype(getattr(several[0], name).dtype)

        return cls(
            along("feature"),
            along("threshold"),
            along("left", True),
            along("right", True),
            along("value"),
            along("roots", True),
        )

    def seeing(self, places: Int[np.ndarray, " some"]) -> Trees:
        """The same trees for rows in which feature i of theirs has place `places[i]`."""
        return replace(self, feature=np.asarray(places, np.int32)[self.feature])

    def values(self, x: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "trees rows width"]:
        """What the leaves of every tree say of every row."""
        return self.value[self.leaves(x)]

    def leaves(self, x: Float[np.ndarray, "rows features"]) -> Int[np.ndarray, "trees rows"]:
        """The leaf of every row in every tree."""
        x = np.asarray(x, np.float32)
        found = np.empty((len(self.roots), len(x)), np.int32)
        size = max(1, _AT_ONCE // max(1, len(self.roots)))
        for start in range(0, len(x), size):
            found[:, start : start + size] = self._follow(x[start : start + size])
        return found

    def _follow(self, x: np.ndarray) -> np.ndarray:
        rows = np.arange(len(x))[None]
        at = np.repeat(self.roots[:, None], len(x), axis=1)
        while True:
            onwards = np.where(x[rows, self.feature[at]] <= self.threshold[at], self.left[at], self.right[at])
            if (onwards == at).all():
                return at
            at = onwards

    def check(self, features: int) -> None:
        """A ValueError unless every path ends in a leaf and sees only so many features."""
        nodes, own = len(self.feature), np.arange(len(self.feature))
        leaf = (self.left == own) & (self.right == own)
        onwards = (self.left > own) & (self.right > own)  # children come later: no path can go round in circles
        inside = (np.maximum(self.left, self.right) < nodes).all() and (
            (self.feature >= 0) & (self.feature < features)
        ).all()
        roots = ((self.roots >= 0) & (self.roots < nodes)).all()
        if not (nodes and inside and roots and (leaf | onwards).all() and np.isfinite(self.value).all()):
            raise ValueError("damaged trees")
