"""Which law a twin of this table gets when nobody says: a flow, or a blend of networks and trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import Encoder
from forebear.data.table import Table
from forebear.discovery.structure import RowStructure
from forebear.flow.sampler import Task
from forebear.trees.learn import boosted, forest
from forebear.twin.blend import BlendLaw, forest_values
from forebear.twin.blend_nets import Lesson
from forebear.twin.blend_target import cells_of, fit_target, mostly_at
from forebear.twin.dynamics import moved

FEWEST = 100
"""rows, below which there is nothing to weigh with"""
MANY = 20_000
"""rows, from which on a flow is excellent unless the law is rough"""
_MOST_TARGETS, _MOST_LABELS = 5, 30
# Rows and trees of a forest that judge whether a law of more rows than that is rough: with half as many they know
# less of a rough law than a flow does (protein, `forebear bench uci`).
_TRIED, _TREES = 40_000, 40
# Trees must predict the mean better than the flow by this much: ties go to the flow.
_BETTER = 0.99
_MOMENT = re.compile(r"_\d+$")


def blends_at_once(table: Table, tasks: Sequence[Task], joint: bool) -> bool | None:
    """Whether a blend is the law to fit; None where a flow has to be looked at first.

    A joint law is a flow, and so are those of many targets, and of a step in time (a target whose name says that it
    moves an input): rollouts run on the law itself, which has to be a network then. So are those of many labels, and
    of labels in large tables.
    """
    if joint or table.rows < FEWEST or len(tasks) > _MOST_TARGETS:
        return False
    targets = [target for task in tasks for target in task.targets]
    labels = max(len(table.columns[target].levels) for target in targets)
    if labels > _MOST_LABELS or (labels and table.rows >= MANY):
        return False
    inputs = {name for task in tasks for name in task.inputs}
    variables = {*inputs, *(_MOMENT.sub("", name) for name in inputs)}
    if not inputs or any(moved(target, variables) for target in targets):
        return False
    return True if table.rows < MANY else None


def trees_win(
    features: np.ndarray, y: np.ndarray, rows: np.ndarray, held_out: np.ndarray, mean: np.ndarray, seed: int
) -> bool:
    """Whether trees on some rows predict held-out rows clearly better than `mean`, what the flow says of those."""
    some = np.random.default_rng(seed).permutation(rows)[:_TRIED]
    told = boosted(features[some], y[some], seed=seed).values(features[held_out])[..., 0].sum(axis=0)
    grown = forest(features[some], y[some], y[some], trees=_TREES, seed=seed)
    both = (told + forest_values(grown, features[held_out]).mean(axis=1)) / 2
    wrong, flow = (float(np.mean((y[held_out] - guess) ** 2)) for guess in (both, mean))
    return wrong < _BETTER * flow


def fit_blends(
    table: Table,
    tasks: Sequence[Task],
    y: Sequence[np.ndarray],
    middle: Sequence[np.ndarray],
    seed: int,
    tick: Callable[[float], None],
    structure: RowStructure | None = None,
    dequantisers: Sequence[Dequantiser] | None = None,
) -> BlendLaw:
    """One blend per task; `y` (rows,) are values spread out, `middle` has those of a lattice in mid-cell."""
    names = [name for name in table.columns if any(name in task.inputs for task in tasks)]
    encoder = Encoder.of(table, names)
    features = encoder.single(table.matrix(names))
    centre, scale = np.mean(y, axis=1), np.std(y, axis=1)
    blends = []
    for i, task in enumerate(tasks):
        spread, plain = ((values[i] - centre[i]) / scale[i] for values in (y, middle))
        lesson = Lesson(features, spread, plain, encoder.mask(task.inputs))
        ends = edges = None
        if dequantisers is not None:
            labels = bool(table.columns[task.targets[0]].levels)
            ends, edges = mostly_at(dequantisers[i], y[i]), cells_of(dequantisers[i], labels)
        blends.append(
            fit_target(
                lesson,
                None if ends is None else (ends - centre[i]) / scale[i],
                None if edges is None else (edges - centre[i]) / scale[i],
                seed=seed,
                structure=structure,
                tick=lambda share, done=i: tick((done + share) / len(tasks)),
            )
        )
    tick(1.0)
    return BlendLaw(encoder, tuple(blends), centre, scale)
