"""What was seen: observations as arrays, and how likely they are at a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax import Array

from forebear.assimilation.transition import deviation
from forebear.data.source import open_frame
from forebear.errors import InputError, listed, near_miss, positive
from forebear.twin.dynamics import Plan
from forebear.twin.given import read_matrix
from forebear.twin.history import Variable

LogDensity = Callable[[Array, Array], Array]
"""(observed value, value of the state) -> log density of the observation; traceable by JAX"""
Noise = Mapping[str, float | LogDensity]


class Observed(NamedTuple):
    """A row for each moment, the first of which is that of the start."""

    y: np.ndarray
    """(rows, observed) 0 where nothing was seen"""
    seen: np.ndarray
    """(rows, observed) whether something was"""
    actions: np.ndarray
    """(rows, actions) taken at each moment; that of the last is not used"""
    places: tuple[int, ...]
    """of each observed column: its state"""
    spread: np.ndarray
    """(observed,) standard deviations of Gaussian noise; NaN where a function says how likely a value is"""
    laws: tuple[LogDensity | None, ...]


def read_observations(observations: Any, plan: Plan, noise: Any) -> Observed:
    """Columns of the observed states, NaN where one was not seen, and of every action."""
    frame, _ = open_frame(observations)
    names = _observed_names(frame, plan, noise)
    y = np.stack([_numbers(frame, name) for name in names], axis=1)
    rows = frame.iloc[:-1] if plan.action else frame
    actions = np.zeros((len(frame), len(plan.action)), np.float32)
    if plan.action and len(rows):
        labels = plan.levels[len(plan.state) :]
        columns = [Variable(name, own) for name, own in zip(plan.action, labels, strict=True)]
        actions[:-1] = read_matrix(rows.reset_index(drop=True), columns, "observations")
    if not len(frame):
        raise InputError("observations: no rows: give one for each moment, empty where nothing was seen")
    spread = np.array([np.nan if callable(noise[name]) else noise[name] for name in names], np.float32)
    laws = tuple(noise[name] if callable(noise[name]) else None for name in names)
    seen = ~np.isnan(y)
    places = tuple(plan.state.index(name) for name in names)
    return Observed(np.where(seen, y, 0.0), seen, actions, places, spread, laws)


def _observed_names(frame: pd.DataFrame, plan: Plan, noise: Any) -> list[str]:
    if not isinstance(noise, Mapping):
        raise InputError(f"noise must be a dict from observed states to standard deviations; got {noise!r:.60}")
    names = [name for name in plan.state if name in frame.columns]
    if not names:
        raise InputError(f"observations: no column is a state of the twin ({listed(plan.state)})")
    for name in noise:
        if name not in names:
            raise InputError(f"noise: no observed state '{name}'. {near_miss(str(name), names)}")
    for name in names:
        if name not in noise:
            raise InputError(f"noise: none for '{name}', which is observed: say noise={{'{name}': …}}")
        if not callable(noise[name]):
            positive()(f"noise of '{name}'", noise[name])
        if plan.levels[plan.state.index(name)]:
            raise InputError(f"observations: '{name}' is a category, and only numbers can be observed")
    missing = [name for name in plan.action if name not in frame.columns]
    if missing:
        raise InputError(f"observations: no column '{missing[0]}', an action that drives the twin: add what was done")
    return names


def _numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    try:
        numbers = frame[name].to_numpy(float, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"observations: '{name}' holds something that is no number") from None
    if np.isinf(numbers).any():
        raise InputError(f"observations: '{name}' holds an infinite number: leave the cell empty")
    return numbers


def log_likelihood(observed: Observed, plan: Plan, states: Array, y: Array, seen: Array) -> Array:
    """Of each member (members,), of states (members, states), at one moment."""
    total, apart = jnp.zeros(len(states)), innovations(observed, plan, states, y)
    for i, (place, law) in enumerate(zip(observed.places, observed.laws, strict=True)):
        if law is None:
            spread = observed.spread[i]
            own = -0.5 * (apart[:, i] / spread) ** 2 - jnp.log(spread) - 0.5 * jnp.log(2 * jnp.pi)
        else:
            own = jax.vmap(law, (None, 0))(y[i], states[:, place])
        total = total + jnp.where(seen[i], own, 0.0)
    return total


def innovations(observed: Observed, plan: Plan, states: Array, y: Array) -> Array:
    """Observations minus states (…, observed), angles the short way round."""
    places = np.array(observed.places)
    full = jnp.zeros(states.shape).at[..., places].set(y - states[..., places])
    return deviation(plan, full)[..., places]
