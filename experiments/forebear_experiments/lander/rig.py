"""Lunar Lander to land in, true or with the thrust of a twin; everything else stays Gymnasium's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorWrapper

from forebear.control.sac import Act
from forebear.errors import InputError, listed
from forebear.systems.lander import ACTIONS, STATES, TARGETS, tapped_lander
from forebear.twin.twin import Twin

LANDED = 200.0
"""an episode with a higher return counts as a landing"""


class LanderVectorEnv(VectorWrapper):
    """Many landers that step together and are truncated after 1,000 steps; they reset in the same step.

    With a twin of `dvx`, `dvy` and `domega`, as `systems.lander` names them, one call of it gives the thrust of all
    landers. When no engine fires the thrust is zero and the twin has no say: noise would keep a landed craft awake,
    and falling asleep is how a landing ends.

    >>> envs = LanderVectorEnv(2)
    >>> envs.reset(seed=0)[0].shape
    (2, 8)
    """

    def __init__(self, num_envs: int, twin: Twin | None = None):
        self._thrusts = np.zeros((num_envs, len(TARGETS)))
        self._draw = None if twin is None else _Thrust(twin)
        surrogates = [None if twin is None else partial(self._thrust_of, place) for place in range(num_envs)]
        makers = [partial(tapped_lander, surrogate, zero_when_off=True) for surrogate in surrogates]
        super().__init__(SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP))
        self._rng = np.random.default_rng()

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode everywhere; lander i has the seed `seed + i`."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._seen, info = self.env.reset(seed=seed, options=options)
        return self._seen, info

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act once in every lander."""
        if self._draw is not None:
            self._thrusts = self._draw(conditions(self._seen, actions), self._rng)
        self._seen, reward, terminated, truncated, info = self.env.step(actions)
        return self._seen, reward, terminated, truncated, info

    def _thrust_of(self, place: int, seen: np.ndarray, action: np.ndarray) -> np.ndarray:
        del seen, action
        return self._thrusts[place]


def conditions(seen: np.ndarray, actions: Any) -> dict[str, np.ndarray]:
    """What the thrust is conditioned on, column by column: the observations before the step and the clipped actions.

    >>> list(conditions(np.zeros((1, 8)), np.zeros((1, 2))))[-3:]
    ['right', 'a1', 'a2']
    """
    whole = np.concatenate([seen, np.clip(np.asarray(actions, float), -1, 1)], axis=1)
    return dict(zip((*STATES, *ACTIONS), whole.T, strict=True))


class _Thrust:
    """Draws of dvx, dvy and domega at many rows at once."""

    def __init__(self, twin: Twin):
        if sorted(twin.targets) != sorted(TARGETS):
            raise InputError(f"the twin must have the targets {listed(TARGETS)}; it has {listed(twin.targets)}")
        self._core, self._inputs = twin.core(), twin.inputs
        self._order = [twin.targets.index(target) for target in TARGETS]
        self._push = jax.jit(self._core.push)

    def __call__(self, given: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
        x = np.stack([given[name] for name in self._inputs], axis=1).astype(np.float32)
        z = rng.standard_normal((len(x), self._core.latents), np.float32)
        return np.asarray(self._push(self._core.params, x, z))[:, self._order].astype(float)


def fly(act: Act, seeds: Sequence[int], together: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths of true episodes with these seeds; as many landers as `together` are in the air at once.

    >>> returns, lengths = fly(lambda seen: np.zeros((len(seen), 2)), [6666, 6667], together=2)
    >>> bool((returns < 0).all()), lengths.shape
    (True, (2,))
    """
    envs = [tapped_lander() for _ in range(min(together, len(seeds)))]
    seen = np.stack([env.reset(seed=int(seed))[0] for env, seed in zip(envs, seeds, strict=False)])
    flown = list(range(len(envs)))
    """the episode of each lander; -1 when there is none left"""
    returns, lengths = np.zeros(len(seeds)), np.zeros(len(seeds), int)
    waiting = iter(range(len(envs), len(seeds)))
    while max(flown) >= 0:
        actions = act(seen)
        for place, (env, episode) in enumerate(zip(envs, flown, strict=True)):
            if episode < 0:
                continue
            seen[place], reward, terminated, truncated, _ = env.step(actions[place])
            returns[episode] += float(reward)
            lengths[episode] += 1
            if terminated or truncated:
                flown[place] = next(waiting, -1)
                if flown[place] >= 0:
                    seen[place] = env.reset(seed=int(seeds[flown[place]]))[0]
    for env in envs:
        env.close()
    return returns, lengths
