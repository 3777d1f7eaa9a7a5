"""What a stress test says: how likely the limit is crossed, how surely that is known, and the ways there."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.errors import InputError, near_miss
from forebear.rare.beside_rows import StepFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_OUTSIDE = 0.05
"""share of the crossing trajectories that may lead beyond the data before that is a doubt"""
_OUTSIDE = 0.5
"""deviations beyond the data of a twin from which on its answer is told to be a guess; as in `Twin.sample`"""


@dataclass(frozen=True, eq=False)
class Ways:
    """Trajectories that cross the limit."""

    names: tuple[str, ...]
    """of the states"""
    drivers: tuple[str, ...]
    """of the actions"""
    states: np.ndarray
    """(trajectories, steps + 1, states); angles go on instead of leaping back by a turn"""
    actions: np.ndarray
    """(trajectories, steps, actions) as they were taken, disturbances included"""
    latents: np.ndarray = field(repr=False)
    """(trajectories, steps, numbers) standard normal: those of the noise, then those of the disturbances"""
    starts: np.ndarray
    """(trajectories,) the row of `start` that each begins with"""
    crossed: np.ndarray
    """(trajectories,) the first step at which the limit is crossed; of a limit on whole trajectories the last one"""
    outside: np.ndarray
    """(trajectories,) how far the inputs of the twin lay beyond its data at most, in deviations; 0 inside"""
    training: np.ndarray
    """(trajectories,) of several trainings the place of the one that moved it"""

    def __len__(self) -> int:
        return len(self.states)

    @property
    def distance(self) -> np.ndarray:
        """Of the latents from 0 (trajectories,): the density falls with exp(-distance**2 / 2)."""
        return np.sqrt(np.sum(np.square(self.latents, dtype=float), axis=(1, 2)))

    def __getitem__(self, rows: Any) -> Ways:
        """Some of them, by numbers, a slice or a mask."""
        parts = ("states", "actions", "latents", "starts", "crossed", "outside", "training")
        return Ways(self.names, self.drivers, *(getattr(self, part)[rows] for part in parts))

    def frame(self) -> pd.DataFrame:
        """A line for each trajectory and step; the action of the last one was never taken, and is NaN."""
        count, moments = self.states.shape[:2]
        rest = np.full((count, 1, len(self.drivers)), np.nan)
        values = np.concatenate([self.states, np.concatenate([self.actions, rest], axis=1)], axis=2)
        where = {"trajectory": np.repeat(np.arange(count), moments), "step": np.tile(np.arange(moments), count)}
        columns = zip((*self.names, *self.drivers), np.moveaxis(values, 2, 0), strict=True)
        return pd.DataFrame(where | {name: column.ravel() for name, column in columns})


@dataclass(frozen=True, eq=False)
class Stressed:
    """The answer of `forebear.stress`."""

    probability: float
    """that the limit is crossed; of several trainings the mean of theirs"""
    interval: tuple[float, float]
    """95%, from the spread of independent repeats; of several trainings from the lowest end to the highest"""
    limits: tuple[str, ...]
    """what is crossed"""
    steps: int
    repeats: np.ndarray
    """(repeats,) what each of them found, every one without bias; of several trainings of all"""
    levels: tuple[int, ...]
    """rungs of the ladder, of each training"""
    calls: int
    """trajectories that were computed"""
    trajectories: Ways = field(repr=False)
    """some that cross, as likely as they are among all that do"""
    likeliest: Ways = field(repr=False)
    """those of the largest density, the likeliest first"""
    ends: tuple[tuple[int, float], ...] = field(repr=False, default=())
    """place of a state and its end, of each limit, for the figure"""
    each: tuple[Stressed, ...] = field(repr=False, default=())
    """of several trainings, the answer of each"""
    fit: StepFit | None = field(repr=False, default=None)
    """of a twin, how its law of one step fits rows set aside near the trajectories; None where there are too few, and
    for a function; of several trainings the first that does not fit"""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the probability may be far off, whatever the interval says; none where nothing speaks against it."""
        found = []
        if self.outside > _MOST_OUTSIDE:
            found.append(
                f"{self.outside:.0%} of the probability is of trajectories that lead beyond the data of the twin, "
                "where it guesses"
            )
        if self.fit is not None and not self.fit.good:
            found.append(self.fit.told())
        return tuple(found)

    @cached_property
    def outside(self) -> float:
        """Share of the crossing trajectories that lead the twin beyond its data, where it guesses."""
        return float(np.mean(self.trajectories.outside > _OUTSIDE)) if len(self.trajectories) else 0.0

    def frame(self) -> pd.DataFrame:
        """A line for each training: probability and interval."""
        own = self.each or (self,)
        return pd.DataFrame(
            {
                "training": range(len(own)),
                "probability": [one.probability for one in own],
                "low": [one.interval[0] for one in own],
                "high": [one.interval[1] for one in own],
            }
        )

    def summary(self) -> str:
        """Some sentences."""
        low, high = self.interval
        what = f"{' or '.join(self.limits)} fails" if self.limits else "the limit is crossed"
        lines = [f"{what}, within {self.steps} steps: probability {self.probability:.2g}, {low:.2g} to {high:.2g}"]
        if not self.probability:
            lines = [f"{what}, within {self.steps} steps: no trajectory crosses; the probability is below {high:.2g}"]
        if self.each:
            told = ", ".join(f"{one.probability:.2g}" for one in self.each)
            lines.append(f"by training: {told}")
        if len(self.likeliest):
            way = self.likeliest
            lines.append(f"likeliest way: at step {way.crossed[0]}, distance {way.distance[0]:.2f}")
        if 0 < self.outside <= _MOST_OUTSIDE:
            lines.append(
                f"{self.outside:.0%} of the probability is of trajectories that lead beyond the data of the twin, "
                "where it guesses"
            )
        lines += self.doubts
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Stressed({'; '.join(self.summary().splitlines())})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines())

    def plot(self, state: str | None = None, ax: Axes | None = None) -> Axes:
        """Crossing trajectories of one state, the likeliest ones above them, and the limit."""
        from forebear.plots.ways import ways_figure

        names = self.trajectories.names
        first = self.ends[0][0] if self.ends else 0
        if state is not None and state not in names:
            raise InputError(f"state: no '{state}'. {near_miss(state, names)}")
        place = first if state is None else names.index(state)
        ends = [end for own, end in self.ends if own == place]
        some, best = self.trajectories.states[:, :, place], self.likeliest.states[:, :, place]
        return ways_figure(names[place], some, best, ends, ax)


def joined(parts: list[Ways]) -> Ways:
    """The ways of several trainings in one."""
    fields: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("states", "actions", "latents", "starts", "crossed", "outside")
    }
    training = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Ways(parts[0].names, parts[0].drivers, training=training, **fields)
