"""Where trajectories start: the recent past of each, from tables, in the layout that compiled code carries along.

A history is (trajectories, lags + 1, variables), newest moment first. A moment is the states and the action taken
there; the newest action is yet to be chosen and stands at 0 until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jax import Array

from forebear.data.column import cells_of
from forebear.data.source import open_frame
from forebear.errors import InputError, listed, near_miss
from forebear.kinds.cells import check_present
from forebear.twin.dynamics import Plan
from forebear.twin.given import read_matrix


class History(NamedTuple):
    """The recent past of one trajectory, newest first, as user functions see it."""

    states: Array
    """(lags + 1, states); states[k] is the state k steps ago"""
    actions: Array
    """(lags, actions); actions[0] is the action before the one that is now to be chosen"""

    @property
    def state(self) -> Array:
        """The state now (states,)."""
        return self.states[0]

    @classmethod
    def of(cls, moments: Any, plan: Plan) -> History:
        """The view of a history (…, lags + 1, variables)."""
        count = len(plan.state)
        return cls(moments[..., :count], moments[..., 1:, count:])


@dataclass(frozen=True)
class Variable:
    """A column of a start."""

    name: str
    levels: tuple[object, ...] = ()


def read_starts(start: Any, plan: Plan, episode: str | None = None) -> np.ndarray:
    """Histories (starts, lags + 1, variables) from what users hand over.

    A table of trajectories, one row per moment in time order, told apart by the column `episode`: the last `lags + 1`
    rows of each count, and the action in the very last one is not needed. Without `episode` it is one trajectory, or,
    when nothing is remembered, every row is a start. Or a table with lag columns as `forebear.lagged` makes it, a row
    a start. Or an array (starts, lags + 1, variables), oldest first like the rows of a table.
    """
    if not isinstance(start, list | tuple) and np.ndim(start) == 3:
        return _checked_array(np.asarray(start, float), plan)
    frame, _ = open_frame(start)
    if all(name in frame.columns for name in plan.state):
        return _from_moments(frame, plan, episode)
    if all(f"{name}_0" in frame.columns for name in plan.state):
        return _from_lag_columns(frame, plan)
    lag_columns = [f"{name}_0" for name in plan.state]
    missing = next(name for name in plan.state if name not in frame.columns)
    raise InputError(
        f"start: no column '{missing}', and no lag columns such as {listed(lag_columns)} either. "
        f"{near_miss(missing, frame.columns)}"
    )


def _from_moments(frame: pd.DataFrame, plan: Plan, episode: str | None) -> np.ndarray:
    rows = _last_rows(frame, plan.lags, episode)
    states = read_matrix(frame, _columns(plan)[: len(plan.state)], "start")[rows]
    found = np.zeros((*rows.shape, len(plan.variables)))
    found[:, :, : len(plan.state)] = states
    if plan.action and plan.lags:
        # The newest row is left out: no action has been taken there.
        past = frame.iloc[rows[:, 1:].ravel()].reset_index(drop=True)
        actions = read_matrix(past, _columns(plan)[len(plan.state) :], "start")
        found[:, 1:, len(plan.state) :] = actions.reshape(len(rows), plan.lags, len(plan.action))
    return _wrapped(found, plan)


def _last_rows(frame: pd.DataFrame, lags: int, episode: str | None) -> np.ndarray:
    """Row numbers (starts, lags + 1), newest first."""
    if episode is None and lags == 0:
        return np.arange(len(frame))[:, None]
    codes = np.zeros(len(frame), int)
    labels: Any = ["start"]
    if episode is not None:
        if episode not in frame.columns:
            raise InputError(f"start: no column '{episode}' (named in episode). {near_miss(episode, frame.columns)}")
        check_present(cells_of(frame, episode), f"start: column '{episode}'")
        codes, labels = pd.factorize(cells_of(frame, episode))
    order = np.argsort(codes, kind="stable")
    lengths = np.bincount(codes)
    if lengths.min() <= lags:
        which = int(np.argmin(lengths))
        what = "start" if episode is None else f"start: {episode} '{labels[which]}'"
        raise InputError(
            f"{what} has {lengths[which]} row{'s' if lengths[which] > 1 else ''}, but the twin looks {lags} "
            f"step{'s' if lags > 1 else ''} back: give the last {lags + 1} rows of each trajectory"
        )
    return order[np.cumsum(lengths)[:, None] - 1 - np.arange(lags + 1)]


def _from_lag_columns(frame: pd.DataFrame, plan: Plan) -> np.ndarray:
    found = np.zeros((len(frame), plan.lags + 1, len(plan.variables)))
    for lag in range(plan.lags + 1):
        columns = _columns(plan) if lag else _columns(plan)[: len(plan.state)]
        named = [Variable(f"{column.name}_{lag}", column.levels) for column in columns]
        found[:, lag, : len(named)] = read_matrix(frame, named, "start")
    return _wrapped(found, plan)


def _checked_array(array: np.ndarray, plan: Plan) -> np.ndarray:
    wanted = (plan.lags + 1, len(plan.variables))
    if array.shape[1:] != wanted or not len(array):
        raise InputError(
            f"start: an array must have shape (starts, {wanted[0]}, {wanted[1]}), oldest moment first, for "
            f"{listed(plan.variables)}; got {array.shape}"
        )
    found = array[:, ::-1].copy()
    found[:, 0, len(plan.state) :] = 0.0
    if not np.isfinite(found).all():
        raise InputError("start: an array must hold finite numbers, but for the actions of the last moment")
    return _wrapped(found, plan)


def _columns(plan: Plan) -> list[Variable]:
    return [Variable(name, levels) for name, levels in zip(plan.variables, plan.levels, strict=True)]


def _wrapped(moments: np.ndarray, plan: Plan) -> np.ndarray:
    """Angles brought into their turn, in double precision: there they keep their digits."""
    for place, (period, low) in enumerate(plan.turns):
        if period:
            angle = np.mod(moments[:, :, place] - low, period)
            moments[:, :, place] = low + np.where(angle >= period, 0.0, angle)
    return moments.astype(np.float32)
