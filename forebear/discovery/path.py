"""The pruning path: from all candidates down to none, one unit at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from forebear.discovery.distil import Lengthscales
from forebear.kernel.energy import energies
from forebear.kernel.gram import divide_out, gram
from forebear.kernel.ridge import ridge


@dataclass(frozen=True)
class Path:
    """What was removed in which order, and what each removal cost.

    Step 0 is the fit with every unit; step s the fit after removing `removed[s - 1]`; the last step is the fit on
    latents and kept inputs alone. Units that are gone have a NaN score.
    """

    units: tuple[str, ...]
    removed: tuple[str, ...]
    nsr: tuple[float, ...]
    scores: np.ndarray
    """(steps, units)"""
    nuggets: tuple[float, ...]
    """against factors of 1 + k; larger than the one asked for where the kernel was singular"""
    lengthscales: Lengthscales

    @property
    def increments(self) -> tuple[float, ...]:
        """What each removal added to the noise-to-signal ratio."""
        return tuple(float(d) for d in np.diff(self.nsr))

    def remaining(self, step: int) -> tuple[str, ...]:
        """The units still there at a step, in table order."""
        gone = set(self.removed[:step])
        return tuple(unit for unit in self.units if unit not in gone)

    def record(self) -> dict[str, Any]:
        """Plain lists and numbers, without a loss; `restore` is the way back."""
        return {
            "units": self.units,
            "removed": self.removed,
            "nsr": self.nsr,
            "scores": [[None if math.isnan(v) else v for v in row] for row in self.scores.tolist()],
            "nuggets": self.nuggets,
            "lengthscale": self.lengthscales.inputs,
            "latent_lengthscale": self.lengthscales.latents,
        }

    @classmethod
    def restore(cls, record: Mapping[str, Any]) -> Path:
        """The path that a record was made from."""
        return cls(
            tuple(record["units"]),
            tuple(record["removed"]),
            tuple(record["nsr"]),
            np.array([[math.nan if v is None else v for v in row] for row in record["scores"]], float),
            tuple(record["nuggets"]),
            Lengthscales(record["lengthscale"], record["latent_lengthscale"]),
        )

    def frame(self) -> pd.DataFrame:
        """One row a step: step, removed, nsr, increment, remaining, nugget, and a score column per unit."""
        steps = len(self.nsr)
        columns: dict[str, object] = {
            "step": range(steps),
            "removed": [None, *self.removed],
            "nsr": self.nsr,
            "increment": [math.nan, *self.increments],
            "remaining": [self.remaining(step) for step in range(steps)],
            "nugget": self.nuggets,
        }
        table = pd.DataFrame(columns)
        return pd.concat([table, pd.DataFrame(self.scores, columns=list(self.units))], axis=1)


_UNIT = Lengthscales(1.0, 1.0)


def prune(
    points: np.ndarray,
    y: np.ndarray,
    units: dict[str, tuple[int, ...]],
    nugget: float,
    *,
    lengthscales: Lengthscales = _UNIT,
    tick: Callable[[float], None] = lambda share: None,
) -> Path:
    """Fit, score, remove the unit with the least score, and so on down to none.

    `points` (factors, width, rows) embeds every factor of the kernel, see `forebear.kernel.factors`; `units`
    names the removable ones by their numbers; factors outside every unit (latents, kept inputs) stay. `nugget`
    is against factors of 1 + k. The lengthscales are recorded, not used: they are already in `points`.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(3, 1, 200))
    >>> path = prune(x, np.sin(x[1, 0]), {"a": (0,), "b": (1,), "c": (2,)}, nugget=1.0)
    >>> path.removed[-1], path.remaining(2), len(path.nsr)
    ('b', ('b',), 4)
    """
    names = tuple(units)
    members = np.full((len(names), max((len(m) for m in units.values()), default=1)), -1)
    for u, name in enumerate(names):
        members[u, : len(units[name])] = units[name]
    active = list(range(len(names)))
    factors_left = points.shape[0]
    kernel = gram(points, np.ones(points.shape[0], bool))
    removed: list[str] = []
    nsr, scores, nuggets = [], np.full((len(names) + 1, len(names)), np.nan), []
    while True:
        fit = ridge(kernel, y, nugget * 0.5**factors_left)
        nsr.append(float(fit.nsr))
        nuggets.append(fit.nugget * 2.0**factors_left)
        tick((len(removed) + 1) / (len(names) + 1))
        if not active:
            break
        listed = np.array(active + [-1] * len(removed))
        energy = np.asarray(energies(kernel, points, fit.alpha, members, listed))[: len(active)]
        signal = float(fit.signal)
        scores[len(removed), active] = energy / signal if signal > 0 else 0.0
        worst = active.pop(int(np.argmin(energy)))
        kernel = divide_out(kernel, points, members[worst])
        factors_left -= len(units[names[worst]])
        removed.append(names[worst])
    return Path(names, tuple(removed), tuple(nsr), scores, tuple(nuggets), lengthscales)
