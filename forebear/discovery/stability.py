"""How far the agreement of several runs can be trusted: a bound for complementary pairs.

Each of a pair of runs sees one half of the rows, and the halves share none. Where rows are independent, so are the
two choices, and an input that a half chooses with probability theta is chosen by both with theta squared. Whatever
the law and the rule, this bounds how many rarely chosen inputs come to be agreed on (Shah and Samworth, 2013,
"Variable selection with error control: another look at stability selection", Theorem 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from forebear.discovery.halves import HALF
from forebear.discovery.record import Discovery
from forebear.errors import InputError

TAU = 0.9
"""the share of the runs from which on an input is agreed on, unless another is asked for"""


@dataclass(frozen=True)
class Stability:
    """What several runs agree on for one target, and what that is worth.

    >>> ten = Stability("y", {"a": 10, "b": 7, "c": 1, "d": 0}, runs=10, pairs=5)
    >>> ten.agreed, ten.tau, ten.chosen, round(ten.bound, 2)
    (('a',), 0.9, 1.8, 1.01)
    >>> ten.at(0.7).agreed, round(ten.at(0.7).bound, 2)
    (('a', 'b'), 2.02)
    >>> ten.frame()["agreed"].to_dict()
    {'a': True, 'b': False, 'c': False, 'd': False}
    """

    target: str
    counts: Mapping[str, int]
    """of each candidate, the runs that chose it"""
    runs: int
    pairs: int = 0
    """of runs that saw halves of the rows with no row in common"""
    subset: float = HALF
    """share of the rows that a run saw"""
    least: int | None = None
    """runs that an agreed input was chosen by at least; None: nine out of ten"""

    @property
    def least_runs(self) -> int:
        """Runs that an agreed input was chosen by at least."""
        return _runs_of(TAU, self.runs) if self.least is None else self.least

    @property
    def tau(self) -> float:
        """The share of the runs from which on an input is agreed on."""
        return self.least_runs / self.runs

    @property
    def agreed(self) -> tuple[str, ...]:
        """The candidates that at least a share tau of the runs chose."""
        return tuple(name for name, count in self.counts.items() if count >= self.least_runs)

    @property
    def chosen(self) -> float:
        """How many inputs a run chose in the mean: q."""
        return sum(self.counts.values()) / self.runs

    @property
    def candidates(self) -> int:
        """How many inputs there were to choose from: p."""
        return len(self.counts)

    @property
    def bound(self) -> float | None:
        """At most so many of the agreed inputs are expected to be of the kind that a half of the rows chooses no
        more often than a random pick of q among p would; None where nothing can be said (`why`).

        With theta = q / p it is theta q / (2 tau - 1). q is estimated by the mean of the runs.
        """
        if self.why:
            return None
        # For an even number of runs this is 2 tau - 1; an odd last one may have voted for anything.
        surplus = (self.least_runs - self.runs % 2 - self.pairs) / self.pairs
        return self.chosen**2 / max(1, self.candidates) / surplus

    @property
    def why(self) -> str:
        """Why there is no bound; empty where there is one."""
        if self.runs == 1:
            return "there was one run: runs=10, subset=0.5 makes five pairs"
        if self.subset != HALF:
            return f"each run saw {self.subset:.0%} of the rows: with subset=0.5 runs come in pairs that share no row"
        if not self.pairs:
            return "an earlier version drew the rows of each run on their own: discover again"
        if self.least_runs <= self.pairs + self.runs % 2:
            return f"of {self.runs} runs the last has no partner: ask for an even number, or for a larger tau"
        return ""

    def at(self, tau: float) -> Stability:
        """The same runs with another share tau; a larger one agrees on fewer inputs, and has a smaller bound.

        The bound is that of a share that was fixed beforehand, not of one that was chosen by looking.
        """
        if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0.5 < tau <= 1:
            raise InputError(f"tau must be a share above 0.5, at most 1; got {tau!r}")
        return replace(self, least=_runs_of(tau, self.runs))

    def frame(self) -> pd.DataFrame:
        """A row per candidate: times, frequency, agreed."""
        rows = [(name, count, count / self.runs, name in self.agreed) for name, count in self.counts.items()]
        return pd.DataFrame(rows, columns=["candidate", "times", "frequency", "agreed"]).set_index("candidate")

    def __str__(self) -> str:
        """In a sentence."""
        often = f"at least {self.least_runs} of {self.runs} runs"
        if self.bound is None:
            return f"{self.target}: no bound for what {often} chose: {self.why}."
        if not self.agreed:
            return f"{self.target}: no input was chosen by {often}."
        return (
            f"{self.target}: of the inputs that {often} chose ({', '.join(self.agreed)}), at most {self.bound:.2g} "
            "are expected to be ones that half of the rows would pick no more often than chance."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        own = {"agreed": list(self.agreed), "tau": self.tau, "chosen": self.chosen, "candidates": self.candidates}
        return {**own, "pairs": self.pairs, "bound": self.bound, "why": self.why}


def _runs_of(tau: float, runs: int) -> int:
    """A share such as 0.6 of 10 runs is 6 of them, whatever binary fractions make of it."""
    return math.ceil(tau * runs - 1e-9)


def stability_of(found: Discovery, target: str) -> Stability:
    """The agreement of a result's runs on one target."""
    runs = len(found.choices)
    counts = {name: sum(name in run[target] for run in found.choices) for name in found.questions[target].candidates}
    pairs, subset = found.settings.get("pairs", 0), found.settings.get("subset", 1.0)
    return Stability(target, counts, runs, int(pairs), float(subset))
