"""What is asked of a twin as JSON: the answers are those of the twin in Python, and what cannot be used is told."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plant import GIVEN, plant_rows, plant_twin

import forebear as fb
from forebear.errors import InputError
from forebear.serve.limits import Limits
from forebear.serve.operations import OPERATIONS
from forebear.twin.twin import Twin

FRAME = pd.DataFrame({"load": [1.0, 2.5], "mode": ["eco"] * 2, "heading": [1.5] * 2, "oil": [None, 60.0]})
Y = {"power": [1.0, 3.0], "trips": [0, 2], "state": ["good", "worn"]}
YS = pd.DataFrame(Y)


@pytest.fixture(scope="module")
def twin() -> Twin:
    return plant_twin()


def ask(twin: Twin, operation: str, limits: Limits | None = None, **content: Any) -> Any:
    """Through JSON and back, as a client would have it."""
    sent = json.loads(json.dumps({"given": GIVEN, **content}))
    return json.loads(json.dumps(OPERATIONS[operation].answer(twin, sent, limits), allow_nan=False))


def test_draws_are_those_of_the_twin(twin: Twin) -> None:
    draws = ask(twin, "sample", n=50, seed=3)["draws"]
    own = twin.sample(FRAME, 50, 3)
    assert np.array_equal(draws["power"], own[:, :, 0].T) and np.array_equal(draws["trips"], own[:, :, 1].T)
    frame = twin.sample(FRAME, 50, 3, frame=True)
    assert draws["state"] == frame["state"].to_numpy().reshape(2, 50).tolist()
    assert all(isinstance(count, int) for count in draws["trips"][0]) and len(set(draws["state"][0])) > 1
    assert ask(twin, "sample", n=50, seed=4)["draws"] != draws


def test_quantiles_means_and_intervals_are_those_of_the_twin(twin: Twin) -> None:
    quantiles = ask(twin, "quantile", q=[0.1, 0.9])
    assert np.array_equal(quantiles["quantiles"]["power"], twin.quantile(FRAME, [0.1, 0.9])[:, :, 0].T)
    assert np.shape(ask(twin, "quantile", q=0.5)["quantiles"]["trips"]) == (2, 1)
    mean = ask(twin, "mean")["mean"]
    assert np.array_equal(np.stack(list(mean.values()), axis=1), twin.mean(FRAME))
    for guarantee in (False, True):
        told = ask(twin, "interval", level=0.8, guarantee=guarantee)
        low, high = twin.interval(FRAME, 0.8, guarantee=guarantee)
        assert np.array_equal(told["low"]["power"], low[:, 0]) and np.array_equal(told["high"]["power"], high[:, 0])
        assert told["high"]["state"] == [twin.levels["state"][int(code)] for code in high[:, 2]]


def test_densities_and_latents_are_those_of_the_twin(twin: Twin) -> None:
    density, latent = ask(twin, "log_density", y=Y)["log_density"], ask(twin, "latent", y=Y, seed=2)["latent"]
    assert np.array_equal(np.stack(list(density.values()), axis=1), twin.log_prob(FRAME, YS))
    assert np.array_equal(np.stack(list(latent.values()), axis=1), twin.latent(FRAME, YS, 2))


def test_what_lies_outside_is_told(twin: Twin) -> None:
    given = [
        {"load": 1.0, "mode": "eco", "heading": 9.0, "oil": 60},
        {"load": 40, "mode": "eco", "heading": 0, "oil": 60},
    ]
    told = ask(twin, "outside", given=given)
    assert told["outside"] == twin.outside(pd.DataFrame(given)).tolist() and told["outside"][1] > 10
    assert told["column"] == [None, "load"] and "'load' is 40 in row 2" in told["notes"][0]
    assert "'load' is 40" in ask(twin, "mean", given=given)["notes"][0]
    assert ask(twin, "mean", given=given, outside="ignore")["notes"] == []
    with pytest.raises(InputError, match="'load' is 40 in row 2"):
        ask(twin, "mean", given=given, outside="raise")


def test_monitors_are_those_of_the_twin(twin: Twin) -> None:
    rows = plant_rows(60).assign(trips=1, state="worn")
    sent = json.loads(str(rows.to_json(orient="records")))
    told = OPERATIONS["monitor"].answer(twin, {"rows": sent, "level": 0.1, "seed": 1})
    own = twin.monitor(rows, level=0.1, seed=1)
    assert told["verdict"] == own.verdict and told["summary"] == own.summary() and told["rows"] == 60
    assert told["targets"]["power"] == own.to_dict()["targets"]["power"]


def test_rows_may_come_as_columns_or_one_by_one(twin: Twin) -> None:
    rows = [
        {"load": 1.0, "mode": "eco", "heading": 1.5, "oil": None},
        {**GIVEN, "load": 2.5, "oil": 60.0, "more": "x"},
    ]
    assert ask(twin, "mean", given=rows) == ask(twin, "mean")


def test_a_joint_law_has_one_density() -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "y", "z"])
    found = fb.discover(table, ["y", "z"], rule=lambda path: ["a"], steps=5, distilled=40, folds=1, width=8, depth=1)
    twin = found.twin(joint=True, steps=5, width=8, depth=1)
    given, y = {"a": [0.0, 1.0]}, {"y": [0.0, 0.5], "z": [1.0, 0.0]}
    told = OPERATIONS["log_density"].answer(twin, {"given": given, "y": y})
    assert told["joint_log_density"] == twin.log_prob(given, y).tolist()


def test_a_law_without_inputs_has_as_many_rows_as_are_asked_for() -> None:
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0]})
    from toys import toy_twin

    twin = toy_twin(frame, {"y": ("a",)})
    nothing = fb.discover(
        pd.DataFrame(np.random.default_rng(0).normal(size=(120, 2)), columns=["a", "y"]),
        "y",
        rule=lambda path: [],
        steps=5,
        distilled=40,
        folds=1,
        width=8,
        depth=1,
    ).twin(steps=5, width=8, depth=1)
    assert len(OPERATIONS["mean"].answer(nothing, {"given": [{}, {}, {}]})["mean"]["y"]) == 3
    assert len(OPERATIONS["mean"].answer(twin, {"given": {"a": 1}})["mean"]["y"]) == 1


def _with(**cells: Any) -> dict[str, Any]:
    return {"given": {**GIVEN, **cells}}


BAD: dict[str, tuple[str, Any, list[str]]] = {
    "no object": ("sample", [1], ["JSON object", "'given'", "a list"]),
    "null": ("sample", None, ["JSON object", "null"]),
    "nothing": ("sample", {}, ["'given'", "missing"]),
    "an unknown field": ("sample", {"given": GIVEN, "sed": 1}, ["'sed'", "'seed'"]),
    "a field of another operation": ("mean", {"given": GIVEN, "n": 5}, ["'n'"]),
    "given is a number": ("sample", {"given": 5}, ["given", "a number"]),
    "given is a text": ("sample", {"given": "run.csv"}, ["given", "a text"]),
    "a missing column": (
        "sample",
        {"given": {**{k: v for k, v in GIVEN.items() if k != "load"}, "Load": 1}},
        ["'load'", "'Load'"],
    ),
    "an empty object": ("sample", {"given": {}}, ["'load'"]),
    "no rows": ("sample", {"given": []}, ["no rows"]),
    "no cells": ("sample", _with(load=[], oil=1), ["no rows"]),
    "columns of different lengths": ("sample", _with(load=[1, 2, 3]), ["'oil'", "2 rows", "'load'", "3"]),
    "rows that are no objects": ("sample", {"given": [[1, 2]]}, ["row 1", "a list"]),
    "a row without a column": (
        "sample",
        {"given": [{k: 1 for k in GIVEN} | {"mode": "eco"}, {"load": 1}]},
        ["'mode'", "row 2"],
    ),
    "a list in a cell": ("sample", _with(load=[1, [2]]), ["'load'", "a list", "row 2"]),
    "an object in a cell": ("sample", _with(mode={"a": 1}), ["'mode'", "an object"]),
    "text in a number": ("sample", _with(load=[1, "much"]), ["'load'", "much"]),
    "a gap where there were none": ("sample", _with(load=[1, None]), ["'load'", "row 2"]),
    "a label never seen": ("sample", _with(mode="ecco"), ["'mode'", "'ecco'", "'eco'"]),
    "a number for a label": ("sample", _with(mode=3), ["'mode'", "3"]),
    "infinity": ("sample", _with(load=float("inf")), ["'load'", "infinite"]),
    "not a number": ("sample", _with(load=float("nan")), ["'load'", "no value"]),
    "1e300": ("sample", _with(load=1e300), ["'load'", "1e+300"]),
    "an integer past 2**53": ("sample", _with(load=2**60 + 1), ["'load'", "2**53"]),
    "an integer past double precision": ("sample", _with(load=10**400), ["'load'"]),
    "no draws": ("sample", {"given": GIVEN, "n": 0}, ["n must be", "1 to", "got 0"]),
    "half a draw": ("sample", {"given": GIVEN, "n": 1.5}, ["n must be", "1.5"]),
    "draws in text": ("sample", {"given": GIVEN, "n": "5"}, ["n must be", "'5'"]),
    "draws are true": ("sample", {"given": GIVEN, "n": True}, ["n must be", "true"]),
    "too many draws": ("sample", {"given": GIVEN, "n": 10**9}, ["n must be", "10000"]),
    "draws without end": ("sample", {"given": GIVEN, "n": 10**400}, ["n must be", "digits"]),
    "too many numbers": (
        "sample",
        {"given": [{k: v for k, v in GIVEN.items() if k != "oil"} | {"oil": 1, "load": 1}] * 100, "n": 10_000},
        ["3,000,000", "200,000"],
    ),
    "too many rows": ("mean", _with(load=[1] * 1_001, oil=60), ["1,001 rows", "1,000"]),
    "a seed below zero": ("sample", {"given": GIVEN, "seed": -1}, ["seed", "-1"]),
    "a seed of null": ("sample", {"given": GIVEN, "seed": None}, ["seed", "null"]),
    "no q": ("quantile", {"given": GIVEN}, ["'q'"]),
    "q of one": ("quantile", {"given": GIVEN, "q": [0.5, 1]}, ["q must be", "got 1"]),
    "q of null": ("quantile", {"given": GIVEN, "q": [None]}, ["q must be", "null"]),
    "an empty q": ("quantile", {"given": GIVEN, "q": []}, ["q must be", "got 0"]),
    "a thousand q": ("quantile", {"given": GIVEN, "q": [0.5] * 1_000}, ["200", "1000"]),
    "a level in per cent": ("interval", {"given": GIVEN, "level": 90}, ["level", "90"]),
    "a guarantee in words": ("interval", {"given": GIVEN, "guarantee": "yes"}, ["guarantee", "'yes'"]),
    "a guarantee that is out of reach": (
        "interval",
        {"given": GIVEN, "guarantee": True, "level": 0.999},
        ["guarantee", "999 rows"],
    ),
    "outside in other words": ("mean", {"given": GIVEN, "outside": "shout"}, ["outside", "'warn'", "'shout'"]),
    "no y": ("log_density", {"given": GIVEN}, ["'y'"]),
    "y of other rows": (
        "log_density",
        {"given": GIVEN, "y": {**Y, "power": 1, "trips": 1, "state": "good"}},
        ["y has 1 rows", "2"],
    ),
    "y without a target": ("latent", {"given": GIVEN, "y": {"power": [1, 2]}}, ["y", "'trips'"]),
    "a margin of text": ("monitor", {"rows": [{}], "margin": "x"}, ["margin", "'x'"]),
    "rows of no plant": ("monitor", {"rows": [{"a": 1}]}, ["rows", "'load'"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_that_names_the_culprit(case: str, twin: Twin) -> None:
    operation, content, named = BAD[case]
    with pytest.raises(InputError) as caught:
        OPERATIONS[operation].answer(twin, content)
    message = str(caught.value)
    assert "\n" not in message and all(word in message for word in named), message
