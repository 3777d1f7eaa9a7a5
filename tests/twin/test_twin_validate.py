"""Validation: right twins pass, wrong ones are told from them, and the numbers are those of the known law."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import forebear as fb
from forebear.data.table import read_columns
from forebear.twin import batches
from forebear.twin.fit import fit_twin
from forebear.twin.scores import crps, mean_interval
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin
from forebear.twin.validate import Validation

QUICK = TwinSettings.resolve({"steps": 800, "batch": 512, "width": 32, "depth": 3, "ode_steps": 4})


@pytest.fixture(scope="module", autouse=True)
def few_shapes() -> Iterator[None]:
    """Every shape is compiled once; here most of the time would go there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 2**11)
        yield


def _system(rows: int, seed: int) -> fb.systems.System:
    return fb.systems.algebraic(rows=rows, seed=seed)


def _fit(ancestors: dict[str, tuple[str, ...]], joint: bool = False) -> Twin:
    frame = _system(8_000, 0).table
    return fit_twin(read_columns(frame, "t", list(frame.columns)), ancestors, joint=joint, settings=QUICK, seed=0)


@pytest.fixture(scope="module")
def twin() -> Twin:
    return _fit({"y1": ("x1",), "y3": ("x2",)})


@pytest.fixture(scope="module")
def full() -> Twin:
    return _fit({"y1": ("x1", "x2", "x3"), "y3": ("x1", "x2", "x3")})


@pytest.fixture(scope="module")
def blind() -> Twin:
    """Lacks the one input that matters."""
    return _fit({"y1": ()})


@pytest.fixture(scope="module")
def validation(twin: Twin, full: Twin) -> Validation:
    held_out = _system(500, 1)
    return twin.validate(held_out.table, full=full, exact=held_out)


def test_crps_of_a_normal_law_is_the_known_one() -> None:
    rng = np.random.default_rng(0)
    y = np.array([0.0, 1.5])
    exact = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert crps(rng.normal(size=(200_000, 2)), y) == pytest.approx(exact, abs=0.01)
    few = np.mean([crps(rng.normal(size=(3, 2)), y) for _ in range(20_000)], axis=0)
    assert few == pytest.approx(exact, abs=0.02)


def test_the_interval_of_a_mean_has_its_level() -> None:
    rng = np.random.default_rng(0)
    hits = [low < 0 < high for low, high in (mean_interval(rng.normal(size=200), rng, 400) for _ in range(200))]
    assert 0.9 <= np.mean(hits) <= 0.99


def test_a_right_twin_is_calibrated(validation: Validation) -> None:
    for scores in validation.scores.values():
        assert scores.coverage[0.9] == pytest.approx(0.9, abs=0.04)
        assert scores.uniformity < 0.07
        assert scores.independence_effect is not None and scores.independence_effect < 0.08
        assert scores.crps_interval[0] < scores.crps < scores.crps_interval[1]
        assert 0.5 * scores.w1_floor < scores.w1 < 4 * scores.w1_floor
    assert validation.pit.shape == (500, 2)


def test_pruned_against_full(validation: Validation) -> None:
    for scores in validation.scores.values():
        assert scores.worse_interval is not None and scores.worse_by is not None
        assert scores.worse_interval[0] < scores.worse_by < scores.worse_interval[1]
        assert scores.worse_interval[1] < 0.05 * scores.crps
    assert "the pruned twin is worse than the full one by at most" in validation.summary()


def test_a_twin_without_an_ancestor_is_found_out(blind: Twin, full: Twin) -> None:
    held_out = _system(500, 1)
    told = blind.validate(held_out.table, full=full, exact=held_out).scores["y1"]
    assert told.worse_interval is not None and told.worse_interval[0] > 0.02 * told.crps
    assert told.w1 > 5 * told.w1_floor


def test_wrong_spread_shows_in_coverage_and_in_bins(twin: Twin) -> None:
    frame = _system(1_000, 1).table
    wide = replace(twin, outputs=tuple(replace(t, scale=1.5 * t.scale) for t in twin.outputs))
    told, right = wide.validate(frame).scores["y3"], twin.validate(frame).scores["y3"]
    assert told.coverage[0.5] > 0.6
    assert told.uniformity_p_value < 1e-6
    assert told.w1 > 2 * right.w1
    assert told.crps > right.crps


@pytest.mark.slow
def test_a_joint_twin_is_judged_target_by_target() -> None:
    frame = _system(1_000, 1).table
    told = _fit({"y1": ("x1",), "y3": ("x2",)}, joint=True).validate(frame)
    for scores in told.scores.values():
        assert scores.coverage[0.9] == pytest.approx(0.9, abs=0.05)


def test_what_can_be_done_with_it(validation: Validation) -> None:
    document = json.loads(json.dumps(validation.to_dict()))
    assert document["targets"]["y1"]["coverage"]["0.9"] == validation.scores["y1"].coverage[0.9]
    assert list(validation.frame().index) == ["y1", "y3"]
    figure = validation.plot()
    assert len(figure.axes) == 4


def test_bad_input_is_told(twin: Twin, blind: Twin) -> None:
    frame = _system(50, 1).table
    with pytest.raises(fb.InputError, match="held_out: no column 'y3'"):
        twin.validate(frame.drop(columns="y3"))
    with pytest.raises(fb.InputError, match="full must have the targets of the twin"):
        twin.validate(frame, full=blind)
    with pytest.raises(fb.InputError, match="exact must be a system"):
        twin.validate(frame, exact=pd.DataFrame)
