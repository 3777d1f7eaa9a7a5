"""What a user hands to `pets`, checked: a system to act in, its bounds, names and cost."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from forebear.control.ensembles.plan import Cost
from forebear.control.ensembles.renew import Names, Renewal
from forebear.control.ensembles.worlds import Environment, Simulated, World
from forebear.errors import InputError, check_whole, listed, near_miss
from forebear.twin.dynamics import resolve
from forebear.twin.limits import action_ends, check_ends
from forebear.twin.twin import Twin


def world_of(environment: Any, cost: Cost, start: Any, steps: int, bounds: Any) -> World:
    if isinstance(environment, Twin):
        from forebear.envs import TwinEnv

        if start is None:
            raise InputError("start: episodes of a twin need a table or a function to begin from")
        if resolve(None, environment).lags:
            raise InputError("the twin remembers earlier steps, which the ensemble does not: make it an environment")
        pay = _negative(cost)
        return Environment(TwinEnv(environment, start, pay, max_steps=steps, bounds=bounds))
    if hasattr(environment, "reset") and hasattr(environment, "step"):
        if start is not None:
            raise InputError("start: an environment knows where its episodes begin: leave it out")
        return Environment(environment)
    if not callable(environment):
        raise InputError(
            f"environment must be a Gymnasium environment, a twin or a step function; got {environment!r}"
        )
    if not callable(start):
        raise InputError("start: a step function needs a function (rng) -> state that says where episodes begin")
    return Simulated(environment, start, cost)


def _negative(cost: Cost) -> Cost:
    return lambda state, action, after: -cost(state, action, after)


def limits_of(environment: Any, bounds: Any, action: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(environment, Twin):
        ends = action_ends(environment, resolve(None, environment), bounds)
    elif bounds is not None:
        ends = np.array([check_ends(f"bounds of '{name}'", pair) for name, pair in _pairs(bounds, action)])
    else:
        space = getattr(environment, "action_space", None)
        if not (hasattr(space, "low") and np.isfinite([space.low, space.high]).all()):  # type: ignore[union-attr]
            raise InputError("bounds: the environment does not tell the ends of its actions: give (low, high)")
        ends = np.stack([np.ravel(space.low), np.ravel(space.high)], axis=1)  # type: ignore[union-attr]
    return ends[:, 0].astype(float), ends[:, 1].astype(float)


def _pairs(bounds: Any, action: Sequence[str] | None) -> list[tuple[Any, Any]]:
    if not isinstance(bounds, Mapping):
        return list(enumerate(bounds, 1))
    names = list(bounds) if action is None else list(action)
    for name in [*bounds, *names]:
        if name not in names or name not in bounds:
            raise InputError(f"bounds: no action '{name}'. {near_miss(name, names if name in bounds else bounds)}")
    return [(name, bounds[name]) for name in names]


def names_of(
    environment: Any, state: Sequence[str] | None, action: Sequence[str] | None, states: int, actions: int
) -> Names:
    if isinstance(environment, Twin):
        plan = resolve(None, environment)
        return Names(plan.state, plan.action)
    found = []
    for option, given, count, letter in (("state", state, states, "x"), ("action", action, actions, "u")):
        names = [f"{letter}{i + 1}" for i in range(count)] if given is None else list(given)
        if len(names) != count:
            raise InputError(f"{option} names {len(names)} columns, {listed(names)}, but there are {count}")
        found.append(tuple(names))
    if len(set(found[0] + found[1])) < states + actions:
        raise InputError(f"state and action name a column twice: {listed(found[0] + found[1])}")
    return Names(*found)


def seen_of(inputs: Sequence[str] | None, names: Names) -> np.ndarray:
    for name in inputs or ():
        if name not in names.inputs:
            raise InputError(f"inputs: no column '{name}'. {near_miss(name, names.inputs)}")
    return np.array([float(inputs is None or name in inputs) for name in names.inputs])


def renewal_of(every: int | None, options: Mapping[str, Any] | None) -> Renewal | None:
    if every is None:
        if options is not None:
            raise InputError("rediscover says how, and rediscover_every when: give both")
        return None
    check_whole("rediscover_every", every, 1)
    left = dict(options or {})
    rows = left.pop("rows", Renewal.rows)
    check_whole("rows of rediscover", rows, 100)
    return Renewal(every, rows, left)


def cost_of(cost: Any) -> Cost:
    """The cost as a function of (state, action, next state); one of (state, action) alone will do."""
    if not callable(cost):
        raise InputError(f"cost must be a function of a state, an action and the next state; got {cost!r}")
    return cost if _arguments(cost) != 2 else lambda state, action, after: cost(state, action)


def check_cost(cost: Cost, states: int, actions: int) -> None:
    """Refuse a cost that JAX cannot trace, or that is not one number."""
    state, action = (jax.ShapeDtypeStruct((size,), jnp.float32) for size in (states, actions))
    try:
        shape = jax.eval_shape(lambda *row: jnp.asarray(cost(*row)), state, action, state).shape
    except jax.errors.JAXTypeError:
        raise InputError("cost: JAX cannot trace it; write it in jax.numpy, without branches on values") from None
    if shape not in ((), (1,)):
        raise InputError(f"cost must return one number for one row; it returned an array of shape {shape}")


def _arguments(function: Any) -> int | None:
    """How many a function takes, where it tells."""
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
