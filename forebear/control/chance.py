"""Plans whose trajectories stay inside: the least cost at which enough of the scenarios do.

A trajectory's violation is its worst one, over all steps and limits. A share of the trajectories is inside when that
quantile of the violations is not above 0. The quantile of a few scenarios has a ragged slope; the mean of all that
lie beyond it (the conditional value at risk, Rockafellar and Uryasev 2000) has a smooth one, and for noise that
shifts with the plan it is the same. So each round of an augmented Lagrangian bounds that mean, less how far it lay
above the quantile when the round began, for each training of the dynamics apart. Where the bound cannot be met, it is
made as small as may be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy import stats

from forebear.control.lbfgs import Minima, minimise
from forebear.control.limits import Beyond

_ROUNDS = 8
"""of the augmented Lagrangian"""
_GROWTH, _ENOUGH = 10.0, 0.25
"""the penalty grows so much where a round leaves more than such a part of the violation"""
_NEARLY = 1e-3
"""a bound that is exceeded by so little, in deviations of the violations, is met"""
_SOFT = 0.02
"""how far the smooth maximum over the steps may look away from the largest, in deviations of the violations"""


class Chance(eqx.Module):
    """What must hold, and for which share of the trajectories."""

    beyond: Beyond
    share: float = eqx.field(static=True)


class Foretold(NamedTuple):
    """What scenarios say about plans."""

    cost: Array
    """(trials,) as it is minimised"""
    violations: Array
    """(trainings, horizon, trials, scenarios, limits) above 0 outside"""


Foretell = Callable[[Array], Foretold]
"""flat plans (trials, unknowns) -> what scenarios say"""


class Kept(NamedTuple):
    """Plans, and whether they keep enough of their scenarios inside."""

    minima: Minima
    met: Array
    """(trials,)"""


def tail_mean(worst: Float[Array, "*some scenarios"], share: float) -> Float[Array, "*some"]:
    """The mean of the largest numbers, those that a share leaves; of at least one.

    >>> tail_mean(jnp.array([4.0, 1.0, 3.0, 2.0]), 0.5).tolist(), tail_mean(jnp.array([4.0, 1.0]), 1.0).tolist()
    (3.5, 4.0)
    """
    count = worst.shape[-1]
    kept = max((1 - share) * count, 1.0)
    weights = np.clip(kept - np.arange(count), 0, 1) / kept
    return -jnp.sort(-worst, axis=-1) @ jnp.asarray(weights, worst.dtype)


def tail_least(worst: Float[Array, "*some scenarios"], share: float) -> Float[Array, "*some"]:
    """The number that a share of further draws is expected to stay below; the largest at most.

    >>> tail_least(jnp.array([4.0, 1.0, 3.0, 2.0]), 0.6).tolist(), tail_least(jnp.array([4.0, 1.0]), 1.0).tolist()
    (3.0, 4.0)
    """
    count = worst.shape[-1]
    place = float(np.clip((1 - share) * (count + 1) - 1, 0, count - 1))
    low = int(place + 1e-9)
    ordered = -jnp.sort(-worst, axis=-1)
    return ordered[..., low] + (place - low) * (ordered[..., min(low + 1, count - 1)] - ordered[..., low])


def hard_worst(violations: Array) -> Array:
    """The worst of each trajectory (trainings, trials, scenarios)."""
    return violations.max(axis=(1, 4))


class _Bound(NamedTuple):
    """What must not be above 0, in deviations of the violations."""

    mean: Array
    """(trials, trainings) of the tail"""
    gap: Array
    """(trials, trainings) how far it lies above the quantile"""


class _Round(NamedTuple):
    plans: Array
    multipliers: Array
    weight: Array
    left: Array
    spent: Array


def constrained(
    chance: Chance, foretell: Foretell, start: Float[Array, "trials unknowns"], *, iterations: int, tolerance: float
) -> Kept:
    """Plans of least cost among those that the constraint allows, or else those that violate it least."""
    first = foretell(start)
    spread = first.violations.std(axis=(0, 1, 2, 3))
    scale = jnp.where(spread > 0, spread, 1.0)

    def bound(violations: Array) -> _Bound:
        # Smooth over steps and limits, and a little above the largest.
        worst = _SOFT * jax.nn.logsumexp(violations / scale / _SOFT, axis=(1, 4))
        mean = tail_mean(worst, chance.share)
        return _Bound(mean.T, (mean - tail_least(worst, chance.share)).T)

    def a_round(now: _Round, _: None) -> tuple[_Round, None]:
        weight, gap = now.weight[:, None], bound(foretell(now.plans).violations).gap

        def lagrangian(plans: Array) -> Array:
            told = foretell(plans)
            pressed = jnp.maximum(now.multipliers / weight + bound(told.violations).mean - gap, 0.0)
            return told.cost + 0.5 * jnp.sum(weight * pressed**2, axis=1)

        found = minimise(lagrangian, now.plans, iterations=max(20, iterations // _ROUNDS), tolerance=tolerance)
        after = bound(foretell(found.x).violations)
        over = after.mean - after.gap
        left = jnp.abs(jnp.maximum(over, -now.multipliers / weight)).max(axis=1)
        return _Round(
            found.x,
            jnp.maximum(now.multipliers + weight * over, 0.0),
            jnp.where(left > _ENOUGH * now.left, _GROWTH * now.weight, now.weight),
            left,
            now.spent + found.evaluations,
        ), None

    begin = _Round(
        start,
        jnp.zeros((len(start), len(first.violations)), start.dtype),
        10 * jnp.maximum(jnp.abs(first.cost), 1e-6),
        jnp.full_like(start[:, 0], jnp.inf),
        jnp.zeros(len(start), jnp.int32),
    )
    end, _ = jax.lax.scan(a_round, begin, None, length=_ROUNDS)
    gap = bound(foretell(end.plans).violations).gap

    def violation(plans: Array) -> Array:
        return jnp.sum(jnp.maximum(bound(foretell(plans).violations).mean - gap, 0.0) ** 2, axis=1)

    # Inside there is no slope, and it ends where it begins.
    last = minimise(violation, end.plans, iterations=iterations, tolerance=1e-9)
    told = foretell(last.x)
    quantile = tail_least(hard_worst(told.violations / scale), chance.share)
    minima = Minima(last.x, told.cost, last.iterations, end.spent + last.evaluations)
    return Kept(minima, (quantile <= _NEARLY).all(axis=0))


def share_interval(inside: np.ndarray, count: int, level: float = 0.95) -> np.ndarray:
    """Exact ends (…, 2) of a share of which so many of `count` were seen (Clopper and Pearson).

    >>> share_interval(np.array([100]), 100).round(3).tolist()
    [[0.964, 1.0]]
    """
    tail = (1 - level) / 2
    low = np.where(inside > 0, stats.beta.ppf(tail, np.maximum(inside, 1), count - inside + 1), 0.0)
    high = np.where(inside < count, stats.beta.ppf(1 - tail, inside + 1, np.maximum(count - inside, 1)), 1.0)
    return np.stack([low, high], axis=-1)
