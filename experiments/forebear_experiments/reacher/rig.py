"""Several seven-joint arms to act in at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forebear.control.ensembles.worlds import Seen
from forebear.systems.reacher import ANGLES, JOINTS, LARGEST_TORQUE, SPEEDS, TORQUES, Arm

GOALS = ("goal1", "goal2", "goal3")
STATE = (*ANGLES, *GOALS, *SPEEDS)
"""names of what an arm shows, in its order"""
ACTION = TORQUES
LIMITS = (np.full(JOINTS, -LARGEST_TORQUE), np.full(JOINTS, LARGEST_TORQUE))


class Arms:
    """A world of arms that reach for a goal each; see `forebear.systems.reacher.Arm`.

    >>> arms = Arms()
    >>> states = arms.reset([np.random.default_rng(run) for run in range(2)])
    >>> shown = arms.step(np.zeros((2, 7)))
    >>> states.shape, shown.states.shape, shown.rewards.shape
    ((2, 17), (2, 17), (2,))
    """

    def __init__(self) -> None:
        self._arm = Arm()

    def reset(self, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        """Stretched out and at rest, each with a goal of its own."""
        self._states = np.stack([self._arm.reset(rng) for rng in rngs])
        return self._states

    def step(self, actions: np.ndarray) -> Seen:
        """One step of every arm; episodes do not end by themselves."""
        self._states, rewards = self._arm.step_many(self._states, actions)
        return Seen(self._states, rewards, False)


def arm_cost(state: Any, action: Any, after: Any) -> Any:
    """Minus the reward: squared distance to the goal where the step ends, and the effort."""
    return -Arm.reward(after, action)
