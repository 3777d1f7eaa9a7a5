"""What every system must do: add yours, at a size that takes a second, to `SYSTEMS`."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from skeletons import skeleton
from small_systems import SMALL

from forebear import systems
from forebear.data.question import ask, check_questions
from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.systems import System

SYSTEMS: dict[str, Callable[..., System]] = {
    **SMALL,
    "lander": lambda **k: systems.lander(episodes=3, **k),
    "reacher": lambda **k: systems.reacher(rollouts=2, steps=60, **k),
    "fan": lambda **k: skeleton("system").fan(rows=10_000, **k),
}
WITH_LAW = [
    (name, target)
    for name, targets in {
        "lorenz63": ("dx1", "dx2", "dx3"),
        "lorenz63-residual": ("R1", "R2", "R3"),
        "kraichnan-orszag": ("dx1", "dx2", "dx3"),
        "algebraic": ("y1", "y2", "y3"),
        "heat": ("dx1", "dx10"),
        "pendulum": ("dtheta",),
        "fan": ("y",),
    }.items()
    for target in targets
]
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@lru_cache
def system_named(name: str) -> System:
    try:
        return SYSTEMS[name]()
    except InputError as missing:  # of an extra
        pytest.skip(str(missing))


def pick(system: System, *names: str) -> pd.DataFrame:
    return pd.DataFrame({name: system.table[name] for name in names})


def columns_of(system: System, target: str) -> list[str]:
    return [c for a in system.ancestors[target] for c in system.groups.get(a, (a,))]


def test_every_system_is_here() -> None:
    makers = [one for _, one in inspect.getmembers(systems, inspect.isfunction)]
    made = {one.__name__ for one in makers if inspect.signature(one).return_annotation == "System"}
    told = "\n".join(inspect.getsource(one) for one in SYSTEMS.values())
    assert len(made) > 9 and [name for name in made if f"systems.{name}" not in told and name != "algebraic"] == []


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_description_matches_the_table(name: str) -> None:
    system = system_named(name)
    assert system.name == name
    assert list(system.table.columns) == [*system.candidates, *system.targets]
    assert np.isfinite(system.table.to_numpy(dtype=float)).all() and len(system.table) >= 100
    assert set(system.ancestors) in (set(system.targets), set())  # none: the graph is not known
    removable = set(system.groups) or set(system.candidates)
    for target, found in system.ancestors.items():
        assert found and set(found) | set(system.keep.get(target, ())) <= removable | set(system.candidates)
        assert len(set(found)) == len(found)
    assert all(set(group) <= set(system.candidates) for group in system.groups.values())
    assert all(set(kept) <= set(system.candidates) for kept in system.keep.values())
    assert set(system.periodic) <= set(system.candidates)
    assert set(system.quantiles) == {target for other, target in WITH_LAW if other == name}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_discovery_can_ask_about_it(name: str) -> None:
    system = system_named(name)
    asked = system.options()
    questions = ask(
        list(system.table.columns),
        "the table",
        targets=asked["targets"],
        candidates=asked["candidates"],
        keep=asked["keep"],
        groups=asked["groups"],
    )
    assert [question.target for question in questions] == list(system.targets)
    used = {name for question in questions for name in (question.target, *question.inputs)}
    check_questions(read_columns(system.table, "the table", used, asked["periodic"]), questions)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_seed_decides_the_table(name: str) -> None:
    first = system_named(name).table
    pd.testing.assert_frame_equal(first, SYSTEMS[name](seed=0).table, check_exact=True)
    assert not first.equals(SYSTEMS[name](seed=1).table)


@pytest.mark.parametrize(("name", "target"), WITH_LAW)
def test_quantiles_rise_and_keep_their_shape(name: str, target: str) -> None:
    system = system_named(name)
    law, head = system.quantiles[target], system.table.head(200)
    p = np.repeat(np.linspace(0.001, 0.999, 51)[:, None], len(head), axis=1)
    y = law(head, p)
    assert y.shape == p.shape
    assert (np.diff(y, axis=0) >= 0).all()
    np.testing.assert_array_equal(law(head, p[7]), y[7])


@pytest.mark.parametrize(("name", "target"), WITH_LAW)
def test_quantiles_cover_the_data(name: str, target: str) -> None:
    system = system_named(name)
    law = system.quantiles[target]
    # Where a law has atoms, or is cut off, y <= Q(p) holds more often than p; rows where it is not, by inputs alone.
    low, less, more, high = (law(system.table, np.full(len(system.table), p)) for p in (1e-6, 1e-3, 0.999, 1 - 1e-6))
    table = system.table.loc[(low < less) & (more < high)]
    if (name, target) == ("algebraic", "y2"):
        assert len(table) == 0  # two points
        return
    assert len(table) > 0.9 * len(system.table)
    y = table[target].to_numpy()
    for p in LEVELS:
        below = (y <= law(table, np.full(len(table), p))).mean()
        # given the inputs the events are independent along a trajectory, so the error is binomial
        assert abs(below - p) < 4 * np.sqrt(p * (1 - p) / len(table)), (p, below)


@pytest.mark.parametrize(("name", "target"), WITH_LAW)
def test_the_exact_sampler_reads_the_ancestors_only(name: str, target: str) -> None:
    system = system_named(name)
    z = np.linspace(-6, 6, len(system.table))[:, None]
    whole, part = (
        system.oracle().fit(given, pick(system, target), seed=0).push(given, z)
        for given in (system.table, pick(system, *columns_of(system, target)))
    )
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(whole, part)


@pytest.mark.parametrize(("name", "target"), WITH_LAW)
def test_the_exact_sampler_needs_each_ancestor(name: str, target: str) -> None:
    """Otherwise the graph names too many: some row's law changes with each of them."""
    system = system_named(name)
    law = system.oracle().fit(system.table, pick(system, target), seed=0)
    z = np.random.default_rng(0).normal(size=(len(system.table), 1))
    before = law.push(system.table, z)
    for ancestor in system.ancestors[target]:
        moved = system.table.copy()
        for column in system.groups.get(ancestor, (ancestor,)):
            moved[column] = moved[column].to_numpy()[::-1]
        assert not np.array_equal(law.push(moved, z), before), ancestor


@pytest.mark.parametrize("name", [name for name in dict(WITH_LAW) if name != "fan"])
def test_the_exact_sampler_can_be_sent_to_a_worker(name: str) -> None:
    system = system_named(name)
    again = pickle.loads(pickle.dumps(system.oracle()))
    y, z = pick(system, *system.targets), np.ones((len(system.table), len(system.targets)))
    one, two = (oracle.fit(system.table, y, seed=0).push(system.table, z) for oracle in (again, system.oracle()))
    np.testing.assert_array_equal(one, two)
