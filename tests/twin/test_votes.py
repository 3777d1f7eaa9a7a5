"""Twins of labels and of targets of two values: how likely each is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, softmax

import forebear as fb
from forebear.data.table import read_columns
from forebear.twin.blend import BlendLaw
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.votes import Cells

LABELS = ["ash", "elm", "oak"]


def true_chances(x: np.ndarray) -> np.ndarray:
    return softmax(np.stack([1.5 * x[:, 0], x[:, 1], np.zeros(len(x))], axis=1), axis=1)


def trees(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    x = rng.normal(size=(rows, 2))
    code = (true_chances(x).cumsum(axis=1) < rng.uniform(size=(rows, 1))).sum(axis=1)
    broken = rng.uniform(size=rows) < 1 / (1 + np.exp(-2.0 * x[:, 0]))
    return pd.DataFrame(x, columns=["a", "b"]).assign(tree=np.array(LABELS)[code], broken=broken.astype(int))


@pytest.fixture(scope="module")
def twin() -> fb.Twin:
    frame = trees(np.random.default_rng(0), 1_500)
    inputs = {"tree": ["a", "b"], "broken": ["a", "b"]}
    return fit_twin(
        read_columns(frame, "the table", list(frame)), inputs, joint=False, settings=TwinSettings.resolve({}), seed=0
    )


def test_chances_are_near_the_true_ones(twin: fb.Twin) -> None:
    assert isinstance(twin.model, BlendLaw) and all(blend.cells is not None for blend in twin.model.blends)
    x = np.random.default_rng(1).normal(size=(200, 2))
    some = [pd.DataFrame({"tree": [label] * 200, "broken": [1] * 200}) for label in LABELS]
    given = pd.DataFrame(x, columns=["a", "b"])
    told = [np.exp(twin.log_prob(given, own)) for own in some]
    chances = np.stack([own[:, 0] for own in told], axis=1)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-6)
    assert np.abs(chances - true_chances(x)).mean() < 0.04
    assert np.abs(told[0][:, 1] - 1 / (1 + np.exp(-2.0 * x[:, 0]))).mean() < 0.04


def test_draws_come_as_often_as_they_are_likely(twin: fb.Twin) -> None:
    given = pd.DataFrame({"a": [0.5], "b": [-0.5]})
    draws = twin.sample(given, n=20_000, seed=0)[:, 0]
    likely = [
        float(np.exp(twin.log_prob(given, pd.DataFrame({"tree": [label], "broken": [0]})))[0, 0]) for label in LABELS
    ]
    np.testing.assert_allclose([(draws[:, 0] == code).mean() for code in range(3)], likely, atol=0.015)
    assert set(np.unique(draws[:, 1])) == {0.0, 1.0}


def test_it_is_read_back_and_distilled(twin: fb.Twin, tmp_path: Path) -> None:
    given = pd.DataFrame({"a": [-1.0, 1.0], "b": [0.0, 0.0]})
    twin.save(tmp_path / "twin")
    again = fb.load_twin(tmp_path / "twin")
    np.testing.assert_array_equal(again.sample(given, n=50, seed=3), twin.sample(given, n=50, seed=3))
    fast = twin.distil(steps=1_500)
    broken = [(own.sample(given, n=8_000, seed=0)[:, :, 1]).mean(axis=0) for own in (twin, fast)]
    np.testing.assert_allclose(broken[0], broken[1], atol=0.05)


@pytest.mark.parametrize("odds", [(0.0, 0.0, 0.0), (50.0, 0.0, -50.0), (-800.0, 0.0, -800.0)])
def test_a_table_rises_whatever_the_chances(odds: tuple[float, ...]) -> None:
    class Said:
        def chances(self, features: np.ndarray) -> np.ndarray:
            return np.tile(log_softmax(odds), (len(features), 1))

    z, values = Cells(Said(), np.array([-2.0, -1.0, 0.5, 2.0])).table(np.zeros((2, 1)))  # type: ignore[arg-type]
    assert z.shape == values.shape and values[0, 0] == -2.0 and values[0, -1] == 2.0
    assert (np.diff(z, axis=1) > 0).all() and (np.diff(values, axis=1) > 0).all()
