"""Errors of public functions that no other test reads."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from toys import toy_twin

import forebear as fb
from forebear.api.found import Found
from forebear.data.question import Question
from forebear.discovery.embed import Lengthscales
from forebear.discovery.record import Discovery
from forebear.systems import heat, langevin, pendulum


def _found() -> Found:
    path = fb.Path(("a", "b"), ("b", "a"), (0.1, 0.1, 0.9), np.ones((3, 2)), (1.0,) * 3, Lengthscales({}, 1.0))
    question = Question("y", ("a", "b"), {"a": ("a",), "b": ("b",)}, ())
    return Found(Discovery({"y": question}, ({"y": path},), ({"y": ("a",)},), ({},), {"rule": "nsr-jump"}, 0.0))


def _twin() -> fb.Twin:
    rng = np.random.default_rng(0)
    return toy_twin(pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "y"]), {"y": ["a"]})


TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "y"])

ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "heat of no node": (lambda: heat(nodes=(0,)), r"`nodes` must be some of 1 to 10; got \[0\]"),
    "langevin of no trajectory": (lambda: langevin(trajectories=0), "`trajectories` must be above 0; got 0"),
    "langevin of too many lags": (lambda: langevin(lags=9, points=9), "below `points` - 1; got 9 and 9"),
    "pendulum of too many lags": (lambda: pendulum(lags=9, steps=9), "below `steps`; got 9 lags and 9 steps"),
    "weight of no edge": (lambda: _found().adjacency("frequncy"), "an edge has no 'frequncy'. Did you mean 'freq"),
    "certificates of another rule": (lambda: _found().certificates, "rule 'nsr-jump' makes no certificates"),
    "alternatives of another rule": (lambda: _found().alternatives, "makes no certificates: discover with rule="),
    "union of no target": (lambda: _found().union(["z"]), "'z' is not a target of this result"),
    "twin without its table": (lambda: _found().twin(), "was saved without its table: pass the table as data="),
    "averaging of everything": (lambda: fb.discover(TABLE, "y", averaging=1.0), r"must lie in \[0, 1\); got 1.0"),
    "more folds than rows": (lambda: fb.discover(TABLE, "y", folds=50), "'folds' is 50 for 60 rows .* at most 30"),
    "a seed beyond bounds": (lambda: fb.discover(TABLE, "y", seed=2**63), r"seed must be below 2\*\*63"),
    "a sample of no draws": (lambda: _twin().sample({"a": [1.0]}, n=0), "n must be a whole number of at least 1"),
    "a sample beyond memory": (
        lambda: _twin().sample({"a": [1.0]}, n=10**15),
        "n=1000000000000000 for 1 rows needs about .* GB of memory and .* free: ask for less at a time",
    ),
    "a quantile of one": (lambda: _twin().quantile({"a": [1.0]}, 1.0), "strictly between 0 and 1; got 1.0"),
    "a run of nothing": (lambda: fb.load("nowhere"), r"no finished run in this folder \(found.json is missing\)"),
    "a twin of nothing": (lambda: fb.load_twin("nowhere"), r"no twin in this folder \(twin.json is missing\)"),
    "an asynchronous client": (
        lambda: fb.discover(TABLE, "y", jobs=SimpleNamespace(submit=1, scatter=1, asynchronous=True)),
        r"this dask client is asynchronous: make one with Client\(asynchronous=False\)",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_messages(case: str) -> None:
    call, words = ERRORS[case]
    with pytest.raises(fb.InputError, match=words) as caught:
        call()
    assert str(caught.value).isprintable()


def test_sparse_targets_of_an_estimator() -> None:
    estimator = fb.sklearn.ConditionalFlow()
    with pytest.raises((fb.InputError, TypeError), match="[Ss]parse"):
        estimator.fit(np.zeros((10, 2)), sparse.csr_matrix(np.ones((10, 1))))


def test_masks_of_environments() -> None:
    pytest.importorskip("gymnasium")
    from forebear.envs.vector import TwinVectorEnv

    env: Any = SimpleNamespace(num_envs=2, _carry=1)
    with pytest.raises(fb.InputError, match=r"options\['reset_mask'\] must be 2 booleans; got \[1\]"):
        TwinVectorEnv._mask(env, {"reset_mask": [1]})


def test_actions_of_mixed_kinds() -> None:
    pytest.importorskip("gymnasium")
    from forebear.envs.spaces import action_space

    plan: Any = SimpleNamespace(action=("u", "v"), state=("x",), levels=((), ("on", "off"), ()))
    with pytest.raises(fb.InputError, match="actions 'u', 'v' are part labels, part numbers"):
        action_space(_twin(), plan, None)
