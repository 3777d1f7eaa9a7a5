"""Boosted trees for the mean and forests for the whole law, learned by scikit-learn and kept as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from forebear.trees.arrays import Trees


def boosted(
    x: Float[np.ndarray, "rows features"],
    y: Float[np.ndarray, " rows"],
    *,
    seed: int,
    weights: Float[np.ndarray, " rows"] | None = None,
) -> Trees:
    """Trees whose values add up to the mean of y, weighted where rows have weights: many small ones on few rows,
    larger ones on many.

    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> trees = boosted(x, np.sign(x[:, 0]), seed=0)
    >>> bool(np.abs(trees.values(x).sum(axis=0)[:, 0] - np.sign(x[:, 0])).max() < 0.05)
    True
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    rows = len(x)
    leaves, least = (8, 5) if rows < 3_000 else (16, 10) if rows < 6_000 else (31, 20)
    never: Any = False
    learner = HistGradientBoostingRegressor(
        learning_rate=0.1,
        max_iter=500 if rows < 20_000 else 300,
        max_leaf_nodes=leaves,
        min_samples_leaf=min(least, max(1, rows // 10)),
        l2_regularization=1.0,
        early_stopping=never,
        random_state=seed,
    )
    # Threads that wait for one another at every small node cost more than they bring, most of all on a busy machine.
    with threadpool_limits(1 if rows < 10_000 else None, user_api="openmp"):
        private: Any = learner.fit(np.asarray(x, np.float32), y, weights)
    # The start is a tree of one leaf. Children come after their parents, as `Trees.check` wants it.
    start = np.array([[float(np.ravel(private._baseline_prediction)[0])]])
    parts = [([0], [0.0], [0], [0], start)] + [_grown(one[0].nodes) for one in private._predictors]
    return Trees.of(*([np.asarray(part[i]) for part in parts] for i in range(5)))


def _grown(nodes: Any) -> tuple[np.ndarray, ...]:
    """The arrays of one boosted tree."""
    own, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, own, nodes[side].astype(np.int64)) for side in ("left", "right"))
    feature = np.where(leaf, 0, nodes["feature_idx"].astype(np.int64))
    threshold = np.where(leaf, 0.0, nodes["num_threshold"])
    return feature, threshold, left, right, nodes["value"][:, None]


def forest(
    x: Float[np.ndarray, "rows features"],
    y: Float[np.ndarray, " rows"],
    said: Float[np.ndarray, " rows"],
    *,
    trees: int,
    seed: int,
    weights: Float[np.ndarray, " rows"] | None = None,
) -> Trees:
    """Randomised trees grown to tell y apart; a leaf says some of the values `said` of its rows, evenly chosen, or by
    their weights.

    >>> x = np.repeat([0.0, 1.0], 50)[:, None]
    >>> grown = forest(x, x[:, 0], x[:, 0] + 5, trees=3, seed=0)
    >>> grown.values(np.array([[1.0]]))[:, 0].tolist()
    [[6.0, 6.0], [6.0, 6.0], [6.0, 6.0]]
    """
    from sklearn.ensemble import ExtraTreesRegressor

    least = 1 if len(x) < 3_000 else 3 if len(x) < 10_000 else 5
    single = np.asarray(x, np.float32)
    learner = ExtraTreesRegressor(trees, min_samples_leaf=least, random_state=seed, n_jobs=-1)
    learner.fit(single, y, weights)
    leaves = learner.apply(single)
    width = 2 if least == 1 else 4
    parts = [_of_forest(one.tree_, leaves[:, i], said, width, weights) for i, one in enumerate(learner)]
    return Trees.of(*([part[i] for part in parts] for i in range(5)))


def _of_forest(
    tree: Any, leaves: np.ndarray, said: np.ndarray, width: int, weights: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    own = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    left, right = (np.where(leaf, own, side) for side in (tree.children_left, tree.children_right))
    order = np.lexsort((said, leaves))
    reached, first, count = np.unique(leaves[order], return_index=True, return_counts=True)
    levels = (np.arange(width) + 0.5) / width
    if weights is None:
        places = first[:, None] + (levels * count[:, None]).astype(np.int64)
    else:
        # A rising sum of the weights of all leaves in turn; each level is looked up inside its own leaf.
        ends = np.cumsum(weights[order])
        starts = ends[first] - weights[order][first]
        sums = ends[first + count - 1] - starts
        places = np.searchsorted(ends, starts[:, None] + levels * sums[:, None])
        places = np.clip(places, first[:, None], (first + count - 1)[:, None])
    value = np.zeros((tree.node_count, width))
    value[reached] = said[order][places]
    # Comparisons are in single precision here: the largest single number that is not above the threshold.
    threshold = np.where(leaf, 0.0, tree.threshold)
    single = threshold.astype(np.float32)
    single = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)
    return np.where(leaf, 0, tree.feature), single, left, right, value
