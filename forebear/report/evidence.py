"""The laws behind a page, and how they do on rows that their twin has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from forebear.data.table import Table, fingerprint
from forebear.discovery.record import Discovery
from forebear.errors import InputError
from forebear.twin.spline import SplineModel
from forebear.twin.twin import Twin
from forebear.twin.validate import Validation

# Rows judged on when none were set aside.
_MOST = 2_000
# Targets of a joint law whose weights go into a page, at most.
_MOST_TOGETHER = 12
# Steps and rows of distillation for each step of the flow's training, as in the defaults of both.
_STEPS_A_STEP, _ROWS_A_STEP, _FEWEST_ROWS, _USUAL_STEPS = 1.5, 2, 1_024, 4_000


@dataclass(frozen=True)
class LawEvidence:
    """A distilled twin, one law per target, and its validation."""

    twin: Twin
    validation: Validation | None
    judged_on: str
    """which rows validation looked at, for the reader"""
    joint: Twin | None = None
    """of a discovery with a joint law: a distilled joint twin, for draws of several targets together"""


class Twins(Protocol):
    """Where the twins of a result come from."""

    def __call__(self, *, pruned: bool, joint: bool) -> Twin:
        """The twin on the ancestors or on all candidates, with one law per target or a joint one."""
        ...


def fitted_evidence(
    found: Discovery,
    table: Table,
    twins: Twins,
    *,
    held_out: Any = None,
    seed: int = 0,
    progress: bool | None = None,
    joint: Twin | None = None,
    weights: np.ndarray | None = None,
) -> LawEvidence:
    """From the twins of the result itself: its laws, how much worse they are than those on all candidates, and, of a
    joint discovery, draws of several targets together. A joint twin that is given is taken for those. `weights` say
    how much each row of the table counts."""
    twin = twins(pruned=True, joint=False)
    steps = twin.settings.flow.steps or _USUAL_STEPS
    rows, lessons = max(_FEWEST_ROWS, _ROWS_A_STEP * steps), max(1, round(_STEPS_A_STEP * steps))
    student = twin.distil(rows, lessons, seed=seed, progress=progress)
    removed = any(set(q.inputs) != set(twin.ancestors[t]) for t, q in found.questions.items())
    full = twins(pruned=False, joint=False) if removed else None
    together = None
    if 1 < len(found.targets) <= _MOST_TOGETHER and joint is not None:
        together = _student(joint, seed, progress)
    elif 1 < len(found.targets) <= _MOST_TOGETHER and found.settings.get("joint"):
        together = twins(pruned=True, joint=True).distil(rows, lessons, seed=seed, progress=progress)
    judged, about, counts = _rows_to_judge(twin, table, held_out, weights)
    return LawEvidence(student, student.validate(judged, full=full, seed=seed, weights=counts), about, together)


def given_evidence(
    found: Discovery,
    table: Table | None,
    twin: Twin,
    *,
    held_out: Any = None,
    seed: int = 0,
    progress: bool | None = None,
    weights: np.ndarray | None = None,
) -> LawEvidence:
    """From a twin that the user brings, with one law per target; it is distilled if it is not yet."""
    check_targets(found, twin)
    student = _student(twin, seed, progress)
    if held_out is None and table is None:
        return LawEvidence(student, None, "")
    judged, about, counts = _rows_to_judge(twin, table, held_out, weights)
    return LawEvidence(student, student.validate(judged, seed=seed, weights=counts), about)


def check_targets(found: Discovery, twin: Twin) -> None:
    """Refuse a twin of other targets."""
    if set(twin.targets) != set(found.targets):
        raise InputError(f"twin has the targets {list(twin.targets)}, the result {list(found.targets)}")


def _student(twin: Twin, seed: int, progress: bool | None) -> Twin:
    return twin if isinstance(twin.model, SplineModel) else twin.distil(seed=seed, progress=progress)


def _rows_to_judge(
    twin: Twin, table: Table | None, held_out: Any, weights: np.ndarray | None
) -> tuple[Any, str, np.ndarray | None]:
    """Rows, what to call them (the user's own, those set aside before the training, or some of the table), and how
    much each counts."""
    if held_out is not None:
        return held_out, "rows given to judge on", None
    assert table is not None
    whole, table = table, table.with_values(twin.targets)
    if len(twin.test_rows) and twin.table == fingerprint(table):
        rows, about = twin.test_rows, "rows set aside before the twins were fitted"
    else:
        rows = np.unique(np.linspace(0, table.rows - 1, min(table.rows, _MOST)).astype(int))
        about = "rows of the table, which the twin may have been fitted on"
    if weights is not None:
        gaps = np.any([whole.columns[target].gaps for target in twin.targets], axis=0)
        weights = weights[~gaps][rows]
    return table.take(rows).frame(), about, weights
