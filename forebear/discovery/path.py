"""The pruning path: from all candidates down to none, one candidate at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from forebear.discovery.embed import Lengthscales
from forebear.errors import renamed
from forebear.kernel.buffers import BufferPool
from forebear.kernel.memory import dense_rows
from forebear.kernel.product import Dense, Tiled, group_means
from forebear.kernel.profiles import RBF, Kernel
from forebear.kernel.ridge import ridge
from forebear.kernel.settings import ENERGY, VARIATION
from forebear.kernel.threads import one_thread
from forebear.storage.checkpoint import Journal


@dataclass(frozen=True)
class Path:
    """What was removed in which order, and what each removal cost.

    Step 0 is the fit with every candidate; step s the fit after removing `removed[s - 1]`; the last step is the fit
    on latents and kept inputs alone. Candidates that are gone have a NaN score. Where several were removed at once,
    the steps between have no fit of their own: they show the noise-to-signal ratio of the fit after all of them, and
    `fits` tells so.
    """

    candidates: tuple[str, ...]
    removed: tuple[str, ...]
    nsr: tuple[float, ...]
    scores: np.ndarray
    """(steps, candidates)"""
    nuggets: tuple[float, ...]
    """against factors of 1 + k; larger than the one asked for where the kernel was singular"""
    lengthscales: Lengthscales
    fits: tuple[int, ...] = ()
    """the number of the fit that a step shows: equal where candidates went together; one per step by default"""

    units = renamed("units", "candidates")

    def __post_init__(self) -> None:
        if not self.fits:
            object.__setattr__(self, "fits", tuple(range(len(self.nsr))))

    @property
    def increments(self) -> tuple[float, ...]:
        """What each removal added to the noise-to-signal ratio."""
        return tuple(float(d) for d in np.diff(self.nsr))

    def remaining(self, step: int) -> tuple[str, ...]:
        """The candidates still there at a step, in table order."""
        gone = set(self.removed[:step])
        return tuple(candidate for candidate in self.candidates if candidate not in gone)

    def frame(self) -> pd.DataFrame:
        """One row per step: step, removed, nsr, increment, remaining, nugget, fit, and a score for each candidate."""
        steps = len(self.nsr)
        columns: dict[str, object] = {
            "step": range(steps),
            "removed": [None, *self.removed],
            "nsr": self.nsr,
            "increment": [math.nan, *self.increments],
            "remaining": [self.remaining(step) for step in range(steps)],
            "nugget": self.nuggets,
            "fit": self.fits,
        }
        table = pd.DataFrame(columns)
        return pd.concat([table, pd.DataFrame(self.scores, columns=list(self.candidates))], axis=1)


class Fit(NamedTuple):
    """What a fit with some of the candidates says about the targets that pass there."""

    nsr: list[float]
    signal: list[float]
    nugget: float
    """against factors of 1 + k"""
    energy: list[list[float]]
    """(candidates there, targets); its share of `signal` is the score. By variation both are variances"""


Fits = Journal[tuple[int, ...], Fit]
"""fits of one walk, by the numbers of the candidates that are left"""


_UNIT = Lengthscales(1.0, 1.0)
_RBF = RBF()


def prune(
    points: Float[np.ndarray, "factors width rows"],
    y: Float[np.ndarray, "rows targets"],
    candidates: dict[str, tuple[int, ...]],
    nugget: float,
    *,
    drop: float = 0.0,
    scores: str = ENERGY,
    lengthscales: Lengthscales = _UNIT,
    profile: Kernel = _RBF,
    pool: BufferPool | None = None,
    fits: Fits | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> list[Path]:
    """For each target: fit, score, remove the candidate with the least score, and so on down to none.

    `points` (factors, width, rows) embeds every factor of the kernel, see `forebear.kernel.factors`; y has shape
    (rows, targets). `candidates` names the removable factors by their numbers; those outside all of them
    (latents, kept inputs) stay. `nugget` is against factors of 1 + k. While more than `MANY` candidates are left,
    the share `drop` of them with the least scores goes at once; 0 removes one at a time throughout. `scores` are
    those of `Dense.energies` ("energy") or `Dense.variations` ("variation"). The lengthscales are recorded, not
    used: they are already in `points`. Targets walk down side by side, and share the kernel and its factorisation
    as long as the same candidates are left; at most one kernel per target is held at a time, in memory of the
    `pool`. `fits` are those of the same walk that are known already, by the numbers of the candidates that are
    left; it takes up the others.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(3, 1, 200))
    >>> [path] = prune(x, np.sin(x[1, 0])[:, None], {"a": (0,), "b": (1,), "c": (2,)}, nugget=1.0)
    >>> path.removed[-1], path.remaining(2), len(path.nsr)
    ('b', ('b',), 4)
    """
    with one_thread():
        known = Fits() if fits is None else fits
        average = group_means(points, list(candidates.values()), profile) if scores == VARIATION else None
        return _prune(points, y, candidates, nugget, drop, average, lengthscales, profile, pool, known, tick)


def _prune(
    points: Float[np.ndarray, "factors width rows"],
    y: Float[np.ndarray, "rows targets"],
    candidates: dict[str, tuple[int, ...]],
    nugget: float,
    drop: float,
    average: Float[np.ndarray, "candidates rows"] | None,
    lengthscales: Lengthscales,
    profile: Kernel,
    pool: BufferPool | None,
    fits: Fits,
    tick: Callable[[float], None],
) -> list[Path]:
    names = tuple(candidates)
    always = len(points) - sum(len(m) for m in candidates.values())
    walks = [_Walk(target, np.full((len(names) + 1, len(names)), np.nan)) for target in range(y.shape[1])]
    everything = (Dense if points.shape[2] <= dense_rows() else Tiled).of(points, profile, pool)
    level = {tuple(range(len(names))): (everything, walks)}
    left = len(names)
    while True:
        lower: dict[tuple[int, ...], tuple[Dense | Tiled, list[_Walk]]] = {}
        going = 1 if left <= MANY else max(1, min(int(drop * left), left - MANY))
        while level:
            active, (kernel, here) = level.popitem()
            members = [candidates[names[u]] for u in active]
            targets = [walk.target for walk in here]
            of_active = None if average is None else average[list(active)]
            fit = fits.load_or(active, partial(_fit, kernel, y[:, targets], nugget, always, members, of_active))
            fresh: dict[tuple[int, ...], list[int]] = {}
            for place, walk in enumerate(here):
                walk.note(fit.nsr[place], fit.nugget)
                if not active:
                    continue
                energy = np.array([of_candidate[place] for of_candidate in fit.energy])
                gone = walk.weigh(active, energy, fit.signal[place], going)
                walk.removed += [names[candidate] for candidate in gone]
                rest = tuple(candidate for candidate in active if candidate not in gone)
                members = [m for candidate in gone for m in candidates[names[candidate]]]
                if rest not in lower:
                    fresh[rest] = members
                    lower[rest] = (kernel, [])
                lower[rest][1].append(walk)
            for number, (rest, members) in enumerate(fresh.items(), start=1):
                lower[rest] = (kernel.without(members, spare=number == len(fresh)), lower[rest][1])
            if not fresh:
                kernel.done()
        if not left:
            break
        level, left = lower, left - going
        tick(1 - left / (len(names) + 1))
    tick(1.0)
    return [walk.path(names, lengthscales) for walk in walks]


def _fit(
    kernel: Dense | Tiled,
    y: np.ndarray,
    nugget: float,
    always: int,
    members: Sequence[Sequence[int]],
    average: np.ndarray | None,
) -> Fit:
    """`average` (candidates, rows) where candidates are scored by variation, see `group_means`."""
    factors = always + sum(map(len, members))
    fit = ridge(kernel, y, nugget * 0.5**factors)
    energy, signal = [], fit.signal
    if members and average is not None:
        lost, signal = kernel.variations(fit.alpha, members, average)
        energy = lost.tolist()
    elif members:
        energy = kernel.energies(fit.alpha, members).tolist()
    return Fit(fit.nsr.tolist(), signal.tolist(), fit.nugget * 2.0**factors, energy)


MANY = 32
"""candidates down to which several may be removed at once"""


@dataclass
class _Walk:
    """One target on its way down."""

    target: int
    scores: np.ndarray
    removed: list[str] = field(default_factory=list)
    nsr: list[float] = field(default_factory=list)
    nuggets: list[float] = field(default_factory=list)
    fits: list[int] = field(default_factory=list)

    def note(self, nsr: float, nugget: float) -> None:
        """The fit after all removals so far; steps that had none of their own show it too."""
        steps = len(self.removed) + 1 - len(self.nsr)
        fit = self.fits[-1] + 1 if self.fits else 0
        self.nsr += [nsr] * steps
        self.nuggets += [nugget] * steps
        self.fits += [fit] * steps

    def weigh(self, active: tuple[int, ...], energy: np.ndarray, signal: float, going: int) -> list[int]:
        """Note the scores of the active candidates, and name the least, least first."""
        self.scores[len(self.removed), list(active)] = energy / signal if signal > 0 else 0.0
        return [active[place] for place in np.argsort(energy, kind="stable")[:going]]

    def path(self, names: tuple[str, ...], lengthscales: Lengthscales) -> Path:
        """What was found on the way."""
        return Path(
            names,
            tuple(self.removed),
            tuple(self.nsr),
            self.scores,
            tuple(self.nuggets),
            lengthscales,
            tuple(self.fits),
        )
