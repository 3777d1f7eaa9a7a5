"""A probe that is learned: does anything about the inputs, in whatever combination, predict the latent?

Randomised trees learn all features of the latent from all inputs, kept and removed, on one part of the rows. On the
other part their prediction is one more feature. What trees on the kept inputs alone make of it, and of the latent, is
taken out of both, so that a misfit of the flow in the kept inputs counts only as the product of two small errors;
what is left is held against each other, and only a positive covariance counts. That is the projected covariance
measure (Lundborg, Kim, Shah and Samworth 2024) with a learner that is cheap, and sees interactions of any order, fast
oscillations and rare corners, none of which a list of features can hold. It is no better than the list for plain
effects, and worse for tails, so it stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from forebear.discovery.dependence import Features, MaxStatistic, strengths
from forebear.discovery.effective import RowDependence, autocorrelation
from forebear.kernel.threads import cores

# Trees that look for something, those that take out what the kept inputs explain, and rows in a leaf.
_TREES, _CLEARING_TREES, _LEAF = 60, 30, 5
# A third of the trees looks first. Where they show fewer deviations than these, as they mostly do where there is
# nothing, three times as many hardly ever show the three and more that count.
_A_FEW = 3
PROMISING = 2.0
# Rows that the trees of one part learn from, at most: more take longer and see little more.
_MOST_ROWS = 5_000
# A candidate is behind a prediction if taking it away takes this many standard errors of the covariance, and this
# share of what the strongest takes.
_SURE, _SHARE = 3.0, 0.2


Trees = Sequence[Any]
"""randomised trees, whose predictions are averaged"""


@dataclass(frozen=True, eq=False)
class LearnedProbe:
    """Trees for either part of the rows, and what they predict."""

    inputs: Float[np.ndarray, "rows features"]
    parts: Int[np.ndarray, " rows"]
    trees: Sequence[Trees]
    """by part; those of a part have not seen its rows"""
    given: Float[np.ndarray, "rows kept"]
    """features of the kept inputs"""
    predicted: Float[np.ndarray, "rows orders"]
    """what the trees predict, beyond what follows from the kept inputs"""
    latents: Float[np.ndarray, "rows orders"]
    """the features of latents, likewise"""
    weights: Float[np.ndarray, " rows"] | None = None

    @classmethod
    def fit(
        cls,
        latents: Float[np.ndarray, "rows orders"],
        inputs: Float[np.ndarray, "rows features"],
        parts: Int[np.ndarray, " rows"],
        kept: Sequence[int] = (),
        seed: int = 0,
        weights: np.ndarray | None = None,
        few: bool = False,
    ) -> LearnedProbe:
        """Learn cleared features of latents from features of inputs, of which those at `kept` belong to kept inputs;
        `parts` (rows,) is 0 or 1, `weights` (rows,) say how much rows count; `few`: by a third of the trees.

        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(2_000, 4))
        >>> latents = np.sign(x[:, :3].prod(axis=1))[:, None] + rng.normal(size=(2_000, 1))
        >>> probe = LearnedProbe.fit(latents, x, np.arange(2_000) % 2)
        >>> bool(probe.measure(lambda values: values, 2_000).statistic > 6)
        True
        """
        given, share = inputs[:, list(kept)], _A_FEW if few else 1
        many, clearing = _TREES // share, _CLEARING_TREES // share
        trees = _learn(latents, inputs, parts, seed, many, weights)
        predicted = _predict(trees, inputs, parts, latents.shape[1])
        predicted = _beyond(predicted, given, parts, seed + 2, clearing, weights)
        left = latents
        if given.shape[1]:
            own = _learn(latents, given, parts, seed + 4, clearing, weights)
            left = latents - _predict(own, given, parts, latents.shape[1])
        return cls(inputs, parts, trees, given, predicted, left, weights)

    def measure(
        self,
        clear: Callable[[np.ndarray], np.ndarray],
        freedom: float,
        dependence: RowDependence | None = None,
        worth: float = 1.0,
    ) -> MaxStatistic:
        """The strongest covariance of a feature of the latent with its own prediction."""
        cleared, latents = clear(self.predicted), clear(self.latents)
        # What one part learns from the other and what the other learns from the one are nearly the same sum: together
        # they are worth no more than either.
        freedom = freedom // 2
        best, limit = MaxStatistic(0.0, 0.0, 1, (), 0), 0.0
        for order in range(latents.shape[1]):
            own = cleared[:, order : order + 1]
            if (latents[:, order] * own[:, 0]).mean() <= 0 or own.var() < 1e-12:
                limit = max(limit, 1.645**2 / freedom)
                continue
            slow = dependence is not None and dependence.groups is None
            found = strengths(
                latents[:, order : order + 1],
                Features(own, autocorrelation(own) if slow else None),
                freedom,
                dependence.of_order(order) if dependence is not None else None,
                worth,
            )
            limit = max(limit, float(found.limit[0, 0]))
            if found.statistic[0, 0] > best.statistic:
                strongest = float(found.statistic[0, 0]), float(found.correlation[0, 0])
                best = MaxStatistic(*strongest, order + 1, (), 0)
        # Only predictions of the right sign count: half a test for each.
        return best._replace(tests=max(1, latents.shape[1] // 2), limit=limit)

    def behind(
        self,
        order: int,
        clear: Callable[[np.ndarray], np.ndarray],
        places: Mapping[str, Sequence[int]],
    ) -> tuple[str, ...]:
        """The candidates that the prediction of one feature (1, 2, ...) of the latent rests on, strongest first.

        `places` has the features of the inputs that belong to each removed candidate; each is shuffled in turn.
        """
        latent, rng = self.latents[:, order - 1], np.random.default_rng(0)
        latent = latent if self.weights is None else latent * np.sqrt(self.weights)
        whole = clear(self.predicted[:, order - 1 : order])[:, 0]
        error = np.sqrt(((latent * whole) ** 2).mean() / len(latent))
        loss = {}
        for candidate, features in places.items():
            shuffled = self.inputs.copy()
            shuffled[:, list(features)] = shuffled[rng.permutation(len(latent))][:, list(features)]
            left = _predict(self.trees, shuffled, self.parts, self.latents.shape[1])
            left = _beyond(left[:, order - 1 : order], self.given, self.parts, 2, _CLEARING_TREES, self.weights)
            left = clear(left)[:, 0]
            loss[candidate] = float((latent * (whole - left)).mean() / max(error, 1e-300))
        ranked = sorted(loss, key=lambda candidate: -loss[candidate])
        needed = max(_SURE, _SHARE * loss[ranked[0]])
        return tuple(candidate for candidate in ranked if loss[candidate] >= needed) or tuple(ranked[:1])


def _learn(
    latents: np.ndarray,
    inputs: np.ndarray,
    parts: np.ndarray,
    seed: int,
    count: int,
    weights: np.ndarray | None = None,
) -> list[Trees]:
    """Trees for each part, which have not seen its rows.

    One by one, as the forest of scikit-learn would make them: its bookkeeping takes longer than the trees of a small
    table do.
    """
    from sklearn.tree import ExtraTreeRegressor

    inputs = np.ascontiguousarray(inputs, np.float32)
    trees = []
    for part in (0, 1):
        learn = np.flatnonzero(parts != part)
        if len(learn) > _MOST_ROWS:
            learn = learn[np.linspace(0, len(learn) - 1, _MOST_ROWS).astype(int)]
        x, z = inputs[learn], np.ascontiguousarray(latents[learn], float)
        counts = None if weights is None else np.ascontiguousarray(weights[learn], float)

        def grown(number: int, x: np.ndarray = x, z: np.ndarray = z, part: int = part, counts: Any = counts) -> Any:
            own = np.random.RandomState((seed + part, number))
            tree = ExtraTreeRegressor(max_features=1.0, min_samples_leaf=_LEAF, random_state=own)
            return tree.fit(x, z, sample_weight=counts, check_input=False).tree_

        with ThreadPoolExecutor(cores()) as pool:
            trees.append(list(pool.map(grown, range(count))))
    return trees


def _predict(trees: Sequence[Trees], inputs: np.ndarray, parts: np.ndarray, orders: int) -> np.ndarray:
    inputs, predicted = np.ascontiguousarray(inputs, np.float32), np.zeros((len(inputs), orders))
    for part, own in enumerate(trees):
        asked = parts == part
        rows = inputs[asked]
        # In the order of the trees: sums in any other would differ in their last digits.
        with ThreadPoolExecutor(cores()) as pool:
            told = pool.map(lambda tree, rows=rows: tree.predict(rows), own)
            predicted[asked] = sum(one.reshape(len(rows), orders) for one in told) / len(own)
    return predicted


def _beyond(
    values: np.ndarray,
    given: np.ndarray,
    parts: np.ndarray,
    seed: int,
    count: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Values (rows, some) less what so many trees on the kept inputs make of them: within each part, either half by
    the other."""
    if not given.shape[1]:
        return values
    left = np.empty_like(values)
    for part in (0, 1):
        rows = np.flatnonzero(parts == part)
        halves = np.arange(len(rows)) % 2
        own = values[rows]
        trees = _learn(own, given[rows], halves, seed, count, None if weights is None else weights[rows])
        left[rows] = own - _predict(trees, given[rows], halves, values.shape[1])
    return left
