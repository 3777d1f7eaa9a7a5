"""The benchmark of real tables: its scores, its ranks, and what it says where there is no data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear_experiments.benchmarks import conformal, corners, laws, uci
from forebear_experiments.benchmarks.support.laws import METHODS, Told
from forebear_experiments.benchmarks.support.uci_tables import TABLES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Small tables in the place of the real ones."""
    rng = np.random.default_rng(0)
    for name in TABLES:
        x = rng.normal(size=(60, 2))
        frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] + 0.1 * rng.normal(size=60)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        (tmp_path / f"{name}.splits.json").write_text(json.dumps([list(range(10)), list(range(10, 20))]))
    return tmp_path


def test_scores_are_those_of_a_known_law() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=4_000)
    told = uci.scored(Told(rng.normal(size=(400, 4_000)), norm.logpdf(y), 1.0), y)
    assert abs(told["crps"] - 1 / np.sqrt(np.pi)) < 0.02
    assert abs(told["nll"] - 0.5 * np.log(2 * np.pi * np.e)) < 0.03
    assert abs(told["coverage"]["0.9"] - 0.9) < 0.02 and abs(told["width"] - 2 * 1.645) < 0.05
    assert abs(told["rmse"] - 1.0) < 0.03


def test_ranks_put_the_least_crps_first_and_count_ties_within_an_error() -> None:
    scores = {
        ("yacht", "forebear"): [{"crps": 1.0}, {"crps": 1.2}],
        ("yacht", "ngboost"): [{"crps": 1.0}, {"crps": 1.1}],
        ("wine", "forebear"): [{"crps": 0.3}],
        ("wine", "ngboost"): [{"crps": 0.4}],
    }
    ours, theirs = uci.rank_rows(scores)
    assert ours["rank"] == theirs["rank"] == 1.5
    assert ours["best_or_within_an_error"] == "2 of 2" and theirs["best_or_within_an_error"] == "1 of 2"


def test_it_runs_goes_on_and_names_what_is_left_out(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(split: object, seed: int) -> dict[str, Told]:
        rows = len(split.y_test)  # type: ignore[attr-defined]
        return {"": Told(np.random.default_rng(seed).normal(size=(50, rows)), None, 0.1)}

    def absent(split: object, seed: int) -> dict[str, Told]:
        raise ImportError

    monkeypatch.setattr(uci, "METHODS", {**METHODS, "ngboost": fake, "catboost": absent})
    out = tmp_path / "pieces.jsonl"
    asked = {"tables": ["wine", "yacht"], "methods": ["ngboost", "catboost"], "splits": 2, "out": out, "data": folder}
    rows = uci.run(**asked)
    assert [row["what"] for row in rows] == [
        "yacht: ngboost",
        "wine: ngboost",
        "left out, for want of their packages",
    ]
    assert rows[0]["splits"] == 2 and rows[-1]["methods"] == ["catboost"]
    assert len(out.read_text().splitlines()) == 4 and out.with_suffix(".png").is_file()
    monkeypatch.setattr(uci, "METHODS", {**METHODS, "ngboost": absent, "catboost": absent})
    assert uci.run(**asked)[:2] == rows[:2], "what is done is not done again"


def test_a_run_that_ends_early_tells_the_splits_that_all_have_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(split: object, seed: int) -> dict[str, Told]:
        rows = len(split.y_test)  # type: ignore[attr-defined]
        return {"": Told(np.random.default_rng(seed).normal(size=(50, rows)), None, 0.1)}

    monkeypatch.setattr(uci, "METHODS", {**METHODS, "ngboost": fake, "catboost": fake})
    out = tmp_path / "pieces.jsonl"
    asked = {"tables": ["wine"], "methods": ["ngboost", "catboost"], "out": out, "data": folder}
    assert [row["splits"] for row in uci.run(**asked, first=3)[:2]] == [1, 1], "around the end: split 1 of 2"
    uci.run(**{**asked, "methods": ["ngboost"]}, splits=2)
    before = out.read_text()
    rows = uci.run(**asked, splits=2, seconds=0)
    assert [row["splits"] for row in rows[:2]] == [1, 1] and out.read_text() == before
    assert {tuple(json.loads(line)["piece"][:2]) for line in before.splitlines()} == {("wine", 0), ("wine", 1)}


def test_grades_and_rounded_values_are_covered_as_often_as_the_law_says() -> None:
    rng = np.random.default_rng(0)
    grades = rng.integers(3, size=4_000).astype(float)
    told = uci.scored(Told(rng.integers(3, size=(400, 4_000)).astype(float), None, 1.0), grades)
    assert abs(told["coverage"]["0.5"] - 0.5) < 0.03 and told["inside"] == 1.0
    rounded = np.round(rng.normal(size=4_000))
    exact = np.random.default_rng(1).uniform(-0.5, 0.5, size=(400, 4_000)) + rounded
    told = uci.scored(Told(exact, None, 1.0), rounded, step=1.0)
    assert abs(told["coverage"]["0.9"] - 0.9) < 0.02 and told["inside"] == 1.0


def test_corners_are_asked_where_nothing_was_learned() -> None:
    """A line with noise, learned up to its 85% quantile: outside it warns, and is wider than inside."""
    rng = np.random.default_rng(0)
    x = rng.exponential(3, size=(400, 2))
    y = x[:, 0] + 0.5 * x[:, 1] + 0.3 * rng.normal(size=400)
    own = corners.cut(x, y, "end", rng)
    assert len(own.outside) == 60 and x[own.learn, 0].max() < x[own.outside, 0].min()
    assert len(np.unique(np.concatenate(own))) == 400, "every row is somewhere, once"
    corner = corners.cut(x, y, "corner", rng)
    assert (x[corner.outside] > np.quantile(x, 0.65, axis=0)).all()
    frame = pd.DataFrame(x, columns=["x0", "x1"]).assign(y=y)
    table = read_columns(frame.iloc[own.learn], "the table", ["x0", "x1", "y"])
    quick = TwinSettings.resolve({"steps": 300, "width": 16, "depth": 2})
    twin = fit_twin(table, {"y": ["x0", "x1"]}, joint=False, settings=quick, seed=0)
    inside, outside = (corners.judged(twin, frame.iloc[rows]) for rows in (own.inside, own.outside))
    assert inside["warned"] == 0 and outside["warned"] > 0 and outside["crps"] > inside["crps"]


def test_guaranteed_intervals_are_counted_over_splits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(split: object, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        rows = len(split.y_test)  # type: ignore[attr-defined]
        return {"": (np.full(rows, -9.0 if seed else 9.0), np.full(rows, 9.0))}

    monkeypatch.setattr(conformal, "METHODS", {"mapie": fake})
    [row] = conformal.run(tables=["wine"], splits=2, data=folder)
    assert row["what"] == "wine: mapie" and row["cover_90"] == 0.5 and row["cover_error"] == pytest.approx(0.5)


def test_other_tables_are_refused_by_name_and_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table 'cell' in this benchmark: diabetes, cells"):
        laws.run(tables=["cell"])
    with pytest.raises(InputError, match="name the folder that holds sachs/ with --data"):
        laws.run(tables=["cells"], methods=["boosted quantiles"], data=tmp_path)


def test_without_data_it_says_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"archive\.ics\.uci\.edu.*--data"):
        uci.run(data=tmp_path)


def test_names_that_are_not_there_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no table 'whine' in this benchmark. Did you mean 'wine'"):
        uci.run(tables=["whine"], data=folder)
    with pytest.raises(InputError, match="no method 'ngbost'"):
        uci.run(methods=["ngbost"], data=folder)
