"""The learned probe: what no list of features holds, silence where there is nothing, and whose doing it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from forebear.discovery.dependence import all_latent_features, sidak
from forebear.discovery.learned import PROMISING, LearnedProbe
from forebear.discovery.residuals import LATENT_ORDERS, Residualiser

ROWS = 2_000


def cleared(z: np.ndarray) -> tuple[np.ndarray, Residualiser]:
    clear = Residualiser([], len(z))
    return clear(all_latent_features(z))[:, :LATENT_ORDERS], clear


def p_value(z: np.ndarray, x: np.ndarray, parts: np.ndarray | None = None) -> float:
    latents, clear = cleared(z)
    probe = LearnedProbe.fit(latents, x, np.arange(len(z)) % 2 if parts is None else parts)
    found = probe.measure(clear, len(z) - 1)
    return sidak(found.statistic, found.tests)


def exclusive_or(x: np.ndarray) -> np.ndarray:
    return np.sign(x[:, :3].prod(axis=1))


def fast_wave(x: np.ndarray) -> np.ndarray:
    return np.sin(12 * x[:, 0])


def rare_corner(x: np.ndarray) -> np.ndarray:
    """One row in forty."""
    return 4.0 * ((x[:, 0] > 1.0) & (x[:, 1] > 1.0))


@pytest.mark.parametrize(
    ("shape", "needed"),
    [(exclusive_or, {"x0", "x1", "x2"}), (fast_wave, {"x0"}), (rare_corner, {"x0", "x1"})],
)
def test_it_sees_what_no_list_of_features_holds_and_names_the_inputs(shape: Any, needed: set[str]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 5))
    latents, clear = cleared(shape(x) + rng.normal(size=ROWS))
    probe = LearnedProbe.fit(latents, x, np.arange(ROWS) % 2)
    found = probe.measure(clear, ROWS - 1)
    assert sidak(found.statistic, found.tests) < 1e-4 and found.correlation > 0.01
    assert set(probe.behind(found.order, clear, {f"x{n}": [n] for n in range(5)})) == needed


def test_what_all_trees_see_a_third_of_them_suspects() -> None:
    """Weak effects, about as often missed as found: where all trees would find one, the first ones say "go on"."""
    rng, seen, quiet = np.random.default_rng(3), [], []
    for shape, strength in ((exclusive_or, 0.6), (fast_wave, 0.5), (rare_corner, 0.6), (None, 0.0)):
        for _ in range(6):
            x = rng.normal(size=(1_000, 6))
            latents, clear = cleared((strength * shape(x) if shape else 0.0) + rng.normal(size=1_000))
            first, whole = (
                LearnedProbe.fit(latents, x, np.arange(1_000) % 2, few=few).measure(clear, 999).statistic
                for few in (True, False)
            )
            (seen if shape else quiet).append((first, whole))
    found = [(first, whole) for first, whole in seen if whole >= 3.0]
    assert 3 <= len(found) < len(seen)
    assert all(first >= PROMISING for first, _ in found)
    assert sum(first < PROMISING for first, _ in quiet) >= len(quiet) - 2


def test_only_removed_inputs_are_named_and_those_with_several_features_as_one() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 5))
    latents, clear = cleared(exclusive_or(x) + rng.normal(size=ROWS))
    probe = LearnedProbe.fit(latents, x, np.arange(ROWS) % 2, kept=[0])
    order = probe.measure(clear, ROWS - 1).order
    assert set(probe.behind(order, clear, {"pair": [1, 2], "idle": [3, 4]})) == {"pair"}


def test_what_the_kept_inputs_explain_is_no_finding() -> None:
    """A misfit of the law in a kept input, which no features clear here, beside a proxy of that input."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(ROWS, 2))
    x[:, 1] = x[:, 0] + 0.05 * x[:, 1]
    latents, clear = cleared(0.4 * np.sin(2 * x[:, 0]) + rng.normal(size=ROWS))
    told = {
        kept: LearnedProbe.fit(latents, x, np.arange(ROWS) % 2, kept=kept).measure(clear, ROWS - 1)
        for kept in ((), (0,))
    }
    assert told[()].statistic > 6 > 3.5 > told[(0,)].statistic


def test_it_is_silent_on_noise() -> None:
    """A hundred tiny tables."""
    rng = np.random.default_rng(3)
    p_values = np.array([p_value(rng.normal(size=150), rng.normal(size=(150, 2))) for _ in range(100)])
    # At a level of 0.05, 99% of all hundreds have at most eleven below it.
    assert (p_values < 0.05).sum() <= binom.ppf(0.99, 100, 0.05)


def test_predictions_come_from_the_other_part_of_the_rows() -> None:
    """Rows that are there twice, once in either part, are known by heart; kept in one part, they are not."""
    rng = np.random.default_rng(4)
    x, z = np.repeat(rng.normal(size=(400, 3)), 2, axis=0), np.repeat(rng.normal(size=400), 2)
    together, apart = np.repeat(np.arange(400), 2) % 2, np.arange(800) % 2
    assert p_value(z, x, together) > 1e-3
    assert p_value(z, x, apart) < 1e-6


def test_trees_of_a_part_have_not_seen_it() -> None:
    rng = np.random.default_rng(5)
    x, parts = rng.normal(size=(600, 2)), rng.integers(0, 2, 600)
    latents, _ = cleared(rng.normal(size=600))
    probe = LearnedProbe.fit(latents, x, parts)
    other = latents.copy()
    other[parts == 0] = 7.0
    assert np.array_equal(LearnedProbe.fit(other, x, parts).predicted[parts == 0], probe.predicted[parts == 0])
    assert not np.array_equal(LearnedProbe.fit(other, x, parts).predicted[parts == 1], probe.predicted[parts == 1])


def test_the_same_rows_give_the_same_answer() -> None:
    rng = np.random.default_rng(6)
    x, z = rng.normal(size=(300, 2)), rng.normal(size=300)
    assert p_value(z, x) == p_value(z, x)
