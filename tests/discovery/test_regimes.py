"""Which laws are the same in all regimes: what is concluded from a certificate, and laws that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports import changed, made_by_hand, verdict

import forebear as fb
from forebear.api.in_regimes import InRegimes, _roles, _with_rows
from forebear.data.question import Question
from forebear.data.table import read_columns
from forebear.discovery.dependence import Features, tails_test
from forebear.discovery.regimes import CANNOT_TELL, CHANGES, NEEDED, NOT_NEEDED, SAME, regime_table
from forebear.discovery.residuals import Residualiser, features


def certified(kept: bool, p_value: float, limit: float = 0.01, **fields: Any) -> fb.Found:
    """A result in which the regime was kept or removed with this evidence."""
    own = ("a", "campaign") if kept else ("a",)
    made = made_by_hand(["y"], ["a", "campaign"], {"y": list(own)})
    certificate = made.record.certified[0]["y"]
    told = verdict(p_value)._replace(limit=limit)
    certificate = replace(certificate, tests={**certificate.tests, "campaign": told}, margin=0.06, **fields)
    settings = {**made.settings, "regime": "campaign"}
    return changed(made, certified=({"y": certificate},), settings=settings)


@pytest.mark.parametrize(
    ("found", "law", "why"),
    [
        (certified(False, 0.5), SAME, ""),
        (certified(False, 0.5, limit=0.2), CANNOT_TELL, "could still explain 20%"),
        (certified(True, 1e-9), CHANGES, ""),
        (certified(True, 0.2), CANNOT_TELL, "may be by chance"),
        (certified(True, 1e-9, classes=(("campaign", "a"),)), CANNOT_TELL, "'a' can stand in"),
        # Rows that had no part in choosing the set have the last word.
        (certified(True, 1e-9, fresh_p={"campaign": 0.4}), CANNOT_TELL, "may be by chance"),
    ],
    ids=["bounded", "not bounded", "kept", "kept by chance", "an input stands in", "fresh rows disagree"],
)
def test_the_word_follows_from_the_certificate(found: fb.Found, law: str, why: str) -> None:
    row = found.regimes.loc["y"]
    assert row["law"] == law and why in row["why"] and bool(row["why"]) == (law == CANNOT_TELL)
    assert found.to_dict()["targets"]["y"]["regimes"]["law"] == law


def test_a_change_of_the_tails_alone_is_a_change() -> None:
    """Too small to be an input, and shown by the test that is for it; by chance it is not."""
    told = certified(False, 0.4, tails={"campaign": 1e-4}).regimes.loc["y"]
    assert told["law"] == CHANGES and "in the tails alone" in told["why"] and told["p_value"] == 2e-4
    assert certified(False, 0.4, tails={"campaign": 0.04}).regimes.loc["y", "law"] == SAME
    fresh = certified(True, 1e-9, fresh_p={"campaign": 0.4}, tails={"campaign": 1e-4}).regimes.loc["y"]
    assert fresh["law"] == CHANGES and not fresh["why"]
    unknown = certified(False, 0.4, fresh_p={"campaign": float("nan")}, tails={"campaign": 0.3}).regimes.loc["y"]
    assert unknown["law"] == SAME and unknown["p_value"] == 0.6


def _heavy(seed: int, heavy: bool) -> float:
    """p-value of the test of the tails, on latents of a law with 400 rows in each of three regimes."""
    rng = np.random.default_rng(seed)
    labels, z = np.repeat(["a", "b", "c"], 400), rng.normal(size=1_200)
    if heavy:  # Student's law with 2.5 degrees of freedom, its middle half as before
        z = np.where(labels == "c", rng.standard_t(2.5, 1_200) * 0.6745 / 0.7812, z)
    frame = pd.DataFrame({"u": rng.normal(size=1_200), "campaign": labels})
    table = read_columns(frame, "the table", ["u", "campaign"])
    columns = {name: Features(features(column)) for name, column in table.columns.items()}
    clear = Residualiser([columns["u"].values], 1_200)
    return tails_test("campaign", z, [columns["campaign"]], clear)


def test_tails_are_seen_and_chance_is_not() -> None:
    assert np.mean([_heavy(seed, True) < 0.025 for seed in range(20)]) > 0.9
    assert sum(_heavy(seed, False) < 0.025 for seed in range(200)) <= 12  # 5 expected


@pytest.mark.slow
def test_rows_of_an_intervention_tell_which_of_two_tied_readings_is_needed() -> None:
    """v reads what u reads, but for a little noise, until both are set, each alone."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1_000, 2)), columns=["u", "v"])
    seen = np.arange(1_000) < 800
    table["v"] = np.where(seen, table["u"] + 0.1 * table["v"], table["v"])
    table["y"] = np.sin(table["u"]) + 0.7 * rng.normal(size=1_000)
    alone = fb.discover(table[seen], "y", ["u", "v"])
    assert alone.verdicts["y"] != "certified" or alone.classes["y"]
    both = fb.discover(table.assign(how=np.where(seen, "seen", "set")), "y", ["u", "v"], regime="how")
    assert both.ancestors["y"] == ("u",) and not both.classes["y"] and both.regimes.loc["y", "law"] == SAME


def test_evidence_is_corrected_for_the_number_of_targets() -> None:
    """p = 0.02 for one of four targets may be by chance."""
    names = [f"y{i}" for i in range(4)]
    made = made_by_hand(names, ["campaign"], {name: ["campaign"] for name in names})
    p_values = dict(zip(names, [0.02, 1e-9, 0.5, 0.9], strict=True))
    certificates = {
        name: replace(one, tests={"campaign": verdict(p_values[name])})
        for name, one in made.record.certified[0].items()
    }
    found = changed(made, certified=(certificates,), settings={**made.settings, "regime": "campaign"})
    table = regime_table(found.record)
    assert table["law"].to_dict() == {name: CHANGES if name == "y1" else CANNOT_TELL for name in names}
    assert table.loc["y0", "adjusted"] == pytest.approx(0.06)


def test_without_regimes_there_is_one_line() -> None:
    found = made_by_hand(["y"], ["a"], {"y": ["a"]})
    for ask in (lambda: found.regimes, found.in_regimes):
        with pytest.raises(fb.InputError, match="no regimes were asked for: discover with regime="):
            ask()


def plant(rows: int, seed: int = 0) -> pd.DataFrame:
    """Two campaigns, numbered: the mix of a differs, b acts in the second only, and z has the same law in both."""
    rng = np.random.default_rng(seed)
    campaign = np.repeat([1.0, 2.0], rows // 2)
    a, b = rng.normal(size=(2, rows))
    a = a + 0.7 * (campaign == 2)
    y = a + np.where(campaign == 2, 2.0, 0.0) * b + 0.5 * rng.normal(size=rows)
    z = np.sin(a) + 0.5 * rng.normal(size=rows)
    return pd.DataFrame({"campaign": campaign, "a": a, "b": b, "y": y, "z": z})


def test_a_mix_of_inputs_changes_no_law_and_an_input_of_one_regime_is_found() -> None:
    table = plant(1_200)
    found = fb.discover(table, ["y", "z"], candidates=["a", "b"], regime="campaign", distilled=200)
    assert found.regimes["law"].to_dict() == {"y": CHANGES, "z": SAME}
    assert found.ancestors["z"] == ("a",) and "campaign" in found.ancestors["y"]
    parts = found.in_regimes()
    assert parts.targets == ("y",) and list(parts.found) == ["1", "2"]
    assert parts.found["1"].settings["distilled"] == 200
    assert parts.inputs["y"].loc["a"].tolist() == [NEEDED, NEEDED]
    assert parts.inputs["y"].loc["b"].tolist() == [NOT_NEEDED, NEEDED] and parts.only == {"y": {"b": ("2",)}}
    assert parts.graph.edges["b", "y"]["regimes"] == ("2",) and parts.graph.edges["a", "y"]["everywhere"]
    assert "2: y <- a, b" in parts.summary() and "<table" in parts._repr_html_()
    assert parts.plot().texts


def test_regimes_that_are_too_small_to_tell_alone_are_asked_together() -> None:
    """`b` acts in the third regime alone; the rows of each other regime leave it open whether it does there."""
    rng = np.random.default_rng(3)
    regime = np.repeat(["spring", "summer", "autumn"], 260)
    a, b = rng.normal(size=(2, 780))
    y = a + np.where(regime == "autumn", 1.5, 0.0) * b + 0.5 * rng.normal(size=780)
    table = pd.DataFrame({"regime": regime, "a": a, "b": b, "y": y})
    found = fb.discover(table, "y", regime="regime", distilled=200)
    parts = found.in_regimes()
    told = parts.inputs["y"].loc["b"].to_dict()
    assert told["autumn"] == NEEDED and CANNOT_TELL in told.values()
    assert NEEDED not in (told["spring"], told["summer"])
    [(rest, both)] = parts.joined.items()
    assert rest == ("spring", "summer") and set(both.ancestors["y"]) == {"a", "regime"}
    assert both.table is not None and len(both.table.frame()) == 520
    assert parts.only == {"y": {"b": ("autumn",)}}
    # Alone they could not tell.
    assert InRegimes(parts.regime, parts.found).only == {"y": {}}


def record(rows: int, gain: float) -> dict[str, Any]:
    """A driven state, whose gain is another one after a service."""
    rng = np.random.default_rng(0)
    state, drive = np.zeros(rows), rng.normal(size=rows)
    for row in range(rows - 1):
        now = 0.3 if row < rows // 2 else gain
        state[row + 1] = 0.8 * state[row] + now * drive[row] + 0.2 * rng.normal()
    return {"x": state, "u": drive, "service": np.repeat(["before", "after"], rows // 2)}


def test_a_lag_table_takes_its_regimes_along() -> None:
    made = fb.lagged(record(40, 0.3), state="x", action="u", lags=1, regime="service")
    # The label is that of the moment from which a step is made.
    assert made.table["service"].tolist() == ["before"] * 19 + ["after"] * 19
    assert "service" not in (*made.candidates, *made.targets)
    both = fb.lagged({**record(40, 0.3), "run": [1] * 20 + [2] * 20}, state="x", lags=0, episode="run", regime="run")
    assert list(both.table) == ["run", "x_0", "d_x"]
    with pytest.raises(fb.InputError, match="named in regime and in state or action"):
        fb.lagged(record(40, 0.3), state="x", regime="x")
    with pytest.raises(fb.InputError, match="servise"):
        fb.lagged(record(40, 0.3), state="x", regime="servise")


@pytest.mark.slow
def test_the_law_of_a_record_changes_with_the_regime_or_not() -> None:
    for gain, law in ((0.3, SAME), (0.6, CHANGES)):
        made = fb.lagged(record(900, gain), state="x", action="u", lags=1, regime="service")
        found = fb.discover(made, regime="service")
        assert found.regimes["law"].to_dict() == {"d_x": law}
    # Lags go together in each regime alone as well.
    assert found.in_regimes().inputs["d_x"].loc["lag 0"].tolist() == [NEEDED, NEEDED]


def test_what_is_asked_in_each_regime_is_what_was_asked_in_all() -> None:
    """Groups stay groups and kept inputs kept, as far as they vary; rows keep their weights and their machine."""
    question = Question("y", ("a", "b", "c", "e", "campaign"), {"pair": ("a", "b"), "c": ("c",)}, ("e", "campaign"))
    told = _roles([question], {"a", "c", "e"})
    assert told == {"candidates": {"y": ["a", "c"]}, "groups": {"pair": ["a"]}, "keep": {"y": ["e"]}}
    table = plant(400).assign(machine=np.arange(400) // 10 % 20, often=np.tile([1.0, 3.0], 200))
    quick = {"steps": 50, "distilled": 50, "folds": 1, "rule": lambda path: ["a"]}
    found = fb.discover(table, "y", ["a"], regime="campaign", rows="machine", weights="often", **quick)
    frame, options = _with_rows(found)
    assert options == {"rows": "machine", "weights": "often"}
    assert len(set(frame["machine"])) == 20 and frame["often"].iloc[1] == pytest.approx(3 * frame["often"].iloc[0])


@pytest.mark.parametrize(
    ("change", "asked", "message"),
    [
        ({}, {"regime": "campain"}, "no column 'campain' \\(named in regime\\). Did you mean 'campaign'"),
        ({}, {"regime": "a"}, "'a' has 80 values, and regimes are at most 12"),
        ({"campaign": 1}, {}, "'campaign' has one value only"),
        ({"campaign": [1] * 70 + [2] * 10}, {}, "fewer than 30 rows are of '2'"),
        ({"campaign": [None] + [1, 2] * 39 + [2]}, {}, "empty in row 1"),
        ({}, {"targets": None}, "name the targets"),
        ({}, {"targets": ["campaign"]}, "is a target and cannot tell regimes apart"),
        ({}, {"exclude": ["camp*"]}, "left out by exclude"),
    ],
)
def test_what_cannot_tell_regimes_apart_is_one_line(change: Any, asked: dict[str, Any], message: str) -> None:
    table = plant(80).assign(**change)
    with pytest.raises(fb.InputError, match=message):
        fb.discover(table, **{"targets": "y", "regime": "campaign", **asked})


def test_a_setting_with_the_name_of_a_slip_can_be_set() -> None:
    """`drop` is a setting of the kernel; columns to drop are answered with exclude."""
    with pytest.raises(fb.InputError, match="write exclude="):
        fb.discover(plant(80), "y", drop=["a"])
    with pytest.raises(fb.InputError, match="setting 'drop' must"):
        fb.discover(plant(80), "y", drop=-1.0)
