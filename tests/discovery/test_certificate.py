"""Certified selection: the whole rule, on systems with known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear_experiments.benchmarks.support.suite import SUITE

QUICK: dict[str, Any] = {"steps": 200, "distilled": 300, "width": 32, "depth": 2}
"""a cheap pruning path: the certificate does not need a good one"""


@pytest.mark.parametrize(("inputs", "needed"), [("ab", "b"), ("abc", "b"), ("a", "")])
def test_all_the_rest_has_a_p_value_also_when_it_is_one_input(inputs: str, needed: str) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(1_000, len(inputs))), columns=list(inputs))
    table["y"] = rng.normal(size=1_000) + (3 * table[needed] if needed else 0)
    [certificate] = fb.discover(table, "y", subset_steps=300, **QUICK).certified[0].values()
    assert certificate.kept == tuple(needed)
    assert certificate.jointly is not None and certificate.jointly.p_value > certificate.level


def test_shift_is_measured_in_deviations_of_the_target() -> None:
    """Given x, a moves the mean of y by a hundredth of its deviation, which is most of what x leaves open."""
    rng = np.random.default_rng(0)
    x, a, w = rng.normal(size=(3, 4_000))
    table = pd.DataFrame({"x": x, "a": a, "y": x + 0.01 * a + 0.005 * w})
    fast: dict[str, Any] = {"steps": 200, "subset_steps": 1_000, "distilled": 100}
    found = fb.discover(table, "y", least_shift=0.0, **fast)
    assert found.ancestors == {"y": ("x", "a")}
    certificate = found.certificates["y"]
    assert 0.002 < certificate.loc["a", "shift"] < 0.02 < 0.1 < certificate.loc["a", "effect"]
    found = fb.discover(table, "y", least_shift=0.03, **fast)
    assert found.ancestors == {"y": ("x",)}
    assert found.summary().startswith("y <- x (negligible: a)")
    # It moves little, and predicts well: nobody may call that certified.
    assert found.verdicts == {"y": "cannot tell"} and "'a' could still explain up to" in found.why["y"][0]


def test_an_exclusive_or_needs_all_three_of_its_inputs() -> None:
    """No pair of them shows anything; given two, the third shows in a learned probe alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 3))
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=np.sign(x.prod(axis=1)) + rng.normal(size=3_000))
    found = fb.discover(table, "y", **QUICK)
    assert found.ancestors == {"y": ("a", "b", "c")}
    assert max(found.certificates["y"]["p_value"].tolist()) < 1e-6


@pytest.mark.parametrize("name", ["y3", "interaction", "weak", "counts"])
def test_hard_systems_are_exact(name: str) -> None:
    system = SUITE[name](seed=0)
    found = fb.discover(system.table, **system.options(), **QUICK)
    assert {t: set(a) for t, a in found.ancestors.items()} == {t: set(a) for t, a in system.ancestors.items()}
    if name == "y3":
        assert found.effects["y3"].loc["x2", "acts"] == "shape"
        certificate = found.certificates["y3"]
        assert certificate.loc["x2", "kept"] and certificate.loc["x2", "p_value"] < 1e-6
        assert not certificate.loc["x1", "kept"] and certificate.loc["x1", "p_value"] > 0.01


def test_scale_effects_are_called_scale_and_results_survive_saving(tmp_path) -> None:
    system = SUITE["y1"](seed=1)
    found = fb.discover(system.table, **system.options(), out=tmp_path / "run", **QUICK)
    assert found.ancestors == {"y1": ("x1",)}
    assert found.effects["y1"].loc["x1", "acts"] == "scale"
    again = fb.load(tmp_path / "run")
    assert again.to_dict() == found.to_dict()
    pd.testing.assert_frame_equal(again.certificates["y1"], found.certificates["y1"])
    edge = found.graph.edges["x1", "y1"]
    assert edge["p_value"] < 1e-6 and edge["effect"] > 0.05
    document = found.to_dict()["targets"]["y1"]
    assert set(document["certificate"]) == set(system.candidates)


def test_noise_has_no_ancestors() -> None:
    system = SUITE["noise"](seed=3)
    assert fb.discover(system.table, **system.options(), **QUICK).ancestors == {"y": ()}


def test_groups_kept_inputs_and_categories() -> None:
    rng = np.random.default_rng(4)
    rows = 3_000
    table = pd.DataFrame(rng.normal(size=(rows, 4)), columns=["a", "b", "c", "d"])
    table["kind"] = rng.choice(["u", "v", "w"], size=rows)
    spread = np.where(table["kind"] == "u", 0.5, 1.5)
    table["y"] = table["a"] + table["b"] * rng.normal(size=rows) + spread * rng.normal(size=rows)
    found = fb.discover(table, "y", keep=["a"], groups={"pair": ["b", "c"]}, **QUICK)
    assert set(found.ancestors["y"]) == {"a", "pair", "kind"}
    assert list(found.certificates["y"].index) == ["pair", "d", "kind"]


def test_equally_good_sets_are_listed() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=3_000)
    twin = x + 1e-3 * rng.normal(size=3_000)
    table = pd.DataFrame({"a": x, "b": twin, "c": rng.normal(size=3_000), "y": x * rng.normal(size=3_000)})
    found = fb.discover(table, "y", **QUICK)
    assert found.ancestors["y"] == ("a",)  # the first of the table, where the rows do not tell
    [(other, certificate)] = found.alternatives["y"].items()
    assert {found.ancestors["y"], other} == {("a",), ("b",)}
    assert {unit for unit, kept in certificate["kept"].to_dict().items() if kept} == set(other)
    p_values = certificate["p_value"].to_dict()
    assert p_values.pop(other[0]) < 1e-6
    assert min(p_values.values()) > 0.01
    assert found.classes["y"] == (("a", "b"),) and found.verdicts["y"] == "cannot tell"


def test_a_negligible_effect_adds_no_edge_however_many_rows() -> None:
    """It explains 1.7e-4 of the variance, and `least_effect` is 3e-4."""
    rng = np.random.default_rng(6)
    rows = 500_000
    x = rng.normal(size=(rows, 2))
    table = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0] + 0.013 * x[:, 1] + rng.normal(size=rows))
    found = fb.discover(
        table, "y", **{**QUICK, "tested": 100_000, "confirmed": 150_000, "subset_steps": 500}, sample=rows
    )
    result = found.certified[0]["y"].tests["b"]
    assert result.p_value < 1e-3 and result.effect < 3e-4 and result.limit < 1e-3
    assert found.ancestors["y"] == ("a",)
    assert found.certified[0]["y"].fresh and found.certified[0]["y"].rows == 150_000


@pytest.mark.slow
def test_memory_of_the_pendulum() -> None:
    """Lag 1 alone tells the hidden speed exactly; to a tenth of a deviation, a later lag does as well.

    Where the pendulum hangs or stands upright the law has no noise at all, which a flow meets to a few thousandths of
    a deviation only: by default, that much shows in the other lags too, and they are kept.
    """
    system = fb.systems.pendulum(episodes=200, lags=4)
    exact = fb.discover(system.table, **system.options(), distilled=1_000, least_shift=0.01)
    assert exact.ancestors == {"dtheta": ("lag 0", "lag 1")}
    assert exact.alternatives == {"dtheta": {}}
    rough = fb.discover(system.table, **system.options(), distilled=1_000, least_shift=0.1)
    for kept in (rough.ancestors["dtheta"], *rough.alternatives["dtheta"]):
        assert len(kept) == 2
    assert rough.alternatives["dtheta"]


def test_an_input_that_shapes_only_the_dependence_of_two_outputs() -> None:
    """Each output is standard normal whatever the inputs are; `a` sets their correlation."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame(rng.normal(size=(4_000, 3)), columns=["a", "b", "c"])
    w = rng.normal(size=(2, 4_000))
    correlation = np.tanh(2 * table["a"])
    table["y1"], table["y2"] = w[0], correlation * w[0] + np.sqrt(1 - correlation**2) * w[1]
    joint = fb.discover(table, ["y1", "y2"], joint=True, **QUICK)
    assert joint.ancestors == {"y1": ("a",), "y2": ("a",)}
    assert joint.effects["y1"].loc["a", "acts"] == "dependence"
    assert joint.certificates["y1"].loc["a", "p_value"] < 1e-6
    apart = fb.discover(table, ["y1", "y2"], **QUICK)
    assert apart.ancestors == {"y1": (), "y2": ()}
    assert "dependence" not in apart.effects["y1"]


@pytest.mark.parametrize("joint", [False, True])
def test_lattice_and_atomic_inputs_and_targets_and_groups(joint: bool) -> None:
    rng = np.random.default_rng(9)
    rows = 4_000
    table = pd.DataFrame({"count": rng.poisson(2.0, rows), "idle_count": rng.poisson(2.0, rows)})
    table["dose"] = np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(size=rows))
    table["idle_dose"] = np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(size=rows))
    table["u"], table["v"] = rng.normal(size=(2, rows))
    spread = np.where(table["dose"] > 0, 1.5, 0.5)
    table["level"] = table["count"] + spread * rng.normal(size=rows)
    table["events"] = rng.poisson(np.exp(0.5 * table["u"] + 0.5 * table["v"]))
    found = fb.discover(table, ["level", "events"], groups={"uv": ["u", "v"]}, joint=joint, **QUICK)
    assert found.ancestors == {"level": ("count", "dose"), "events": ("uv",)}


def test_other_rules_have_no_certificate() -> None:
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "y"])
    found = fb.discover(table, "y", rule="nsr-jump", **QUICK)
    with pytest.raises(fb.InputError, match="rule 'nsr-jump' makes no certificates"):
        _ = found.certificates
