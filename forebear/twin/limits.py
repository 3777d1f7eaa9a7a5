"""The ends between which actions are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from forebear.errors import InputError, near_miss
from forebear.twin.dynamics import Plan

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

Bounds = Mapping[str, tuple[float, float]]
"""action -> least and greatest value"""


def action_ends(twin: Twin, plan: Plan, bounds: Bounds | None) -> np.ndarray:
    """Least and greatest value of every action (actions, 2): those given, or the range of the twin's data."""
    check_names(plan, bounds)
    return np.array([_ends(name, twin, plan, bounds or {}) for name in plan.action]).reshape(-1, 2)


def check_names(plan: Plan, bounds: Bounds | None) -> None:
    """Refuse bounds of what is no action."""
    for name in bounds or {}:
        if name not in plan.action:
            raise InputError(f"bounds: no action '{name}'. {near_miss(name, plan.action)}")


def _ends(name: str, twin: Twin, plan: Plan, bounds: Bounds) -> tuple[float, float]:
    if name in bounds:
        return check_ends(f"bounds of '{name}'", bounds[name])
    place = plan.variables.index(name)
    ranges = [twin.ranges[i] for i, (_, own) in enumerate(plan.places) if own == place]
    found = next((r for r in ranges if r is not None), None)
    if found is None:
        raise InputError(f"no bounds for action '{name}': the twin does not know any, so give bounds={{'{name}': …}}")
    return found.low, found.high


def check_ends(what: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Two finite numbers, the lower first.

    >>> check_ends("bounds of 'u'", (1.0, -1.0))
    Traceback (most recent call last):
    forebear.errors.InputError: bounds of 'u' must be two finite numbers, the lower first; got (1.0, -1.0)
    """
    low, high = ends
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(f"{what} must be two finite numbers, the lower first; got {ends}")
    return float(low), float(high)
