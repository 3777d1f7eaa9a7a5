"""What a learner acts in: several runs side by side, all of the same length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from forebear.control.ensembles.plan import Cost
from forebear.errors import InputError


class Seen(NamedTuple):
    """What a step shows."""

    states: np.ndarray
    """(runs, states)"""
    rewards: np.ndarray
    """(runs,)"""
    over: bool
    """whether the episodes end here"""


class World(Protocol):
    """Episodes of several runs; a run is told apart by its place alone."""

    def reset(self, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        """Begin anew: states (runs, states)."""
        ...

    def step(self, actions: np.ndarray) -> Seen:
        """Act once in every run."""
        ...


class Environment:
    """One Gymnasium environment, or anything with its `reset` and `step`, as a world of one run."""

    def __init__(self, env: Any):
        self.env = env

    def reset(self, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        """Begin anew, seeded by the run's generator."""
        observation, _ = self.env.reset(seed=int(rngs[0].integers(2**31)))
        return _row(observation)

    def step(self, actions: np.ndarray) -> Seen:
        """Act once, in the type and shape that the environment asks for."""
        space = getattr(self.env, "action_space", None)
        action = actions[0] if space is None else actions[0].astype(space.dtype).reshape(space.shape)
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return Seen(_row(observation), np.array([reward], float), bool(terminated or truncated))


class Simulated:
    """A step function of a user's as a world of one run; what it pays is the cost, with its sign turned."""

    def __init__(
        self,
        step: Callable[[np.ndarray, np.ndarray, np.random.Generator], Any],
        start: Callable[[np.random.Generator], Any],
        cost: Cost,
    ):
        self._step, self._start, self._cost = step, start, cost

    def reset(self, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        """Begin where `start` says."""
        self._rng = rngs[0]
        self._states = _row(self._start(self._rng))
        return self._states

    def step(self, actions: np.ndarray) -> Seen:
        """Move on by the step function."""
        before, action = self._states[0], actions[0]
        after = _row(self._step(before, action, self._rng))
        if after.shape != self._states.shape:
            raise InputError(
                f"the step function must return {before.size} numbers, as it got; it returned {after.size}"
            )
        self._states = after
        return Seen(after, np.array([-float(self._cost(before, action, after[0]))]), False)


def _row(values: Any) -> np.ndarray:
    found = np.asarray(values, float).reshape(1, -1)
    if not np.isfinite(found).all():
        raise InputError("the environment showed a state that is not a finite number: there is nothing to learn from")
    return found
