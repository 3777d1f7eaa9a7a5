"""How long a discovery may take, roughly: from stored measurements, and from the runs that this machine has done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

# Fitted by least squares, in logarithms, to the seconds of single targets on two cores that are stored in results:
# bench-pruning.json, bench-size.json and bench-wide.json: 4 to 80 candidates, 300 to 4 million rows.
_SECONDS, _POWER = 7.7, 0.55
# What a further target adds to the first: trainings are shared, paths and certificates are not (bench-pipeline.json).
_FURTHER = 0.6
# All of those measurements lie within this factor of the fit, either way.
_EITHER_WAY = 2.7


class Work(NamedTuple):
    """What the time depends on."""

    candidates: int
    """searched for a target, on the average"""
    targets: int
    runs: int = 1


class Seconds(NamedTuple):
    """A range that the true time lies in more often than not."""

    low: float
    high: float

    def told(self) -> str:
        """
        >>> Seconds(20, 80).told(), Seconds(200, 800).told(), Seconds(3_000, 12_000).told()
        ('20 to 80 seconds', '3 to 14 minutes', '1 to 3 hours')
        """
        for unit, size in (("hours", 3_600), ("minutes", 60)):
            if self.high > 2 * size:
                low = max(1, round(self.low / size))
                high = max(low + 1, math.ceil(self.high / size) if unit == "minutes" else round(self.high / size))
                return f"{low} to {high} {unit}"
        low, high = (max(10, round(s / 10) * 10) for s in self)
        return f"{low} to {max(high, low + 10)} seconds"


def usual(work: Work) -> float:
    """Seconds on the machine of the measurements."""
    one = _SECONDS * max(1, work.candidates) ** _POWER
    return one * work.runs * (1 + _FURTHER * (work.targets - 1))


def estimate(work: Work, done: Sequence[tuple[Work, float]] = ()) -> Seconds:
    """A range; `done`: runs of this machine, with the seconds that they took, which set how fast it is.

    >>> round(estimate(Work(10, 1)).low), round(estimate(Work(10, 1)).high)
    (10, 74)
    >>> estimate(Work(10, 1), [(Work(10, 1), 420.0)]).low > 150
    True
    """
    ratios = sorted(seconds / usual(past) for past, seconds in done if seconds > 0)
    pace = ratios[len(ratios) // 2] if ratios else 1.0
    middle = pace * usual(work)
    return Seconds(middle / _EITHER_WAY, middle * _EITHER_WAY)


def told(work: Work, gigabytes: float, done: Sequence[tuple[Work, float]]) -> dict[str, Any]:
    """For the page: words, and the numbers behind them."""
    seconds = estimate(work, done)
    source = "runs on this machine" if done else "measurements on two cores of another machine"
    return {
        "time": seconds.told(),
        "low": round(seconds.low),
        "high": round(seconds.high),
        "memory": f"{gigabytes:.1f} GB",
        "gigabytes": round(gigabytes, 2),
        "source": source,
        "work": list(work),
    }
