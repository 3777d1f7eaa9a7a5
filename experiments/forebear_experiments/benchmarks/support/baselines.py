"""Cheap selectors that users have today, at the settings their makers or common practice give.

Each takes inputs x (rows, n), a target y (rows,) and a seed, and returns the numbers of the inputs it keeps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# At most this many rows, drawn at random: more change the answers little, and take many times longer than our own.
_MOST_ROWS, _MOST_ROWS_OF_A_FOREST = 20_000, 5_000


def _some(x: np.ndarray, y: np.ndarray, seed: int, most: int = _MOST_ROWS) -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(seed).permutation(len(y))[:most]
    return x[rows], y[rows]


def boosted_deciles(x: np.ndarray, y: np.ndarray, seed: int) -> set[int]:
    """Deciles of y, a boosted classifier, and the rise of its held-out log loss when an input is permuted.

    An input is kept when the rise exceeds three standard deviations over repeated permutations.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    x, y = _some(x, y, seed)
    bins = np.searchsorted(np.quantile(y, np.arange(1, 10) / 10), y)
    parts = train_test_split(x, bins, test_size=0.5, random_state=seed, stratify=bins)
    x_fit, x_test, b_fit, b_test = parts
    model = HistGradientBoostingClassifier(max_iter=100, learning_rate=0.05, max_leaf_nodes=8, random_state=seed)
    model.fit(x_fit, b_fit)
    rise = permutation_importance(model, x_test, b_test, scoring="neg_log_loss", n_repeats=10, random_state=seed)
    mean, spread = (np.asarray(rise[name]) for name in ("importances_mean", "importances_std"))
    return {int(j) for j in np.flatnonzero(mean > 3 * np.maximum(spread, 1e-9))}


def shadow_forest(x: np.ndarray, y: np.ndarray, seed: int) -> set[int]:
    """Random-forest importances against permuted copies of the inputs, twenty times.

    An input is kept when it beats the best copy significantly often (binomial test, level 0.01, Bonferroni).
    """
    from scipy.stats import binomtest
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(seed)
    rounds, n = 20, x.shape[1]
    hits = np.zeros(n, int)
    for _ in range(rounds):
        rows = rng.permutation(len(x))[:_MOST_ROWS_OF_A_FOREST]
        shadows = rng.permuted(x[rows], axis=0)
        forest = RandomForestRegressor(50, max_depth=7, random_state=int(rng.integers(2**31)), n_jobs=-1)
        forest.fit(np.hstack([x[rows], shadows]), y[rows])
        hits += forest.feature_importances_[:n] > forest.feature_importances_[n:].max()
    return {j for j in range(n) if binomtest(int(hits[j]), rounds, alternative="greater").pvalue < 0.01 / n}


def rcit(x: np.ndarray, y: np.ndarray, seed: int, most: int = _MOST_ROWS) -> set[int]:
    """Random-feature conditional independence of y and each input given all the others (causal-learn), level 0.01."""
    from causallearn.utils.RCIT.RCIT import RCIT, RIT  # pyright: ignore[reportMissingImports]

    x, y = _some(x, y, seed, most)
    np.random.seed(seed)  # the package has no other way to be seeded
    kept = set()
    for j in range(x.shape[1]):
        others = np.delete(x, j, axis=1)
        if others.shape[1]:
            p = RCIT().compute_pvalue(x[:, [j]], y[:, None], others)[0]
        else:
            p = RIT().compute_pvalue(x[:, [j]], y[:, None])[0]
        if p < 0.01:
            kept.add(j)
    return kept


BASELINES: dict[str, Callable[[np.ndarray, np.ndarray, int], set[int]]] = {
    "boosted deciles": boosted_deciles,
    "shadow forest": shadow_forest,
    "RCIT": rcit,
}
