"""Is a twin right about one step where the trajectories of a stress test go? Held against rows set aside.

A rollout adds up what each step has wrong. Where a twin's law is twice as wide as the true one, a limit that is never
crossed is crossed often, and every training says so with a narrow interval. The latents of rows that no training has
seen tell: they are standard normal where the law is right, closer together where it is too wide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forebear.twin.twin import Twin

# Rows set aside that are looked at, those nearest to where trajectories go; the fewest of which anything is told.
_NEAREST, FEWEST = 200, 50
# Moments of trajectories that are looked at, at most.
_MOMENTS = 2_000
_NORMAL_RANGE = 1.349
"""between the quartiles of a standard normal value"""
# How many times too wide or too narrow a law is told to be, and by how many of its deviations it may lie off.
_WIDTH, _PLACE = 1.5, 0.4


class StepFit(NamedTuple):
    """Of the target that is worst."""

    target: str
    width: float
    """how many times as wide the twin's law of one step is as the rows say; 1 is right"""
    place: float
    """by how many of its own deviations it lies too high"""
    rows: int

    @property
    def good(self) -> bool:
        """Whether nothing speaks against it."""
        return 1 / _WIDTH < self.width < _WIDTH and abs(self.place) < _PLACE

    def told(self) -> str:
        """In words."""
        if not 1 / _WIDTH < self.width < _WIDTH:
            what = f"is {self.width:.2g} times as wide as it should be"
        else:
            what = f"lies {abs(self.place):.2g} of its deviations too {'high' if self.place > 0 else 'low'}"
        return (
            f"by the {self.rows} rows set aside that lie nearest to these trajectories, the twin's law of "
            f"'{self.target}' {what}: every step adds to that, and the probability is not to be believed"
        )


def step_fit(twin: Twin, given: np.ndarray) -> StepFit | None:
    """From the inputs (moments, inputs) that the twin was given; None where too few rows were set aside, or the twin
    cannot say where a value lies in its law."""
    kept = twin.reference
    if len(kept) < FEWEST or not len(given) or not twin.law_rises:
        return None
    some = given[np.linspace(0, len(given) - 1, min(len(given), _MOMENTS)).astype(int)]
    places, visited = twin.encoder.single(kept.x), twin.encoder.single(some)
    squares = (places**2).sum(axis=1)[:, None] + (visited**2).sum(axis=1) - 2 * places @ visited.T
    near = np.argsort(squares.min(axis=1), kind="stable")[:_NEAREST]
    z = twin.latent(kept.x[near], kept.y[near], seed=0)
    found = []
    for column, target in zip(z.T, twin.targets, strict=True):
        low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
        spread = max(float(high - low) / _NORMAL_RANGE, 1e-3)
        found.append(StepFit(target, 1 / spread, -float(middle), len(near)))
    return max(found, key=lambda one: max(abs(np.log(one.width)) / np.log(_WIDTH), abs(one.place) / _PLACE))
