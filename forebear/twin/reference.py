"""Rows that no training of a twin has seen, kept whole: what new rows are compared with once it is in use.

Columns that were pruned away are kept too, so that it can be told when one of them begins to matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.data.scaling import ColumnCode
from forebear.data.table import Table
from forebear.discovery.structure import ORDERED, RowStructure
from forebear.storage.records import from_record, to_record
from forebear.watch.faults import Habit, habit_of

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

# Columns beside inputs and targets that are kept, the first ones.
_MOST_OTHERS = 200


def _none() -> np.ndarray:
    return np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Reference:
    """Rows that were set aside, as raw numbers, and what the columns of the whole table do from row to row."""

    x: Float[np.ndarray, "rows inputs"] = field(default_factory=_none)
    y: Float[np.ndarray, "rows targets"] = field(default_factory=_none)
    other: Float[np.ndarray, "rows others"] = field(default_factory=_none)
    others: tuple[ColumnCode, ...] = ()
    """the columns of `other`: neither inputs nor targets of the twin"""
    habits: Mapping[str, Habit] = field(default_factory=dict)
    """by column"""
    ordered: bool = False
    """whether the rows are stretches of rows that follow one another"""
    groups: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """the group of each row, where rows hang together in groups"""
    column: str = ""
    """the column that tells groups apart"""

    def __len__(self) -> int:
        return len(self.y)


class _About(NamedTuple):
    others: tuple[ColumnCode, ...]
    habits: dict[str, Habit]
    ordered: bool
    column: str


def reference_of(
    whole: Table, aside: np.ndarray, inputs: list[str], targets: list[str], structure: RowStructure
) -> Reference:
    """The rows `aside` of the table that a twin is fitted on."""
    names = [name for name in whole.columns if name not in (*inputs, *targets)][:_MOST_OTHERS]
    rows = whole.take(aside)
    groups = structure.take(aside).groups
    return Reference(
        rows.matrix(inputs),
        rows.matrix(targets),
        rows.matrix(names),
        tuple(ColumnCode.of(whole.columns[name]) for name in names),
        {name: habit_of(whole.columns[name].values) for name in (*inputs, *targets, *names)},
        structure.kind == ORDERED,
        np.zeros(0, np.int64) if groups is None else np.asarray(groups, np.int64),
        structure.column or "",
    )


def set_aside(twin: Twin) -> dict[str, np.ndarray]:
    """The rows of a twin's reference, inputs and targets, as the table had them: labels for categories."""
    inputs = zip(twin.inputs, twin.reference.x.T, (code.levels for code in twin.columns), strict=True)
    targets = zip(twin.targets, twin.reference.y.T, (output.levels for output in twin.outputs), strict=True)
    # A state is a target of the next one, and an input: its column comes twice, and is the same.
    return {name: _labelled(values, levels) for name, values, levels in (*inputs, *targets)}


def _labelled(values: np.ndarray, levels: Sequence[Any]) -> np.ndarray:
    if not levels:
        return values
    return np.array([None if np.isnan(code) else levels[int(code)] for code in values], object)


def reference_record(reference: Reference) -> dict[str, Any]:
    """What describes it beside its arrays."""
    return to_record(_About(reference.others, dict(reference.habits), reference.ordered, reference.column))


def reference_arrays(reference: Reference) -> dict[str, np.ndarray]:
    """Its arrays, under names for a file."""
    own = {"x": reference.x, "y": reference.y, "other": reference.other, "groups": reference.groups}
    return {f"reference.{name}": array for name, array in own.items()}


def restore_reference(record: Any, arrays: Mapping[str, np.ndarray], inputs: int, targets: int) -> Reference:
    """What was saved; an empty one for twins of earlier versions; a ValueError or KeyError where parts do not fit."""
    none = Reference(np.zeros((0, inputs)), np.zeros((0, targets)))
    if record is None:
        return none
    about = from_record(_About, record)
    x, y, other, groups = (arrays[f"reference.{name}"] for name in ("x", "y", "other", "groups"))
    if not any(map(len, (x, y, other, groups))):
        return none
    shapes = (
        x.shape == (len(y), inputs) and y.shape == (len(y), targets) and other.shape == (len(y), len(about.others))
    )
    if not (shapes and groups.shape in ((0,), (len(y),)) and groups.dtype.kind == "i" and (groups >= 0).all()):
        raise ValueError("parts of different twins")
    return Reference(x, y, other, about.others, about.habits, about.ordered, groups, about.column)
