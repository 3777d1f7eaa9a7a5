"""Learn to act in a system nobody has a model of: probabilistic ensembles with trajectory sampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd

from forebear.control.ensembles.asked import (
    check_cost,
    cost_of,
    limits_of,
    names_of,
    renewal_of,
    seen_of,
    world_of,
)
from forebear.control.ensembles.cem import Limits
from forebear.control.ensembles.loop import Progress, Task, first_episode, next_trial
from forebear.control.ensembles.plan import act
from forebear.control.ensembles.renew import renewed
from forebear.control.ensembles.settings import PetsSettings
from forebear.errors import check_whole
from forebear.run.events import progress as show_progress


@dataclass(frozen=True, eq=False)
class Pets:
    """What was learned, and how it went."""

    returns: np.ndarray
    """(trials,) what each trial was paid"""
    inputs: tuple[tuple[str, ...], ...]
    """what the ensemble saw in each trial"""
    table: pd.DataFrame
    """every transition: states, actions, and increments d_{state}; ready for `forebear.discover`"""
    task: Task = field(repr=False)
    progress: Progress = field(repr=False)

    @property
    def best(self) -> np.ndarray:
        """(trials,) the best return so far."""
        return np.maximum.accumulate(self.returns)

    def policy(self, seed: int = 0) -> Callable[[Any], np.ndarray]:
        """A function from state to action, which plans on from its last plan: take a new one for each episode."""
        limits = Limits(*(jnp.asarray(end, jnp.float32) for end in self.task.limits))
        plan = jnp.tile(limits.middle, (1, self.task.settings.cem.horizon, 1))
        key = jr.key(seed)

        def decide(state: Any) -> np.ndarray:
            nonlocal plan, key
            key, now = jr.split(key)
            row = jnp.asarray(state, jnp.float32).reshape(1, -1)
            ensemble = self.progress.learner.ensemble
            options = {"cost": self.task.cost, "settings": self.task.settings}
            action, plan = act(ensemble, row, plan, limits, now[None], **options)
            return np.asarray(action[0], float)

        return decide


def pets(
    environment: Any,
    cost: Callable[..., Any],
    bounds: Mapping[str, tuple[float, float]] | Sequence[tuple[float, float]] | None = None,
    *,
    start: Any = None,
    trials: int = 20,
    steps: int = 200,
    state: Sequence[str] | None = None,
    action: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    rediscover_every: int | None = None,
    rediscover: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: bool | None = None,
    **settings: Any,
) -> Pets:
    """Learn a model of a system while acting in it, and act by planning with the model.

    One episode of random actions, then trial after trial: plan at every step, by the cross-entropy method over
    particles of an ensemble that draw from its members' laws; add the episode to the data; train on all of it.

    Arguments:
        environment: a Gymnasium environment (or anything with its `reset` and `step`) that shows its state as a
            vector; a function (state, action, rng) -> next state, with numpy arrays; or a twin, memoryless, which
            then is the system that is acted in. To plan in a twin without learning, see `forebear.control.cem`.
        cost: (state, action, next state) -> number, of one row, in jax.numpy. It is what plans are judged by; the
            returns are the environment's own rewards, or minus the cost where it has none.
        bounds: of each action, by name or in order; by default those of the environment's action space, or the range
            of the twin's data.
        start: where episodes of a function or of a twin begin: a function (rng) -> state, or for a twin what
            `forebear.envs.TwinEnv` takes.
        trials: planned episodes.
        steps: of an episode, at most.
        state: names of the columns of the state; by default x1, x2, …, or those of the twin.
        action: names of the actions; by default u1, u2, …, or those of the twin.
        inputs: what the ensemble sees of them, for instance the ancestors that a discovery found; by default all.
        rediscover_every: discover the inputs anew after every so many trials, from the data so far.
        rediscover: options of `forebear.discover` for that: `targets`, `candidates` (other states stay in), `rule`,
            settings; and `rows`, how many rows it sees at most (5,000).
        seed: same environment, seed and device, same result.
        progress: show a bar; None shows it in a terminal and in a notebook.
        **settings: any field of `EnsembleSettings` and `CemSettings`.

    >>> def push(state, action, rng):  # a cart on a rail, to be brought to 0
    ...     place, speed = state
    ...     return np.array([place + 0.1 * speed, speed + 0.1 * action[0] + 0.01 * rng.normal()])
    >>> small = dict(width=16, depth=2, candidates=40, elites=5, horizon=8, particles=5, epochs=20)
    >>> learned = pets(push, lambda state, action, after: jnp.sum(after**2), [(-1, 1)],
    ...     start=lambda rng: np.array([1.0, 0.0]), trials=2, steps=20, state=["place", "speed"], **small)
    >>> learned.returns.shape, learned.inputs[-1], learned.policy()([1.0, 0.0]).shape
    ((2,), ('place', 'speed', 'u1'), (1,))
    """
    check_whole("trials", trials, 1)
    check_whole("steps", steps, 1)
    check_whole("seed", seed, 0)
    config, pay = PetsSettings.resolve(settings), cost_of(cost)
    world = world_of(environment, pay, start, steps, bounds)
    size = world.reset([np.random.default_rng(seed)]).shape[1]
    limits = limits_of(environment, bounds, action)
    check_cost(pay, size, len(limits[0]))
    names = names_of(environment, state, action, size, len(limits[0]))
    renew = renewed(renewal_of(rediscover_every, rediscover), names, (seed,))
    task = Task(world, pay, limits, size, steps, trials, config, (seed,), renew)
    with show_progress(progress) as show:
        show("a random episode", 0.0)
        done = first_episode(task, seen_of(inputs, names)[None])
        while done.trial < trials:
            done = next_trial(task, done)
            show(f"trial {done.trial}: {done.returns[0, -1]:.4g}", done.trial / trials)
    shown = tuple(names.seen(row) for row in done.shown[0])
    return Pets(done.returns[0], shown, names.table(*done.data(0)), task, done)
