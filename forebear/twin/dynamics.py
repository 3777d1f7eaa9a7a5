"""What the columns of a twin mean in time: which variable, how many steps ago, and which state a target moves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forebear.errors import InputError, check_whole, listed, near_miss

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

_LAGGED = re.compile(r"(.+)_(\d+)")


class Plan(NamedTuple):
    """Dynamics matched with a twin: places instead of names, and hashable, as compiled code wants it.

    A moment is a row of numbers, states first, then actions; a history is (lags + 1) moments, newest first.
    """

    state: tuple[str, ...]
    action: tuple[str, ...]
    lags: int
    places: tuple[tuple[int, int], ...]
    """of each input: its lag and its place in a moment"""
    movers: tuple[int, ...]
    """of each state: the target that moves it, -1 when the twin does not"""
    added: tuple[bool, ...]
    """of each state: whether the target is added to it or replaces it"""
    turns: tuple[tuple[float, float], ...]
    """of each state: its period (0 for none) and where a turn begins"""
    levels: tuple[tuple[object, ...], ...]
    """of each variable: the labels of a category, whose numbers are codes"""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of a moment's numbers."""
        return self.state + self.action


@dataclass(frozen=True)
class Dynamics:
    """Which columns of a twin are states and which are actions, and how far back it looks.

    A twin of a table by `forebear.lagged` needs none of this: its names say it all (`Dynamics.of`). A column
    `{variable}_{k}` is the variable k steps ago, a bare `{variable}` is now; a target `d_{state}` or `d{state}` is
    added to the state, `next_{state}` replaces it.

    >>> Dynamics(state=["x1", "x2"], columns={"before": ("x1", 1)}).names
    ('x1', 'x2')
    """

    state: str | Sequence[str]
    """what the twin moves"""
    action: str | Sequence[str] = ()
    """what acts on it from outside, chosen anew at each step"""
    lags: int | None = None
    """steps of memory; None: as many as the twin looks back"""
    increments: bool = True
    """whether targets that `targets` names are added to their states or replace them"""
    periodic: Mapping[str, float] = field(default_factory=dict)
    """state -> period, for angles that are not an input of the twin; it knows the others"""
    columns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """input -> (variable, lag), for names of another kind"""
    targets: Mapping[str, str] = field(default_factory=dict)
    """target -> state, for names of another kind"""

    @property
    def names(self) -> tuple[str, ...]:
        """States, then actions."""
        return (*_names(self.state), *_names(self.action))

    @classmethod
    def of(cls, twin: Twin) -> Dynamics:
        """The dynamics that the twin's own names tell.

        Every input that no target moves counts as an action.
        """
        bases = {match[1] for match in map(_LAGGED.fullmatch, twin.inputs) if match}
        state = [_state_of(target, {*twin.inputs, *bases}) for target in twin.targets]
        if all(map(_LAGGED.fullmatch, twin.inputs)) and not set(state) & set(twin.inputs):
            found = [_split(column) for column in twin.inputs]
        elif set(state) & set(twin.inputs) or not bases:
            found = [(column, 0) for column in twin.inputs]
        else:
            odd = [column for column in twin.inputs if not _LAGGED.fullmatch(column)]
            raise InputError(
                f"some inputs of the twin end in a lag, like '{next(iter(bases))}_0', and {listed(odd)} not: say "
                "what they are with dynamics=forebear.Dynamics(...)"
            )
        action = dict.fromkeys(variable for variable, _ in found if variable not in state)
        columns = dict(zip(twin.inputs, found, strict=True))
        return cls(state, tuple(action), columns=columns)

    def plan(self, twin: Twin, partial: bool = False) -> Plan:
        """Match these dynamics with a twin, or say what does not fit.

        Arguments:
            partial: the caller moves the states that the twin does not, and may use targets that are no state.
        """
        state, action = _names(self.state), _names(self.action)
        _check_names(state, action, self, twin)
        found = [self._variable(column, twin) for column in twin.inputs]
        needed = max((lag for _, lag in found), default=0)
        lags = needed if self.lags is None else self.lags
        check_whole("lags", lags, 0)
        if lags < needed:
            deepest = twin.inputs[[lag for _, lag in found].index(needed)]
            raise InputError(f"lags={lags}, but the twin's input '{deepest}' lies {needed} steps back: raise lags")
        movers = self._movers(twin, state, partial)
        variables = state + action
        return Plan(
            state,
            action,
            lags,
            tuple((lag, variables.index(variable)) for variable, lag in found),
            tuple(twin.targets.index(movers[name][0]) if name in movers else -1 for name in state),
            tuple(name in movers and movers[name][1] for name in state),
            tuple(self._turn(name, twin, found) for name in state),
            tuple(_levels(name, twin, found, movers) for name in variables),
        )

    def _variable(self, column: str, twin: Twin) -> tuple[str, int]:
        if column in self.columns:
            return self.columns[column]
        match = _LAGGED.fullmatch(column)
        fitting = [(column, 0)] if column in self.names else []
        if match and match[1] in self.names:
            fitting.append(_split(column))
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InputError(
                f"input '{column}' of the twin could be '{column}' now or '{match and match[1]}' some steps ago: say "
                "which in the `columns` of the dynamics"
            )
        raise InputError(
            f"input '{column}' of the twin is neither a state nor an action of the dynamics. "
            f"{near_miss(column, self.names)}"
        )

    def _movers(self, twin: Twin, state: Sequence[str], partial: bool) -> dict[str, tuple[str, bool]]:
        """State -> its target, and whether that is added."""
        movers: dict[str, tuple[str, bool]] = {}
        for target in twin.targets:
            name = self.targets.get(target) or moved(target, state)
            if name is None or name not in state:
                if partial:
                    continue
                raise InputError(
                    f"target '{target}' of the twin moves no state of the dynamics ({listed(state)}): name the state "
                    "in `targets`, or use the target in a `step_rest` of yours"
                )
            if name in movers:
                raise InputError(f"targets '{movers[name][0]}' and '{target}' both move the state '{name}'")
            added = self.increments if target in self.targets else not target.startswith("next_")
            movers[name] = (target, added)
        left = [name for name in state if name not in movers]
        if left and not partial:
            raise InputError(
                f"the twin does not move the state {listed(left)}: make it an action, fit a twin that has it as a "
                "target, or move it in a `step_rest` of yours"
            )
        return movers

    def _turn(self, name: str, twin: Twin, found: Sequence[tuple[str, int]]) -> tuple[float, float]:
        places = [place for place, (variable, _) in enumerate(found) if variable == name]
        known = [place for place in places if twin.columns[place].period]
        if not known:
            period = float(self.periodic.get(name, 0.0))
            return period, -period / 2
        period = twin.columns[known[0]].period or 0.0
        values = twin.rows[:, known[0]]
        # As the data has it: compass headings stay in [0, 360), other angles lie around zero.
        positive = len(values) > 0 and values.min() >= 0 and values.max() <= period
        return period, 0.0 if positive else -period / 2


def resolve(dynamics: Dynamics | None, twin: Twin, partial: bool = False) -> Plan:
    """The plan of these dynamics, or of those that the twin's names tell."""
    if dynamics is not None and not isinstance(dynamics, Dynamics):
        raise InputError(f"dynamics must be a forebear.Dynamics or None; got {dynamics!r}")
    return (Dynamics.of(twin) if dynamics is None else dynamics).plan(twin, partial)


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _split(column: str) -> tuple[str, int]:
    base, _, lag = column.rpartition("_")
    return base, int(lag)


def moved(target: str, known: Iterable[str]) -> str | None:
    """The one of the known variables that a target moves, by its name."""
    bases = [target.removeprefix(prefix) for prefix in ("next_", "d_", "d") if target.startswith(prefix)]
    return next((base for base in bases if base in known), None)


def _state_of(target: str, known: Iterable[str]) -> str:
    """The same where states are not known; one that is no input of the twin must follow the names of `lagged`."""
    name = moved(target, known)
    if name is not None:
        return name
    for prefix in ("next_", "d_"):
        if target.startswith(prefix):
            return target.removeprefix(prefix)
    raise InputError(
        f"the name of target '{target}' does not say which state it moves, as 'd_{target}' or 'next_{target}' would: "
        "say so with dynamics=forebear.Dynamics(...)"
    )


def _levels(
    name: str, twin: Twin, found: Sequence[tuple[str, int]], movers: Mapping[str, tuple[str, bool]]
) -> tuple[object, ...]:
    known = [twin.columns[place].levels for place, (variable, _) in enumerate(found) if variable == name]
    if name in movers:
        known.append(twin.outputs[twin.targets.index(movers[name][0])].levels)
    if len(set(known)) > 1:
        raise InputError(
            f"'{name}' does not have the same labels in all columns of the twin: train it on tables alike"
        )
    return known[0] if known else ()


def _check_names(state: Sequence[str], action: Sequence[str], dynamics: Dynamics, twin: Twin) -> None:
    names = (*state, *action)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if not state:
        raise InputError("the dynamics have no state: name at least one variable that the twin moves")
    if twice:
        raise InputError(f"the dynamics name {listed(twice)} more than once: name each variable once")
    for option, given, known in (
        ("columns", dynamics.columns, twin.inputs),
        ("targets", dynamics.targets, twin.targets),
        ("periodic", dynamics.periodic, state),
    ):
        for name in given:
            if name not in known:
                raise InputError(f"{option} of the dynamics: no '{name}' there. {near_miss(name, known)}")
    for column, place in dynamics.columns.items():
        variable, lag = place
        check_whole(f"the lag of '{column}'", lag, 0)
        if variable not in names:
            raise InputError(f"columns of the dynamics: no variable '{variable}'. {near_miss(variable, names)}")
    for name, period in dynamics.periodic.items():
        if not np.isfinite(period) or period <= 0:
            raise InputError(f"the period of '{name}' must be a finite number above 0; got {period!r}")
