"""The scikit-learn estimators: its own checks, its tools around them, and laws that are known."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import forebear as fb
from forebear.sklearn import AncestorSelector, ConditionalFlow, log_prob_scorer
from forebear.sklearn.frames import seed_of
from forebear.twin import batches
from forebear.twin.intervals import mean_rule

SMALL: dict[str, Any] = {"width": 16, "depth": 2}
ROWS = 1_000
NOISE = np.random.default_rng(1).normal(size=ROWS)


# --- scikit-learn's own checks. None is expected to fail. ---

CHECKED = (
    AncestorSelector(steps=20, distilled=50, settings={**SMALL, "subset_steps": 50, "tested": 100}),
    ConditionalFlow(steps=150, settings={"ode_steps": 4, "averaging": 0.9}, **SMALL),
)
# Needs an environment variable to be set before SciPy is loaded; a test below runs it in a process of its own.
ELSEWHERE = "check_array_api_input"
# Every one of these fits tables of a shape of its own, which takes seconds to compile.
SLOW = {
    "AncestorSelector": {
        "check_positive_only_tag_during_fit",
        "check_dtype_object",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
    },
    "ConditionalFlow": {
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_dont_overwrite_parameters",
        "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_estimators_nan_inf",
        "check_regressors_train",
        "check_regressor_data_not_an_array",
        "check_regressor_multioutput",
        "check_regressors_no_decision_function",
        "check_regressors_int",
        "check_fit2d_1feature",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
    },
}


def _checks() -> list[Any]:
    pairs: list[Any] = [pair for instance in CHECKED for pair in estimator_checks_generator(instance)]
    params = []
    for estimator, check in pairs:
        kind, name = type(estimator).__name__, getattr(check, "func", check).__name__
        if name != ELSEWHERE:
            marks = [pytest.mark.slow] if name in SLOW[kind] else []
            params.append(pytest.param(estimator, check, id=f"{kind}-{name}", marks=marks))
    return params


@pytest.mark.filterwarnings("ignore:n_samples=.* is too few to tell")
@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize(("estimator", "check"), _checks())
def test_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("instance", CHECKED, ids=lambda instance: type(instance).__name__)
def test_check_array_api(instance: Any) -> None:
    code = (
        "import numpy, warnings; warnings.simplefilter('ignore')\n"
        "from forebear.sklearn import AncestorSelector, ConditionalFlow\n"
        f"from sklearn.utils.estimator_checks import {ELSEWHERE} as check\n"
        f"estimator = {type(instance).__name__}(**{instance.get_params()!r})\n"
        f"check({type(instance).__name__!r}, estimator, 'numpy', expect_only_array_outputs=False)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "SCIPY_ARRAY_API": "1"})


# --- the selector ---


def _inputs() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 3)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def spread() -> AncestorSelector:
    """b moves the spread of y; nothing moves its mean."""
    X = _inputs()
    selector = AncestorSelector(steps=300, distilled=400, settings={**SMALL, "subset_steps": 800})
    return selector.fit(X, pd.Series(X["b"] * NOISE, name="height"))


def test_selects_what_moves_the_spread(spread: AncestorSelector) -> None:
    assert spread.support_.tolist() == [False, True, False]
    assert str(spread.get_support(indices=True)) == "[1]"
    assert sorted(spread.ranking_) == [1, 2, 3] and spread.ranking_[1] == 1
    assert spread.pvalues_[1] < 1e-6 < spread.pvalues_[[0, 2]].min()
    assert spread.effects_[1] > 0.1 > spread.effects_[[0, 2]].max()


def test_ranks_by_order_of_removal(spread: AncestorSelector) -> None:
    removed = [name for name in spread.path_["removed"].dropna() if name != "b"]
    assert spread.ranking_[["abc".index(name) for name in removed]].tolist() == [3, 2]


def test_names_are_kept(spread: AncestorSelector) -> None:
    X = _inputs()
    assert spread.feature_names_in_.tolist() == ["a", "b", "c"] and spread.n_features_in_ == 3
    assert spread.get_feature_names_out().tolist() == ["b"]
    assert spread.found_ is not None and spread.found_.ancestors == {"height": ("b",)}
    with pytest.raises(ValueError, match="feature names should match"):
        spread.transform(X.rename(columns={"b": "B"}))


def test_pandas_out(spread: AncestorSelector) -> None:
    X = _inputs()
    try:
        pd.testing.assert_frame_equal(spread.set_output(transform="pandas").transform(X), X.loc[:, ["b"]])
    finally:
        spread.set_output(transform="default")
    np.testing.assert_array_equal(spread.transform(X), X[["b"]])


def test_same_as_discover(spread: AncestorSelector) -> None:
    table = _inputs().assign(height=lambda X: X["b"] * NOISE)
    settings: dict[str, Any] = {**SMALL, "subset_steps": 800, "steps": 300, "distilled": 400}
    found = fb.discover(table, "height", progress=False, **settings)
    np.testing.assert_array_equal(spread.pvalues_, found.certificates["height"].loc[["a", "b", "c"], "p_value"])
    pd.testing.assert_frame_equal(spread.path_, found.paths["height"])


def test_clone_carries_parameters_alone(spread: AncestorSelector) -> None:
    copy: Any = clone(spread)
    assert copy.get_params() == spread.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(_inputs().to_numpy())


def last(path: fb.Path) -> tuple[str, ...]:
    """A rule: what is removed last."""
    return path.removed[-1:]


@pytest.fixture(scope="module")
def union() -> tuple[AncestorSelector, pd.DataFrame]:
    X = _inputs().assign(flat=3.0)
    y = pd.DataFrame({"u": X["a"] + NOISE / 9, "a": X["c"] ** 2 + NOISE / 9})
    return AncestorSelector(last, steps=200, distilled=200, settings=SMALL).fit(X, y), X


def test_several_outputs_keep_the_union(union: tuple[AncestorSelector, pd.DataFrame]) -> None:
    selector, X = union
    assert selector.get_feature_names_out().tolist() == ["a", "c"]
    np.testing.assert_array_equal(selector.transform(X), X[["a", "c"]])
    assert selector.ranking_.tolist() == [1, 2, 1, 3]  # a constant comes last
    assert selector.found_ is not None and selector.found_.targets == ("u", "a_")  # a column of X has that name
    assert selector.path_.index.get_level_values("output").unique().tolist() == ["u", "a_"]
    assert np.isnan(selector.pvalues_).all()  # this rule tests nothing


def test_labels_as_y() -> None:
    X = _inputs()
    labels = np.where(X["c"] + NOISE / 9 > 0, "up", "down")
    selector = AncestorSelector(last, steps=300, distilled=400, settings=SMALL).fit(X, labels)
    assert selector.get_feature_names_out().tolist() == ["c"]


def test_few_rows_keep_everything() -> None:
    X = _inputs().assign(flat=3.0)[:29]
    with pytest.warns(UserWarning, match="n_samples=29 is too few .* of 3 columns .* at least 30 rows"):
        selector = AncestorSelector().fit(X, NOISE[:29])
    assert selector.support_.tolist() == [True, True, True, False]
    assert selector.ranking_.tolist() == [1, 1, 1, 2]
    assert selector.found_ is None and selector.path_.empty and np.isnan(selector.effects_).all()


def test_nothing_varies() -> None:
    selector = AncestorSelector().fit(np.ones((50, 2)), NOISE[:50])
    assert not selector.support_.any()


# --- the flow ---


@pytest.fixture(scope="module")
def few_shapes() -> Iterator[None]:
    """Every shape is compiled once; here most of the time would go there. Not for the checks above, some of which
    compare batches of different sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 2**11)
        yield


@pytest.fixture(scope="module")
def flow(few_shapes: None) -> ConditionalFlow:
    """y | x is lognormal: exp(x + z / 2)."""
    x = np.random.default_rng(2).uniform(-1, 1, size=4_000)
    noise = np.random.default_rng(3).normal(size=4_000)
    return ConditionalFlow(steps=1_500, width=32, depth=3).fit(x[:, None], np.exp(x + noise / 2))


GIVEN = np.array([[-0.8], [0.0], [0.8]])


def test_quantiles_of_a_known_law(flow: ConditionalFlow) -> None:
    levels = [0.1, 0.5, 0.9]
    exact = np.exp(GIVEN + ndtri(levels) / 2)
    np.testing.assert_allclose(flow.predict_quantiles(GIVEN, levels), exact, rtol=0.15)
    np.testing.assert_array_equal(flow.predict_quantiles(GIVEN, 0.5), flow.predict_quantiles(GIVEN, levels)[:, 1])


def test_predicts_the_mean(flow: ConditionalFlow) -> None:
    mean = flow.predict(GIVEN)
    np.testing.assert_allclose(mean, np.exp(GIVEN[:, 0] + 1 / 8), rtol=0.1)
    np.testing.assert_array_equal(mean, flow.predict(GIVEN))
    draws = flow.sample(GIVEN, n=4_000, random_state=1)
    assert draws.shape == (3, 4_000)
    np.testing.assert_allclose(draws.mean(axis=1), mean, rtol=0.05)


def test_rule_for_means() -> None:
    levels, weights = mean_rule()
    z = ndtri(levels)
    assert weights.sum() == pytest.approx(1) and weights @ z == pytest.approx(0, abs=1e-12)
    assert weights @ np.exp(z) == pytest.approx(np.exp(0.5), rel=0.002)


def test_log_density_of_a_known_law(flow: ConditionalFlow) -> None:
    y = np.exp(GIVEN[:, 0])
    exact = -np.log(y * 0.5 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(flow.log_prob(GIVEN, y), exact, atol=0.2)
    assert flow.score_log_prob(GIVEN, y) == pytest.approx(flow.log_prob(GIVEN, y).mean())


def test_draws_follow_the_random_state(flow: ConditionalFlow) -> None:
    def draws(random_state: Any) -> np.ndarray:
        return flow.sample(GIVEN, 5, random_state)

    np.testing.assert_array_equal(draws(3), draws(3))
    np.testing.assert_array_equal(draws(np.random.RandomState(3)), draws(np.random.RandomState(3)))
    assert (draws(3) != draws(4)).all()
    assert seed_of(np.int64(3)) == 3 and seed_of(None) != seed_of(None)


@pytest.mark.parametrize("joint", [pytest.param(False, marks=pytest.mark.slow), True])
def test_several_outputs(joint: bool, few_shapes: None) -> None:
    X, noise = _inputs()[:40], NOISE[:40]
    y = np.stack([X["a"] + noise, X["a"] - noise], axis=1)
    flow = ConditionalFlow(steps=100, joint=joint, settings={"ode_steps": 4}, **SMALL).fit(X, y)
    X, y = X[:2], y[:2]
    assert flow.predict(X).shape == (2, 2)
    assert flow.predict_quantiles(X, 0.5).shape == (2, 2)
    assert flow.predict_quantiles(X, [0.1, 0.2, 0.3]).shape == (2, 2, 3)
    assert flow.sample(X, 5).shape == (2, 2, 5)
    assert flow.log_prob(X, y).shape == (2,)
    assert flow.twin_.joint == joint


# --- with scikit-learn's tools ---


def test_pipeline(few_shapes: None) -> None:
    X = _inputs()
    y = np.exp(X["b"]) + NOISE / 9
    selector = AncestorSelector(last, steps=300, distilled=400, settings=SMALL)
    pipeline = make_pipeline(StandardScaler(), selector, ConditionalFlow(steps=300, **SMALL)).fit(X, y)
    np.testing.assert_array_equal(pipeline[:-1].get_feature_names_out(["a", "b", "c"]), ["b"])
    assert pipeline.score(X[:30], y[:30]) > 0.8


def test_grid_search(few_shapes: None) -> None:
    X = _inputs()
    y = X["b"] * NOISE
    pipeline = Pipeline(
        [
            ("ancestors", AncestorSelector(last, distilled=400, settings=SMALL)),
            ("flow", ConditionalFlow(steps=300, **SMALL)),
        ]
    )
    grid = {"ancestors__steps": np.array([1, 300])}
    search = GridSearchCV(pipeline, grid, scoring=log_prob_scorer, cv=2).fit(X, y)
    assert search.best_params_ == {"ancestors__steps": 300}
    assert search.best_estimator_["ancestors"].get_feature_names_out().tolist() == ["b"]


# --- mistakes ---


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (AncestorSelector(settings={"stesp": 3}), "unknown setting 'stesp'. Did you mean 'steps'"),
        (AncestorSelector(settings={"level": 0.1}), "'level' is a parameter of its own"),
        (AncestorSelector(rule="certifed"), "Did you mean 'certified'"),
        (AncestorSelector(preset="slow"), "unknown preset 'slow'"),
        (AncestorSelector().set_params(random_state="one"), "cannot be used to seed"),
        (ConditionalFlow(steps=0), "'steps' must be a whole number of at least 1"),
        (ConditionalFlow(settings={"nugget": 1.0}), "unknown setting 'nugget'"),
    ],
)
def test_parameters_are_checked_by_fit(estimator: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(_inputs(), NOISE)


@pytest.mark.parametrize("estimator", [AncestorSelector(), ConditionalFlow()])
def test_bad_data(estimator: Any) -> None:
    X = _inputs()
    with pytest.raises(ValueError, match="'y' is 1.0 in every row"):
        estimator.fit(X, np.ones(ROWS))
    with pytest.raises(ValueError, match="unique|more than one"):
        estimator.fit(pd.concat([X, X], axis=1), NOISE)
    with pytest.raises(ValueError, match="1 sample"):
        estimator.fit(X[:1], NOISE[:1])


def test_a_copy_is_left_out() -> None:
    """Of a column and its double the first is a candidate, as everywhere."""
    X = _inputs().assign(d=lambda X: 2 * X["a"])
    chosen = (
        AncestorSelector(steps=100, distilled=100, settings=SMALL)
        .fit(X, X["a"] + 0.1 * NOISE)
        .get_feature_names_out()
    )
    assert "a" in chosen and "d" not in chosen


def test_bad_questions(flow: ConditionalFlow) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        flow.predict_quantiles(GIVEN, 1.0)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        flow.sample(GIVEN, 0)
    with pytest.raises(NotFittedError):
        ConditionalFlow().log_prob(GIVEN, [1.0, 2.0, 3.0])


# --- the way in ---


def test_loaded_when_used() -> None:
    code = "import forebear as fb, sys; assert 'sklearn' not in sys.modules; fb.sklearn.AncestorSelector()"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_how_to_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "sklearn.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    assert names["selector"].get_feature_names_out().tolist() == ["dose", "age"]
    assert names["search"].best_estimator_["ancestors"].get_feature_names_out().tolist() == ["dose", "age"]


def test_quantiles_are_reached_through_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    flow = ConditionalFlow(steps=30, **SMALL)
    pipeline = make_pipeline(StandardScaler(), flow).fit(X, X[:, 0] + rng.normal(size=200))
    told = pipeline.predict(X[:5], quantiles=[0.1, 0.9])
    scaled = pipeline[:-1].transform(X[:5])
    np.testing.assert_array_equal(told, flow.predict_quantiles(scaled, [0.1, 0.9]))


def test_a_frame_may_hold_categories() -> None:
    rng = np.random.default_rng(0)
    group = rng.choice(["low", "high"], 600)
    X = pd.DataFrame({"group": group, "x": rng.normal(size=600), "one": "same"})
    y = np.where(group == "high", 5.0, 0.0) + 0.1 * rng.normal(size=600)
    flow = ConditionalFlow(steps=200, **SMALL).fit(X, y)
    assert flow.n_features_in_ == 3 and list(flow.twin_.inputs) == ["group", "x"]
    new = pd.DataFrame({"group": ["high", "low"], "x": [0.0, 0.0], "one": "same"})
    np.testing.assert_allclose(flow.predict(new), [5.0, 0.0], atol=0.5)
    assert flow.log_prob(new, [5.0, 0.0]).mean() > flow.log_prob(new, [0.0, 5.0]).mean()
    with pytest.raises(fb.InputError, match="never seen in the data"):
        flow.predict(new.assign(group="middle"))
    with pytest.raises(ValueError, match="feature"):
        flow.predict(new[["x", "group"]])
    selector = AncestorSelector(steps=200, distilled=200, settings={"folds": 1}).fit(X, y)
    assert "group" in selector.get_feature_names_out() and "group" in selector.transform(new).columns
