"""Means, intervals and their guarantee, draws with labels, and words about rows outside the data."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import forebear as fb
from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin

TINY = {"steps": 150, "width": 16, "depth": 2, "ode_steps": 4}


def _frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, rows)
    return pd.DataFrame({"x": x, "k": rng.choice(["a", "b"], rows), "y": 3 * x + rng.standard_t(3, rows)})


def _fit(rows: int, seed: int, **settings: object) -> Twin:
    frame = _frame(rows, seed)
    table = read_columns(frame, "the table", list(frame.columns))
    asked = TwinSettings.resolve({**TINY, **settings})
    return fit_twin(table, {"y": ["x", "k"]}, joint=False, settings=asked, seed=seed)


@pytest.fixture(scope="module")
def twin() -> Twin:
    return _fit(1_500, 0, test=0.2)


GIVEN = {"x": [0.0, 0.5], "k": ["a", "b"]}


def test_the_mean_is_that_of_the_draws(twin: Twin) -> None:
    np.testing.assert_allclose(twin.mean(GIVEN), twin.sample(GIVEN, n=20_000).mean(axis=0), atol=0.06)


def test_an_interval_is_two_quantiles(twin: Twin) -> None:
    np.testing.assert_array_equal(twin.interval(GIVEN, 0.8), twin.quantile(GIVEN, [0.1, 0.9]))


def test_the_guarantee_holds_over_many_tables_though_the_law_is_wrong() -> None:
    """Each coverage is random around its level; over tables together it must be near it."""
    inside = total = 0
    for seed in range(8):
        own, new = _fit(400, seed, test=0.25, steps=5), _frame(1_000, 100 + seed)
        low, high = own.interval(new, 0.9, guarantee=True, outside="ignore")[..., 0]
        inside, total = inside + int(((low <= new["y"]) & (new["y"] <= high)).sum()), total + 1_000
    # 8 tables of 100 rows set aside: the mean coverage has a deviation of about 0.03 / sqrt(8).
    assert 0.87 < inside / total < 0.94
    assert binom.cdf(inside, total, 0.87) > 0.5


def test_a_guarantee_needs_rows_set_aside(twin: Twin, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs 9 rows set aside, and the twin has 0"):
        _fit(300, 0).interval(GIVEN, 0.9, guarantee=True)
    twin.save(tmp_path / "twin")
    again = fb.load_twin(tmp_path / "twin")
    np.testing.assert_array_equal(again.interval(GIVEN, guarantee=True), twin.interval(GIVEN, guarantee=True))
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        twin.interval(GIVEN, 90)


def test_draws_come_as_a_frame_with_labels(twin: Twin) -> None:
    frame = twin.sample(GIVEN, n=3, frame=True)
    assert list(frame.columns) == ["row", "draw", "y"]
    assert frame["row"].tolist() == [1, 1, 1, 2, 2, 2] and frame["draw"].tolist() == [1, 2, 3] * 2
    np.testing.assert_array_equal(frame["y"], twin.sample(GIVEN, n=3)[:, :, 0].T.ravel())


def test_single_values_are_rows(twin: Twin) -> None:
    np.testing.assert_allclose(twin.mean({"x": 0.5, "k": "b"}), twin.mean(GIVEN)[1:], rtol=1e-12)
    assert twin.sample({"x": [0.1, 0.2], "k": "a"}, n=4).shape == (4, 2, 1)


@pytest.mark.parametrize("method", ["sample", "quantile", "interval", "mean"])
def test_rows_outside_the_data_are_told_or_refused(twin: Twin, method: str) -> None:
    ask = getattr(twin, method)
    more = (0.5,) if method == "quantile" else ()
    far = {"x": [0.0, 600.0], "k": "a"}
    with pytest.warns(UserWarning, match="'x' is 600 in row 2, where the data end at"):
        ask(far, *more)
    with pytest.raises(InputError, match="what the twin says there is a guess; outside='ignore'"):
        ask(far, *more, outside="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(far, *more, outside="ignore")
        ask({"x": 1.01, "k": "a"}, *more)
    with pytest.raises(InputError, match="outside must be 'warn', 'raise' or 'ignore'"):
        ask(far, *more, outside="maybe")


def test_a_corner_that_the_data_leave_empty_is_told_though_each_input_is_inside() -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 1, size=(3_000, 2))
    a = a[(a < 0.6).any(axis=1)]
    frame = pd.DataFrame(a, columns=["a", "b"]).assign(y=a[:, 0] + 0.1 * rng.normal(size=len(a)))
    table = read_columns(frame, "the table", list(frame.columns))
    own = fit_twin(table, {"y": ["a", "b"]}, joint=False, settings=TwinSettings.resolve({**TINY, "steps": 5}), seed=0)
    with pytest.warns(UserWarning, match=r"'a' 0.95 and 'b' 0.95 in row 2 do not occur together"):
        own.quantile({"a": [0.5, 0.95], "b": [0.5, 0.95]}, 0.5)
    with pytest.raises(InputError, match="do not occur together"):
        own.mean({"a": 0.95, "b": 0.95}, outside="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own.mean({"a": [0.95, 0.1, 0.5], "b": [0.3, 0.95, 0.6]})
        own.mean({"a": 0.95, "b": 0.95}, outside="ignore")
