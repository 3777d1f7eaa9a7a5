"""A twin inside DoWhy: its interface, and counterfactuals that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from toys import toy_twin

import forebear as fb
from forebear.twin import dowhy as adapter
from forebear.twin.dowhy import TwinMechanism
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin


@pytest.fixture(scope="module")
def twin() -> Twin:
    """Inputs that do not stand in the order of their names."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=["b", "a", "y"])
    frame.insert(1, "mode", rng.choice(["off", "on"], 600))
    return toy_twin(frame, {"y": ("b", "mode", "a")})


@pytest.fixture
def mechanism(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> TwinMechanism:
    monkeypatch.setattr(adapter, "_FOUND", True)
    return TwinMechanism(twin)


PARENTS = np.array([[0.5, -1.0, "on"], [0.1, 2.0, "off"], [-0.3, 0.0, "on"]], dtype=object)
"""a, b, mode: the order of the names"""


def test_noise_is_the_latent_and_parents_come_in_the_order_of_their_names(mechanism: TwinMechanism) -> None:
    twin = mechanism.twin
    frame = pd.DataFrame({"a": PARENTS[:, 0], "b": PARENTS[:, 1], "mode": PARENTS[:, 2]})
    noise = np.array([[0.0], [1.0], [-2.0]])
    y = mechanism.evaluate(PARENTS, noise)
    assert y.shape == (3, 1)
    assert y[0, 0] == pytest.approx(twin.quantile(frame, 0.5)[0, 0], abs=1e-5)
    assert mechanism.estimate_noise(y, PARENTS) == pytest.approx(noise, abs=1e-3)
    assert mechanism.estimate_noise(y[:, 0], PARENTS) == pytest.approx(noise, abs=1e-3)


def test_draws_follow_the_global_seed_as_in_dowhy(mechanism: TwinMechanism) -> None:
    draws = []
    for _ in range(2):
        np.random.seed(3)
        draws.append(mechanism.draw_samples(np.repeat(PARENTS, 200, axis=0)))
    assert (draws[0] == draws[1]).all() and draws[0].shape == (600, 1)


def test_fit_keeps_the_twin_and_a_clone_shares_it(mechanism: TwinMechanism) -> None:
    before = mechanism.twin
    mechanism.fit(PARENTS, np.zeros(3))
    assert mechanism.twin is before and mechanism.clone().twin is before and "y <- b, mode, a" in str(mechanism)
    with pytest.raises(fb.InputError, match=r"the parents: an array must have shape \(rows, 3\)"):
        mechanism.fit(PARENTS[:, :2], np.zeros(3))


def test_fit_trains_anew_when_asked() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "y"])
    tiny = TwinSettings.resolve({"steps": 300, "width": 16, "depth": 1, "ode_steps": 2})
    if not adapter._FOUND:
        pytest.skip("dowhy is not installed")
    mechanism = TwinMechanism(replace(toy_twin(frame, {"y": ("a",)}), settings=tiny), refit=True)
    mechanism.fit(frame[["a"]].to_numpy(), 5 + frame["a"].to_numpy() + 0.1 * rng.normal(size=400))
    assert mechanism.evaluate(np.array([[0.0]]), np.array([[0.0]]))[0, 0] == pytest.approx(5.0, abs=0.5)


def test_what_cannot_be_a_mechanism(twin: Twin, mechanism: TwinMechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    two = toy_twin(pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "y", "z"]), {"y": ("a",), "z": ("a",)})
    with pytest.raises(fb.InputError, match="a mechanism has one target, and it is a number; the twin has 'y', 'z'"):
        TwinMechanism(two)
    with pytest.raises(fb.InputError, match="parents must be the inputs of the twin"):
        TwinMechanism(twin, parents=["a", "b"])
    monkeypatch.setattr(adapter, "_FOUND", False)
    with pytest.raises(fb.InputError, match=r"TwinMechanism needs dowhy: run `pip install 'forebear\[dowhy\]'`"):
        TwinMechanism(twin)


@pytest.mark.filterwarnings("ignore")
def test_counterfactuals_in_dowhy(twin: Twin) -> None:
    gcm: Any = pytest.importorskip("dowhy.gcm")
    import networkx as nx

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["b", "a", "y"])
    own = toy_twin(frame, {"y": ("b", "a")})
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph([("a", "y"), ("b", "y")]))
    for root in ("a", "b"):
        model.set_causal_mechanism(root, gcm.EmpiricalDistribution())
    model.set_causal_mechanism("y", TwinMechanism(own))
    gcm.fit(model, frame)
    seen = frame.head(4)
    told = gcm.counterfactual_samples(model, {"a": lambda a: a + 1}, observed_data=seen)
    noise = own.latent(seen, seen[["y"]])
    wanted = TwinMechanism(own).evaluate(seen[["a", "b"]].to_numpy() + [1, 0], noise)
    assert told["y"].to_numpy() == pytest.approx(wanted[:, 0], abs=1e-3)
    assert gcm.draw_samples(model, 50).shape == (50, 3)
