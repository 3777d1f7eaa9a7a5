"""Weighted rows: the level holds whatever weights follow, and the answer is that of the weighted law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from known import real

import forebear as fb
from forebear.data.weights import effective_rows, scaled
from forebear.discovery.cost import paired
from forebear.discovery.dependence import Features, HostTest, all_latent_features, result_of
from forebear.discovery.learned import LearnedProbe
from forebear.discovery.structure import RowStructure
from forebear.trees.learn import boosted, forest

ROWS = 600


def weighing(z: np.ndarray, columns: dict[str, Features], kept: list[str], weights: np.ndarray | None) -> HostTest:
    removed = {name: [name] for name in columns if name not in kept}
    return HostTest.of(columns, kept, removed, weights=weights)


def p_value(rng: np.random.Generator, follow: str, weighed: bool = True, effect: float = 0.0) -> float:
    """Of noise z beside a and b, where rows count by chance, by b, or so that they undo how they were drawn."""
    a, b, z = rng.normal(size=(3, ROWS))
    if follow == "selection":
        a, b, z = rng.normal(size=(3, 4 * ROWS))
        chance = 0.2 + 0.8 / (1 + np.exp(-1.5 * b * z))
        met = np.flatnonzero(rng.random(4 * ROWS) < chance)[:ROWS]
        a, b, z, weights = a[met], b[met], z[met], 1 / chance[met]
    else:
        strength = 1.5 if follow == "an input, strongly" else 0.8
        weights = np.exp(strength * (rng.normal(size=ROWS) if follow == "chance" else b))
    z = (z + effect * b) / np.sqrt(1 + effect**2)
    test = weighing(z, {"a": real(a), "b": real(b)}, ["a"], scaled(weights) if weighed else None)
    latents = test.clear(all_latent_features(z))
    return result_of([*test.each(latents).values(), *test.pairs(latents)]).p_value


@pytest.mark.parametrize("follow", ["chance", "input", "an input, strongly", "selection"])
def test_the_level_holds_whatever_the_weights_follow(follow: str) -> None:
    rng = np.random.default_rng(0)
    found = np.array([p_value(rng, follow) for _ in range(300)])
    # Of 300 tables at 0.05: 15 expected, 28 are beyond three standard errors.
    assert (found < 0.05).sum() <= 28 and (found < 0.01).sum() <= 9


def test_without_weights_the_selection_shows() -> None:
    rng = np.random.default_rng(0)
    assert np.median([p_value(rng, "selection", weighed=False) for _ in range(20)]) < 1e-6


def test_weighted_rows_still_show_an_effect() -> None:
    rng = np.random.default_rng(1)
    assert np.mean([p_value(rng, "chance", effect=0.35) < 0.01 for _ in range(40)]) > 0.9


def test_equal_weights_change_nothing() -> None:
    rng = np.random.default_rng(2)
    a, b, z = rng.normal(size=(3, ROWS))
    columns = {"a": real(a), "b": real(b)}
    plain, equal = (weighing(z, columns, ["a"], w) for w in (None, np.ones(ROWS)))
    one, other = (test.each(test.clear(all_latent_features(z)))["b"] for test in (plain, equal))
    assert one.statistic == pytest.approx(other.statistic) and one.limit == pytest.approx(other.limit)


def test_the_limit_counts_the_rows_that_are_worth_something() -> None:
    """Half of the rows hardly count: the limit is about that of the other half alone."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(20):
        b, z = rng.normal(size=(2, 2_000))
        weights = np.where(np.arange(2_000) < 1_000, 1.0, 1e-6)
        weighted = weighing(z, {"b": real(b)}, [], scaled(weights))
        half = weighing(z[:1_000], {"b": real(b[:1_000])}, [], None)
        limits = [
            test.each(test.clear(all_latent_features(own)))["b"].limit
            for test, own in ((weighted, z), (half, z[:1_000]))
        ]
        ratios.append(limits[0] / limits[1])
    assert 0.8 < np.median(ratios) < 1.25
    assert weighted.clear.freedom == pytest.approx(1_000 - weighted.count, rel=0.01)


def test_trees_hold_their_level_with_weights() -> None:
    rng, statistics = np.random.default_rng(4), []
    for _ in range(40):
        x, z = rng.normal(size=(ROWS, 3)), rng.normal(size=ROWS)
        weights = scaled(np.exp(x[:, 0]))
        columns = {str(i): real(x[:, i]) for i in range(3)}
        test = weighing(z, columns, ["0"], weights)
        latents = test.clear(all_latent_features(z))[:, :6]
        probe = LearnedProbe.fit(test.clear.plain(latents), x, np.arange(ROWS) % 2, [0], weights=weights)
        statistics.append(probe.measure(test.clear, test.clear.freedom, None, test.clear.worth).statistic)
    assert np.mean(np.array(statistics) > 2.2) < 0.15  # 0.05 over six one-sided tests, worth three


def test_a_difference_of_scores_is_that_of_the_weighted_rows() -> None:
    apart = np.array([1.0] * 50 + [3.0] * 50)
    noise = np.random.default_rng(5).normal(size=100)
    rows = RowStructure(weights=scaled(np.array([3.0] * 50 + [1.0] * 50)))
    found = paired(apart + noise, noise, rows)
    assert found.difference == pytest.approx(1.5)
    assert paired(apart + noise, noise, RowStructure()).difference == pytest.approx(2.0)


def selected(rows: int = 2_000, seed: int = 0) -> pd.DataFrame:
    """In the population y depends on a alone; rows were met where b and the noise of y agree."""
    rng = np.random.default_rng(seed)
    a, b, c, noise = rng.normal(size=(4, 4 * rows))
    chance = 0.1 + 0.9 / (1 + np.exp(-2 * b * noise))
    made = pd.DataFrame({"a": a, "b": b, "c": c, "y": a + noise, "w": 1 / chance})
    met = np.flatnonzero(rng.random(4 * rows) < chance)[:rows]
    return made.iloc[met].reset_index(drop=True)


QUICK = {"steps": 300, "distilled": 400, "progress": False}


@pytest.fixture(scope="module")
def weighted() -> fb.Found:
    return fb.discover(selected(), "y", weights="w", **QUICK)


def test_the_answer_is_that_of_the_weighted_law(weighted: fb.Found) -> None:
    plain = fb.discover(selected().drop(columns="w"), "y", **QUICK)
    assert plain.ancestors["y"] == ("a", "b"), "so it is among the rows that were met"
    assert weighted.ancestors["y"] == ("a",)


def test_the_worth_of_the_rows_is_told(weighted: fb.Found) -> None:
    worth = effective_rows(selected()["w"].to_numpy())
    assert weighted.record.use is not None
    assert weighted.record.use.told() == f"Rows count by 'w': 2,000 rows are worth about {worth:,.0f} equal ones."
    assert weighted.columns["role"].to_dict()["w"] == "weights"


def judge_twin(found: fb.Found, **options: Any) -> None:
    """At a = 0.5 the weighted law is normal with mean 0.5 and deviation 1."""
    twin = found.twin(**options)
    low, middle, high = (float(v) for v in twin.quantile({"a": [0.5]}, [0.1, 0.5, 0.9])[:, 0, 0])
    assert middle == pytest.approx(0.5, abs=0.2) and high - low == pytest.approx(2.56, abs=0.45)
    assert found.validate(twin).scores["y"].coverage[0.9] == pytest.approx(0.9, abs=0.07)


def test_the_twin_of_a_stored_run_is_that_of_the_weighted_law(weighted: fb.Found, tmp_path: Path) -> None:
    weighted.save(tmp_path / "run")
    again = fb.load(tmp_path / "run")
    assert again.structure.weights == pytest.approx(weighted.structure.weights)
    judge_twin(again, law="flow", steps=400)


@pytest.mark.slow
def test_so_is_a_blended_one(weighted: fb.Found) -> None:
    judge_twin(weighted, law="blend")


def test_a_law_follows_the_weights() -> None:
    """Half of the rows say 0, half 1, and those that say 1 count three times."""
    x = np.zeros((4_000, 1))
    y = np.arange(4_000) % 2 + 0.0
    weights = scaled(1 + 2 * y)
    mean = boosted(x + np.arange(4_000)[:, None] % 7, y, seed=0, weights=weights).values(x[:1])[..., 0].sum()
    assert mean == pytest.approx(0.75, abs=0.03)
    said = forest(x, x[:, 0], y, trees=20, seed=0, weights=weights).values(x[:1])
    assert said.mean() == pytest.approx(0.75, abs=0.01)


def test_weights_without_bound_leave_the_answer_in_doubt() -> None:
    """Rows are met by b times the noise of y, so seldom at one end that no weight makes up for those that are not."""
    rng = np.random.default_rng(7)
    a, b, noise = rng.normal(size=(3, 6_000))
    chance = 1 / (1 + np.exp(-2 * b * noise))
    made = pd.DataFrame({"a": a, "b": b, "y": a + noise, "w": 1 / chance})[rng.random(6_000) < chance][:1_000]
    found = fb.discover(made, "y", weights="w", steps=60, distilled=100, subset_steps=60, progress=False)
    assert found.verdicts["y"] != "certified"
    assert any("the largest weights of 'w' grow without bound" in reason for reason in found.why["y"])


def test_rows_of_no_weight_say_nothing() -> None:
    """Where b shapes y, no row counts."""
    rng = np.random.default_rng(6)
    made = pd.DataFrame(rng.normal(size=(2_400, 3)), columns=list("aby"))
    made["y"] += made["a"]
    made["w"] = 1.0
    made.loc[1_500:, "y"] += 3 * made["b"]
    made.loc[1_500:, "w"] = 0.0
    found = fb.discover(made, "y", weights="w", **QUICK)
    assert found.ancestors["y"] == ("a",)
    assert found.record.use is not None and found.record.use.used == 1_500


def test_only_ratios_of_weights_matter() -> None:
    made, quick = selected(500), {"steps": 60, "distilled": 100, "subset_steps": 60, "progress": False}
    one, other = (fb.discover(made.assign(w=k * made["w"]), "y", weights="w", **quick) for k in (1.0, 8.0))
    assert one.certificates["y"].equals(other.certificates["y"])
