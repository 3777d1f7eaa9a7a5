"""Verdicts on latents whose law is known: no alarm where nothing changed, and what a change is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from watching import batch_by_hand, right

from forebear.watch.batch import Batch, judge
from forebear.watch.laws import LawVerdict, holm


def bent(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """What a twin that is wrong by a quarter of a deviation, here and there, makes of true latents."""
    return z * (1 + 0.15 * np.tanh(x[0])) + 0.25 * np.sin(1.5 * x[0]) + 0.1 * x[1]


def told(seed: int, rows: int, **options: Any) -> LawVerdict:
    return judge(batch_by_hand(np.random.default_rng(seed), rows, **options), 0.05, 0.05)[0]["y"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"wrong": bent},
        {"wrong": bent, "mix": 1.0},
        {"wrong": bent, "mix": -1.5},
        {"wrong": bent, "memory": 0.9},
        {"memory": 0.9, "memory_of_latents": 0.9},
        {"memory_of_latents": 0.5},
    ],
    ids=["right", "wrong", "other mix", "very other mix", "slow inputs", "slow latents", "a little slow"],
)
@pytest.mark.parametrize("rows", [100, 400, 2_000])
def test_no_alarm_where_no_law_changed(options: dict[str, Any], rows: int) -> None:
    """Five alarms in 25 at a level of one in twenty would come less than once in a hundred times."""
    words = [told(seed, rows, **options).verdict for seed in range(25)]
    assert words.count("changed") <= 4


CHANGES = {
    "moved": (lambda x, z: z + 0.5, ()),
    "wider": (lambda x, z: 1.5 * z, ()),
    "slope": (lambda x, z: z + 0.5 * x[0], ("a",)),
    "useless before": (lambda x, z: z + 0.5 * x[2], ("c",)),
    "spread with an input": (lambda x, z: z * np.exp(0.4 * x[1]), ("b",)),
    "two inputs": (lambda x, z: z + 0.5 * x[0] + 0.5 * x[3], ("a", "d")),
    "curved": (lambda x, z: z + 0.5 * (x[3] ** 2 - 1), ("d",)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("wrong", [right, bent], ids=["right", "wrong"])
def test_a_change_is_seen_and_its_input_named(name: str, wrong: Any) -> None:
    change, follows = CHANGES[name]
    found = [told(seed, 800, change=change, wrong=wrong) for seed in range(20)]
    assert sum(one.verdict == "changed" for one in found) == 20
    assert sum(set(one.follows) == set(follows) for one in found) >= 18


def _grown(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """From the middle on, where a is in its lowest quarter, two in three rows are of the upper fifth of the law."""
    rng = np.random.default_rng(0)
    there = (x[0] < -0.6745) & (np.arange(len(z)) >= len(z) // 2) & (rng.random(len(z)) < 0.56)
    return np.where(there, ndtri(0.8 + 0.2 * rng.random(len(z))), z)


def test_a_tail_that_grows_in_a_quarter_of_the_rows_is_seen() -> None:
    found = [told(seed, 2_000, known=800, change=_grown) for seed in range(8)]
    assert sum(one.verdict == "changed" for one in found) >= 7
    assert sum(one.follows == ("a",) for one in found) >= 6


def test_what_a_change_is_called() -> None:
    moved = told(0, 2_000, change=lambda x, z: z + 0.5)
    assert moved.how == ("moved",) and moved.moved_by == pytest.approx(0.5, abs=0.15)
    wider = told(0, 2_000, change=lambda x, z: 1.5 * z)
    assert wider.how == ("widened",) and wider.widened_by == pytest.approx(1.5, abs=0.15)
    narrow = told(0, 2_000, change=lambda x, z: 0.6 * z)
    assert narrow.how == ("narrowed",) and narrow.widened_by == pytest.approx(0.6, abs=0.1)
    heads = np.random.default_rng(1).choice([-1.0, 1.0], 2_000)
    split = told(0, 2_000, change=lambda x, z: 0.9 * heads[: len(z)] + 0.44 * z)
    assert "other shape" in split.how
    sloped = told(0, 2_000, change=lambda x, z: z + 0.5 * x[0])
    assert sloped.along is not None and sloped.along[1].moved_by == pytest.approx(0.7, abs=0.2)


@pytest.mark.parametrize("share", [0.25, 0.6, 0.9])
def test_since_when(share: float) -> None:
    def late(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z + 0.8 * x[2] * (np.arange(len(z)) >= share * len(z))

    found = [told(seed, 2_000, change=late) for seed in range(20)]
    assert all(one.verdict == "changed" and one.follows == ("c",) for one in found)
    ends = [one.since_interval for one in found if one.since_interval is not None]
    assert sum(low <= share * 2_000 + 1 <= high for low, high in ends) >= 17
    assert all(abs((one.since or 0) - share * 2_000) < 80 for one in found)


def test_too_short_a_record() -> None:
    few = told(0, 15)
    assert few.verdict == "cannot tell" and "15 new rows" in few.note
    slow = told(0, 120, memory_of_latents=0.95)
    assert slow.verdict == "cannot tell" and "follow one another" in slow.note


def test_a_shift_of_the_target_is_plain_on_its_own_scale() -> None:
    """Where the law is narrow, latents move far: that is no change with the input that makes it narrow."""
    wide, follows = 0.4, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        batch = batch_by_hand(rng, 1_500)
        spread = np.exp(wide * batch.inputs[0].new)
        latents = batch.new[:, 0]

        def pull(target: int, rows: np.ndarray, amount: float, z: Any = latents, s: Any = spread) -> np.ndarray:
            return z[rows] + (0.6 - amount) / s[rows]

        moved = Batch(
            batch.targets,
            batch.ancestors,
            batch.known,
            pull(0, np.arange(1_500), 0.0)[:, None],
            batch.inputs,
            pull,
            batch.scales,
            batch.rows,
        )
        told_of = judge(moved, 0.05, 0.05)[0]["y"]
        assert told_of.verdict == "changed" and told_of.moved_by == pytest.approx(0.6, abs=0.15)
        follows.append(told_of.follows)
    assert follows.count(()) >= 18


def test_targets_that_no_longer_go_together() -> None:
    words = []
    for tied in (0.0, 0.6):
        rng = np.random.default_rng(0)
        batch = batch_by_hand(rng, 1_000)
        z = rng.normal(size=(1_000, 2))
        z[:, 1] = tied * z[:, 0] + np.sqrt(1 - tied**2) * z[:, 1]
        both = Batch(
            ("y", "z"),
            {"y": ("a",), "z": ("b",)},
            rng.normal(size=(1_000, 2)),
            z,
            batch.inputs,
            lambda target, rows, amount, own=z: own[rows, target] - amount,
            np.ones(2),
            batch.rows,
        )
        verdicts, together = judge(both, 0.05, 0.05)
        assert all(one.verdict == "holds" for one in verdicts.values())
        words.append(together[0].adjusted < 0.05)
    assert words == [False, True]


def _coins(seed: int, draws: int, chance: float) -> LawVerdict:
    """Of a coin that falls on 1 with a chance of a half, and of new falls with another chance."""
    rng = np.random.default_rng(seed)
    batch = batch_by_hand(rng, 300, known=400)

    def falls(rows: int, on_one: float) -> np.ndarray:
        one = rng.random(rows) < on_one
        return ndtri((rng.random((draws, rows)) + one) / 2).T[:, None, :]

    known, new = falls(400, 0.5), falls(300, chance)
    return judge(replace(batch, known=known, new=new, scales=np.array([np.nan])), 0.05, 0.05)[0]["y"]


def test_several_draws_of_what_a_value_stands_for_show_more_than_one() -> None:
    """The chance of a single draw is no part of what a label says."""
    single, several = ([_coins(seed, draws, 0.62) for seed in range(12)] for draws in (1, 16))
    found = [sum(one.verdict == "changed" for one in side) for side in (single, several)]
    assert found[1] > found[0] + 3, found
    assert all(one.moved_by is None for one in several)
    assert sum(_coins(seed, 16, 0.5).verdict == "changed" for seed in range(40)) <= 4


def _seasons(seed: int, ordered: bool, shift: float = 0.0) -> str:
    """Eight stretches of known rows, in each of which the twin is wrong otherwise, and a ninth that is new."""
    rng = np.random.default_rng(seed)
    batch = batch_by_hand(rng, 400, known=1_600)
    wrong = 0.25 * rng.normal(size=9)
    known = batch.known + np.repeat(wrong[:8], 200)[:, None]
    both = replace(batch, known=known, new=batch.new + wrong[8] + shift, ordered=ordered)
    return judge(both, 0.05, 0.05)[0]["y"].verdict


def test_what_varied_from_season_to_season_is_no_change() -> None:
    alarms = [sum(_seasons(seed, ordered) == "changed" for seed in range(40)) for ordered in (False, True)]
    assert alarms[0] > 12 and alarms[1] <= 4, alarms
    assert sum(_seasons(seed, True, 2.5) == "changed" for seed in range(10)) >= 9


def test_since_when_is_told_where_inputs_are_slow() -> None:
    """A plain shift by much, in inputs that lie elsewhere in each part of the rows."""
    off = []
    for seed in range(8):
        batch = batch_by_hand(np.random.default_rng(seed), 1_200, memory=0.97)
        new = batch.new + 3.0 * (np.arange(1_200) >= 600)[:, None]
        told = judge(replace(batch, new=new, pull=lambda t, rows, by, z=new: z[rows, t] - by), 0.05, 0.05)[0]["y"]
        assert told.since is not None
        off.append(abs(told.since - 601))
    assert max(off) < 30, off


def test_groups_count_as_one_row_each() -> None:
    """Machines differ by more than the inputs say: a few new ones are no new law."""
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        batch = batch_by_hand(rng, 1_000)
        known_groups, groups = np.repeat(np.arange(50), 20), np.repeat(np.arange(25), 40)
        known = batch.known + 0.6 * rng.normal(size=(50, 1))[known_groups]
        new = batch.new + 0.6 * rng.normal(size=(25, 1))[groups]
        own = Batch(
            batch.targets,
            batch.ancestors,
            known,
            new,
            batch.inputs,
            lambda target, rows, amount, z=new: z[rows, 0] - amount,
            batch.scales,
            batch.rows,
            known_groups=known_groups,
            groups=groups,
        )
        alarms += judge(own, 0.05, 0.05)[0]["y"].verdict == "changed"
    assert alarms <= 5


def test_holm_is_never_below_the_plain_p_value() -> None:
    p_values = np.random.default_rng(0).random(20).tolist()
    assert all(more >= less for more, less in zip(holm(p_values), p_values, strict=True))
