"""How long trainings take until they succeed, some of which never do, and what to claim of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from forebear_experiments.framework.experiment import Claim

_LEVEL = 0.05
_MOST = 0.5
"""share of the episodes that is most of them"""


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


class TrainingOutcome(NamedTuple):
    """What became of one training."""

    wait: Wait
    cut_off: float | None
    """share of the last training episodes that the limit of time ended, where that was written down"""

    @classmethod
    def of(cls, curve: Sequence[Mapping[str, float]], level: float) -> TrainingOutcome:
        """From the evaluations on the way."""
        shares = [one["cut_off"] for one in curve if one.get("episodes")]
        return cls(Wait.of(curve, level), shares[-1] if shares else None)


def waiting_claims(outcomes: Mapping[str, Sequence[TrainingOutcome]], true: str) -> list[Claim]:
    """Whether it is for the twins that some trainings never land, and whether those hover.

    Arguments:
        outcomes: of each regime.
        true: the regime of the true environment; all others are those of twins.
    """
    waits = {regime: [one.wait for one in own] for regime, own in outcomes.items()}
    claims = [_there_too(waits, true), _no_difference(waits, true)]
    told = [one for own in outcomes.values() for one in own if one.cut_off is not None]
    return [*claims, _hovering(told)] if told else claims


def _there_too(waits: Mapping[str, Sequence[Wait]], true: str) -> Claim:
    never = {regime: sum(not wait.over for wait in own) for regime, own in waits.items()}
    rates = "; ".join(f"{regime} {count} of {len(waits[regime])}" for regime, count in never.items())
    return Claim(
        "trainings that never land are found in the true environment too",
        None,
        f"without an evaluation above 200: {rates}",
        never[true] > 0,
        "" if never[true] else "all of them landed",
    )


def _no_difference(waits: Mapping[str, Sequence[Wait]], true: str) -> Claim:
    p_value = compare_waits(waits[true], [one for regime, own in waits.items() if regime != true for one in own])
    told = [f"{regime} {', '.join(map(str, sorted(own)))}" for regime, own in waits.items()]
    holds = not p_value < _LEVEL
    return Claim(
        "no sign that trainings in twins land sooner or later than those in the true environment (log-rank test over "
        f"all of them, p at least {_LEVEL})",
        None,
        f"p = {p_value:.2g}; first evaluation above 200, in thousand steps: {'; '.join(told)}",
        holds,
        "" if holds else "the times differ",
    )


def _hovering(outcomes: Sequence[TrainingOutcome]) -> Claim:
    late, able = (
        [one.cut_off for one in outcomes if one.cut_off is not None and one.wait.over == over]
        for over in (False, True)
    )
    holds = all(share > _MOST for share in late)
    told = [f"{name} {_span(shares)}" for name, shares in (("never landed", late), ("landed", able)) if shares]
    return Claim(
        "those that never land hover: the limit of time ends more than half of their last training episodes",
        None,
        f"share of episodes cut off: {'; '.join(told)}",
        holds,
        "" if holds else "some of them crash, or rest where it does not count",
    )


def _span(shares: Sequence[float]) -> str:
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f}%"
