"""Pruning paths from draws of the flows behind the certificate: when, what they say, and that nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from quick import QUICK

import forebear as fb
from forebear.discovery import laws, pipeline
from forebear.discovery.settings import resolve
from forebear.errors import InputError

SHARED: dict[str, Any] = {**QUICK, "path": "shared"}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=["a", "b", "c", "d"])
    frame["kind"] = rng.choice(["x", "y"], size=400)
    frame["y"] = 2 * frame["a"] + np.exp(0.5 * frame["b"]) * rng.normal(size=400)
    frame["s"] = frame["c"] * rng.normal(size=400)
    return frame


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({}, "own"),  # these settings have steps of their own for the samplers
        ({"path": "shared"}, "shared"),
        ({"path": "shared", "rule": "nsr-jump"}, None),
        ({"path": "shared", "joint": True}, None),
        ({"path": "neither"}, None),
    ],
)
def test_where_draws_come_from(asked: dict[str, Any], path: str | None, table: pd.DataFrame) -> None:
    if path is None:
        with pytest.raises(InputError, match="path"):
            fb.discover(table, ["y", "s"], **{**QUICK, **asked})
    else:
        assert fb.discover(table, "y", candidates=["a", "b"], **{**QUICK, **asked}).settings["path"] == path


def test_by_default_the_path_shares_the_flows_of_the_certificate(table: pd.DataFrame) -> None:
    found = fb.discover(table, "y", candidates=["a", "b", "c"])
    assert found.settings["path"] == "shared" and found.settings["distilled"] == 1_500
    assert found.settings["scores"] == "variation"
    order = found.paths["y"]["removed"].dropna().tolist()
    assert [name for name in order if name][0] == "c"
    assert set(found.ancestors["y"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("preset", "sharing", "asked", "scores"),
    [
        ("fast", True, {}, "variation"),
        ("fast", False, {}, "energy"),  # a rule that reads the path, as published
        ("fast", True, {"path": "own"}, "energy"),
        ("fast", True, {"scores": "energy"}, "energy"),
        ("fast", False, {"scores": "variation"}, "variation"),
        ("paper", True, {}, "energy"),
        ("paper", True, {"path": "shared"}, "energy"),
    ],
)
def test_by_which_scores_inputs_are_ranked(preset: str, sharing: bool, asked: dict[str, Any], scores: str) -> None:
    assert resolve(preset, asked).settled(sharing, asked).kernel.scores == scores


def test_scores_of_another_name() -> None:
    with pytest.raises(InputError, match="setting 'scores'.*variation"):
        resolve("fast", {"scores": "sobol"})


def test_gaps_weights_and_categories(table: pd.DataFrame) -> None:
    rng = np.random.default_rng(1)
    frame = table.assign(w=rng.uniform(0.5, 2.0, size=400))
    frame.loc[rng.random(400) < 0.2, "b"] = np.nan
    found = fb.discover(frame, "y", candidates=["a", "b", "kind"], weights="w", **SHARED)
    path = found.runs[0]["y"]
    assert len(path.nsr) == 4 and np.isfinite(path.nsr).all()


def answer(found: fb.Found) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "seconds"}


@pytest.mark.slow
def test_two_processes_say_the_same_as_one(table: pd.DataFrame) -> None:
    asked: dict[str, Any] = {**SHARED, "targets": ["y", "s"], "candidates": ["a", "b", "c"], "runs": 2}
    assert answer(fb.discover(table, jobs=2, **asked)) == answer(fb.discover(table, **asked))


def test_a_stop_before_the_paths_costs_no_training(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {**SHARED, "targets": "y", "candidates": ["a", "b", "c"]}

    def stopped(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pipeline, "trace", stopped)
        fb.discover(table, out=tmp_path / "run", **asked)
    trained: list[str] = []
    fit = laws.fit
    monkeypatch.setattr(laws, "fit", lambda training, *rest: trained.append("again") or fit(training, *rest))
    resumed = fb.discover(table, out=tmp_path / "run", **asked)
    in_the_second_part = len(trained)
    trained.clear()
    assert answer(resumed) == answer(fb.discover(table, **asked))
    assert in_the_second_part < len(trained)
