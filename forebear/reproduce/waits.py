"""How long trainings take until they succeed, some of which never do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Wait(NamedTuple):
    """When a training's evaluations first were good enough, or when it ended without."""

    steps: int
    over: bool

    @classmethod
    def of(cls, curve: Sequence[Mapping[str, float]], level: float) -> Wait:
        """From the evaluations on the way: the first whose mean return is above a level.

        >>> print(Wait.of([{"timesteps": 25_000, "mean": -90.0}, {"timesteps": 50_000, "mean": 230.0}], 200.0))
        50
        """
        first = next((one["timesteps"] for one in curve if one["mean"] > level), None)
        return cls(int(curve[-1]["timesteps"] if first is None else first), first is not None)

    def __str__(self) -> str:
        """In thousand steps."""
        return f"{self.steps / 1_000:.0f}" if self.over else "never"


def compare_waits(some: Iterable[Wait], others: Iterable[Wait]) -> float:
    """p-value of the log-rank test that both wait equally long; NaN when all waits are of the same length.

    >>> soon, late = [Wait(50_000, True)] * 5, [Wait(500_000, False)] * 5
    >>> compare_waits(soon, late) < 0.01, compare_waits(soon, soon)
    (True, nan)
    """
    from scipy.stats import CensoredData, logrank

    def censored(waits: Iterable[Wait]) -> CensoredData:
        known = list(waits)
        return CensoredData(
            [one.steps for one in known if one.over], right=[one.steps for one in known if not one.over]
        )

    with np.errstate(invalid="ignore"):
        return float(logrank(censored(some), censored(others)).pvalue)
