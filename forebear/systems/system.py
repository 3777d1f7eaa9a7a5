"""A simulator's data with what is known about it, and the exact sampler where the law is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from forebear.errors import InputError, listed, near_miss
from forebear.systems.laws import Quantile

_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_ABOVE_ZERO = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class System:
    """Data from a simulator together with what is known about it.

    >>> from forebear.systems import algebraic
    >>> system = algebraic(rows=5)
    >>> system.targets, system.ancestors["y3"], system.table.shape
    (('y1', 'y2', 'y3'), ('x2',), (5, 6))
    """

    name: str
    table: pd.DataFrame
    targets: tuple[str, ...]
    candidates: tuple[str, ...]
    ancestors: Mapping[str, tuple[str, ...]]
    """the true graph: target -> ancestors, by column, or by group where `groups` is set"""
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """target -> columns that are conditioned on and never removed"""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """group -> its columns; a group is removed whole"""
    periodic: Mapping[str, float] = field(default_factory=dict)
    """column -> period"""
    quantiles: Mapping[str, Quantile] = field(default_factory=dict)
    """target -> exact conditional quantile map, for the targets that have one"""

    def options(self, *targets: str) -> dict[str, Any]:
        """What to ask `forebear.discover` of the table, for all targets or for some.

        >>> from forebear.systems import algebraic
        >>> algebraic(rows=5).options("y1")
        {'targets': ['y1'], 'candidates': ['x1', 'x2', 'x3'], 'keep': {}, 'groups': None, 'periodic': None}
        """
        chosen = list(targets or self.targets)
        return {
            "targets": chosen,
            "candidates": list(self.candidates),
            "keep": {target: self.keep[target] for target in chosen if target in self.keep},
            "groups": self.groups or None,
            "periodic": self.periodic or None,
        }

    def oracle(self) -> Oracle:
        """The exact sampler of this system's targets.

        >>> from forebear.systems import algebraic
        >>> system = algebraic(rows=5)
        >>> law = system.oracle().fit(system.table[["x1"]], system.table[["y1"]], seed=0)
        >>> bool(np.allclose(law.push(system.table, np.ones((5, 1)))[:, 0], abs(system.table["x1"])))
        True
        """
        return Oracle(self.name, self.quantiles, {t: self._inputs(t) for t in self.quantiles})

    def _inputs(self, target: str) -> tuple[str, ...]:
        return tuple(c for name in self.ancestors[target] for c in self.groups.get(name, (name,)))


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """Several targets given a row, each from its own latent through its exact quantile map.

    In every system here the noises of the targets are independent given the row, so the joint law is exact.

    >>> from forebear.systems import kraichnan_orszag
    >>> data = kraichnan_orszag(trajectories=2, steps=3)
    >>> data.oracle().fit(data.table, data.table[["dx1", "dx3"]], seed=0).latents
    2
    """

    maps: tuple[Quantile, ...]

    @property
    def latents(self) -> int:
        """Number of latent dimensions: one for each target."""
        return len(self.maps)

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        """Latents of shape (rows, latents) to targets of shape (rows, targets).

        >>> from forebear.systems import algebraic
        >>> data = algebraic(rows=3)
        >>> law = data.oracle().fit(data.table, data.table[["y2", "y3"]], seed=0)
        >>> law.push(data.table, np.zeros((3, 2)))[:, 1].tolist()
        [0.0, 0.0, 0.0]
        """
        z = np.asarray(z, dtype=float)
        if z.shape != (len(given), self.latents):
            wanted = (len(given), self.latents)
            raise InputError(f"`z` must have shape (rows, latents) = {wanted}; got {z.shape}")
        return np.stack([_push(q, given, z[:, i]) for i, q in enumerate(self.maps)], axis=1)


def _push(quantile: Quantile, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
    direct = getattr(quantile, "push", None)
    if direct is not None:
        return direct(given, z)
    # Phi(z) rounds to 0 or 1 far out, where a quantile may be infinite
    return quantile(given, np.clip(ndtr(z), _ABOVE_ZERO, _BELOW_ONE))


@dataclass(frozen=True, eq=False)
class Oracle:
    """An exact sampler with the interface of a learned one: nothing is learned in `fit`.

    >>> from forebear.systems import heat
    >>> data = heat(trajectories=2, steps=3)
    >>> data.oracle().fit(data.table, data.table[["u1"]], seed=0)
    Traceback (most recent call last):
    forebear.errors.InputError: system 'heat' has no exact law for 'u1'. Known: 'dx1', 'dx10'.
    """

    name: str
    quantiles: Mapping[str, Quantile]
    inputs: Mapping[str, tuple[str, ...]]
    """target -> columns that its quantile map reads"""

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> ExactLaw:
        """The exact law of the columns of `y`; values and seed are not used, names are.

        `given` may have more columns than the law needs, never fewer: given less, the law is another one.

        >>> from forebear.systems import heat
        >>> data = heat(trajectories=2, steps=3)
        >>> law = data.oracle().fit(data.table, data.table[["dx10"]], seed=0)
        >>> law.push(data.table, np.zeros((6, 1))).shape
        (6, 1)
        """
        targets = [str(name) for name in y.columns]
        for target in targets:
            if target not in self.quantiles:
                known = near_miss(target, self.quantiles) if self.quantiles else "Train a sampler instead."
                raise InputError(f"system '{self.name}' has no exact law for '{target}'. {known}")
            absent = [c for c in self.inputs[target] if c not in given.columns]
            if absent:
                raise InputError(f"the exact law of '{target}' also needs the columns {listed(absent)}")
        return ExactLaw(tuple(self.quantiles[target] for target in targets))
