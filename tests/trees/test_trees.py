"""Trees as arrays say what scikit-learn's say, and damaged ones are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forebear.trees.arrays import Trees
from forebear.trees.learn import boosted, forest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)).astype(np.float32)
Y = np.sin(3 * X[:, 0]) + (X[:, 1] > 0.3)


def test_boosted_trees_learn_a_function() -> None:
    told = boosted(X, Y, seed=0).values(X)[..., 0].sum(axis=0)
    assert np.mean((told - Y) ** 2) < 0.01


def test_boosted_trees_say_what_scikit_learn_says() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    made: list[HistGradientBoostingRegressor] = []
    real = HistGradientBoostingRegressor.fit

    def fit(self: HistGradientBoostingRegressor, *data: object) -> HistGradientBoostingRegressor:
        made.append(self)
        return real(self, *data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HistGradientBoostingRegressor, "fit", fit)
        trees = boosted(X, Y, seed=0)
    new = RNG.normal(size=(500, 3)).astype(np.float32)
    ours = trees.values(new)[..., 0].sum(axis=0)
    np.testing.assert_allclose(ours, made[0].predict(new), atol=1e-4)


def test_a_forest_says_the_values_of_its_leaves() -> None:
    grown = forest(X, Y, Y + 10, trees=5, seed=0)
    told = grown.values(X)
    assert told.shape == (5, 400, 2)
    np.testing.assert_allclose(told[:, :, 0], np.broadcast_to(Y + 10, (5, 400)), atol=1e-5)


def test_trees_see_the_features_at_the_places_they_are_told() -> None:
    wide = np.concatenate([RNG.normal(size=(400, 2)).astype(np.float32), X], axis=1)
    own = forest(X, Y, Y, trees=3, seed=0)
    np.testing.assert_array_equal(own.seeing(np.array([2, 3, 4])).values(wide), own.values(X))


def test_joined_trees_are_all_of_them() -> None:
    one, other = (forest(X, Y, Y, trees=2, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(
        Trees.joined([one, other]).values(X), np.concatenate([one.values(X), other.values(X)])
    )


@pytest.mark.parametrize("damage", ["circle", "far", "feature", "value"])
def test_damaged_trees_are_refused(damage: str) -> None:
    trees = forest(X, Y, Y, trees=2, seed=0)
    trees.check(3)
    left, feature, value = trees.left.copy(), trees.feature.copy(), trees.value.copy()
    if damage == "circle":
        left[1] = 0
    if damage == "far":
        left[0] = len(left)
    if damage == "feature":
        feature[0] = 3
    if damage == "value":
        value[-1] = np.nan
    with pytest.raises(ValueError, match="damaged"):
        replace(trees, left=left, feature=feature, value=value).check(3)
