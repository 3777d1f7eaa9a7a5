"""The conditional law of y as a regressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.sklearn.frames import check_y, gather, has_labels, read_problem, seed_of
from forebear.twin.fit import fit_twin
from forebear.twin.intervals import mean_rule
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin


class ConditionalFlow(RegressorMixin, BaseEstimator):
    """A regressor that learns the whole law of y given X: means, quantiles, draws and densities.

    X and y hold numbers; a data frame X may also hold categories (text, booleans, pandas categories). Several outputs
    have a law each, or one law together with `joint`.

    Parameters:
        steps: training steps of a single flow. None, with `width` and `depth` None too, fits what held-out rows find
            best: networks, networks that hear what trees say, and a forest, weighed against one another.
        width: units in a hidden layer of a single flow.
        depth: its hidden layers.
        joint: one law of all outputs together, so that draws carry their dependence.
        random_state: a whole number gives the same flow each time; None a new one.
        settings: any other field of `forebear.FlowSettings` by name, such as `{"rate": 1e-3}`, and of a twin:
            `held_out`, `law`, `treat`.

    Attributes:
        twin_: the `forebear.Twin` behind it.
        n_features_in_, feature_names_in_: as everywhere in scikit-learn.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 2, size=(2_000, 1))
    >>> y = X[:, 0] * rng.normal(size=2_000)
    >>> flow = ConditionalFlow(steps=300, width=16, depth=2).fit(X, y)
    >>> low, high = flow.predict_quantiles([[1.0], [2.0]], 0.9)  # 1.28 and 2.56 by the law that made y
    >>> bool(low + 0.5 < high), flow.sample([[1.0], [2.0]], n=50).shape
    (True, (2, 50))
    """

    twin_: Twin
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        *,
        steps: int | None = None,
        width: int | None = None,
        depth: int | None = None,
        joint: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.steps = steps
        self.width = width
        self.depth = depth
        self.joint = joint
        self.random_state = random_state
        self.settings = settings

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the law of y (rows,) or (rows, outputs) given X (rows, columns)."""
        problem = read_problem(self, X, y, numeric=True)
        named = {"steps": self.steps, "width": self.width, "depth": self.depth}
        config = TwinSettings.resolve({name: v for name, v in gather(named, self.settings).items() if v is not None})
        self.twin_ = fit_twin(
            read_columns(problem.frame, "the table", problem.frame.columns),
            {output: problem.candidates for output in problem.outputs},
            joint=self.joint,
            settings=config,
            seed=seed_of(self.random_state),
        )
        self._varies = problem.varies
        self._one = problem.one
        self._labelled = has_labels(X)
        return self

    def predict(self, X: Any, quantiles: float | Sequence[float] | None = None) -> np.ndarray:
        """Conditional means (rows,), or (rows, outputs) where y had two axes.

        Integrated over 64 quantiles, without chance (of a joint law: over those of 1,024 draws with a fixed seed).
        With `quantiles` those instead, as `predict_quantiles` gives them: a pipeline passes this on, as in
        `pipeline.predict(X, quantiles=[0.05, 0.95])`.
        """
        if quantiles is not None:
            return self.predict_quantiles(X, quantiles)
        levels, weights = mean_rule()
        return np.tensordot(weights, self._quantiles(X, levels), axes=1)

    def predict_quantiles(self, X: Any, q: float | Sequence[float] = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Conditional quantiles (rows, len(q)), or (rows, outputs, len(q)); without the last axis for a single q.

        Quantiles are of each output by itself.
        """
        return np.moveaxis(self._quantiles(X, np.atleast_1d(q)), 0, -1).squeeze(-1 if np.ndim(q) == 0 else ())

    def sample(self, X: Any, n: int = 1, random_state: int | np.random.RandomState | None = 0) -> np.ndarray:
        """Draws of y (rows, n), or (rows, outputs, n)."""
        given = self._given(X)
        draws = self.twin_.sample(given, n, seed_of(random_state), outside="ignore")
        return np.moveaxis(draws[..., 0] if self._one else draws, 0, -1)

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Log density (rows,) of y, or log probability where y holds whole numbers or values that repeat.

        Of several outputs it is the sum, unless the law is `joint`.
        """
        check_is_fitted(self)
        if self._labelled:
            given, y = self._given(X), check_y(y, numeric=True)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=False)
            given = X[:, self._varies]
        return self.twin_.log_prob(given, y.reshape(len(y), -1)).reshape(len(y), -1).sum(axis=1)

    def score_log_prob(self, X: Any, y: Any) -> float:
        """Mean of `log_prob`: the larger, the better the whole law. `score` is R^2, which sees the mean alone."""
        return float(np.mean(self.log_prob(X, y)))

    def _given(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._labelled:
            validate_data(self, X, reset=False, skip_check_array=True)
            if not isinstance(X, pd.DataFrame):
                raise InputError("X must be a data frame with the columns of the fit, some of which are categories")
            return X.loc[:, list(self.twin_.inputs)]
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))[:, self._varies]

    def _quantiles(self, X: Any, levels: np.ndarray) -> np.ndarray:
        """(len(levels), rows), or (len(levels), rows, outputs)."""
        given = self._given(X)
        found = self.twin_.quantile(given, levels, outside="ignore")
        return found[..., 0] if self._one else found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def log_prob_scorer(estimator: Any, X: Any, y: Any) -> float:
    """`score_log_prob` as the `scoring` of a search, also for a pipeline that ends in a `ConditionalFlow`.

    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> flow = ConditionalFlow(steps=20, width=8, depth=1)
    >>> cross_val_score(flow, X, X[:, 0] + rng.normal(size=100), scoring=log_prob_scorer, cv=2).shape
    (2,)
    """
    last = estimator
    if isinstance(estimator, Pipeline):
        last, X = estimator.steps[-1][1], estimator[:-1].transform(X)
    return last.score_log_prob(X, y)
