"""Fit laws: a sampler for every target, cross-fitted, so that each row has one that has not seen it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

import jax
import numpy as np

from forebear.data.weights import weighted_rows
from forebear.discovery.problem import ALONE, Context, Problem, Rows
from forebear.flow.sampler import Law, NetworkSampler, Sampler, Task
from forebear.flow.train import Trained, Training, fit
from forebear.kernel.threads import cores

# More held-out rows than this do not make the choice of weights any better.
_HELD_OUT_ROWS = 4_096


class Laws(NamedTuple):
    """What the samplers of a batch learned."""

    by_fold: Sequence[Sequence[Law]]
    """by fold, then by task; the laws of a fold were learned from the rows outside it (from all if there is one)"""
    notes: tuple[str, ...]


def fit_laws(problem: Problem, number: int, rows: Rows, context: Context = ALONE) -> Laws:
    """The laws of all tasks of a batch."""
    tasks, sampler = problem.batches[number].tasks, problem.sampler
    folds = int(rows.fold.max()) + 1
    seeds = [int(rows.rng.integers(2**31)) for _ in range(folds)]
    if not isinstance(sampler, NetworkSampler):  # someone else's, which may not like threads
        return Laws([_fit_theirs(rows, fold, tasks, sampler, seed) for fold, seed in enumerate(seeds)], ())
    y = _targets(rows, tasks)
    weights = rows.structure.weights
    lessons = [
        sampler.prepare(rows.table, tasks, y, *_split(rows, f), seed=seed, weights=weights)
        for f, seed in enumerate(seeds)
    ]
    done = train_folds([lesson.training for lesson in lessons], "flow", context)
    by_fold = [lesson.laws(one) for lesson, one in zip(lessons, done, strict=True)]
    return Laws(by_fold, tuple(note for one in done for note in one.notes))


def train_folds(trainings: Sequence[Training], name: str, context: Context = ALONE) -> list[Trained]:
    """Train the models of every fold, or load what was kept of them under this name.

    A step of training is too small to be shared out among cores, so each fold has a thread; all wait until the first
    one has compiled what they share.
    """
    folds = len(trainings)
    forms = [Weights(training) for training in trainings]
    known = [context.kept.load(f"{name}-{fold}", form) for fold, form in enumerate(forms)]
    shares, compiled = [0.0] * folds, Event()

    def ticking(fold: int) -> Callable[[float], None]:
        def tick(share: float) -> None:
            shares[fold] = share
            compiled.set()
            context.tick("train", sum(shares) / folds)

        return tick

    trained: dict[int, Future[Trained]] = {}
    with ThreadPoolExecutor(min(folds, cores())) as pool:
        for fold in (fold for fold in range(folds) if known[fold] is None):
            trained[fold] = pool.submit(fit, trainings[fold], ticking(fold))
            trained[fold].add_done_callback(lambda _: compiled.set())  # also if it has failed
            compiled.wait()
        for fold, future in trained.items():
            known[fold] = context.kept.save(f"{name}-{fold}", forms[fold], future.result())
    return [one for one in known if one is not None]


def _fit_theirs(rows: Rows, fold: int, tasks: Sequence[Task], sampler: Sampler, seed: int) -> list[Law]:
    inside, weights = _split(rows, fold)[0], rows.structure.weights
    part = rows.table.take(inside if weights is None else inside[weighted_rows(weights[inside], len(inside))])
    return [sampler.fit(part.frame(task.inputs), part.frame(task.targets), seed=seed) for task in tasks]


def _targets(rows: Rows, tasks: Sequence[Task]) -> list[np.ndarray]:
    """The outputs (rows, targets) of each task."""
    return [np.stack([rows.y[target] for target in task.targets], axis=1) for task in tasks]


def _split(rows: Rows, fold: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The rows to learn from and those to watch on. With one fold all rows are learned from, and none is watched."""
    inside, folds = np.flatnonzero(rows.fold == fold), int(rows.fold.max()) + 1
    if folds == 1:
        return inside, None
    # Folds differ by a row at most; all are cut to one size, so that the second compiles nothing.
    smallest = rows.table.rows - int(np.bincount(rows.fold).max())
    outside = np.flatnonzero(rows.fold != fold)[:smallest]
    return outside, inside[: min(_HELD_OUT_ROWS, rows.table.rows // folds)]


class Weights:
    """The form in which a training is kept: the weights that came out of it, and its notes."""

    def __init__(self, training: Training):
        self.training = training

    def pack(self, value: Trained) -> tuple[Mapping[str, np.ndarray], Any]:
        """Arrays by their place in the model."""
        leaves = jax.tree.leaves(value.models)
        return {str(place): np.asarray(leaf) for place, leaf in enumerate(leaves)}, {"notes": list(value.notes)}

    def unpack(self, arrays: Mapping[str, np.ndarray], about: Any) -> Trained:
        """The models that went into the training, with these weights."""
        leaves, shape = jax.tree.flatten(self.training.models)
        found = [arrays[str(place)] for place in range(len(leaves))]
        if len(arrays) != len(leaves) or any(
            array.shape != leaf.shape or array.dtype != leaf.dtype for leaf, array in zip(leaves, found, strict=True)
        ):
            raise ValueError("weights of another model")
        models = jax.tree.unflatten(shape, [jax.device_put(array) for array in found])
        return Trained(models, tuple(about["notes"]))
