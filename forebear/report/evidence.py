"""The twin behind a report, and how it does on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forebear.discovery.found import Found
from forebear.errors import InputError
from forebear.twin.settings import TwinSettings
from forebear.twin.spline import SplineModel
from forebear.twin.twin import Twin
from forebear.twin.validate import Validation

# Rows set aside before the twins are fitted, and rows judged on when a twin is given.
_SHARE, _MOST = 0.2, 2_000
# Targets of a joint law whose weights go into a page, at most.
_MOST_TOGETHER = 12
# Steps and rows of distillation for each step of the flow's training, as in the defaults of both.
_STEPS_A_STEP, _ROWS_A_STEP, _FEWEST_ROWS, _USUAL_STEPS = 1.5, 2, 1_024, 4_000


@dataclass(frozen=True)
class Evidence:
    """A distilled twin, one law a target, and its validation."""

    twin: Twin
    validation: Validation | None
    judged_on: str
    """which rows validation looked at, for the reader"""
    joint: Twin | None = None
    """of a discovery with a joint law: a distilled joint twin, for draws of several targets together"""


def evidence(
    found: Found,
    twin: Twin | bool | None,
    *,
    held_out: Any = None,
    seed: int = 0,
    progress: bool | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Evidence | None:
    """What a report says beside the discovery itself; None when there is to be no twin.

    None and True fit one, True insisting on the table. A twin that is given is distilled if it is not yet.
    """
    TwinSettings.resolve(settings or {})
    if twin is False or (twin is None and found.table is None):
        return None
    if isinstance(twin, Twin) and twin.joint:
        return _given_joint(found, twin, held_out, seed, progress, dict(settings or {}))
    if isinstance(twin, Twin):
        return _given(found, twin, held_out, seed, progress)
    if twin is not None and twin is not True:
        raise InputError(f"twin must be a twin, True, False or None; got {twin!r}")
    return _fitted(found, held_out, seed, progress, dict(settings or {}))


def _given(found: Found, twin: Twin, held_out: Any, seed: int, progress: bool | None) -> Evidence:
    _check_targets(found, twin)
    student = twin if isinstance(twin.model, SplineModel) else twin.distil(seed=seed, progress=progress)
    if held_out is not None:
        return Evidence(student, student.validate(held_out, seed=seed), "rows given to judge on")
    if found.table is None:
        return Evidence(student, None, "")
    rows = _spread(found.table.rows, _MOST)
    told = student.validate(found.table.take(rows).frame(), seed=seed)
    return Evidence(student, told, "rows of the table, which the twin may have been fitted on")


def _given_joint(
    found: Found, twin: Twin, held_out: Any, seed: int, progress: bool | None, settings: dict[str, Any]
) -> Evidence:
    """Draws of targets together come from the joint twin, the law of each one alone from twins that are fitted."""
    _check_targets(found, twin)
    if found.table is None:
        raise InputError(
            "twin is joint, and the laws of single targets need twins of their own, for which this result lacks its "
            "table: pass found.twin(joint=False)"
        )
    student = twin if isinstance(twin.model, SplineModel) else twin.distil(seed=seed, progress=progress)
    told = _fitted(found, held_out, seed, progress, settings, together=False)
    return replace(told, joint=student if 1 < len(twin.targets) <= _MOST_TOGETHER else None)


def _check_targets(found: Found, twin: Twin) -> None:
    if set(twin.targets) != set(found.targets):
        raise InputError(f"twin has the targets {list(twin.targets)}, the result {list(found.targets)}")


def _fitted(
    found: Found,
    held_out: Any,
    seed: int,
    progress: bool | None,
    settings: Mapping[str, Any],
    together: bool = True,
) -> Evidence:
    if found.table is None:
        raise InputError("this result was saved without its table: pass a twin, or twin=False for a page without one")
    learnt, judged, about = found, held_out, "rows given to judge on"
    if held_out is None:
        aside = np.sort(np.random.default_rng(seed).permutation(found.table.rows)[: _aside(found.table.rows)])
        rest = np.setdiff1d(np.arange(found.table.rows), aside)
        learnt, judged = replace(found, table=found.table.take(rest)), found.table.take(aside).frame()
        about = "rows set aside before the twins were fitted"
    # The page computes distilled flows, whatever the discovery drew from.
    options: dict[str, Any] = {"sampler": "flow", "joint": False, "seed": seed, "progress": progress, **settings}
    twin = learnt.twin(**options)
    steps = twin.settings.flow.steps or _USUAL_STEPS
    rows, lessons = max(_FEWEST_ROWS, _ROWS_A_STEP * steps), max(1, round(_STEPS_A_STEP * steps))
    student = twin.distil(rows, lessons, seed=seed, progress=progress)
    removed = any(set(q.inputs) != set(twin.ancestors[t]) for t, q in found.questions.items())
    full = learnt.twin(pruned=False, **options) if removed else None
    joint = None
    if together and found.settings.get("joint") and 1 < len(found.targets) <= _MOST_TOGETHER:
        joint = learnt.twin(**{**options, "joint": True}).distil(rows, lessons, seed=seed, progress=progress)
    return Evidence(student, student.validate(judged, full=full, seed=seed), about, joint)


def _aside(rows: int) -> int:
    return max(1, min(_MOST, round(_SHARE * rows)))


def _spread(rows: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(int))
