"""The state of a partly observed system from noisy observations: one call."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from forebear.assimilation.ensemble import ensemble_filter
from forebear.assimilation.observed import Noise, Observed, read_observations
from forebear.assimilation.particle import Final, Told, particle_filter
from forebear.assimilation.result import Assimilated, States, states_of
from forebear.assimilation.transition import Step, Transition, step_of
from forebear.errors import InputError, check_whole, near_miss, positive
from forebear.storage.memory import check_room
from forebear.twin.dynamics import Dynamics
from forebear.twin.history import read_starts
from forebear.twin.twin import Twin

Method = Literal["particle", "ensemble"]
METHODS = ("particle", "ensemble")
# Of the members, below which they are drawn anew.
_POOR = 0.5
# So few that count are no sample of anything.
_FEWEST = 10.0


def assimilate(
    twin: Twin | Transition,
    observations: Any,
    *,
    start: Any,
    noise: Noise,
    method: Method = "particle",
    particles: int = 1_000,
    smooth: int = 0,
    inflation: float = 1.0,
    near: Any = None,
    dynamics: Dynamics | None = None,
    episode: str | None = None,
    seed: int = 0,
) -> Assimilated:
    """States of a system that was seen in part, with noise and gaps; the twin says how they move.

    The twin is one that moves states, as of a table by `forebear.lagged`, and the noise of its law is that of the
    system. Memory is that of training: a member is the recent past that the twin looks at.

    Arguments:
        observations: a table with a row for each step of the twin, the first of which is the moment of the start:
            columns of the states that were seen, NaN where one was not, and of every action, taken at that row.
        start: what is known before the first row: draws of the state, one a row, or of the recent past, as
            `Twin.rollout` takes starts (with `episode`).
        noise: for each observed state the standard deviation of the noise of its observations, or, for the particle
            filter, a function (observed, state) -> log density that JAX can trace.
        method: "particle" (bootstrap filter: right for any law and noise, for few states) or "ensemble" (ensemble
            transform Kalman filter: for many states, where laws are not far from Gaussian).
        particles: members.
        smooth: rows that an estimate waits for: with 20, the state at row 5 is told from rows up to 25.
        inflation: by how much an ensemble's deviations are widened before each analysis; few members need some.
        near: weights (states, states) of how much an observation of one state may say of another, for ensembles that
            are small beside the number of states; see `forebear.assimilation.ring`.
        dynamics: what the columns of the twin mean, where their names do not say it.

    >>> walk = Transition(["x"], lambda state, action, key: state + jr.normal(key, state.shape))
    >>> told = assimilate(walk, {"x": [0.0, np.nan, 2.0]}, start={"x": [0.0]}, noise={"x": 0.1}, seed=1)
    >>> told.mean.shape, bool(abs(told.mean[2, 0] - 2.0) < 0.1)
    ((3, 1), True)
    """
    check_whole("particles", particles, 2)
    check_whole("smooth", smooth, 0)
    check_whole("seed", seed, 0)
    positive()("inflation", inflation)
    if method not in METHODS:
        raise InputError(f"method is {method!r}. {near_miss(method, METHODS)}")
    step = step_of(twin, dynamics)
    observed = read_observations(observations, step.plan, noise)
    rows, states = len(observed.y), len(step.plan.state)
    check_room(f"{particles:,} members of {rows:,} rows", particles * states * (2 * rows + 2 * smooth))
    moments = _members(read_starts(start, step.plan, episode), int(particles), seed)
    if method == "ensemble":
        _check_ensemble(step, observed)
        weights = _near(near, observed, states)
        told, final = ensemble_filter(step, observed, moments, int(smooth), float(inflation), weights, jr.key(seed))
    else:
        if near is not None or inflation != 1.0:
            raise InputError(
                "near and inflation are options of an ensemble: leave them out, or say method='ensemble'"
            )
        told, final = particle_filter(step, observed, moments, int(smooth), _POOR, jr.key(seed))
    _tell_poverty(np.asarray(told.effective), np.asarray(told.evidence), method)
    return _assimilated(step, told, final, int(smooth))


def _members(starts: np.ndarray, count: int, seed: int) -> jnp.ndarray:
    """As many as asked for: each start equally often, and the rest drawn."""
    rng = np.random.default_rng(seed)
    whole = np.tile(np.arange(len(starts)), count // len(starts))
    rest = rng.permutation(len(starts))[: count - len(whole)]
    return jnp.asarray(starts[np.concatenate([whole, rest])], jnp.float32)


def _check_ensemble(step: Step, observed: Observed) -> None:
    if any(law is not None for law in observed.laws):
        raise InputError("noise: an ensemble takes standard deviations: use method='particle' for other noise")
    if any(step.plan.levels[: len(step.plan.state)]):
        raise InputError("a state is a category, which no ensemble can average: use method='particle'")


def _near(near: Any, observed: Observed, states: int) -> jnp.ndarray | None:
    if near is None:
        return None
    weights = np.asarray(near, float)
    if weights.shape != (states, states) or not ((weights >= 0) & (weights <= 1)).all():
        raise InputError(f"near must hold weights between 0 and 1, ({states}, {states}); got shape {weights.shape}")
    return jnp.asarray(weights[:, list(observed.places)], jnp.float32)


def _tell_poverty(effective: np.ndarray, evidence: np.ndarray, method: str) -> None:
    """Whether members ran out, in one warning."""
    remedy = "use more particles, a wider start or wider noise"
    remedy += ", or method='ensemble'" if method == "particle" else ""
    lost = np.flatnonzero(~np.isfinite(evidence))
    if len(lost):
        warnings.warn(
            f"no member can explain what was seen at row {lost[0]} (and {len(lost) - 1} more): {remedy}", stacklevel=3
        )
    elif effective.min() < _FEWEST and method == "particle":
        row = int(np.argmin(effective))
        few = int((effective < _FEWEST).sum())
        warnings.warn(
            f"few members count: {effective[row]:.1f} at row {row}, fewer than {_FEWEST:.0f} at {few} of "
            f"{len(effective)} rows: {remedy}",
            stacklevel=3,
        )


def _assimilated(step: Step, told: Told, final: Final, smooth: int) -> Assimilated:
    states, weights = np.asarray(told.states), np.asarray(told.weights, float)
    weights = weights / weights.sum(axis=1, keepdims=True)
    smoothed = None
    if smooth:
        smoothed = _smoothed(step, np.asarray(told.later), weights, final, min(smooth, len(states)))
    return Assimilated(
        states_of(step.plan, states, weights),
        smoothed,
        np.asarray(told.effective),
        np.asarray(told.evidence),
        step.plan.action,
        step,
        np.asarray(final.moments),
    )


def _smoothed(step: Step, later: np.ndarray, weights: np.ndarray, final: Final, smooth: int) -> States:
    """Rows that waited long enough, then the last ones, told by all rows that there are."""
    lag = final.past.shape[1]
    last = np.asarray(final.past)[:, :smooth][:, ::-1].swapaxes(0, 1)
    members = np.concatenate([later[lag:], last])
    own = np.concatenate([weights[lag:], np.broadcast_to(weights[-1], (smooth, weights.shape[1]))])
    return states_of(step.plan, members, own)
