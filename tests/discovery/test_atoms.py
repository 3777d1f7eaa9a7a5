"""What moves a target where it is not the one value that most rows have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import kstest

import forebear as fb
from forebear.data.column import Column
from forebear.data.dequantise import find_atoms
from forebear.discovery.atoms import atoms_of, beside, given_no_atom, inside
from forebear.discovery.dependence import TestResult


def test_latents_outside_an_atom_are_those_of_the_law_without_it() -> None:
    """A law that is known: zero with a chance that follows x, or else a normal number, by its exact latents."""
    rng = np.random.default_rng(0)
    rows, x = 20_000, rng.normal(size=20_000)
    chance = 1 / (1 + np.exp(-1.5 - x))
    size = rng.normal(size=rows)
    y = np.where(rng.uniform(size=rows) < chance, 0.0, size)
    below = (1 - chance) * ndtr(0.0)
    u = np.where(y == 0, below + chance * rng.uniform(size=rows), (1 - chance) * ndtr(y) + chance * (y > 0))
    within = y == 0
    atoms = np.array([[-1e-9, 1e-9]])
    assert (inside(y, atoms) == within).all()
    latents = given_no_atom(ndtri(u), y, atoms, ndtri(np.stack([[below, below + chance]])))
    np.testing.assert_allclose(latents[~within], size[~within], atol=1e-3)
    assert kstest(latents[~within], "norm").pvalue > 0.01


def test_an_atom_at_the_end_takes_what_a_law_leaves_beyond_it() -> None:
    """A flow leaks a little below zero, where no row is: that belongs to the zeros."""
    y = np.array([-0.5, 1.0, 2.0])
    ends = ndtri(np.array([[[0.1] * 3, [0.6] * 3]]))
    found = given_no_atom(ndtri(np.array([0.3, 0.7, 0.9])), y, np.array([[-1.0, 0.0]]), ends)
    np.testing.assert_allclose(ndtr(found[1:]), [0.25, 0.75])


def test_what_counts_as_an_atom() -> None:
    rng = np.random.default_rng(0)

    def of(values: np.ndarray, levels: tuple[str, ...] = ()) -> int:
        found = atoms_of(Column("y", "category" if levels else "real", values, levels), values)
        return 0 if found is None else len(found)

    some = rng.uniform(size=3_000) < 0.1
    assert of(np.where(some, rng.gamma(2.0, size=3_000), 0.0)) == 1
    assert of(rng.normal(size=3_000)) == of(rng.poisson(3.0, size=3_000).astype(float)) == 0
    assert of(np.where(some, rng.poisson(3.0, size=3_000), 0.0)) == 1
    which = np.where(some, rng.integers(1, 3, 3_000), 0.0)
    assert of(which, ("fine", "bearing", "seal")) == 1
    assert of(np.where(some, 1.0, 0.0), ("fine", "broken")) == of(np.where(some, 1.0, 0.0)) == 0
    assert of(rng.integers(0, 3, 3_000).astype(float), ("ash", "elm", "oak")) == 0


def test_a_few_values_beside_an_atom_are_continuous_and_counts_are_not() -> None:
    rng = np.random.default_rng(0)
    some = rng.uniform(size=4_000) < 0.02
    assert find_atoms(np.where(some, rng.gamma(2.0, size=4_000), 0.0)).kind == "atoms"
    assert find_atoms(np.where(some, rng.poisson(90, size=4_000), 0.0)).kind == "lattice"


def test_the_level_is_shared() -> None:
    """Uniform p-values of both tests give a p-value that is small no oftener than it says."""
    rng = np.random.default_rng(0)
    both = rng.uniform(size=(20_000, 2))
    merged = [
        beside(
            *(
                TestResult(1.0, float(p), 0.0, 1, ("x",), limit=limit)
                for p, limit in zip(own, (0.1, 0.2), strict=True)
            )
        )
        for own in both
    ]
    assert np.mean([one.p_value < 0.05 for one in merged]) < 0.055
    assert all(one.limit == 0.2 for one in merged)


@pytest.mark.parametrize("target", ["a number", "a label"])
def test_what_moves_the_rare_rows_is_found(target: str) -> None:
    """One row in ten has an event, and its size, or its name, follows an input that nothing else follows."""
    rng = np.random.default_rng(1)
    rows = 1_500
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc"))
    event = rng.uniform(size=rows) < 0.1
    size = 5 + frame["a"] + 0.5 * rng.normal(size=rows)
    frame["y"] = (
        np.where(event, size, 0.0) if target == "a number" else np.where(event, np.where(size > 5, "p", "q"), "-")
    )
    found = fb.discover(frame, "y", subset_steps=300)
    assert found.ancestors["y"] == ("a",)
    assert found.certificates["y"].loc["a", "p_value"] < 1e-6
