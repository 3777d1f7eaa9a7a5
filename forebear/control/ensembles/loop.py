"""Act, learn, act again: trials of several runs that advance together, and can be taken up where they stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array

from forebear.control.ensembles.cem import Limits
from forebear.control.ensembles.learn import Examples, Learner, begin, learn, standardised, with_constants
from forebear.control.ensembles.plan import Cost, act
from forebear.control.ensembles.settings import PetsSettings
from forebear.control.ensembles.worlds import World
from forebear.storage.arrays import load_arrays, save_arrays

Policy = Callable[[np.ndarray, int], np.ndarray]
"""(states (runs, states), step) -> actions (runs, actions)"""

# The parts of a trial that draw, each from keys of its own.
_FRESH, _PLAN, _LEARN = range(3)


Renew = Callable[["Progress"], np.ndarray]
"""asked after every trial, before the training: which inputs each run's ensemble is to see (runs, inputs)"""


@dataclass(frozen=True)
class Task:
    """What is to be learned, and how."""

    world: World
    cost: Cost
    limits: tuple[np.ndarray, np.ndarray]
    """(actions,) low and high"""
    states: int
    steps: int
    """of an episode, at most"""
    trials: int
    settings: PetsSettings
    seeds: tuple[int, ...]
    """one per run; runs of the same seed have the same random first episode and the same starts"""
    renew: Renew | None = None


@dataclass(frozen=True)
class Progress:
    """All there is after some trials."""

    learner: Learner
    """of all runs, stacked"""
    seen: np.ndarray
    """(runs, inputs) which inputs each run's ensemble sees"""
    x: np.ndarray
    """(runs, capacity, inputs) states and actions; those after the first `rows` are empty"""
    y: np.ndarray
    """(runs, capacity, states) increments"""
    rows: int
    returns: np.ndarray
    """(runs, trials so far); the random first episode is not among them"""
    shown: np.ndarray
    """(runs, trials so far, inputs) what was seen in each trial"""
    seconds: float = 0.0
    """that the trials took, compilation included"""

    def data(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (rows, inputs) and increments (rows, states) of a run so far."""
        return self.x[run, : self.rows], self.y[run, : self.rows]

    @property
    def trial(self) -> int:
        """How many trials are done."""
        return self.returns.shape[1]


def first_episode(task: Task, seen: np.ndarray) -> Progress:
    """Random actions for one episode, and what can be learned from them."""
    runs, actions = len(task.seeds), len(task.limits[0])
    keys = jnp.stack([_key(seed, 0, _FRESH) for seed in task.seeds])
    capacity = (task.trials + 1) * task.steps
    empty = Progress(
        _fresh(task, jnp.asarray(seen, jnp.float32), keys),
        np.asarray(seen, float),
        np.zeros((runs, capacity, task.states + actions)),
        np.zeros((runs, capacity, task.states)),
        0,
        np.zeros((runs, 0)),
        np.zeros((runs, 0, task.states + actions)),
    )
    rngs = _rngs(task, 0)
    drawn = np.stack([rng.uniform(*task.limits, (task.steps, actions)) for rng in rngs], axis=1)
    progress, _ = _episode(task, empty, lambda states, step: drawn[step], rngs)
    return _learned(task, progress)


def next_trial(task: Task, progress: Progress) -> Progress:
    """One planned episode of every run, and training on all data so far."""
    started = time.perf_counter()
    after, returns = planned_episode(task, progress)
    paid = np.concatenate([progress.returns, returns[:, None]], axis=1)
    shown = np.concatenate([progress.shown, progress.seen[:, None]], axis=1)
    after = replace(after, returns=paid, shown=shown)
    if task.renew is not None and after.trial < task.trials:
        after = replace(after, seen=task.renew(after))
    after = _learned(task, after)
    return replace(after, seconds=progress.seconds + time.perf_counter() - started)


def planned_episode(task: Task, progress: Progress) -> tuple[Progress, np.ndarray]:
    """The data of one more episode of every run, planned step by step, and what each was paid (runs,)."""
    trial, limits = progress.trial + 1, Limits(*(jnp.asarray(end, jnp.float32) for end in task.limits))
    keys = jnp.stack([_key(seed, trial, _PLAN) for seed in task.seeds])
    horizon = task.settings.cem.horizon
    plans = jnp.broadcast_to(limits.middle, (len(task.seeds), horizon, len(limits.low)))

    def policy(states: np.ndarray, step: int) -> np.ndarray:
        nonlocal plans
        now = _folded(keys, step)
        told = jnp.asarray(states, jnp.float32)
        ensembles = progress.learner.ensemble
        actions, plans = act(ensembles, told, plans, limits, now, cost=task.cost, settings=task.settings)
        return np.asarray(actions, float)

    return _episode(task, progress, policy, _rngs(task, trial))


def _episode(
    task: Task, progress: Progress, policy: Policy, rngs: Sequence[np.random.Generator]
) -> tuple[Progress, np.ndarray]:
    """The data of one more episode, and what each run was paid in it."""
    rows, room = progress.rows, progress.rows + task.steps
    x, y = _grown(progress.x, room), _grown(progress.y, room)
    states, returns = task.world.reset(rngs), np.zeros(len(rngs))
    for step in range(task.steps):
        actions = np.clip(policy(states, step), *task.limits)
        shown = task.world.step(actions)
        x[:, rows], y[:, rows] = np.concatenate([states, actions], axis=1), shown.states - states
        states, returns, rows = shown.states, returns + shown.rewards, rows + 1
        if shown.over:
            break
    return replace(progress, x=x, y=y, rows=rows), returns


def _learned(task: Task, progress: Progress) -> Progress:
    keys = jnp.stack([_key(seed, progress.trial, _LEARN) for seed in task.seeds])
    learner = standardised(progress.learner, progress.x[:, : progress.rows], progress.seen)
    if task.settings.ensemble.constants == "kept":
        learner = with_constants(learner, progress.y[:, : progress.rows])
    x, y = (jnp.asarray(table, jnp.float32) for table in (progress.x, progress.y))
    learner, loss = learn(learner, Examples(x, y, jnp.int32(progress.rows)), keys, settings=task.settings.ensemble)
    loss.block_until_ready()
    return replace(progress, learner=learner)


def _fresh(task: Task, seen: Array, keys: Array) -> Learner:
    return begin(seen, keys, outputs=task.states, settings=task.settings.ensemble)


def _key(seed: int, trial: int, part: int) -> Array:
    return jr.fold_in(jr.fold_in(jr.key(seed), trial), part)


_folded = jax.jit(jax.vmap(jr.fold_in, in_axes=(0, None)))


def _rngs(task: Task, trial: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, trial]) for seed in task.seeds]


_PLAIN = ("seen", "returns", "shown")


def save_progress(file: Path, progress: Progress) -> None:
    """Keep what was done; reading it back and going on gives the same numbers as never stopping."""
    leaves = jax.tree.leaves(progress.learner)
    arrays = {f"learner {place:03d}": np.asarray(leaf) for place, leaf in enumerate(leaves)}
    arrays |= {"x": progress.x[:, : progress.rows], "y": progress.y[:, : progress.rows]}
    arrays |= {name: getattr(progress, name) for name in _PLAIN}
    save_arrays(file, arrays, {"rows": progress.rows, "seconds": progress.seconds})


def load_progress(file: Path, task: Task) -> Progress:
    """What `save_progress` kept, for the same task."""
    arrays, about = load_arrays(file, "remove it to begin anew")
    keys = jax.eval_shape(lambda: jr.split(jr.key(0), len(task.seeds)))
    shape = jax.eval_shape(partial(_fresh, task), jax.ShapeDtypeStruct(arrays["seen"].shape, jnp.float32), keys)
    treedef = jax.tree.structure(shape)
    leaves = [jnp.asarray(arrays[f"learner {place:03d}"]) for place in range(treedef.num_leaves)]
    x, y = (_grown(arrays[name], (task.trials + 1) * task.steps) for name in ("x", "y"))
    learner: Any = jax.tree.unflatten(treedef, leaves)
    seen, returns, shown = (arrays[name] for name in _PLAIN)
    return Progress(learner, seen, x, y, about["rows"], returns, shown, about["seconds"])


def _grown(filled: np.ndarray, capacity: int) -> np.ndarray:
    """A copy with room for so many rows at least."""
    whole = np.zeros((len(filled), max(capacity, filled.shape[1]), filled.shape[2]))
    whole[:, : filled.shape[1]] = filled
    return whole
