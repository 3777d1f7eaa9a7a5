"""The ensemble transform Kalman filter: members move by the law, and are shifted and squeezed to what was seen.

Hunt, Kostelich and Szunyogh (2007): the analysis is a combination of the members, found in the space of the
ensemble, so that hundreds of states need no large matrix. It is the identity but in the directions of the
observations, which is all that is computed. With weights between states each state has a combination of its own, made
of the observations near it. The same combination of the members' past is the ensemble Kalman smoother.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array
from jaxtyping import Float

from forebear.assimilation.observed import Observed, innovations
from forebear.assimilation.particle import Final, Told
from forebear.assimilation.transition import Step, deviation
from forebear.twin.dynamics import Plan
from forebear.twin.move import wrapped


@eqx.filter_jit
def ensemble_filter(
    step: Step, observed: Observed, moments: Array, smooth: int, inflation: float, near: Array | None, key: Array
) -> tuple[Told, Final]:
    """Members (members, lags + 1, variables) through all rows.

    Arguments:
        near: (states, observed) how much each observation may say of each state; None: all of it.
    """
    plan, count = step.plan, len(moments)
    states, even = len(plan.state), jnp.full(count, 1.0 / count)

    def analyse(moments: Array, past: Array, y: Array, seen: Array) -> tuple[tuple[Array, Array], Told]:
        now = moments[:, 0, :states]
        mean, apart = centred(plan, now)
        change, evidence = _change(observed, plan, mean, apart, inflation, near, y, seen)
        # The states of all remembered moments are combined alike; actions are known and stay.
        own = jnp.concatenate([moments[:, :, :states], past], axis=1)
        moved = jnp.where(seen.any(), _combined(plan, own, change, inflation), own)
        lags = moments.shape[1]
        full = jnp.concatenate([moved[:, :lags], moments[:, :, states:]], axis=2)
        later = jnp.concatenate([moved[:, :1], moved[:, lags:]], axis=1)
        told = Told(moved[:, 0], even, later[:, -1], jnp.array(float(count)), evidence)
        return (full, later[:, :smooth]), told

    def row(carry: tuple[Array, Array], now: tuple[Array, ...]) -> tuple[tuple[Array, Array], Told]:
        y, seen, action, number = now
        return analyse(step(carry[0], action, jr.fold_in(key, number)), carry[1], y, seen)

    y, seen, actions = (jnp.asarray(part) for part in (observed.y, observed.seen, observed.actions))
    y, actions = y.astype(jnp.float32), actions.astype(jnp.float32)
    first, told = analyse(moments, jnp.zeros((count, smooth, states), jnp.float32), y[0], seen[0])
    final, rest = jax.lax.scan(row, first, (y[1:], seen[1:], actions[:-1], jnp.arange(1, len(y))))
    told = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), told, rest)
    return told, Final(final[0], even, final[1])


def centred(plan: Plan, values: Float[Array, "members *more states"]) -> tuple[Array, Array]:
    """The mean over members, and what each is away from it; angles turn about their first member."""
    first = values[:1]
    away = deviation(plan, values - first)
    mean = away.mean(axis=0)
    return (first[0] + mean), away - mean


class _Change(NamedTuple):
    """A combination of deviations X (members, …): shift . X + X + bend diag(squeeze) bend' X; a leading axis of all
    three, if there is one, is that of the states."""

    shift: Array
    """(members,)"""
    bend: Array
    """(members, observed)"""
    squeeze: Array
    """(observed,)"""


def _change(
    observed: Observed,
    plan: Plan,
    mean: Array,
    apart: Array,
    inflation: float,
    near: Array | None,
    y: Array,
    seen: Array,
) -> tuple[_Change, Array]:
    """What the observations of one row do to the members, and their log density."""
    others = len(apart) - 1
    places = np.array(observed.places)
    spread = jnp.asarray(observed.spread, jnp.float32)
    on = seen.astype(jnp.float32)
    wide = inflation * apart[:, places] / spread * on
    missed = innovations(observed, plan, mean, y) / spread * on

    def combination(weight: Array) -> _Change:
        some = wide * jnp.sqrt(weight)
        values, vectors = jnp.linalg.eigh(some.T @ some)
        values = jnp.maximum(values, 0.0)
        bend = some @ vectors
        shift = bend @ (vectors.T @ (jnp.sqrt(weight) * missed) / (values + others))
        # (root - 1) / values, without the difference that loses its digits.
        root = jnp.sqrt(others / (values + others))
        return _Change(shift, bend, -1.0 / ((values + others) * (1.0 + root)))

    told = combination(jnp.ones(len(places))) if near is None else jax.vmap(combination)(near)
    return told, _log_density(wide, missed, spread, on)


def _log_density(wide: Array, missed: Array, spread: Array, on: Array) -> Array:
    """That of a Gaussian with the ensemble's covariance and the noise, in units of the noise."""
    covariance = wide.T @ wide / (len(wide) - 1) + jnp.eye(len(on))
    root = jnp.linalg.cholesky(covariance)
    white = jax.scipy.linalg.solve_triangular(root, missed, lower=True)
    constant = jnp.sum(on * (0.5 * jnp.log(2 * jnp.pi) + jnp.log(spread)))
    return -0.5 * jnp.sum(white**2) - jnp.sum(jnp.log(jnp.diagonal(root))) - constant


def _combined(
    plan: Plan, values: Float[Array, "members moments states"], change: _Change, inflation: float
) -> Float[Array, "members moments states"]:
    mean, apart = centred(plan, values)
    apart = inflation * apart
    one = "" if change.shift.ndim == 1 else "s"
    shift = jnp.einsum(f"{one}m,mks->ks", change.shift, apart)
    along = jnp.einsum(f"{one}mo,mks->oks", change.bend, apart)
    squeezed = jnp.einsum(f"{one}mo,{one}o,oks->mks", change.bend, change.squeeze, along)
    moved = mean + shift + apart + squeezed
    return wrapped(plan, moved.reshape(-1, moved.shape[-1])).reshape(moved.shape)
