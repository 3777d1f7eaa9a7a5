"""All laws of a twin on one batch of new rows: tests, corrected for their number, and what each change looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float

from forebear.watch.contrast import NewRows, plain_contrasts, windows
from forebear.watch.features import LOCATION, Input, features_of, scores
from forebear.watch.laws import Law, LawVerdict, Tested, holm, renumbered, test_law, verdict_of
from forebear.watch.misfit import misfit_of

# Pairs of targets that are looked at, the first ones.
_MOST_PAIRS, _FEWEST_ROWS = 45, 40


@dataclass(frozen=True, eq=False)
class Batch:
    """New rows beside known ones, as plain arrays."""

    targets: tuple[str, ...]
    ancestors: Mapping[str, Sequence[str]]
    known: Float[np.ndarray, "known targets *draws"]
    """latents of rows that no training has seen; none at all for a twin that is taken at its word; several draws on a
    last axis where a value stands for an interval of them"""
    new: Float[np.ndarray, "rows targets *draws"]
    inputs: Sequence[Input]
    pull: Callable[[int, np.ndarray, float], np.ndarray]
    """latents of one target on some new rows, once so much has been taken off it: (target, rows, amount)"""
    scales: Float[np.ndarray, " targets"]
    rows: np.ndarray
    """the number of each new row in the user's table, from 0"""
    ordered: bool = False
    known_groups: np.ndarray | None = None
    groups: np.ndarray | None = None

    def take(self, some: np.ndarray) -> Batch:
        """Of some of the new rows."""
        return Batch(
            self.targets,
            self.ancestors,
            self.known,
            self.new[some],
            [one.take(some) for one in self.inputs],
            lambda target, rows, amount: self.pull(target, some[rows], amount),
            self.scales,
            self.rows[some],
            self.ordered,
            self.known_groups,
            None if self.groups is None else self.groups[some],
        )


@dataclass(frozen=True)
class Together:
    """Whether two targets still go together as they did, whatever each of them does."""

    targets: tuple[str, str]
    p_value: float
    adjusted: float


def judge(batch: Batch, level: float, margin: float) -> tuple[dict[str, LawVerdict], list[Together]]:
    """Every law, and every pair of targets, with a chance of at most `level` of one false alarm among them."""
    if not len(batch.new):
        none = LawVerdict("cannot tell", None, note="no new row is inside what the twin has seen")
        return {target: none for target in batch.targets}, []
    tested = [test_law(_law(batch, place), margin) for place in range(len(batch.targets))]
    pairs = _pairs(batch, margin) if not any(one.lack for one in tested) else []
    told = [1.0 if one.lack else one.p_value for one in tested]
    adjusted = holm([*told, *(p_value for _, p_value in pairs)])
    verdicts = {one.law.target: _told(one, adjusted[i], level, batch.rows) for i, one in enumerate(tested)}
    rest = zip(pairs, adjusted[len(tested) :], strict=True)
    return verdicts, [Together(names, p_value, corrected) for (names, p_value), corrected in rest]


def _told(tested: Tested, adjusted: float, level: float, rows: np.ndarray) -> LawVerdict:
    return renumbered(verdict_of(tested, adjusted, level), rows)


def _law(batch: Batch, place: int) -> Law:
    target = batch.targets[place]
    own = [features_of(one) for one in batch.inputs if one.name in batch.ancestors[target]]
    others = [features_of(one) for one in batch.inputs if one.name not in batch.ancestors[target]]
    return Law(
        target,
        batch.known[:, place],
        batch.new[:, place],
        [one for one in own if one.new.shape[1]],
        [one for one in others if one.new.shape[1]],
        lambda rows, amount: batch.pull(place, rows, amount),
        batch.ordered,
        batch.known_groups,
        batch.groups,
        float(batch.scales[place]),
    )


def _pairs(batch: Batch, margin: float) -> list[tuple[tuple[str, str], float]]:
    """p-values of "the latents of both are as closely tied as they were", over all rows and their parts."""
    found = []
    features = [features_of(one) for one in batch.inputs]
    for i, j in list(combinations(range(len(batch.targets)), 2))[:_MOST_PAIRS]:
        both = [(_place(z[:, i]) * _place(z[:, j]))[:, None] for z in (batch.known, batch.new)]
        rows = len(batch.new)
        misfit, design = misfit_of(both[0], features, [], rows, batch.ordered, batch.known_groups)
        new = NewRows.of(both[1], design, np.zeros((rows, 0)), misfit, batch.groups)
        parts = windows(rows, np.inf if batch.groups is not None else 2 * _FEWEST_ROWS)
        told = [float(plain_contrasts(new, misfit, w, margin).p_value[0, 0]) / share for w, share in parts]
        found.append(((batch.targets[i], batch.targets[j]), min(1.0, *told)))
    return found


def _place(z: Float[np.ndarray, " rows *draws"]) -> Float[np.ndarray, " rows"]:
    place = scores(z)[..., LOCATION]
    return place if z.ndim == 1 else place.mean(axis=1)
