"""Bets on rows as they come: seldom won while the law holds, soon won when it does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from watching import slow

from forebear.watch.features import Input, all_scores, features_of
from forebear.watch.misfit import misfit_of
from forebear.watch.stream import Bets, Wealth, factor_of, unlike_of

Change = Callable[[np.ndarray, np.ndarray], np.ndarray]


def bent(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return z * (1 + 0.15 * np.tanh(x[0])) + 0.25 * np.sin(1.5 * x[0])


def played(seed: int, rows: int, change: Change | None = None, since: int = 0, memory: float = 0.0) -> Wealth:
    """The bets after so many rows, of which those from `since` on are changed; the twin is a little wrong."""
    rng = np.random.default_rng(seed)
    sides = []
    for count in (1_500, rows):
        x, z = slow(rng, count, memory, 3), slow(rng, count, memory)[0]
        if change is not None and count == rows:
            z[since:] = change(x[:, since:], z[since:])
        sides.append((x, bent(x, z)))
    (known_x, known), (x, z) = sides
    features = [features_of(Input(name, known_x[i], x[i])) for i, name in enumerate("abc")]
    misfit, design = misfit_of(all_scores(known), features[:2], features[2:], rows, memory > 0, None)
    wealth = Wealth(Bets.of(features), misfit, 0.05, 0.05, factor_of(misfit))
    for start in range(0, rows - wealth.block + 1, wealth.block):
        part = slice(start, start + wealth.block)
        wealth.add(z[part], [one.part(part) for one in features], design[part])
    return wealth


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_seldom_an_alarm_while_the_law_holds(memory: float) -> None:
    assert sum(played(seed, 4_000, memory=memory).changed for seed in range(30)) <= 4


def test_a_row_in_a_tail_that_was_empty_is_no_alarm() -> None:
    """A twin that is far too wide has nobody in its tails among the known rows; one row there proves nothing."""
    rng = np.random.default_rng(0)
    known_x, x = slow(rng, 1_500, 0.8, 1), slow(rng, 400, 0.8, 1)
    known, z = (0.4 * slow(rng, rows, 0.8)[0] for rows in (1_500, 400))
    features = [features_of(Input("a", known_x[0], x[0]))]
    misfit, design = misfit_of(all_scores(known), features, [], 400, True, None)
    assert misfit.spread[-1] < 1e-6
    wealth = Wealth(Bets.of(features), misfit, 0.05, 0.05, factor_of(misfit))
    part = slice(0, wealth.block)
    z[7] = 3.0
    wealth.add(z[part], [one.part(part) for one in features], design[part])
    assert wealth.highest < 5
    unlike = unlike_of(wealth.bets, misfit, features)
    assert unlike.shape == (len(wealth.bets.orders),) and (unlike >= 0).all() and unlike.any()
    calm, shifted = (Wealth(wealth.bets, misfit, 0.05, 0.05, wealth.factor, own) for own in (unlike, 0 * unlike))
    for one in (calm, shifted):  # what varied so much before has to be more, to win
        one.add(z[part] + 0.5, [own.part(part) for own in features], design[part])
    assert calm.highest <= shifted.highest


@pytest.mark.parametrize(
    ("change", "follows"),
    [
        (lambda x, z: z + 0.7, ()),
        (lambda x, z: z + 0.7 * x[1], ("b",)),
        (lambda x, z: z + 0.7 * x[2], ("c",)),
        (lambda x, z: 1.8 * z, ()),
    ],
    ids=["plain", "slope", "useless before", "wider"],
)
def test_a_late_change_is_found_and_named(change: Change, follows: tuple[str, ...]) -> None:
    found = [played(seed, 3_000, change, since=2_000) for seed in range(5)]
    assert all(one.changed and one.follows == follows for one in found)
    assert all(abs((one.since_block or 0) * one.block - 2_000) <= 300 for one in found)


def test_the_wealth_of_independent_rows_is_a_fair_game() -> None:
    """Its mean after a fixed number of rows is at most 1, with some room for the chance of 200 games."""
    ends = [played(seed, 500).running for seed in range(100)]
    assert np.mean([float(np.sum(one)) for one in ends if one is not None]) < 1.2


def test_a_state_goes_on() -> None:
    whole = played(0, 2_000)
    state = whole.state()
    other = Wealth(whole.bets, whole.misfit, 0.05, 0.05, whole.factor)
    other.restore(state)
    assert other.state() == state
    with pytest.raises(ValueError, match="another law"):
        other.restore({**state, "running": [[[1.0]]]})
