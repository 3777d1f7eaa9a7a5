"""Evidence that the chosen candidates are enough, and that each is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from forebear.discovery.action import Action
from forebear.discovery.dependence import TestResult
from forebear.errors import renamed


@dataclass(frozen=True)
class Certificate:
    """What the latents of the real rows say about the chosen set."""

    kept: tuple[str, ...]
    passes: bool
    """no removed candidate, nor all of them together, is still found in the latents"""
    agrees: bool
    """every search ended in this set"""
    tests: Mapping[str, TestResult]
    """of a removed candidate: given the chosen set; of a kept one: when it alone is taken out of the set"""
    jointly: TestResult | None
    """of all removed candidates together, with their pairwise interactions; None when nothing is removed"""
    alternatives: Mapping[tuple[str, ...], Mapping[str, TestResult]]
    """other sets, no larger, that pass too, each with its own tests"""
    actions: Mapping[str, Action]
    """how each kept candidate acts"""
    level: float
    negligible: tuple[str, ...] = ()
    """removed candidates that are found in the latents, surely but too weakly to matter"""

    verdicts = renamed("verdicts", "tests")

    def frame(self) -> pd.DataFrame:
        """One row per candidate: kept, p_value, effect, shift, statistic, moves.

        `moves` says which side of the law the strongest sign of the candidate lies in: location, scale or shape.
        """
        return _frame(self.kept, self.tests)

    def alternative_frames(self) -> dict[tuple[str, ...], pd.DataFrame]:
        """The same for each of the other sets."""
        return {kept: _frame(kept, tests) for kept, tests in self.alternatives.items()}

    def actions_frame(self) -> pd.DataFrame:
        """One row per ancestor: shares of location, scale and shape, and the largest of them in a word.

        With a joint law there may be a fourth share: for dependence on the other outputs.
        """
        frame = pd.DataFrame.from_dict(
            {candidate: action._asdict() for candidate, action in self.actions.items()},
            orient="index",
            columns=list(Action._fields),
        )
        if not any(action.dependence for action in self.actions.values()):
            frame = frame.drop(columns="dependence")
        frame["acts"] = frame.idxmax(axis=1) if len(frame) else pd.Series(dtype=object)
        return frame


def _frame(kept: Sequence[str], tests: Mapping[str, TestResult]) -> pd.DataFrame:
    rows = {
        candidate: {
            "kept": candidate in kept,
            "p_value": result.p_value,
            "effect": result.effect,
            "shift": result.shift,
            "statistic": result.statistic,
            "moves": ("location", "scale", "shape")[min(result.order, 3) - 1],
        }
        for candidate, result in tests.items()
    }
    columns = ["kept", "p_value", "effect", "shift", "statistic", "moves"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def holm(p_values: Mapping[str, float], level: float) -> set[str]:
    """The names rejected at a family-wise level, by Holm's step-down rule.

    >>> sorted(holm({"a": 0.001, "b": 0.03, "c": 0.02}, level=0.05))
    ['a', 'b', 'c']
    >>> sorted(holm({"a": 0.001, "b": 0.03, "c": 0.04}, level=0.05))
    ['a']
    """
    rejected: set[str] = set()
    for place, name in enumerate(sorted(p_values, key=lambda n: p_values[n])):
        if p_values[name] * (len(p_values) - place) > level or math.isnan(p_values[name]):
            break
        rejected.add(name)
    return rejected
