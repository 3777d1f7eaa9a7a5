"""What a user asks for, checked: dynamics, starts, what drives them, and the limit, as one course."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.control.limits import Beyond, read_limits
from forebear.control.model import Model, TwinSteps
from forebear.errors import InputError, listed, near_miss
from forebear.rare.course import Course, Policy


def course_of(
    model: Model, start: Any, steps: int, limits: Any, policy: Any, actions: Any, disturbance: Any, episode: Any
) -> Course:
    """The course of these arguments of `forebear.stress`."""
    carried = model.begin(start, episode).astype(np.float32)
    first = np.stack([np.asarray(model.state(jnp.asarray(one))) for one in carried])
    driven, count = _drivers(model, steps, policy, actions, carried[0])
    reach = _reach(model, disturbance, count)
    limit = limits if callable(limits) and not isinstance(limits, Mapping) else read_limits(limits, model)
    periods = tuple(p for p, _ in model.plan.turns) if isinstance(model, TwinSteps) else (0.0,) * first.shape[1]
    if isinstance(limit, Beyond):
        over = [np.asarray(limit(jnp.asarray(one))).max() >= 0 for one in first]
        if any(over):
            raise InputError(f"start: row {int(np.argmax(over))} is beyond the limits already, before the first step")
    disturbed = tuple(int(place) for place in np.flatnonzero(reach))
    count = len(limit.names) if isinstance(limit, Beyond) else 1
    return Course(
        model=model,
        starts=jnp.asarray(carried),
        actions=driven,
        reach=jnp.asarray(reach, jnp.float32),
        limit=limit,
        scale=jnp.ones(count, jnp.float32),
        periods=periods,
        steps=steps,
        disturbed=disturbed,
    )


def _drivers(model: Model, steps: int, policy: Any, actions: Any, first: np.ndarray) -> tuple[Array | Policy, int]:
    """Actions (steps, actions) or a policy, and how many actions there are."""
    known = model.plan.action if isinstance(model, TwinSteps) else None
    if policy is not None and actions is not None:
        raise InputError("policy and actions are two answers to one question: give one of them")
    if policy is not None:
        if not callable(policy) or (known is not None and not known):
            what = f"got {policy!r}" if not callable(policy) else "and the twin has no action"
            raise InputError(f"policy must be a function (state) -> action; {what}")
        if known is not None:
            return policy, len(known)
        return policy, int(np.prod(jax.eval_shape(policy, jnp.asarray(first)).shape))
    if actions is None:
        if known:
            raise InputError(f"the twin is driven by {listed(known)}: give actions (steps, {len(known)}) or a policy")
        return jnp.zeros((steps, 0), jnp.float32), 0
    given = np.asarray(actions, np.float32)
    given = given[:, None] if given.ndim == 1 else given
    wanted = given.shape[-1] if known is None else len(known)
    if given.shape != (steps, wanted) or not np.isfinite(given).all():
        raise InputError(
            f"actions must be finite numbers of shape ({steps}, {wanted}), (steps, actions); got {np.shape(actions)}"
        )
    return jnp.asarray(given), wanted


def _reach(model: Model, disturbance: Any, count: int) -> np.ndarray:
    """Half the width of each action's disturbance (actions,)."""
    if isinstance(model, TwinSteps):
        if disturbance is not None and not isinstance(disturbance, Mapping):
            raise InputError(f"disturbance goes by name of an action, such as {{'u': 0.1}}; got {disturbance!r}")
        for name in disturbance or {}:
            if name not in model.plan.action:
                raise InputError(f"disturbance: no action '{name}'. {near_miss(name, model.plan.action)}")
        found = [(disturbance or {}).get(name, 0.0) for name in model.plan.action]
    else:
        found = [0.0] * count if disturbance is None else disturbance
        if isinstance(found, Mapping) or np.shape(found) != (count,):
            raise InputError(f"disturbance must hold a number for each of {count} actions; got {disturbance!r}")
    reach = np.asarray(found, float)
    if reach.ndim != 1 or not np.isfinite(reach).all() or (reach < 0).any():
        raise InputError(f"disturbance must be finite numbers of at least 0; got {disturbance!r}")
    return reach
