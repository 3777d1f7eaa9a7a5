"""Feature selection: keep the columns that shape the law of y."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from forebear.api.discover import discover
from forebear.api.found import Found
from forebear.data.question import FEWEST_ROWS, ROWS_PER_INPUT
from forebear.discovery.choose import Rule
from forebear.sklearn.frames import Problem, gather, has_labels, read_problem, seed_of


class AncestorSelector(SelectorMixin, BaseEstimator):
    """Keep the columns that shape the conditional law of y: its mean, its spread or its shape.

    `fit` runs `forebear.discover`. With several outputs a column is kept when it shapes any of them. Columns that are
    constant in the rows of the fit are dropped. When nothing shapes y no column is left, and scikit-learn says so in
    a warning. With fewer rows than any evidence needs (30, and two a column) the others are all kept, with a warning.

    X holds numbers; y numbers or labels.

    Parameters:
        rule: "certified", "nsr-jump", or a callable from a path to names; see `forebear.discover`.
        preset: "fast" or "paper".
        level: of the certified rule: chance of keeping a column that is not needed.
        runs: independent repeats; what more than half of them chose is kept.
        steps: training steps of the samplers; None leaves it to the preset.
        distilled: rows drawn from them for the regression; None leaves it to the preset.
        random_state: a whole number gives the same result each time; None a new one.
        settings: any other setting of `forebear.discover` by name, such as `{"width": 32, "least_effect": 0.01}`.

    Attributes:
        support_: array of booleans, a column each.
        ranking_: array of whole numbers: 1 for a kept column, 2 for the one that was removed last, and so on;
            constant columns come last.
        path_: DataFrame of the order of removal, as in `Found.paths`; with several outputs the first level of its
            index is the output.
        pvalues_: array, NaN where there is none. For a removed column: whether y still depends on it, given the kept
            ones; for a kept one: whether it does when it alone is taken out. With several outputs the least.
        effects_: array of effect sizes, from the same tests; with several outputs the largest.
        found_: the `forebear.Found` behind it, with report, figures and twin; None when nothing was tested, for want
            of rows or because no column varies.
        n_features_in_, feature_names_in_: as everywhere in scikit-learn.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(2_000, 3))
    >>> y = X[:, 1] * rng.normal(size=2_000)  # column 1 moves the spread of y, nothing moves its mean
    >>> selector = AncestorSelector(steps=300, distilled=500, settings={"width": 16, "depth": 2}).fit(X, y)
    >>> selector.support_.tolist(), selector.get_feature_names_out().tolist(), selector.transform(X).shape
    ([False, True, False], ['x1'], (2000, 1))
    """

    support_: np.ndarray
    ranking_: np.ndarray
    path_: pd.DataFrame
    pvalues_: np.ndarray
    effects_: np.ndarray
    found_: Found | None
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        rule: str | Rule = "certified",
        *,
        preset: str = "fast",
        level: float = 0.01,
        runs: int = 1,
        steps: int | None = None,
        distilled: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.rule = rule
        self.preset = preset
        self.level = level
        self.runs = runs
        self.steps = steps
        self.distilled = distilled
        self.random_state = random_state
        self.settings = settings

    def fit(self, X: Any, y: Any) -> Self:
        """Find the columns of X (rows, columns) that shape y (rows,) or (rows, outputs)."""
        problem = read_problem(self, X, y, numeric=False)
        if not problem.candidates:
            return self._store(problem, np.zeros(len(problem.inputs), bool))
        needed = max(FEWEST_ROWS, ROWS_PER_INPUT * len(problem.candidates))
        if len(problem.frame) < needed:
            warnings.warn(
                f"n_samples={len(problem.frame)} is too few to tell which of {len(problem.candidates)} columns "
                f"matter, so all that vary are kept: give at least {needed} rows",
                UserWarning,
                stacklevel=2,
            )
            return self._store(problem, problem.varies)
        found = discover(
            problem.frame,
            list(problem.outputs),
            rule=self.rule,
            preset=self.preset,
            runs=self.runs,
            seed=seed_of(self.random_state),
            progress=False,
            **self._settings(),
        )
        chosen = set(found.union())
        return self._store(problem, np.array([name in chosen for name in problem.inputs]), found)

    def _settings(self) -> dict[str, Any]:
        named = {"level": self.level, "steps": self.steps, "distilled": self.distilled}
        return gather({name: value for name, value in named.items() if value is not None}, self.settings)

    def _store(self, problem: Problem, support: np.ndarray, found: Found | None = None) -> Self:
        self.support_ = support
        self.found_ = found
        self.ranking_ = _ranking(problem, support, found)
        paths = {} if found is None else found.paths
        one = len(problem.outputs) == 1
        self.path_ = pd.DataFrame() if not paths else paths[problem.outputs[0]] if one else _stacked(paths)
        self.pvalues_ = _evidence(problem, found, "p_value", np.fmin)
        self.effects_ = _evidence(problem, found, "effect", np.fmax)
        return self

    def transform(self, X: Any) -> Any:
        """The chosen columns of X; of a frame with categories as a frame."""
        if not has_labels(X):
            return super().transform(X)
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X.loc[:, self.support_]

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _stacked(paths: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(paths.values(), keys=paths.keys(), names=["output", None])


def _ranking(problem: Problem, support: np.ndarray, found: Found | None) -> np.ndarray:
    """With several outputs a column counts as removed when the last of them removed it."""
    place = dict.fromkeys(problem.inputs, -1)
    for path in [] if found is None else found.runs[0].values():
        for step, name in enumerate(path.removed):
            place[name] = max(place[name], step)
    latest = np.array([place[name] for name in problem.inputs])
    ranking = np.ones(len(support), int)
    if not support.all():
        ranking[~support] = 2 + np.unique(-latest[~support], return_inverse=True)[1]
    return ranking


def _evidence(problem: Problem, found: Found | None, name: str, combine: np.ufunc) -> np.ndarray:
    values = np.full(len(problem.inputs), np.nan)
    for certificate in {} if found is None else found.certified[0].values():
        column = certificate.frame()[name]
        values = combine(values, [column.get(unit, np.nan) for unit in problem.inputs])
    return values
