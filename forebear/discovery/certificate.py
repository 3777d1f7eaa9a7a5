"""Evidence that the chosen candidates are enough, and that each is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from forebear.discovery.action import Action
from forebear.discovery.cost import Cost, CurvePoint, Difference
from forebear.discovery.dependence import TestResult
from forebear.discovery.verdict import CANNOT_TELL, Verdict
from forebear.errors import renamed

EARLIER = Verdict(CANNOT_TELL, ("an earlier version made this certificate, without limits: discover again",))


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
    verdict: Verdict = EARLIER
    """what may be concluded"""
    classes: tuple[tuple[str, ...], ...] = ()
    """a kept candidate, and behind it those that can stand in for it"""
    cost: Cost | None = None
    """held-out scores of the law on the kept candidates against that on all"""
    rows: int = 0
    """rows that were tested"""
    fresh: bool = False
    """whether other rows than those that are tested chose the set: those of the search, or either half the other's"""
    open_share: float = 1.0
    """what the kept candidates leave open, as a share of the target's standard deviation"""
    deviation: float = 1.0
    """the standard deviation of the target, in its own units"""
    margin: float = 0.075
    """what a removed candidate may still explain of what is left open"""
    halves: tuple[tuple[str, ...], ...] = ()
    """the set that each half of the rows finds alone; empty where other rows were there to test, or too few"""
    fresh_p: Mapping[str, float] = field(default_factory=dict)
    """p-values from rows that had no part in choosing; a removed candidate has none where no half chose the set"""
    tails: Mapping[str, float] = field(default_factory=dict)
    """p-values of candidates with a few labels, by a test of both tails of the law alone, on all rows: of a removed
    one given the chosen set, of a kept one when it alone is taken out"""

    verdicts = renamed("verdicts", "tests")

    def frame(self) -> pd.DataFrame:
        """One row per candidate: kept, p_value, fresh_p, effect, limit, detectable, shift, limit_units, statistic,
        moves.

        `p_value` is from all tested rows, `fresh_p` from rows that had no part in choosing the set.
        `limit` is the 95% upper limit on the effect, `limit_units` about how far that could still move the target, in
        its own units; `detectable` the effect that would have been found four times out of five. `moves` says which
        side of the law the strongest sign of the candidate lies in: location, scale or shape.
        """
        frame = _frame(self.kept, self.tests, self.open_share * self.deviation)
        frame.insert(2, "fresh_p", [self.fresh_p.get(name, math.nan) for name in frame.index])
        return frame

    @property
    def limit(self) -> float:
        """95% upper limit on what all removed candidates together could still explain of what is left open."""
        return 0.0 if self.jointly is None else self.jointly.limit

    def conclusions(self) -> dict[str, Any]:
        """What a program may read of it, as plain values."""
        return {
            "verdict": self.verdict.word,
            "why": list(self.verdict.reasons),
            "classes": [list(names) for names in self.classes],
            "limit": self.limit,
            "rows_tested": self.rows,
            "fresh_rows": self.fresh,
            "halves": [list(chosen) for chosen in self.halves],
            "cost": None if self.cost is None else self.cost_frame().to_dict("index"),
        }

    def cost_frame(self) -> pd.DataFrame:
        """A row for either score: pruned, full, difference, low, high; no rows where none was measured."""
        rows = {}
        if self.cost is not None:
            apart = {"log loss": self.cost.log_loss, "CRPS": self.cost.crps}
            for place, (name, difference) in enumerate(apart.items()):
                own = {"pruned": self.cost.pruned[place], "full": self.cost.full[place]}
                rows[name] = {**own, **difference._asdict()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["pruned", "full", *Difference._fields])

    def curve_frame(self) -> pd.DataFrame:
        """A row for each of nested sets: kept, log_loss, share."""
        points = () if self.cost is None else self.cost.curve
        return pd.DataFrame([point._asdict() for point in points], columns=list(CurvePoint._fields))

    def smallest(self, margin: float) -> tuple[str, ...]:
        """The fewest kept candidates that bring all but a share of what they bring together."""
        points = () if self.cost is None else self.cost.curve
        return min((p.kept for p in points if p.share >= 1 - margin), key=len, default=self.kept)

    def alternative_frames(self) -> dict[tuple[str, ...], pd.DataFrame]:
        """The same for each of the other sets."""
        open_units = self.open_share * self.deviation
        return {kept: _frame(kept, tests, open_units) for kept, tests in self.alternatives.items()}

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


_COLUMNS = ("kept", "p_value", "effect", "limit", "detectable", "shift", "limit_units", "statistic", "moves")


def _frame(kept: Sequence[str], tests: Mapping[str, TestResult], open_units: float) -> pd.DataFrame:
    rows = {
        candidate: {
            "kept": candidate in kept,
            "p_value": result.p_value,
            "effect": result.effect,
            "limit": result.limit,
            "detectable": result.detectable,
            "shift": result.shift,
            "limit_units": math.sqrt(result.limit) * open_units,
            "statistic": result.statistic,
            "moves": ("location", "scale", "shape")[min(result.order, 3) - 1],
        }
        for candidate, result in tests.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(_COLUMNS))
