"""Where a law that changed still holds, on latents whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from forebear.watch.holding import still_holds


def places(count: int, dimensions: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size=(count, dimensions))


@pytest.mark.parametrize("dimensions", [1, 3])
def test_a_change_in_a_corner_is_told_from_the_rest(dimensions: int) -> None:
    rng = np.random.default_rng(0)
    near, asked = places(2_000, dimensions, 1), places(1_000, dimensions, 2)
    z = rng.normal(size=2_000) + 1.5 * (near[:, 0] > 0.3)
    holds = still_holds(z, near, asked) > 0.5
    assert holds[asked[:, 0] < 0.1].mean() > 0.95 and holds[asked[:, 0] > 0.5].mean() < 0.05


def test_a_change_everywhere_leaves_nothing_and_one_of_the_spread_is_one() -> None:
    rng = np.random.default_rng(1)
    near, asked = places(600, 2, 3), places(500, 2, 4)
    for z in (rng.normal(size=600) + 0.8, 2.0 * rng.normal(size=600)):
        assert (still_holds(z, near, asked) > 0.5).mean() < 0.1


def test_nothing_speaks_against_a_law_where_no_new_row_is() -> None:
    rng = np.random.default_rng(2)
    moved = rng.normal(size=800) + 1.0
    holds = still_holds(moved, places(800, 2, 5), places(300, 2, 6) + [5.0, 0.0])
    assert (holds == 1).all()


def test_a_law_without_inputs_holds_everywhere_or_nowhere() -> None:
    rng = np.random.default_rng(3)
    nothing = np.zeros((400, 0))
    assert (still_holds(rng.normal(size=400) + 1.0, nothing, nothing) < 0.5).all()
    assert still_holds(rng.normal(size=400), nothing, nothing[:0]).shape == (0,)
