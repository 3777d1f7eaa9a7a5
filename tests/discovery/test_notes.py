"""What goes otherwise than asked is told once, and stays with the result."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.flow import train as training
from forebear.flow.train import Diverged

QUICK: dict[str, Any] = {"sampler": "mean", "steps": 5, "distilled": 40, "width": 4, "depth": 1, "folds": 1}
QUICK |= {
    "rate": 0.005,
    "rule": "nsr-jump",
    "lengthscale": 1.0,
    "latent_lengthscale": 1.0,
    "nugget": 1.0,
    "targets": ["y", "s"],
}


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "y", "s"])


@pytest.fixture
def fickle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first training of a process diverges."""
    calls, train = [], training.train

    def unlucky(*arguments: Any, **options: Any) -> Any:
        calls.append(True)
        if len(calls) == 1:
            raise Diverged("training diverged within 3 steps at a rate of 0.005")
        return train(*arguments, **options)

    monkeypatch.setattr(training, "train", unlucky)


def test_a_training_that_diverges_is_repeated_and_told(fickle: None, table: pd.DataFrame, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fb.discover(table, out=tmp_path, **QUICK)
    told = "training diverged within 3 steps at a rate of 0.005; training again at 0.0005"
    assert [str(one.message) for one in caught] == [told]
    assert found.notes == (told,) == fb.load(tmp_path).notes
    assert found.to_dict()["notes"] == [told]
    # Taken up again it is part of the result, and not told again.
    assert fb.discover(table, out=tmp_path, **QUICK).notes == (told,)


@pytest.mark.filterwarnings("default")
def test_a_training_that_always_diverges_is_an_error_that_names_it(table: pd.DataFrame) -> None:
    with pytest.raises(FloatingPointError, match="training diverged within .* steps at a rate of 1e"):
        fb.discover(table, **{**QUICK, "rate": 1e30})


def test_a_nugget_that_was_raised_is_told_once(table: pd.DataFrame) -> None:
    """Rows that are drawn several times, without a latent to tell them apart, make the kernel singular."""
    with pytest.warns(
        RuntimeWarning, match="the kernel was singular at .* of 3 steps, and its nugget was raised"
    ) as told:
        found = fb.discover(table, **{**QUICK, "distilled": 200, "nugget": 1e-300})
    assert len(told) == 2 and len(found.notes) == 2  # one note per target
    assert [note.split(":")[0] for note in found.notes] == ["target 'y'", "target 's'"]
    assert all(max(run["y"].nuggets) > 1e-300 and np.isfinite(run["y"].nsr).all() for run in found.runs)


def test_draws_that_are_not_finite_are_an_error(table: pd.DataFrame) -> None:
    class Broken:
        latents = 1

        def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Any:
            return self

        def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
            return np.where(z > 2, np.nan, z)

    with pytest.raises(FloatingPointError, match="the sampler returned values that are not finite"):
        fb.discover(table, **{**QUICK, "sampler": Broken(), "distilled": 500})
