"""The spaces of an environment, from what the twin knows of its columns."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from forebear.errors import InputError, listed
from forebear.twin.dynamics import Plan
from forebear.twin.limits import Bounds, action_ends, check_names
from forebear.twin.twin import Twin


def action_space(twin: Twin, plan: Plan, bounds: Bounds | None) -> spaces.Space:
    """Numbers within `bounds`, which default to the range of the data; or codes, where actions are categories."""
    if not plan.action:
        raise InputError("an environment needs an action, and every input of the twin is a state: use twin.rollout")
    check_names(plan, bounds)
    levels = plan.levels[len(plan.state) :]
    if not any(levels):
        low, high = action_ends(twin, plan, bounds).astype(np.float32).T
        return spaces.Box(low, high, dtype=np.float32)
    if not all(levels):
        raise InputError(f"actions {listed(plan.action)} are part labels, part numbers: use TwinEnv with one kind")
    if len(levels) == 1:
        return spaces.Discrete(len(levels[0]))
    return spaces.MultiDiscrete([len(labels) for labels in levels])


def action_limits(space: spaces.Space) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """What numbers are clipped to; None for codes."""
    if not isinstance(space, spaces.Box):
        return None
    return tuple(map(float, space.low)), tuple(map(float, space.high))


def observation_space(size: int, given: spaces.Space | None) -> spaces.Space:
    """Vectors of any numbers, or the space that the user gave, when it is of that size."""
    if given is None:
        return spaces.Box(-np.inf, np.inf, (size,), np.float32)
    if not isinstance(given, spaces.Box) or given.shape != (size,) or given.dtype != np.float32:
        raise InputError(f"observation_space must be a Box of shape ({size},) and dtype float32; got {given}")
    return given
