"""Where states must stay: ends of columns, or a function of the state, as numbers that are above 0 outside."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.control.model import Model, TwinSteps
from forebear.errors import InputError, near_miss

Ends = tuple[float | None, float | None]
Limits = Mapping[str, Ends] | Sequence[Ends | None] | Callable[[Array], Any]
"""ends by name of a state, or in the order of the states, None where there is none; or a function (state) -> number
or numbers, above 0 outside"""


class Beyond(eqx.Module):
    """How far a state lies outside, a number for each limit; 0 and below inside."""

    names: eqx.AbstractVar[tuple[str, ...]]
    """of the limits, such as "theta < 3"; empty where nobody knows them"""

    @abc.abstractmethod
    def __call__(self, state: Array) -> Array:
        """The numbers (limits,) of one state."""


@final
class EndsBeyond(Beyond):
    """Beyond the ends of some states."""

    places: tuple[int, ...] = eqx.field(static=True)
    signs: tuple[int, ...] = eqx.field(static=True)
    """1 for a greatest value, -1 for a least one"""
    ends: tuple[float, ...] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    states: int = eqx.field(static=True)
    """how many the limits were told for; 0 where they go by name"""

    def __call__(self, state: Array) -> Array:
        """Distances in the units of the states."""
        if self.states and len(state) != self.states:
            raise InputError(f"limits: give a pair for each of the {len(state)} states; got {self.states}")
        signs, ends = (jnp.asarray(numbers, state.dtype) for numbers in (self.signs, self.ends))
        return signs * (state[np.array(self.places)] - ends)


@final
class FunctionBeyond(Beyond):
    """What a function of the user's says."""

    function: Callable[[Array], Any]
    names: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, state: Array) -> Array:
        """Its number or numbers in a row."""
        return jnp.asarray(self.function(state), state.dtype).reshape(-1)


def read_limits(limits: Any, model: Model) -> Beyond:
    """The limits that a user means, or a word on what is wrong with them.

    >>> from forebear.control.model import step_model
    >>> walk = step_model(lambda state, action, noise: state + noise, 1)
    >>> read_limits([(None, 2.0)], walk)(jnp.array([2.5])).tolist()
    [0.5]
    """
    if callable(limits) and not isinstance(limits, Mapping):
        return FunctionBeyond(function=limits, names=())
    if isinstance(model, TwinSteps):
        names = model.plan.state
        if not isinstance(limits, Mapping):
            raise InputError(
                f"limits of a twin's states go by name, such as {{'{names[0]}': (-1, 1)}}, or are a function "
                f"(state) -> number, above 0 outside; got {limits!r}"
            )
        _check_names(limits, model)
        return _ends({name: names.index(name) for name in limits}, limits, 0)
    if isinstance(limits, Mapping) or not isinstance(limits, Sequence) or isinstance(limits, str):
        raise InputError(
            "limits must be a list of pairs (low, high), one for each state and None for one without, or a function "
            f"(state) -> number, above 0 outside; got {limits!r}"
        )
    own = {f"state {i}": pair for i, pair in enumerate(limits) if pair is not None}
    return _ends({name: int(name.split()[1]) for name in own}, own, len(limits))


def _check_names(limits: Mapping[str, Any], model: TwinSteps) -> None:
    for name in limits:
        if name not in model.plan.state:
            raise InputError(f"limits: no state '{name}'. {near_miss(name, model.plan.state)}")
        if model.plan.levels[model.plan.state.index(name)]:
            raise InputError(f"limits: '{name}' is a category, which has no ends: give a function of the state")


def _ends(places: Mapping[str, int], limits: Mapping[str, Any], states: int) -> EndsBeyond:
    told = [
        (places[name], sign, end, f"{name} {'<' if sign > 0 else '>'} {end:g}")
        for name, pair in limits.items()
        for sign, end in zip((-1, 1), _pair(name, pair), strict=True)
        if np.isfinite(end)
    ]
    if not told:
        raise InputError("limits: there is none, every end is open: give at least one number")
    own, signs, ends, names = zip(*told, strict=True)
    return EndsBeyond(places=own, signs=signs, ends=ends, names=names, states=states)


def _pair(name: str, pair: Any) -> tuple[float, float]:
    """Both ends, infinite where they are open."""
    try:
        low, high = (default if end is None else float(end) for end, default in zip(pair, _OPEN, strict=True))
    except (TypeError, ValueError):
        raise InputError(f"limits of '{name}' must be a pair such as (None, 3.0); got {pair!r}") from None
    if not low < high:
        raise InputError(f"limits of '{name}' must be two numbers, the lower first; got {pair!r}")
    return low, high


_OPEN = (-np.inf, np.inf)
