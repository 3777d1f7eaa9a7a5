"""What one environment and many have in common: a twin, the user's rules, where episodes start and how they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from forebear.envs.rules import Rules
from forebear.envs.spaces import Bounds, action_limits, action_space, observation_space
from forebear.envs.transition import CompiledTransition, PlainTransition, Transition
from forebear.errors import InputError, check_whole
from forebear.twin.dynamics import Dynamics, Plan, resolve
from forebear.twin.history import read_starts
from forebear.twin.twin import Twin


@dataclass(frozen=True, eq=False)
class Starts:
    """Histories to begin with: from a table, drawn with replacement, or as many as asked from a function."""

    table: np.ndarray | None
    draw_some: Callable[[np.random.Generator, int], Any] | None
    plan: Plan
    episode: str | None

    @classmethod
    def of(cls, start: Any, plan: Plan, episode: str | None) -> Starts:
        """The starts that a user means."""
        if callable(start):
            return cls(None, start, plan, episode)
        return cls(read_starts(start, plan, episode), None, plan, episode)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """So many histories (count, lags + 1, variables)."""
        if self.table is not None:
            return self.table[rng.integers(len(self.table), size=count)]
        assert self.draw_some is not None
        found = read_starts(self.draw_some(rng, count), self.plan, self.episode)
        if len(found) != count:
            raise InputError(f"start(rng, {count}) must return {count} starts; it returned {len(found)}")
        return found


@dataclass(frozen=True, eq=False)
class World:
    """All but the state."""

    plan: Plan
    starts: Starts
    transition: Transition
    action_space: spaces.Space
    observation_space: spaces.Space
    max_steps: int | None
    outside_limit: float | None

    @property
    def compiled(self) -> bool:
        """Whether a whole step is one compiled function."""
        return isinstance(self.transition, CompiledTransition)


def make_world(
    twin: Twin,
    start: Any,
    rules: Rules,
    *,
    dynamics: Dynamics | None,
    max_steps: int | None,
    bounds: Bounds | None,
    space: spaces.Space | None,
    outside_limit: float | None,
    episode: str | None,
) -> World:
    """Check everything that a user gave, and choose how to step."""
    if max_steps is not None:
        check_whole("max_steps", max_steps, 1)
    if outside_limit is not None and not outside_limit >= 0:
        raise InputError(f"outside_limit must be a number of at least 0, or None; got {outside_limit!r}")
    plan = resolve(dynamics, twin, partial=rules.step_rest is not None)
    starts = Starts.of(start, plan, episode)
    actions = action_space(twin, plan, bounds)
    traceable = rules.traceable(plan, len(twin.targets))
    kind = CompiledTransition if traceable else PlainTransition
    transition = kind(twin.core(), plan, rules, action_limits(actions))
    if isinstance(transition, CompiledTransition):
        size = transition.size()
    else:
        # Only a real start will do: a rule that JAX cannot trace may not take just any numbers.
        size = transition.observe(starts.draw(np.random.default_rng(0), 1)).shape[1]
    return World(plan, starts, transition, actions, observation_space(size, space), max_steps, outside_limit)
