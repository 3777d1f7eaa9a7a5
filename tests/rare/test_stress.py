"""Stress tests against known truth: probabilities, coverage, design points; twins, policies, bad input."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toys import toy_twin

import forebear as fb
from forebear.control.model import step_model
from forebear.errors import InputError
from forebear.rare.asked import course_of
from forebear.rare.climb import Level, climb
from forebear.rare.result import Stressed
from forebear.twin.reference import Reference
from forebear.twin.twin import Twin

SMALL: dict[str, Any] = {"draws": 200, "repeats": 8}
STEPS = 10


def _walk(state: Any, action: Any, noise: Any) -> Any:
    return state + noise


def _crossing(limit: float, steps: int = STEPS) -> float:
    """That a Gaussian random walk from 0 exceeds a limit: its density on a grid, step by step."""
    grid, gap = np.linspace(-30.0, limit, 1_500, retstep=True)
    weights = np.full(len(grid), gap)
    weights[[0, -1]] /= 2
    density, crossed = stats.norm.pdf(grid) * weights, float(stats.norm.sf(limit))
    moved = stats.norm.pdf(grid[:, None] - grid) * weights[:, None]
    for _ in range(steps - 1):
        crossed += float(density @ stats.norm.sf(limit - grid))
        density = moved @ density
    return crossed


@pytest.fixture(scope="module")
def rare() -> Stressed:
    """About one in a million."""
    return fb.stress(_walk, [[0.0]], STEPS, [(None, 15.2)], noise=1, draws=500, repeats=16)


def test_one_in_a_million_is_found_with_its_interval(rare: Stressed) -> None:
    truth = _crossing(15.2)
    assert 5e-7 < truth < 2e-6
    assert rare.probability == pytest.approx(truth, rel=0.5)
    low, high = rare.interval
    assert low < truth < high < 4 * low
    assert rare.calls < 100_000 and rare.levels[0] >= 5
    assert rare.repeats.shape == (16,) and rare.probability == pytest.approx(rare.repeats.mean())


def test_repeats_have_no_bias_and_intervals_cover() -> None:
    """The mean of many repeats is the truth, and of many intervals nineteen in twenty hold it."""
    truth = _crossing(7.0)
    found = [fb.stress(_walk, [[0.0]], STEPS, [(None, 7.0)], noise=1, seed=seed, **SMALL) for seed in range(40)]
    every = np.concatenate([one.repeats for one in found])
    assert every.mean() == pytest.approx(truth, rel=4 * every.std() / truth / np.sqrt(len(every)))
    inside = sum(one.interval[0] <= truth <= one.interval[1] for one in found)
    assert inside >= stats.binom.ppf(0.001, 40, 0.95)


def test_shares_of_a_climb_are_conditional_probabilities() -> None:
    course = course_of(step_model(_walk, 1), [[0.0]], STEPS, [(None, 6.0)], None, None, None, None)
    told = climb(course, [Level(3.0 - 6.0, 0.5)], 4, 1_000, jr.key(0))
    exact = [_crossing(3.0), _crossing(6.0) / _crossing(3.0)]
    np.testing.assert_allclose(told.shares.mean(axis=1), exact, rtol=0.1)
    assert (np.asarray(told.crowd.heights) > -3.0).all()


def test_the_likeliest_way_is_the_straight_one(rare: Stressed) -> None:
    """The least sum of squares that reaches 15.2 in ten steps: equal ones."""
    best = rare.likeliest[:1]
    assert best.distance[0] == pytest.approx(15.2 / np.sqrt(STEPS), rel=0.01)
    np.testing.assert_allclose(best.latents[0, :, 0], 1.52, atol=0.1)
    assert best.crossed[0] == STEPS and best.states[0, -1, 0] > 15.2
    assert (np.diff(rare.likeliest.distance) >= 0).all()


def test_trajectories_that_are_shown_cross(rare: Stressed) -> None:
    ways = rare.trajectories
    assert len(ways) == 100 and (ways.states[:, :, 0].max(axis=1) > 15.2).all()
    np.testing.assert_allclose(ways.states[:, 1:, 0], ways.latents[:, :, 0].cumsum(axis=1), atol=1e-3)
    table = ways.frame()
    assert list(table) == ["trajectory", "step", "state 0"] and len(table) == 100 * (STEPS + 1)


@pytest.mark.slow
def test_both_ways_out_are_told_apart() -> None:
    told = fb.stress(_walk, [[0.0]], STEPS, [(-10.0, 10.0)], noise=1, **SMALL)
    assert told.probability == pytest.approx(2 * _crossing(10.0), rel=0.5)
    ends = told.likeliest.states[:2, -1, 0]
    assert sorted(np.sign(ends)) == [-1, 1] and told.limits == ("state 0 > -10", "state 0 < 10")


def test_limits_on_whole_trajectories() -> None:
    """The sum of ten steps is Gaussian."""
    told = fb.stress(_walk, [[0.0]], STEPS, lambda states: states[-1, 0] - 12.0, noise=1, **SMALL)
    assert told.interval[0] / 1.3 <= stats.norm.sf(12 / np.sqrt(STEPS)) <= told.interval[1] * 1.3
    assert told.likeliest.distance[0] == pytest.approx(12 / np.sqrt(STEPS), rel=0.02)


def test_what_is_common_is_counted_and_what_cannot_be_is_bounded() -> None:
    often = fb.stress(_walk, [[0.0]], STEPS, [(None, 1.0)], noise=1, **SMALL)
    assert often.levels == (0,) and often.interval[0] <= _crossing(1.0) <= often.interval[1]
    never = fb.stress(lambda s, a, n: jnp.tanh(s + n), [[0.0]], STEPS, [(None, 1.5)], noise=1, **SMALL)
    assert never.probability == 0 and never.interval[0] == 0 < never.interval[1] < 1e-6
    assert not len(never.trajectories) and not len(never.likeliest) and "no trajectory crosses" in repr(never)
    fewer = fb.stress(_walk, [[0.0]], STEPS, [(None, 30.0)], noise=1, least=1e-4, **SMALL)
    assert fewer.probability == 0 and fewer.levels == (4,) and fewer.interval[1] < 1e-4


@pytest.mark.slow
def test_several_starts_are_equally_likely() -> None:
    told = fb.stress(_walk, [[0.0], [4.0]], STEPS, [(None, 12.0)], noise=1, draws=400, repeats=8)
    truth = (_crossing(12.0) + _crossing(8.0)) / 2
    assert told.interval[0] / 1.2 <= truth <= told.interval[1] * 1.2
    assert np.mean(told.trajectories.starts == 1) > 0.9


def test_the_same_seed_is_the_same_answer() -> None:
    first, again, other = (
        fb.stress(_walk, [[0.0]], STEPS, [(None, 7.0)], noise=1, seed=seed, **SMALL) for seed in (3, 3, 4)
    )
    assert first.probability == again.probability != other.probability
    np.testing.assert_array_equal(first.likeliest.states, again.likeliest.states)


def _driven(state: Any, action: Any, noise: Any) -> Any:
    return state + action + 0.3 * noise


def _back(state: Any) -> Any:
    return -state


def test_a_policy_is_attacked_by_noise_and_disturbances() -> None:
    """A policy that takes each state back to 0: each step alone decides, with both kinds of noise."""
    told = fb.stress(_driven, [[0.0]], 5, [(None, 1.5)], policy=_back, noise=1, disturbance=[0.5], **SMALL)
    points = np.linspace(-0.5, 0.5, 4_001)
    once = float(np.mean(stats.norm.sf((1.5 - points) / 0.3)))
    truth = 1 - (1 - once) ** 5
    assert told.interval[0] / 1.3 <= truth <= told.interval[1] * 1.3
    pushed = told.trajectories.actions[:, :, 0] + told.trajectories.states[:, :-1, 0]
    assert np.abs(pushed).max() <= 0.5 + 1e-5 and told.likeliest.latents.shape[2] == 2


@pytest.mark.slow
def test_a_load_is_a_sequence_of_actions() -> None:
    load = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    told = fb.stress(lambda s, a, n: a + 0.3 * n, [[0.0]], 5, [(None, 2.0)], actions=load, noise=1, **SMALL)
    assert told.probability == pytest.approx(stats.norm.sf(1 / 0.3), rel=0.5)
    assert set(told.trajectories.crossed) == {3}


@pytest.fixture(scope="module")
def twin() -> Twin:
    """With memory and an angle."""
    rng = np.random.default_rng(0)
    raw = pd.DataFrame({"angle": rng.uniform(-3, 3, 300), "u": rng.normal(size=300)})
    lagged = fb.lagged(raw, state="angle", action="u", lags=1, periodic={"angle": 2 * np.pi})
    return toy_twin(lagged.table, {"d_angle": ("angle_0", "angle_1", "u_0")}, lagged.periodic)


def test_twins_go_by_name_and_angles_go_on(twin: Twin) -> None:
    start = pd.DataFrame({"angle": [3.0, 3.1], "u": [0.0, 0.0]})
    told = fb.stress(
        [twin, twin],
        start,
        6,
        {"angle": (None, 5.0)},
        policy=lambda past: 0.1 * past.states[1],
        disturbance={"u": 0.1},
        **SMALL,
    )
    assert told.limits == ("angle < 5",) and told.trajectories.names == ("angle",)
    if len(told.trajectories):
        assert told.trajectories.states[:, :, 0].max() > 5 > np.pi
    assert len(told.each) == 2 and list(told.frame()["training"]) == [0, 1]
    assert told.interval[0] == min(one.interval[0] for one in told.each)
    assert told.probability == pytest.approx(np.mean([one.probability for one in told.each]))
    assert "by training" in told.summary() and "<p>" in told._repr_html_()
    assert 0 <= told.outside <= 1


def test_a_twin_is_stressed_as_it_is_rolled_out(twin: Twin) -> None:
    """Counting its own trajectories, whose angle passes its turn, says the same."""
    start = pd.DataFrame({"angle": [3.0, 3.1], "u": [0.0, 0.0]})
    load = np.linspace(-1, 1, 6)
    angle = np.unwrap(twin.rollout(start, 6, actions=load, n=4_000).states[:, :, 0], axis=0)
    end = 3.1 + float(np.quantile((angle - angle[0]).max(axis=0), 0.98))
    told = fb.stress(twin, start, 6, {"angle": (None, end)}, actions=load, **SMALL)
    assert told.probability == pytest.approx(0.02, rel=0.4)


def _with_rows(twin: Twin, width: float, place: float = 0.0) -> Twin:
    """With rows set aside, of a law so many times narrower than the twin's, and lower."""
    x = np.resize(twin.rows, (400, twin.rows.shape[1]))
    z = np.random.default_rng(1).normal(size=(1, 400, 1)) / width - place
    return replace(twin, reference=Reference(x, twin.at_latents(x, z)[0], np.zeros((400, 0))))


@pytest.mark.parametrize(
    ("width", "place", "words"),
    [(1.0, 0.0, None), (2.5, 0.0, "times as wide as it should be"), (1.0, 0.8, "of its deviations too high")],
)
def test_a_twin_that_is_wrong_about_a_step_is_told(twin: Twin, width: float, place: float, words: str | None) -> None:
    made = _with_rows(twin, width, place)
    start = pd.DataFrame({"angle": [3.0, 3.1], "u": [0.0, 0.0]})
    asked: dict[str, Any] = {"actions": np.linspace(-1, 1, 6), **SMALL}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = fb.stress([made, twin], start, 6, {"angle": (None, 4.0)}, **asked)
    steps = [str(one.message) for one in caught if "rows set aside" in str(one.message)]
    assert told.fit is not None and told.fit.rows == 200 and told.each[1].fit is None
    assert told.fit.width == pytest.approx(width, rel=0.3)
    if words is None:
        assert told.fit.good and not steps
    else:
        assert words in steps[0] and steps[0] in told.summary() and steps[0] in told.doubts


def test_trajectories_that_leave_the_data_are_told_with_their_share(twin: Twin) -> None:
    far = replace(twin, ranges=tuple(None if r is None else replace(r, high=r.low + 1e-3) for r in twin.ranges))
    start = pd.DataFrame({"angle": [3.0, 3.1], "u": [0.0, 0.0]})
    with pytest.warns(RuntimeWarning, match="100% of the probability is of trajectories that lead beyond the data"):
        told = fb.stress(far, start, 6, {"angle": (None, 4.0)}, actions=np.full(6, 2.0), **SMALL)
    assert told.outside == 1.0 and told.doubts[0] in told.summary()


def test_the_figure_shows_ways_and_limit(rare: Stressed) -> None:
    axis = rare.plot()
    heights = [line.get_ydata()[0] for line in axis.get_lines() if len(line.get_ydata()) == 2]  # type: ignore[arg-type]
    assert heights == [15.2] and axis.get_ylabel() == "state 0"
    with pytest.raises(InputError, match="state: no 'x'"):
        rare.plot("x")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"limits": [(None, -1.0)]}, "start: row 0 is beyond the limits already"),
        ({"limits": [(None, None)]}, "every end is open"),
        ({"limits": [(None, 1.0), None]}, "a pair for each of the 1 states; got 2"),
        ({"limits": {"x": (0, 1)}}, "limits must be a list of pairs"),
        ({"limits": lambda states: states[0] - 1}, "must return one number, above 0"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"draws": 105}, "draws must be a multiple of 10"),
        ({"repeats": 6}, "repeats one of 4"),
        ({"least": 0.5}, "least must lie between"),
        ({"noise": None}, "noise=… must say"),
        ({"policy": 3}, "policy must be a function"),
        ({"policy": _back, "actions": [0.0]}, "give one of them"),
        ({"actions": [[0.0], [1.0]]}, "actions must be finite numbers of shape"),
        ({"disturbance": [0.1]}, "a number for each of 0 actions"),
        ({"dynamics": []}, "the list is empty"),
    ],
)
def test_bad_input(change: dict[str, Any], line: str) -> None:
    asked: dict[str, Any] = {"dynamics": _walk, "start": [[0.0]], "steps": 3, "limits": [(None, 1.0)], "noise": 1}
    with pytest.raises(InputError, match=line) as told:
        fb.stress(**{**asked, **change})
    assert "\n" not in str(told.value)


def test_bad_input_for_twins(twin: Twin) -> None:
    start = pd.DataFrame({"angle": [0.0, 0.1], "u": [0.0, 0.0]})
    for change, line in (
        ({}, "the twin is driven by 'u'"),
        ({"actions": np.zeros((3, 1)), "limits": {"speed": (None, 1.0)}}, "limits: no state 'speed'"),
        ({"actions": np.zeros((3, 1)), "disturbance": {"v": 0.1}}, "disturbance: no action 'v'"),
        ({"actions": np.zeros((3, 1)), "noise": 1}, "noise belongs to a step function"),
        ({"policy": lambda past: jnp.zeros(2)}, "the policy must return 1 numbers.*History"),
    ):
        with pytest.raises(InputError, match=line):
            fb.stress(twin, start, 3, **{"limits": {"angle": (None, 1.0)}, **change})
