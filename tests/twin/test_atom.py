"""Twins of a target that is mostly one value: how often another comes, and what it is then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

import forebear as fb
from forebear.data.dequantise import find_atoms
from forebear.data.table import read_columns
from forebear.twin.atom import Atom
from forebear.twin.blend import BlendLaw
from forebear.twin.blend_target import mostly_at
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.together import Ask, Together

AT = pd.DataFrame({"a": [-1.0, 1.0, 0.0, 0.0], "b": [0.0, 0.0, -1.0, 1.0]})
ODDS, SLOPE = -2.0, 1.0
"""of a claim: the log odds, and what `a` adds to them"""


def claims(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """`a` says who has a claim, `b` how large it is; a second target is plain."""
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    some = rng.uniform(size=rows) < 1 / (1 + np.exp(-ODDS - SLOPE * frame["a"]))
    frame["claim"] = np.where(some, np.exp(5 + 0.6 * frame["b"] + 0.5 * rng.normal(size=rows)), 0.0)
    return frame.assign(plain=frame["a"] + rng.normal(size=rows))


@pytest.fixture(scope="module")
def twin() -> fb.Twin:
    frame = claims(np.random.default_rng(0), 1_500)
    table = read_columns(frame, "the table", list(frame))
    inputs = {"claim": ["a", "b"], "plain": ["a", "b"]}
    return fit_twin(table, inputs, joint=False, settings=TwinSettings.resolve({}), seed=0)


def test_the_chance_and_the_size_each_follow_their_own_input(twin: fb.Twin) -> None:
    assert isinstance(twin.model, BlendLaw) and twin.model.blends[0].atom is not None
    assert twin.model.blends[1].atom is None
    draws = twin.sample(AT, n=8_000, seed=0)[:, :, 0]
    chance = (draws > 0).mean(axis=0)
    true = 1 / (1 + np.exp(-ODDS - SLOPE * AT["a"]))
    np.testing.assert_allclose(chance, true, atol=0.04)
    sizes = [np.log(np.median(own[own > 0])) for own in draws.T]
    np.testing.assert_allclose(sizes, 5 + 0.6 * AT["b"], atol=0.3)
    spread = [np.log(own[own > 0]).std() for own in draws.T]
    np.testing.assert_allclose(spread, 0.5, atol=0.3)
    assert draws.min() == 0.0


def test_the_law_has_an_inverse_and_a_density(twin: fb.Twin) -> None:
    rng = np.random.default_rng(1)
    given, x = claims(rng, 200)[["a", "b"]], claims(rng, 200)[["a", "b"]].to_numpy()
    z = rng.standard_normal((1, 200, 2))
    np.testing.assert_allclose(twin.law.pull(x, twin.law.push(x, z)[0]), z[0], atol=1e-6)
    # Chance and density together are all there is.
    at = np.exp(np.linspace(-2, 9, 4_000))
    one = given.iloc[[0] * len(at)]
    density = np.exp(twin.log_prob(one, pd.DataFrame({"claim": at, "plain": np.zeros(len(at))})))[:, 0]
    never = np.exp(twin.log_prob(given.iloc[[0]], pd.DataFrame({"claim": [0.0], "plain": [0.0]})))[0, 0]
    assert np.trapezoid(density, at) + never == pytest.approx(1.0, abs=0.02)


def test_it_is_read_back_and_serves_together_with_a_plain_target(twin: fb.Twin, tmp_path: Path) -> None:
    twin.save(tmp_path / "twin")
    again = fb.load_twin(tmp_path / "twin")
    np.testing.assert_array_equal(again.sample(AT, n=50, seed=3), twin.sample(AT, n=50, seed=3))
    z = np.random.default_rng(0).standard_normal((2, len(AT), 2))
    [told] = Together(twin.law).answer([Ask("push", AT.to_numpy(), z)])
    np.testing.assert_allclose(told, twin.law.push(AT.to_numpy(), z))


def test_rows_that_learned_on_change_its_latents_alone(twin: fb.Twin) -> None:
    frame = claims(np.random.default_rng(7), 400)
    frame["claim"] *= 2.0
    updated = twin.update(frame)
    assert isinstance(updated.model, BlendLaw) and updated.model.blends[0].atom is not None
    before, after = (np.mean(one.sample(AT, n=4_000, seed=0)[:, :, 0]) for one in (twin, updated))
    assert after > before


@pytest.mark.parametrize(
    "values, told",
    [
        (np.where(np.arange(600) % 10, 0.0, np.arange(600) ** 1.5), False),  # sixty others: too few
        (np.where(np.arange(6_000) % 3, np.arange(6_000) ** 1.1, 0.0), False),  # most rows are others
        (np.where(np.arange(6_000) % 10, 3e5, np.arange(6_000) ** 1.1), False),  # the others lie below
        (np.where(np.arange(6_000) % 10, 0.0, 1 + np.arange(6_000) ** 1.1), True),
    ],
)
def test_which_targets_have_such_a_value(values: np.ndarray, told: bool) -> None:
    found = find_atoms(values)
    ends = mostly_at(found, found.spread(values, np.random.default_rng(0)))
    assert (ends is not None) == told


def test_a_table_of_a_law_rises_whatever_the_chance() -> None:
    class Said:
        def __init__(self, odds: float):
            self.odds = odds

        def chances(self, features: np.ndarray) -> np.ndarray:
            return np.tile(log_softmax([0.0, self.odds]), (len(features), 1))

    latents = np.tile(np.linspace(-4.5, 4.5, 91), (2, 1))
    for odds in (-60.0, -3.0, 0.0, 3.0, 60.0):
        atom = Atom(Said(odds), -2.0, -1.0, 0.5, 0.2, 1.5)  # type: ignore[arg-type]
        z, values = atom.joined(np.zeros((2, 1)), latents, latents)
        assert z.shape == values.shape
        assert (np.diff(z[:, 4:], axis=1) > 0).all() and (np.diff(z, axis=1) >= 0).all()
        assert (np.diff(values, axis=1) > 0).all()
