"""How a twin is trained. It is fitted once and used for long, so it takes more steps than a sampler of discovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from forebear.errors import InputError, check_fields, near_miss, one_of
from forebear.flow.settings import FlowSettings

# Twice the steps that a discovery takes: a twin's draws are what its user gets.
_FLOW = FlowSettings(steps=4_000, batch=2_048, rate=5e-3, averaging=0.995, ode_steps=16, crowding=1.0)


@dataclass(frozen=True)
class TwinSettings:
    """The flow and its training."""

    flow: FlowSettings = _FLOW
    held_out: float = 0.1
    """share of the rows, 4,096 of them at most, that choose the best weights along the training instead of shaping
    them; 0 trains on every row and keeps the last weights"""
    test: float = 0.0
    """share of the rows, 2,000 of them at most, that are set aside before the training, to judge the twin on; 0 sets
    none aside. `Found.twin` sets a fifth aside unless it is told otherwise"""
    law: Literal["auto", "flow", "blend"] = "auto"
    """"flow": one flow. "blend": networks, networks that hear what trees say, and a forest, weighed by held-out rows.
    "auto": a blend where the table has 100 to 20,000 rows, or more and trees know something that a flow does not, and
    no setting of the flow was given; of a joint law, of categories or of moments in time a flow"""
    treat: Mapping[str, str] = field(default_factory=dict)
    """target -> what its values are: "continuous" (measured, rounded or not), "lattice" (counts, grades: nothing lies
    between them), "atoms" (continuous but for values that many rows share); "auto", the default, looks at them"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    @classmethod
    def resolve(cls, changes: Mapping[str, Any], flow: FlowSettings | None = None) -> TwinSettings:
        """The defaults, or the settings of a sampler, with some fields changed, those of the flow by their own names.

        >>> TwinSettings.resolve({"steps": 10}).flow.steps
        10
        >>> TwinSettings.resolve({"stesp": 10})
        Traceback (most recent call last):
        forebear.errors.InputError: unknown setting 'stesp'. Did you mean 'steps'?
        """
        own = [each.name for each in fields(FlowSettings)]
        for name in changes:
            if name not in (*own, *_CHECKS):
                raise InputError(f"unknown setting '{name}'. {near_miss(name, (*own, *_CHECKS))}")
        base = flow if isinstance(flow, FlowSettings) else _FLOW
        if "law" not in changes and (flow is not None or any(name in own for name in changes)):
            changes = {**changes, "law": "flow"}  # who sets something of the flow wants the flow
        changed = replace(base, **{name: value for name, value in changes.items() if name in own})
        return cls(changed, **{name: value for name, value in changes.items() if name in _CHECKS})


def _up_to_half(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0 <= value <= 0.5:
        raise InputError(f"{what} must lie between 0 and 0.5; got {value!r}")


def _treatment(what: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a dict such as {{'y': 'continuous'}}; got {value!r}")


_CHECKS = {
    "held_out": _up_to_half,
    "test": _up_to_half,
    "law": one_of("auto", "flow", "blend"),
    "treat": _treatment,
}
