"""Pairs of runs that share no row, and what their agreement is worth."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports import changed, made_by_hand

import forebear as fb
from forebear.data.question import ask
from forebear.data.table import Table, read_columns
from forebear.discovery.choose import find_rule
from forebear.discovery.halves import halves
from forebear.discovery.problem import Problem, make_batches, rows_of
from forebear.discovery.settings import Settings
from forebear.discovery.stability import Stability
from forebear.discovery.structure import RowStructure
from forebear.flow.samplers import find_sampler

STRUCTURES = {
    "independent": RowStructure(),
    "ordered": RowStructure("ordered"),
    "grouped": RowStructure("grouped", np.random.default_rng(1).integers(0, 17, 301), "machine"),
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_halves_share_no_row_and_no_group(kind: str) -> None:
    structure = STRUCTURES[kind]
    drawn = [halves(301, np.random.default_rng(seed), structure) for seed in range(5)]
    for one, other in drawn:
        assert not {*one} & {*other} and (np.diff(one) > 0).all() and (np.diff(other) > 0).all()
        if structure.groups is None:
            assert len(one) == len(other) == 150
        else:
            assert not {*structure.groups[one]} & {*structure.groups[other]}
            assert len(one) + len(other) == 301 and abs(len(one) - len(other)) < 40
    assert len({tuple(one) for one, _ in drawn}) == 5
    if kind == "ordered":
        assert all((np.diff(one) > 1).sum() <= 21 for one, _ in drawn)


def test_every_row_is_in_either_half_equally_often() -> None:
    """Else a half is no sample of the rows."""
    for structure in (RowStructure(), RowStructure("grouped", np.arange(60) // 5)):
        firsts = np.zeros(60)
        for seed in range(400):
            firsts[halves(60, np.random.default_rng(seed), structure)[0]] += 1
        assert abs(firsts / 400 - 0.5).max() < 0.13  # five standard errors


def _problem(runs: int, paired: bool, structure: RowStructure | None = None, gaps: bool = False) -> Problem:
    frame = pd.DataFrame({"row": np.arange(301.0), "x": np.random.default_rng(0).normal(size=301)})
    frame["y"] = frame["x"].where(np.arange(301) % 10 > 0) if gaps else frame["x"]
    table = read_columns(frame, "the table", list(frame), gaps=True)
    questions = ask(list(frame), "the table", targets="y")
    batches = make_batches(questions, False, runs, 7, 150, table, paired)
    settings = Settings()
    sampler = find_sampler("flow", settings.flow)
    return Problem(table, batches, sampler, find_rule("nsr-jump"), settings, structure or RowStructure())


def _rows(problem: Problem, number: int) -> set[float]:
    table: Table = rows_of(problem, number)[0]
    return {*table.columns["row"].values}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_runs_come_in_pairs_that_share_no_row(kind: str) -> None:
    problem = _problem(5, True, STRUCTURES[kind])
    seen = [_rows(problem, number) for number in range(5)]
    assert not seen[0] & seen[1] and not seen[2] & seen[3]
    # Each pair is divided afresh, and the last run has a half of its own.
    assert seen[0] & seen[2] and seen[0] != seen[2] != seen[4] != seen[0]
    assert 130 <= len(seen[4]) <= 170
    assert _rows(_problem(5, False), 0) & _rows(_problem(5, False), 1)


def test_rows_without_a_target_are_halved_among_the_others() -> None:
    problem = _problem(2, True, gaps=True)
    one, other = _rows(problem, 0), _rows(problem, 1)
    assert len(one) == len(other) == 135 and not one & other


def test_the_bound_of_shah_and_samworth() -> None:
    """q = 3 chosen of p = 12, tau = 0.8: 3 * 3 / 12 / 0.6."""
    counts = {f"x{i}": times for i, times in enumerate([10, 9, 8, 2, 1, *[0] * 7])}
    ten = Stability("y", counts, runs=10, pairs=5)
    assert (ten.chosen, ten.candidates, ten.tau, ten.agreed) == (3.0, 12, 0.9, ("x0", "x1"))
    assert ten.at(0.8).bound == pytest.approx(9 / 12 / 0.6) and ten.at(0.8).agreed == ("x0", "x1", "x2")
    assert ten.at(1).bound == pytest.approx(9 / 12) and ten.at(1).agreed == ("x0",)
    assert ten.at(0.61).tau == 0.7
    assert list(ten.frame().columns) == ["times", "frequency", "agreed"] and ten.frame().loc["x2", "frequency"] == 0.8
    assert "at least 9 of 10 runs chose (x0, x1), at most 0.94 are expected" in str(ten)


def test_an_odd_last_run_may_have_voted_for_anything() -> None:
    """Of 5 runs 4 are in pairs: an input of 4 runs has at least 3 of those, as good as 3 of 4."""
    five = Stability("y", {"a": 5, "b": 4, "c": 0, "d": 0}, runs=5, pairs=2)
    q = 9 / 5
    assert five.at(0.8).bound == pytest.approx(q * q / 4 / (2 * 0.75 - 1))
    assert five.at(0.6).bound is None and "the last has no partner" in five.at(0.6).why


@pytest.mark.parametrize(
    ("runs", "pairs", "subset", "why"),
    [
        (1, 0, 0.5, "there was one run"),
        (4, 0, 0.8, "each run saw 80% of the rows: with subset=0.5"),
        (4, 0, 0.5, "an earlier version"),
    ],
)
def test_without_pairs_there_is_no_bound_and_it_says_why(runs: int, pairs: int, subset: float, why: str) -> None:
    one = Stability("y", {"a": runs, "b": 0}, runs, pairs, subset)
    assert one.bound is None and why in one.why and one.agreed == ("a",) and why in str(one)


@pytest.mark.parametrize("tau", [0.5, 1.1, "most", True, float("nan")])
def test_a_share_that_is_none(tau: Any) -> None:
    with pytest.raises(fb.InputError, match="tau must be a share above 0.5, at most 1"):
        Stability("y", {"a": 1}, 2, 1).at(tau)


def _correlated(half: np.ndarray, columns: np.ndarray, level: float) -> np.ndarray:
    """A stand-in for the method: inputs whose correlation with the last column is large in a half."""
    x, y = columns[half, :-1], columns[half, -1]
    score = abs(((x - x.mean(0)) * (y - y.mean())[:, None]).mean(0)) / x.std(0) / y.std()
    return score > level


@pytest.mark.parametrize("kind", ["independent", "grouped"])
@pytest.mark.parametrize("tau", [0.6, 0.9])
def test_on_null_tables_no_more_is_agreed_on_than_the_bound(kind: str, tau: float) -> None:
    """Nothing is related to anything; rows of a group are nearly the same, so that torn groups would break it."""
    rng = np.random.default_rng(0)
    rows, inputs, runs, tables = 120, 20, 10, 300
    groups = np.arange(rows) // 3 if kind == "grouped" else np.arange(rows)
    structure = RowStructure("grouped", groups) if kind == "grouped" else RowStructure()
    useless, bounds = [], []
    for _ in range(tables):
        columns = rng.normal(size=(groups.max() + 1, inputs + 1))[groups] + 0.01 * rng.normal(size=(rows, inputs + 1))
        seen = [half for _ in range(runs // 2) for half in halves(rows, rng, structure)]
        counts = sum(_correlated(half, columns, 0.25).astype(int) for half in seen)
        own = Stability("y", {str(i): int(n) for i, n in enumerate(np.asarray(counts))}, runs, runs // 2).at(tau)
        assert own.bound is not None
        useless.append(len(own.agreed))
        bounds.append(own.bound)
    error = np.std(np.array(useless) - bounds) / np.sqrt(tables)
    assert np.mean(useless) <= np.mean(bounds) + 2 * error
    assert np.mean(useless) > 0  # the bound had something to bound


def test_torn_groups_would_break_the_bound() -> None:
    """The test above can fail: rows of a group in both halves make both choose the same."""
    rng = np.random.default_rng(0)
    groups = np.arange(120) // 12
    useless, bounds = 0.0, 0.0
    for _ in range(200):
        columns = rng.normal(size=(10, 21))[groups] + 0.01 * rng.normal(size=(120, 21))
        seen = [half for _ in range(5) for half in halves(120, rng, RowStructure())]
        counts = np.sum([_correlated(half, columns, 0.6) for half in seen], axis=0)
        own = Stability("y", {str(i): int(n) for i, n in enumerate(counts)}, 10, 5)
        useless, bounds = useless + len(own.agreed), bounds + (own.bound or 0.0)
    assert useless > 1.5 * bounds


def _runs(choices: list[tuple[str, ...]], **settings: Any) -> fb.Found:
    made = made_by_hand(["y"], ["a", "b", "c"], {"y": ["a"]})
    runs, record = len(choices), made.record
    return changed(
        made,
        runs=record.runs * runs,
        choices=tuple({"y": choice} for choice in choices),
        certified=record.certified * runs,
        settings={**record.settings, "runs": runs, **settings},
    )


def test_a_result_tells_its_stability() -> None:
    found = _runs([("a",), ("a", "b"), ("a",), ("a",)], subset=0.5, pairs=2)
    own = found.stability["y"]
    assert own == Stability("y", {"a": 4, "b": 1, "c": 0}, 4, 2) and own.bound == pytest.approx(1.25**2 / 3)
    told = json.loads(json.dumps(found.to_dict()))["targets"]["y"]["stability"]
    assert told["bound"] == own.bound and told["agreed"] == ["a"] and told["why"] == "" and told["tau"] == 1
    lone = _runs([("a",)])
    assert "stability" not in lone.to_dict()["targets"]["y"] and lone.stability["y"].bound is None


def test_the_command_says_it_in_a_sentence() -> None:
    from forebear.cli.next_steps import next_steps

    found = _runs([("a",), ("a",)], subset=0.5, pairs=1)
    assert str(found.stability["y"]) in next_steps(found, None, None, None)
    plain = _runs([("a",), ("a",)], subset=0.8, pairs=0)
    assert "no more often than chance" not in next_steps(plain, None, None, None)


def test_a_discovery_pairs_its_runs_when_each_sees_a_half() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "y"])
    quick: dict[str, Any] = {"steps": 5, "width": 8, "depth": 1, "distilled": 40, "folds": 1, "progress": False}
    quick |= {"rule": lambda path: ["a"], "sampler": "mean"}
    found = fb.discover(table, "y", runs=3, subset=0.5, **quick)
    assert found.settings["pairs"] == 1 and found.stability["y"].bound == pytest.approx(0.5)
    assert fb.discover(table, "y", runs=2, **quick).stability["y"].bound is None


@pytest.mark.slow
def test_on_real_null_tables_no_more_is_agreed_on_than_the_bound() -> None:
    """Samplers, draws and paths as ever; of each path the last two of six inputs, useless as all of them are."""
    quick: dict[str, Any] = {"steps": 200, "width": 16, "depth": 2, "distilled": 150, "folds": 1, "progress": False}
    quick |= {"rule": lambda path: path.remaining(4), "rows": "independent", "runs": 4, "subset": 0.5}
    useless, bounds = 0.0, 0.0
    for seed in range(12):
        table = pd.DataFrame(np.random.default_rng(seed).normal(size=(300, 7)), columns=[*"abcdef", "y"])
        own = fb.discover(table, "y", seed=seed, **quick).stability["y"].at(0.75)
        assert own.bound is not None and own.bound == pytest.approx(2 * 2 / 6 / 0.5)
        useless, bounds = useless + len(own.agreed), bounds + own.bound
    assert 0 < useless <= bounds
