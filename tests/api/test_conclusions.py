"""What a result says of its certificates: verdicts, limits, classes, costs, and how rows were taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from quick import QUICK

import forebear as fb
from forebear.discovery.verdict import VERDICTS


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    return data.assign(machine=np.arange(400) % 20, y=3 * data["b"] + rng.normal(size=400), s=rng.normal(size=400))


@pytest.fixture(scope="module")
def found(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> fb.Found:
    out = tmp_path_factory.mktemp("run") / "out"
    return fb.discover(table.drop(columns="machine"), ["y", "s"], candidates=["a", "b", "c"], out=out, **QUICK)


def test_every_target_has_a_verdict_and_reasons_unless_it_is_certified(found: fb.Found) -> None:
    assert set(found.verdicts) == set(found.why) == {"y", "s"}
    for target, word in found.verdicts.items():
        assert word in VERDICTS
        assert (word == "certified") == (found.why[target] == ())
        assert all(isinstance(reason, str) for reason in found.why[target])


def test_certificates_have_limits_in_shares_and_in_units(found: fb.Found, table: pd.DataFrame) -> None:
    frame = found.certificates["y"]
    assert list(frame.columns) == [
        *("kept", "p_value", "fresh_p", "effect", "limit", "detectable", "shift", "limit_units", "statistic", "moves")
    ]
    limits, effects = np.array(frame["limit"], float), np.array(frame["effect"], float)
    assert list(frame.index) == ["a", "b", "c"] and ((limits >= effects) & (limits <= 1)).all()
    certificate = found.certified[0]["y"]
    assert certificate.deviation == pytest.approx(np.std(table["y"].to_numpy()))
    units = np.sqrt(limits) * certificate.open_share * certificate.deviation
    assert frame["limit_units"].tolist() == pytest.approx(units.tolist())


def test_classes_begin_with_a_chosen_input(found: fb.Found) -> None:
    assert set(found.classes) == {"y", "s"}
    for target, classes in found.classes.items():
        for name, *others in classes:
            assert name in found.ancestors[target] and others and not set(others) & set(found.ancestors[target])


def test_costs_and_curves_are_tables(found: fb.Found) -> None:
    for target in found.targets:
        cost, curve = found.cost[target], found.curves[target]
        assert list(cost.index) == ["log loss", "CRPS"]
        assert list(cost.columns) == ["pruned", "full", "difference", "low", "high"]
        for pruned, full, difference, low, high in cost.to_numpy():
            assert low <= difference <= high and difference == pytest.approx(pruned - full)
        assert list(curve.columns) == ["kept", "log_loss", "share"]
        sizes = [len(kept) for kept in curve["kept"]]
        assert sizes == list(range(len(found.ancestors[target]), -1, -1)) and curve["share"].iloc[0] == 1
    assert found.cost["y"].loc["CRPS", "pruned"] < found.cost["s"].loc["CRPS", "pruned"]


def test_the_smallest_set_shrinks_with_the_margin(found: fb.Found) -> None:
    assert found.smallest("y", 0.0) == found.ancestors["y"] and found.smallest("y", 1.0) == ()
    with pytest.raises(fb.InputError, match="margin must be a share between 0 and 1; got 2"):
        found.smallest("y", 2)
    with pytest.raises(fb.InputError, match="'z' is not a target of this result"):
        found.smallest("z", 0.1)


def test_adjusted_p_values_have_a_row_for_every_candidate_of_every_target(found: fb.Found) -> None:
    frame = found.adjusted()
    assert frame[["target", "candidate"]].to_numpy().tolist() == [[y, x] for y in ("y", "s") for x in "abc"]
    for method in ("holm", "fdr"):
        own = found.adjusted(method)[["p_value", "adjusted"]].to_numpy()
        assert (own[:, 0] <= own[:, 1]).all() and own.max() <= 1


def test_json_has_what_a_program_asks_for(found: fb.Found) -> None:
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["rows"] == "independent" == document["settings"]["rows"]
    told = document["targets"]["y"]
    assert told["verdict"] == found.verdicts["y"] and told["why"] == list(found.why["y"])
    assert told["classes"] == [list(names) for names in found.classes["y"]]
    assert told["limit"] == found.certified[0]["y"].limit and told["rows_tested"] == 400
    assert told["fresh_rows"] is (told["halves"] == [["b"], ["b"]]) and set(told["cost"]) == {"log loss", "CRPS"}
    assert set(told["certificate"]["a"]) == {"p_value", "fresh_p", "effect", "limit", "detectable"}


def test_all_of_it_survives_saving(found: fb.Found) -> None:
    assert isinstance(found.folder, Path)
    again = fb.load(found.folder)
    assert again.certified == found.certified and again.to_dict() == found.to_dict()


def test_a_copy_of_a_needed_input_can_be_saved(tmp_path: Path, table: pd.DataFrame) -> None:
    """Ranks are what is tested: beside its copy it has nothing to be tested with, and no limit on its rows."""
    copied = table[["b", "y"]].assign(copy=np.exp(table["b"]))
    found = fb.discover(copied, "y", out=tmp_path, **QUICK)
    [kept] = found.ancestors["y"]
    gone = "copy" if kept == "b" else "b"
    assert found.certificates["y"].loc[gone, "limit"] == 0 and found.certificates["y"].loc[gone, "p_value"] == 1
    assert fb.load(tmp_path).certified == found.certified


@pytest.mark.parametrize("rows", ["ordered", "machine"])
def test_rows_are_taken_as_declared_and_the_column_of_groups_is_no_input(table: pd.DataFrame, rows: str) -> None:
    data = table.drop(columns=["s", *(["machine"] if rows == "ordered" else [])])
    found = fb.discover(data, "y", rows=rows, **QUICK)
    assert found.rows == rows and found.settings["rows_why"] == ""
    assert list(found.questions["y"].candidates) == ["a", "b", "c"]
    assert "b" in found.ancestors["y"]


def test_rows_that_are_judged_say_why(table: pd.DataFrame) -> None:
    slow = np.convolve(np.random.default_rng(1).normal(size=419), np.ones(20), "valid")
    found = fb.discover(table[["a", "b"]].assign(y=table["b"] + slow), "y", rule="nsr-jump", **QUICK)
    assert found.rows == "ordered" and "neighbouring rows have 'y' alike" in found.settings["rows_why"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("machines", "rows='machines' is neither a structure of rows nor a column of .*Did you mean 'machine'"),
        ("indepedent", "Did you mean 'independent'"),
        (True, "rows must be one of auto, independent, ordered or the name of a column; got True"),
    ],
)
def test_a_slip_in_rows_is_told_before_any_work(table: pd.DataFrame, rows: Any, told: str) -> None:
    with pytest.raises(fb.InputError, match=told):
        fb.discover(table, "y", rows=rows, **QUICK)


def test_a_level_for_all_targets_together_is_shared_among_them(table: pd.DataFrame) -> None:
    from forebear.discovery.certify import search_sets
    from forebear.discovery.prepare import Asked, prepare

    levels = {}
    for family in ("target", "all"):
        settings = {**QUICK, "family": family}
        asked = Asked(
            table, ["y", "s"], ["a", "b"], (), None, None, "certified", "fast", "flow", False, 1, 0, settings
        )
        levels[family] = [test.tester.level for test in search_sets(prepare(asked, jobs=1).problem, 0).tests]
    assert levels == {"target": [0.01, 0.01], "all": [0.005, 0.005]}
    with pytest.raises(fb.InputError, match="family"):
        fb.discover(table, "y", family="some", **QUICK)
