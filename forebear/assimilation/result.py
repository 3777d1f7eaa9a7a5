"""What an assimilation says: members and weights at each moment, mean and bands, and where they go from here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd

from forebear.assimilation.transition import Step
from forebear.errors import InputError, check_whole, listed, near_miss
from forebear.twin.dynamics import Plan
from forebear.twin.intervals import check_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class States:
    """States at successive moments, as weighted members."""

    names: tuple[str, ...]
    members: np.ndarray
    """(rows, members, states)"""
    weights: np.ndarray = field(repr=False)
    """(rows, members), the sum of a row is 1"""
    periods: np.ndarray = field(repr=False)
    """(states,) of angles; 0 for other states"""
    first: int = 0
    """the number of the first row, as the observations count them"""

    @cached_property
    def mean(self) -> np.ndarray:
        """(rows, states); of an angle its direction."""
        return self._turned(self._centre + np.einsum("rm,rms->rs", self.weights, self._apart))

    @cached_property
    def spread(self) -> np.ndarray:
        """(rows, states) standard deviations."""
        apart = self._apart - np.einsum("rm,rms->rs", self.weights, self._apart)[:, None]
        return np.sqrt(np.einsum("rm,rms->rs", self.weights, apart**2))

    def bands(self, level: float = 0.9) -> np.ndarray:
        """Lower and upper ends (2, rows, states) of the middle share of the members.

        Those of an angle lie within half a turn of its direction.
        """
        share = check_level(level)
        order = np.argsort(self._apart, axis=1)
        values = np.take_along_axis(self._apart, order, axis=1)
        weights = np.take_along_axis(np.broadcast_to(self.weights[:, :, None], order.shape), order, axis=1)
        # A member stands for the middle of the weight that it carries.
        below = np.cumsum(weights, axis=1) - 0.5 * weights
        found = np.empty((2, *self._centre.shape))
        for row, place in np.ndindex(self._centre.shape):
            ends = [(1 - share) / 2, (1 + share) / 2]
            found[:, row, place] = np.interp(ends, below[row, :, place], values[row, :, place])
        return found + self._centre

    def draws(self, n: int = 100, seed: int = 0) -> np.ndarray:
        """Draws (n, rows, states), of each row alone: the rows of a draw are no trajectory."""
        check_whole("n", n, 1)
        check_whole("seed", seed, 0)
        rng = np.random.default_rng(seed)
        below = np.cumsum(self.weights, axis=1)
        found = [np.searchsorted(own / own[-1], rng.random(n), side="right") for own in below]
        return np.stack([m[place.clip(max=len(m) - 1)] for m, place in zip(self.members, found, strict=True)], axis=1)

    def frame(self, level: float = 0.9) -> pd.DataFrame:
        """A line for each row: its number, and of each state mean, lower and upper end."""
        low, high = self.bands(level)
        table: dict[str, Any] = {"row": np.arange(self.first, self.first + len(self.members))}
        for i, name in enumerate(self.names):
            table |= {name: self.mean[:, i], f"{name}_low": low[:, i], f"{name}_high": high[:, i]}
        return pd.DataFrame(table)

    def plot(self, state: str | None = None, ax: Axes | None = None, level: float = 0.9) -> Axes:
        """Mean and band of one state over the rows."""
        from forebear.plots.bands import band_figure

        name = self.names[0] if state is None else state
        if name not in self.names:
            raise InputError(f"state: no '{name}'. {near_miss(name, self.names)}")
        place, (low, high) = self.names.index(name), self.bands(level)
        rows = np.arange(self.first, self.first + len(self.members))
        return band_figure(name, rows, self.mean[:, place], low[:, place], high[:, place], ax)

    @cached_property
    def _centre(self) -> np.ndarray:
        """Around which angles are measured: the direction; 0 for other states."""
        angle = 2 * np.pi * self.members / np.where(self.periods > 0, self.periods, 1.0)
        sums = [np.einsum("rm,rms->rs", self.weights, wave(angle)) for wave in (np.sin, np.cos)]
        return np.where(self.periods > 0, np.arctan2(*sums) * self.periods / (2 * np.pi), 0.0)

    @cached_property
    def _apart(self) -> np.ndarray:
        return self._short(self.members - self._centre[:, None])

    def _short(self, apart: np.ndarray) -> np.ndarray:
        period = np.where(self.periods > 0, self.periods, 1.0)
        return np.where(self.periods > 0, apart - period * np.round(apart / period), apart)

    def _turned(self, values: np.ndarray) -> np.ndarray:
        return self._short(values)


@dataclass(frozen=True, eq=False)
class Assimilated:
    """The states of a system that was partly seen: what `forebear.assimilate` gives."""

    filtered: States
    """given what was seen up to each row"""
    smoothed: States | None
    """given `smooth` rows more, where they were asked for"""
    effective: np.ndarray = field(repr=False)
    """(rows,) how many members count, after each row was weighed; all of them in an ensemble"""
    evidence: np.ndarray = field(repr=False)
    """(rows,) log density of what was seen at each row, given the rows before"""
    actions: tuple[str, ...]
    step: Step = field(repr=False)
    moments: np.ndarray = field(repr=False)
    """(members, lags + 1, variables) the memory of each member after the last row"""

    def __repr__(self) -> str:
        rows, members, _ = self.filtered.members.shape
        return (
            f"<{rows} rows of {listed(self.filtered.names)}, {members} members, {self.effective.min():.0f} of which "
            f"count at least; log evidence {self.log_evidence:.1f}>"
        )

    @property
    def states(self) -> States:
        """The smoothed ones if there are any."""
        return self.filtered if self.smoothed is None else self.smoothed

    @property
    def mean(self) -> np.ndarray:
        """(rows, states)"""
        return self.states.mean

    @property
    def log_evidence(self) -> float:
        """Log density of everything that was seen, which tells twins of one system apart: the larger the better."""
        return float(self.evidence.sum(dtype=float))

    def bands(self, level: float = 0.9) -> np.ndarray:
        """Lower and upper ends (2, rows, states)."""
        return self.states.bands(level)

    def draws(self, n: int = 100, seed: int = 0) -> np.ndarray:
        """Draws (n, rows, states), of each row alone."""
        return self.states.draws(n, seed)

    def frame(self, level: float = 0.9) -> pd.DataFrame:
        """A line for each row: mean and band of each state, and how many members count."""
        return self.states.frame(level).assign(effective=self.effective)

    def plot(self, state: str | None = None, ax: Axes | None = None, level: float = 0.9) -> Axes:
        """Mean and band of one state."""
        return self.states.plot(state, ax, level)

    def forecast(self, steps: int, *, actions: Any = None, seed: int = 0) -> States:
        """Where the members go from the last row, with nothing more to be seen.

        Arguments:
            actions: (steps, actions), what will be done, the first of them at the last row.
        """
        check_whole("steps", steps, 1)
        check_whole("seed", seed, 0)
        given = np.zeros((steps, 0)) if actions is None else np.asarray(actions, float)
        given = given[:, None] if given.ndim == 1 else given
        if given.shape != (steps, len(self.actions)) or not np.isfinite(given).all():
            raise InputError(
                f"actions: give {steps} rows of finite numbers, one of each action ({listed(self.actions) or 'none'})"
            )
        keys = jr.split(jr.key(seed), steps)

        def go_on(moments: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            moved = self.step(moments, *now)
            return moved, moved[:, 0, : len(self.filtered.names)]

        rows = (jnp.asarray(given, jnp.float32), keys)
        _, states = jax.lax.scan(go_on, jnp.asarray(self.moments), rows)
        weights = np.broadcast_to(self.filtered.weights[-1], (steps, len(self.moments)))
        first = self.filtered.first + len(self.filtered.members)
        return States(self.filtered.names, np.asarray(states), weights, self.filtered.periods, first)


def states_of(plan: Plan, members: np.ndarray, weights: np.ndarray) -> States:
    """States of these dynamics, from the first row on."""
    return States(plan.state, members, weights, np.array([period for period, _ in plan.turns]))
