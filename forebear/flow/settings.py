"""How the conditional samplers are built, trained and integrated."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from forebear.errors import below_one, check_fields, one_of, or_none, positive, whole


@dataclass(frozen=True)
class FlowSettings:
    """Network, optimiser and solver. The defaults are the preset "fast".

    >>> FlowSettings(solver="euler")
    Traceback (most recent call last):
    forebear.errors.InputError: setting 'solver' is 'euler'. Known: 'rk4', 'tsit5'.
    """

    width: int = 64
    """units in a hidden layer"""
    depth: int = 4
    """hidden layers"""
    activation: Literal["silu", "relu", "tanh"] = "silu"
    steps: int | None = 1_500
    """optimiser steps; None: as many as `epochs` passes over the data take"""
    epochs: int = 1_000
    """passes over the data when `steps` is None"""
    batch: int = 128
    """rows in a step, or every row when there are fewer"""
    rate: float = 2e-2
    """peak learning rate of Adam"""
    schedule: Literal["cosine", "constant"] = "cosine"
    """cosine: linear warm-up over the first twentieth, then cosine decay to zero"""
    averaging: float = 0.99
    """decay of the running average of the weights that is kept in the end; 0 keeps the last weights"""
    solver: Literal["rk4", "tsit5"] = "rk4"
    """rk4: `ode_steps` fixed steps; tsit5: adaptive, with `tolerance`"""
    ode_steps: int = 8
    """steps of rk4"""
    crowding: float = 1.5
    """1: the steps of rk4 are equal; more: they are shorter towards the data, where velocities change fastest if a
    law is narrow, t = 1 - (1 - s)^crowding for equal steps of s"""
    tolerance: float = 1e-5
    """relative and absolute tolerance of tsit5"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    def total_steps(self, rows: int) -> int:
        """Optimiser steps for a table of so many rows; an epoch drops its last, incomplete batch.

        >>> FlowSettings(steps=None, epochs=10, batch=100).total_steps(rows=250)
        20
        """
        if self.steps is not None:
            return self.steps
        return self.epochs * max(1, rows // self.batch)

    def untrained(self) -> FlowSettings:
        """Network and solver as here, the training as it is by default.

        >>> FlowSettings(rate=1.0, ode_steps=4).untrained() == FlowSettings(ode_steps=4)
        True
        """
        training = ("steps", "epochs", "batch", "rate", "schedule", "averaging")
        return replace(self, **{f.name: f.default for f in fields(self) if f.name in training})


_CHECKS = {
    "width": whole(),
    "depth": whole(),
    "activation": one_of("silu", "relu", "tanh"),
    "steps": or_none(whole()),
    "epochs": whole(),
    "batch": whole(),
    "rate": positive(),
    "schedule": one_of("cosine", "constant"),
    "averaging": below_one,
    "solver": one_of("rk4", "tsit5"),
    "ode_steps": whole(),
    "crowding": positive(),
    "tolerance": positive(),
}

PUBLISHED = FlowSettings(steps=None, batch=1_000, rate=1e-4, schedule="constant", averaging=0.0, solver="tsit5")
"""Adam at a constant rate of 1e-4, a thousand epochs, an adaptive solver: the preset "paper"."""
