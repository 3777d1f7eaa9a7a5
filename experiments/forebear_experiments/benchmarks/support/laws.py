"""Learners of a whole conditional law, ours and others', behind one interface."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from forebear_experiments.benchmarks.support.uci_tables import Split

DRAWS = 500


class Told(NamedTuple):
    """What a learner says of the test rows."""

    draws: np.ndarray
    """(draws, rows)"""
    log_density: np.ndarray | None
    """(rows,)"""
    seconds: float
    """of the fit"""


def _threads() -> int:
    """As many as a process may use: one where several share a machine."""
    return int(os.environ.get("OMP_NUM_THREADS", "2"))


def ours(split: Split, seed: int, **settings: Any) -> dict[str, Told]:
    """`ConditionalFlow` as it comes, and, from the same fit, what the parts of its law say alone."""
    from forebear.sklearn import ConditionalFlow
    from forebear.twin.blend import BlendLaw

    started = time.perf_counter()
    flow = ConditionalFlow(random_state=seed, settings=settings or None).fit(split.x, split.y)
    seconds = time.perf_counter() - started
    whole = flow.twin_
    told = {"forebear": _of_twin(whole, flow, split, seconds)}
    if not isinstance(whole.model, BlendLaw):
        return told
    blend = whole.model.blends[0]
    for word, part in _parts(blend).items():
        twin = replace(whole, model=replace(whole.model, blends=(part,)))
        told[word] = _of_twin(twin, flow, split, seconds)
    return told


def _parts(blend: Any) -> dict[str, Any]:
    """The blend piece by piece: what is left of it with the other pieces taken away."""
    plain, straight = len(blend.plain), np.array([[0.0, 1.0], [0.0, 1.0]])
    none: dict[str, Any] = {"assisted": (), "assistants": None, "forest": None, "marginal": np.empty(0)}
    none["knots"] = straight
    found = {}
    if plain:
        first = blend.plain[0]
        one = replace(first, networks=_first(first.networks))
        found["one network"] = replace(blend, plain=(one,), weights=np.ones(1), **none)
        found["networks"] = replace(blend, weights=_normed(blend.weights[:plain]), **none)
    if blend.assisted:
        some = plain + len(blend.assisted)
        more = {"forest": None, "marginal": np.empty(0), "knots": straight}
        found["networks that hear trees"] = replace(
            blend, plain=(), weights=_normed(blend.weights[plain:some]), **more
        )
        found["both kinds of networks"] = replace(blend, weights=_normed(blend.weights[:some]), **more)
    found["all, not straightened"] = replace(blend, knots=straight)
    return found


def _first(networks: Any) -> Any:
    return replace(
        networks,
        weights=tuple(layer[:1] for layer in networks.weights),
        biases=tuple(layer[:1] for layer in networks.biases),
    )


def _normed(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def _of_twin(twin: Any, flow: Any, split: Split, seconds: float) -> Told:
    given = split.x_test[:, flow._varies]
    draws = twin.sample(given, n=DRAWS, seed=1, outside="ignore")[..., 0]
    density = twin.log_prob(given, split.y_test[:, None])[:, 0]
    return Told(draws, density, seconds)


def _ours_with(**settings: Any) -> Callable[[Split, int], dict[str, Told]]:
    def fitted(split: Split, seed: int) -> dict[str, Told]:
        return {"": ours(split, seed, **settings)["forebear"]}

    return fitted


def gaussian(split: Split, seed: int) -> dict[str, Told]:
    """A heteroscedastic Gaussian network: ours, of one normal law."""
    import pandas as pd

    from forebear.data.table import read_columns
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    varies = np.ptp(split.x, axis=0) > 0
    names = [f"x{i}" for i in np.flatnonzero(varies)]
    frame = pd.DataFrame(split.x[:, varies], columns=names).assign(y=split.y)
    started = time.perf_counter()
    settings = TwinSettings.resolve({"treat": {"y": "continuous"}})
    table = read_columns(frame, "the table", frame.columns)
    twin = fit_twin(table, {"y": names}, joint=False, settings=settings, seed=seed, sampler="gaussian")
    seconds = time.perf_counter() - started
    given = split.x_test[:, varies]
    return {
        "": Told(
            twin.sample(given, n=DRAWS, outside="ignore")[..., 0],
            twin.log_prob(given, split.y_test[:, None])[:, 0],
            seconds,
        )
    }


def ngboost(split: Split, seed: int) -> dict[str, Told]:
    """Normal laws, its own early stopping on a tenth of the rows; rate 0.01, on many rows 0.05: it takes long."""
    learner = import_module("ngboost").NGBRegressor
    from sklearn.model_selection import train_test_split

    x, held, y, y_held = train_test_split(split.x, split.y, test_size=0.1, random_state=seed)
    started = time.perf_counter()
    most, rate = (5_000, 0.01) if len(split.x) < 10_000 else (1_000, 0.05)
    model = learner(n_estimators=most, learning_rate=rate, verbose=False, random_state=seed)
    model.fit(x, y, X_val=held, Y_val=y_held, early_stopping_rounds=50)
    seconds = time.perf_counter() - started
    law = model.pred_dist(split.x_test)
    return {"": _normal(law.params["loc"], law.params["scale"], split.y_test, seconds, seed)}


def catboost(split: Split, seed: int) -> dict[str, Told]:
    """RMSEWithUncertainty: a normal law, boosted."""
    learner = import_module("catboost").CatBoostRegressor
    from sklearn.model_selection import train_test_split

    x, held, y, y_held = train_test_split(split.x, split.y, test_size=0.1, random_state=seed)
    started = time.perf_counter()
    model = learner(
        loss_function="RMSEWithUncertainty",
        iterations=2_000,
        learning_rate=0.05,
        random_seed=seed,
        verbose=False,
        allow_writing_files=False,
        thread_count=_threads(),
    )
    model.fit(x, y, eval_set=(held, y_held), early_stopping_rounds=50)
    seconds = time.perf_counter() - started
    mean, variance = np.asarray(model.predict(split.x_test)).T
    return {"": _normal(mean, np.sqrt(variance), split.y_test, seconds, seed)}


def _normal(mean: np.ndarray, spread: np.ndarray, y: np.ndarray, seconds: float, seed: int) -> Told:
    draws = mean + spread * np.random.default_rng(seed).normal(size=(DRAWS, len(mean)))
    density = -0.5 * ((y - mean) / spread) ** 2 - np.log(spread) - 0.5 * np.log(2 * np.pi)
    return Told(draws, density, seconds)


_LEVELS = (np.arange(20) + 0.5) / 20


def lightgbm(split: Split, seed: int) -> dict[str, Told]:
    """Twenty quantiles, each boosted by itself, put in order."""
    learner = import_module("lightgbm").LGBMRegressor

    started = time.perf_counter()
    options: dict[str, Any] = {"objective": "quantile", "n_jobs": _threads(), "random_state": seed, "verbose": -1}
    models = [learner(alpha=level, n_estimators=200, **options).fit(split.x, split.y) for level in _LEVELS]
    seconds = time.perf_counter() - started
    quantiles = np.sort([np.asarray(model.predict(split.x_test)) for model in models], axis=0)
    return {"": Told(_between(quantiles), None, seconds)}


def boosted_quantiles(split: Split, seed: int) -> dict[str, Told]:
    """As `lightgbm`, with scikit-learn's histogram boosting."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    started = time.perf_counter()
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, max_iter=200, random_state=seed)
        for level in _LEVELS.tolist()
    ]
    for model in models:
        model.fit(split.x, split.y)
    seconds = time.perf_counter() - started
    quantiles = np.sort([model.predict(split.x_test) for model in models], axis=0)
    return {"": Told(_between(quantiles), None, seconds)}


def _between(quantiles: np.ndarray) -> np.ndarray:
    """Draws, evenly over the levels, from quantiles (levels, rows)."""
    at = (np.arange(DRAWS) + 0.5) / DRAWS
    return np.stack([np.interp(at, _LEVELS, own) for own in quantiles.T], axis=1)


def quantile_forest(split: Split, seed: int) -> dict[str, Told]:
    """A quantile regression forest of 500 trees with at least 5 rows in a leaf."""
    learner = import_module("quantile_forest").RandomForestQuantileRegressor

    started = time.perf_counter()
    model = learner(500, min_samples_leaf=5, n_jobs=_threads(), random_state=seed)
    model.fit(split.x, split.y)
    seconds = time.perf_counter() - started
    levels = ((np.arange(100) + 0.5) / 100).tolist()
    quantiles = np.asarray(model.predict(split.x_test, quantiles=levels)).T
    return {"": Told(quantiles, None, seconds)}


def treeffuser(split: Split, seed: int) -> dict[str, Told]:
    """Diffusion with boosted trees for the score, at its defaults; 100 draws a row, as they take long."""
    learner = import_module("treeffuser").Treeffuser

    started = time.perf_counter()
    model = learner(seed=seed)
    model.fit(split.x, split.y)
    seconds = time.perf_counter() - started
    draws = np.asarray(model.sample(split.x_test, n_samples=100, seed=seed)).reshape(100, -1)
    return {"": Told(draws, None, seconds)}


METHODS: Mapping[str, Callable[[Split, int], dict[str, Told]]] = {
    "forebear": ours,
    "flow": _ours_with(law="flow"),
    "ngboost": ngboost,
    "quantile forest": quantile_forest,
    "gaussian network": gaussian,
    "catboost": catboost,
    "lightgbm": lightgbm,
    "treeffuser": treeffuser,
}
"""name -> its fit and what it says; ours first"""
PARTS = ("one network", "networks", "networks that hear trees", "both kinds of networks", "all, not straightened")
"""of the fit of ours, for the ablation"""
