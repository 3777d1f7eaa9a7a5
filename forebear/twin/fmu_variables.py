"""The variables of an FMU of a twin: what another simulator sees, sets and reads, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from forebear.errors import InputError
from forebear.twin.dynamics import Dynamics, Plan, resolve

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

Type = Literal["REAL", "INTEGER", "BOOLEAN", "ENUMERATION"]
Role = Literal["time", "fixed", "tunable", "input", "output"]
Levels = tuple[object, ...]
# Draws that bound the targets, at each of so many rows; how much further the bounds are, as a share of that.
_DRAWS, _MOST_ROWS, _MORE = 50, 1_000, 0.5


@dataclass(frozen=True)
class Variable:
    """One variable; its place in the list is its number, the value reference."""

    name: str
    type: Type
    role: Role
    """"fixed" and "tunable" are parameters, set before the start or between any steps"""
    about: str
    start: float = 0.0
    range: Bounds | None = None
    unit: str | None = None
    levels: Levels = ()
    gaps: bool = False
    """whether a cell may be missing: NaN, or of a category the code -1"""


class Bounds(NamedTuple):
    """Between which values a variable usually lies."""

    low: float
    high: float


class Variables(NamedTuple):
    """All variables, and where each group of them begins."""

    all: tuple[Variable, ...]
    places: dict[str, int]
    """by the name that the C gives to the first of a group"""
    typical: np.ndarray
    """(inputs,) the row of the data nearest to the middle of it; everything starts there"""


def plan_of(twin: Twin, rollout: bool | None, dynamics: Dynamics | None) -> Plan | None:
    """How the twin moves through time; None for an FMU that draws afresh at each step.

    With `rollout` None a twin whose names tell its dynamics is a rollout, and every other is not.
    """
    if rollout is False:
        if dynamics is not None:
            raise InputError("dynamics are those of a rollout: leave them out, or leave rollout=False out")
        return None
    try:
        return resolve(dynamics, twin)
    except InputError:
        if rollout or dynamics is not None:
            raise
        return None


def variables_of(twin: Twin, plan: Plan | None, step: float) -> Variables:
    """What the FMU has: parameters, inputs, outputs and, of a rollout, where it starts."""
    middle = typical_row(twin)
    own = list(_targets(twin) if plan is None else _states(twin, plan))
    driving = list(_inputs(twin, middle, {one.name for one in own}) if plan is None else _actions(twin, plan, middle))
    starts = [] if plan is None else list(_starts(twin, plan, middle))
    taken = {one.name for one in (*own, *driving, *starts)}
    groups: dict[str, list[Variable]] = {
        "TIME": [Variable(_free("time", taken), "REAL", "time", "time of the simulation")],
        "SEED": [Variable(_free("seed", taken), "INTEGER", "fixed", "of the noise: the same seed, the same draws")],
        "FIXED_LATENTS": [
            Variable(_free("fixed_latents", taken), "BOOLEAN", "tunable", "the latents below in place of drawn ones")
        ],
        "STEP_SIZE": [Variable(_free("step", taken), "REAL", "fixed", "time that one step of the twin takes", step)],
        "LATENTS": [
            Variable(_free(f"latent_{name}", taken), "REAL", "tunable", f"latent of {name}, while they are fixed")
            for name in twin.targets
        ],
        "INPUTS": driving,
        "OUTPUTS": own,
        "OUTSIDE": [
            Variable(_free("outside", taken), "REAL", "output", "how far beyond the data, in deviations; 0 inside")
        ],
        "STARTS": starts,
    }
    if plan is None:
        groups["STEP_SIZE"] = []
    places, found = {}, []
    for name, group in groups.items():
        places[name] = len(found)
        found += group
    return Variables(tuple(found), places, middle)


def typical_row(twin: Twin) -> np.ndarray:
    """The row of the training inputs nearest to their medians, without missing cells where there is such a row."""
    rows = twin.rows
    if not len(rows) or not rows.shape[1]:
        return np.zeros(rows.shape[1])
    whole = rows[~np.isnan(rows).any(axis=1)]
    rows = whole if len(whole) else np.nan_to_num(rows)
    scale = np.array([column.scale for column in twin.columns])
    numbers = np.array([not column.levels for column in twin.columns])
    apart = ((rows - np.median(rows, axis=0)) / scale) ** 2 @ numbers
    return rows[int(np.argmin(apart))]


def _targets(twin: Twin) -> Iterator[Variable]:
    for target, bounds in zip(twin.outputs, drawn_bounds(twin), strict=True):
        type_: Type = "ENUMERATION" if target.levels else "REAL"
        about = f"drawn at each step, given {', '.join(twin.ancestors[target.name]) or 'nothing'}"
        unit = twin.units.get(target.name)
        yield Variable(target.name, type_, "output", about, 0.0, bounds, unit, target.levels)


def drawn_bounds(twin: Twin) -> list[Bounds]:
    """Between which values targets are drawn at the inputs of the data: as far as many draws and the rows set aside
    reach, and half as much again for those that are rarer. Importers may take a value beyond for a mistake."""
    rows = twin.rows[:_MOST_ROWS]
    y = twin.sample(rows, n=_DRAWS, seed=0, outside="ignore").reshape(-1, len(twin.outputs))
    if len(twin.reference):
        y = np.concatenate([y, twin.reference.y])
    low, high = y.min(axis=0), y.max(axis=0)
    more = np.array([0.0 if t.dequantiser.kind == "lattice" else _MORE for t in twin.outputs]) * (high - low)
    return [Bounds(float(a), float(b)) for a, b in zip(low - more, high + more, strict=True)]


def _inputs(twin: Twin, middle: np.ndarray, taken: set[str]) -> Iterator[Variable]:
    """A column that is a target too is the output of that name; as an input it is called otherwise."""
    for place, column in enumerate(twin.columns):
        name = f"given_{column.name}" if column.name in taken else column.name
        yield Variable(
            name,
            "ENUMERATION" if column.levels else "REAL",
            "input",
            f"input {column.name} of the twin",
            float(middle[place]),
            _seen(twin, place),
            twin.units.get(column.name),
            column.levels,
            column.gaps,
        )


def _states(twin: Twin, plan: Plan) -> Iterator[Variable]:
    for place, name in enumerate(plan.state):
        levels = plan.levels[place]
        yield Variable(
            name,
            "ENUMERATION" if levels else "REAL",
            "output",
            "state, moved by the twin",
            0.0,
            _seen(twin, _nearest_column(plan, place, 0)),
            _unit(twin, name),
            levels,
        )


def _actions(twin: Twin, plan: Plan, middle: np.ndarray) -> Iterator[Variable]:
    for place, name in enumerate(plan.action, len(plan.state)):
        levels, column = plan.levels[place], _nearest_column(plan, place, 0)
        start, known, gaps = 0.0, None, False
        if column is not None:
            start, known, gaps = float(middle[column]), _seen(twin, column), twin.columns[column].gaps
        type_: Type = "ENUMERATION" if levels else "REAL"
        yield Variable(name, type_, "input", "action", start, known, _unit(twin, name), levels, gaps)


def _starts(twin: Twin, plan: Plan, middle: np.ndarray) -> Iterator[Variable]:
    """Where each number of the memory starts, newest moment first; the newest action is an input."""
    for lag, place in start_places(plan):
        name, levels = plan.variables[place], plan.levels[place]
        column = _nearest_column(plan, place, lag)
        start = 0.0 if column is None else float(middle[column])
        about = f"{name} at the start" if lag == 0 else f"{name} this many steps before the start: {lag}"
        known = _seen(twin, column)
        type_: Type = "ENUMERATION" if levels else "REAL"
        yield Variable(f"start_{name}_{lag}", type_, "fixed", about, start, known, _unit(twin, name), levels)


def start_places(plan: Plan) -> list[tuple[int, int]]:
    """Lag and variable of every number of the memory that is known at the start."""
    newest = [(0, place) for place in range(len(plan.state))]
    return newest + [(lag, place) for lag in range(1, plan.lags + 1) for place in range(len(plan.variables))]


def _nearest_column(plan: Plan, place: int, lag: int) -> int | None:
    """The input of the twin that holds a variable nearest to so many steps ago."""
    own = [(abs(at - lag), column) for column, (at, variable) in enumerate(plan.places) if variable == place]
    return min(own)[1] if own else None


def _seen(twin: Twin, column: int | None) -> Bounds | None:
    """Where the data of an input lies; None for an angle or a category."""
    known = None if column is None else twin.ranges[column]
    return None if known is None else Bounds(float(known.low), float(known.high))


def _unit(twin: Twin, name: str) -> str | None:
    return next((twin.units[one] for one in (name, f"{name}_0") if one in twin.units), None)


def _free(name: str, taken: set[str]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def cleaned(names: Sequence[str]) -> list[str]:
    """Names that XML can hold, and that differ.

    >>> cleaned(["a", "b\\n", "b\\t", ""])
    ['a', 'b_', 'b__', '_']
    """
    found: list[str] = []
    for name in names:
        plain = "".join(mark if mark.isprintable() else "_" for mark in name).strip() or "_"
        while plain in found:
            plain += "_"
        found.append(plain)
    return found
