"""How likely a trajectory crosses a limit, down to one in a million and further: one call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array
from scipy import stats

from forebear.control.limits import Beyond, EndsBeyond, Limits
from forebear.control.model import Step, TwinSteps, dynamics_of
from forebear.errors import InputError, check_whole
from forebear.rare.asked import course_of
from forebear.rare.beside_rows import step_fit
from forebear.rare.climb import MOVES, Crowd, climbs, first_crowd, ladder
from forebear.rare.course import Course, Height, Latents, Path, Policy
from forebear.rare.likeliest import nearest_ways
from forebear.rare.result import Stressed, Ways, joined
from forebear.storage.memory import check_room
from forebear.twin.dynamics import Dynamics
from forebear.twin.twin import Twin

_TOGETHER = 4
"""repeats that are computed at once"""
_SHOWN, _SEARCHED = 100, 24
"""crossing trajectories that are kept, and those from which the likeliest ways are searched"""
_UNTRACEABLE = (
    jax.errors.TracerArrayConversionError,
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerIntegerConversionError,
)


def stress(
    dynamics: Twin | Step | Sequence[Twin | Step],
    start: Any,
    steps: int,
    limits: Limits | Height,
    *,
    policy: Policy | None = None,
    actions: Any = None,
    noise: int | None = None,
    disturbance: Mapping[str, float] | Sequence[float] | None = None,
    draws: int = 1_000,
    repeats: int = 16,
    least: float = 1e-9,
    ways: int = 5,
    names: Dynamics | None = None,
    episode: str | None = None,
    seed: int = 0,
) -> Stressed:
    """The probability that a trajectory crosses a limit within some steps, and the likeliest ways there.

    By subset simulation on the latents: levels below the limit, each reached by a tenth of what reached the one
    before, so that one in a million takes thousands of trajectories where brute force takes many millions.

    A twin is held against the rows set aside that lie nearest to the trajectories: where its law of one step is far
    too wide, too narrow or off, and where crossing trajectories lead beyond its data, a warning says so.

    Arguments:
        dynamics: a twin whose columns are states and actions, preferably distilled; or a function (state, action,
            noise) -> next state of one trajectory that JAX can trace, where noise is standard normal. A list of
            either is one system learned several times, as by twins with other seeds: the answer says how far they
            disagree.
        start: where trajectories begin, all that `Twin.rollout` takes; of a function an array (starts, states). Of
            several rows each is equally likely.
        steps: within which the limit is crossed.
        limits: for a twin by name of a state, `{"theta": (None, 3.0)}`, for a function a pair for each state, None
            for one without; crossed when any is. Or a function of the states of a whole trajectory (steps + 1,
            states) -> number, above 0 where the limit is crossed. An angle goes on past its turn.
        policy: a function (state) -> action, of one trajectory; of a twin with memory (`forebear.History`) -> action.
        actions: the load instead of a policy, (steps, actions).
        noise: how many numbers a step function takes as noise.
        disturbance: half the width of a uniform disturbance of each action, drawn anew at each step: for a twin by
            name, for a function in their order.
        draws: trajectories at each level of each repeat, a multiple of 10.
        repeats: independent ones, whose spread is the interval; a multiple of 4.
        least: the search ends where the probability is less.
        ways: how many likeliest ways at most.
        names: what the columns of a twin mean; None reads it from their names, as `Twin.rollout` does.
        episode: see `Twin.rollout`.

    >>> walk = lambda state, action, noise: state + noise
    >>> told = stress(walk, [[0.0]], 10, [(None, 12.0)], noise=1, draws=500, repeats=8, seed=1)
    >>> bool(4e-5 < told.probability < 1.6e-4)  # 8.6e-5
    True
    >>> told.likeliest.states[0, :, 0].round(0).tolist()
    [0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 11.0, 12.0]
    """
    for name, value in (("steps", steps), ("draws", draws), ("repeats", repeats), ("ways", ways)):
        check_whole(name, value, 1)
    check_whole("seed", seed, 0)
    if draws % MOVES or draws < 10 * MOVES or repeats % _TOGETHER:
        raise InputError(f"draws must be a multiple of {MOVES} of at least 100, and repeats one of {_TOGETHER}")
    if isinstance(least, bool) or not isinstance(least, int | float) or not 1e-30 <= least < 0.1:
        raise InputError(f"least must lie between 1e-30 and 0.1; got {least!r}")
    several = list(dynamics) if isinstance(dynamics, Sequence) else [dynamics]
    if not several:
        raise InputError("dynamics: the list is empty")
    found = []
    for number, one in enumerate(several):
        model = dynamics_of(one, names, noise)
        course = course_of(model, start, int(steps), limits, policy, actions, disturbance, episode)
        size = course.steps * (course.width + len(course.periods) + len(course.reach))
        check_room(f"{_TOGETHER * draws:,} trajectories of {steps:,} steps", _TOGETHER * draws * size)
        try:
            told, given = _stressed(course, int(draws), int(repeats), float(least), int(ways), jr.key(seed), number)
            found.append(replace(told, fit=step_fit(one, given)) if isinstance(one, Twin) else told)
        except _UNTRACEABLE as error:
            raise InputError(
                f"the step, the policy or limits cannot be compiled by JAX ({type(error).__name__}): write them with "
                "jax.numpy"
            ) from error
    answer = found[0] if len(found) == 1 else _together(found)
    for doubt in answer.doubts:
        warnings.warn(doubt, RuntimeWarning, stacklevel=2)
    return answer


def _stressed(
    course: Course, draws: int, repeats: int, least: float, ways: int, key: Array, training: int
) -> tuple[Stressed, np.ndarray]:
    """The answer of one training, and what a twin was given on the way to the limit (moments, inputs)."""
    pilot_key, own_key, pick_key = jr.split(jr.fold_in(key, training), 3)
    course, spread = _scaled(course, draws, pilot_key)
    levels = ladder(course, _TOGETHER, draws, least, pilot_key)
    told = list(climbs(course, levels, repeats // _TOGETHER, _TOGETHER, draws, own_key))
    shares = np.concatenate([one.shares for one in told], axis=1)
    crossing = _crossing([one.crowd for one in told], pick_key)
    nothing = not len(crossing.start)
    nearest = crossing if nothing else nearest_ways(course, _first(crossing, _SEARCHED), spread, ways)
    each = shares.prod(axis=0)
    rungs = len(levels) * (draws + draws // MOVES) + draws
    limit = course.limit
    trajectories, given = _followed(course, _first(crossing, _SHOWN))
    if nothing:
        some = first_crowd(course, 1, draws, pick_key).latents
        given = _followed(course, _first(Latents(some.start[0], some.path[0]), _SHOWN))[1]
    told = Stressed(
        float(each.mean()),
        _interval(shares, draws),
        limit.names if isinstance(limit, Beyond) else (),
        course.steps,
        each,
        (len(levels),),
        rungs * (repeats + _TOGETHER) + _TOGETHER * draws,
        trajectories,
        _followed(course, nearest)[0],
        tuple(zip(limit.places, limit.ends, strict=True)) if isinstance(limit, EndsBeyond) else (),
    )
    return told, given


def _scaled(course: Course, draws: int, key: Array) -> tuple[Course, float]:
    """With heights above several limits in deviations of what each does; and the deviation of the heights."""
    crowd = first_crowd(course, _TOGETHER, draws, key)
    if isinstance(course.limit, Beyond) and course.scale.size > 1:
        some = _first(Latents(*(leaf.reshape(-1, *leaf.shape[2:]) for leaf in crowd.latents)), 500)
        paths, _, _ = _all_of(course, some)
        scale = np.asarray(jax.vmap(jax.vmap(course.limit))(paths.states)).std(axis=(0, 1))
        course = eqx.tree_at(lambda own: own.scale, course, jnp.asarray(np.where(scale > 0, scale, 1.0), jnp.float32))
        crowd = first_crowd(course, _TOGETHER, draws, key)
    spread = float(np.asarray(crowd.heights).std())
    return course, spread if spread > 0 else 1.0


def _interval(shares: np.ndarray, draws: int) -> tuple[float, float]:
    """95%, from the spread of the repeats in logarithms; from 0 where none of them crossed."""
    each = shares.prod(axis=0)
    count, mean = len(each), each.mean()
    if mean == 0:
        # The rule of three: so many chains above the last level, and none crossed.
        most = shares[:-1].prod(axis=0).mean() * -math.log(0.025) / (count * draws / MOVES)
        return 0.0, min(float(most), 1.0)
    error = each.std(ddof=1) / math.sqrt(count) / mean
    # Where nearly all or nearly nothing crosses, the repeats may agree by chance.
    total = count * draws
    error = max(error, math.sqrt(max(1 - mean, 1 / total) / (mean * total))) if len(shares) == 1 else error
    factor = math.exp(float(stats.t.ppf(0.975, count - 1)) * error)
    return float(mean / factor), min(float(mean * factor), 1.0)


def _crossing(crowds: Sequence[Crowd], key: Array) -> Latents:
    """Crossing trajectories of all repeats, in any order."""
    rng = np.random.default_rng(np.asarray(jr.key_data(key)).ravel())
    over = [np.asarray(crowd.heights) > 0 for crowd in crowds]
    start, path = (
        np.concatenate([np.asarray(crowd.latents[i])[own] for crowd, own in zip(crowds, over, strict=True)])
        for i in (0, 1)
    )
    order = rng.permutation(len(start))
    return Latents(jnp.asarray(start[order]), jnp.asarray(path[order]))


def _first(latents: Latents, count: int) -> Latents:
    return Latents(latents.start[:count], latents.path[:count])


def _followed(course: Course, latents: Latents) -> tuple[Ways, np.ndarray]:
    """The trajectories of some latents, and what a twin was given up to the crossing (moments, inputs)."""
    latents = Latents(*(jnp.asarray(leaf, jnp.float32) for leaf in latents))
    paths, heights, places = _all_of(course, latents)
    plan = course.model.plan if isinstance(course.model, TwinSteps) else None
    states, actions, given = np.asarray(paths.states), np.asarray(paths.actions), np.asarray(paths.given)
    crossed = np.argmax(np.asarray(heights) > 0, axis=1)
    before = np.arange(given.shape[1]) < np.where(crossed > 0, crossed, given.shape[1])[:, None]
    ways = Ways(
        tuple(f"state {i}" for i in range(states.shape[2])) if plan is None else plan.state,
        tuple(f"action {i}" for i in range(actions.shape[2])) if plan is None else plan.action,
        states,
        actions,
        np.asarray(latents.path),
        np.asarray(places),
        crossed,
        np.asarray(paths.outside).max(axis=1, initial=0.0),
        np.zeros(len(states), int),
    )
    return ways, given[before]


@eqx.filter_jit
def _all_of(course: Course, latents: Latents) -> tuple[Path, Array, Array]:
    paths = jax.vmap(course.follow)(latents)
    return paths, jax.vmap(course.heights)(paths), jax.vmap(course.place)(latents)


def _together(found: Sequence[Stressed]) -> Stressed:
    """Of several trainings."""
    likeliest = joined([one.likeliest for one in found])
    order = np.argsort(likeliest.distance, kind="stable")
    return Stressed(
        float(np.mean([one.probability for one in found])),
        (min(one.interval[0] for one in found), max(one.interval[1] for one in found)),
        found[0].limits,
        found[0].steps,
        np.concatenate([one.repeats for one in found]),
        tuple(level for one in found for level in one.levels),
        sum(one.calls for one in found),
        joined([one.trajectories for one in found]),
        likeliest[order],
        found[0].ends,
        tuple(found),
        next((one.fit for one in found if one.fit is not None and not one.fit.good), found[0].fit),
    )
