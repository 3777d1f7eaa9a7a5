"""Evidence that the chosen units are enough, and that each is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from forebear.discovery.action import Action
from forebear.discovery.dependence import Verdict


@dataclass(frozen=True)
class Certificate:
    """What the latents of the real rows say about the chosen set."""

    kept: tuple[str, ...]
    passes: bool
    """no removed unit, nor all of them together, is still found in the latents"""
    agrees: bool
    """every search ended in this set"""
    verdicts: Mapping[str, Verdict]
    """of a removed unit: given the chosen set; of a kept one: when it alone is taken out of the set"""
    jointly: Verdict | None
    """of all removed units together, with their pairwise interactions; None when nothing is removed"""
    alternatives: Mapping[tuple[str, ...], Mapping[str, Verdict]]
    """other sets, no larger, that pass too, each with its own verdicts"""
    actions: Mapping[str, Action]
    """how each kept unit acts"""
    level: float
    negligible: tuple[str, ...] = ()
    """removed units that are found in the latents, surely but too weakly to matter"""

    def frame(self) -> pd.DataFrame:
        """One row a candidate: kept, p_value, effect, shift, statistic, moves.

        `moves` says which side of the law the strongest sign of the unit lies in: location, scale or shape.
        """
        return _frame(self.kept, self.verdicts)

    def alternative_frames(self) -> dict[tuple[str, ...], pd.DataFrame]:
        """The same for each of the other sets."""
        return {kept: _frame(kept, verdicts) for kept, verdicts in self.alternatives.items()}

    def actions_frame(self) -> pd.DataFrame:
        """One row an ancestor: shares of location, scale and shape, and the largest of them in a word.

        With a joint law there may be a fourth share: for dependence on the other outputs.
        """
        frame = pd.DataFrame.from_dict(
            {unit: action._asdict() for unit, action in self.actions.items()},
            orient="index",
            columns=list(Action._fields),
        )
        if not any(action.dependence for action in self.actions.values()):
            frame = frame.drop(columns="dependence")
        frame["acts"] = frame.idxmax(axis=1) if len(frame) else pd.Series(dtype=object)
        return frame


def _frame(kept: Sequence[str], verdicts: Mapping[str, Verdict]) -> pd.DataFrame:
    rows = {
        unit: {
            "kept": unit in kept,
            "p_value": verdict.p_value,
            "effect": verdict.effect,
            "shift": verdict.shift,
            "statistic": verdict.statistic,
            "moves": ("location", "scale", "shape")[min(verdict.order, 3) - 1],
        }
        for unit, verdict in verdicts.items()
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
