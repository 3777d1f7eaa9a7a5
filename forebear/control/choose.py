"""Which of several trained policies to take: the one with the largest return in the twin, no true episode needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from forebear.errors import InputError, check_whole

Policy = Callable[[np.ndarray], Any]
"""observation -> action"""


class Choice(NamedTuple):
    """A policy, and what speaks for it."""

    best: int
    """its place in the list"""
    returns: np.ndarray
    """(policies, episodes) in the environment that they were judged in"""


def choose(policies: Sequence[Policy], env: Any, *, episodes: int = 20, seed: int = 0) -> Choice:
    """The policy of the largest mean return, where all of them meet the same starts and the same noise.

    Arguments:
        policies: functions observation -> action, such as `lambda seen: model.predict(seen, deterministic=True)[0]`.
        env: a Gymnasium environment, such as `forebear.envs.TwinEnv`.
        episodes: of each policy; every one ends by itself or by its limit of time.
        seed: of the first episode; the others follow it.

    >>> class Line:
    ...     def reset(self, seed):
    ...         self.at, self.left = np.random.default_rng(seed).normal(), 5
    ...         return np.array([self.at]), {}
    ...     def step(self, action):
    ...         self.at, self.left = self.at + action, self.left - 1
    ...         return np.array([self.at]), -abs(self.at), False, not self.left, {}
    >>> choose([lambda seen: 0.0, lambda seen: -seen[0]], Line(), episodes=4).best
    1
    """
    check_whole("episodes", episodes, 1)
    check_whole("seed", seed, 0)
    if not policies:
        raise InputError("policies: there is none to choose from")
    returns = np.array([[_played(policy, env, seed + one) for one in range(episodes)] for policy in policies])
    return Choice(int(np.argmax(returns.mean(axis=1))), returns)


def _played(policy: Policy, env: Any, seed: int) -> float:
    seen, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        seen, reward, ended, cut_off, _ = env.step(policy(seen))
        total, over = total + float(reward), bool(ended or cut_off)
    return total
