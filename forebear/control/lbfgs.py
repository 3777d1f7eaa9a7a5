"""Minimise many functions at once by L-BFGS, each at its own pace.

All problems share every evaluation: one call of the objective serves whatever each of them needs next, a further try
of its line search or the first try along a new direction. A problem that is done waits for the others.

Directions are optax's. Its own line searches under `jax.vmap` evaluate until the slowest of all problems has found
its step, in every iteration anew, and take several times as long (`forebear bench libraries`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Bool, Float, Shaped

# Wolfe's two conditions, as usual for quasi-Newton methods: enough descent, and a slope that has become flatter.
_DESCENT, _CURVATURE = 1e-4, 0.9
_MOST_TRIES = 30
"""of one line search, in which every try halves or doubles the step"""
_QUASI_NEWTON = optax.scale_by_lbfgs(memory_size=10)


class Minima(NamedTuple):
    """Where the problems ended."""

    x: Array
    """(problems, unknowns)"""
    value: Array
    """(problems,)"""
    iterations: Array
    """(problems,) steps taken"""
    evaluations: Array
    """(problems,) until each was done; all were computed as often as the slowest"""


class _Search(NamedTuple):
    """The state of each problem: where it is, and how far along its direction it looks next."""

    x: Array
    value: Array
    gradient: Array
    direction: Array
    slope: Array
    """of the value along the direction, at x"""
    step: Array
    low: Array
    high: Array
    """the step that is wanted lies between"""
    tries: Array
    memory: Any
    iterations: Array
    evaluations: Array
    done: Array


def minimise(
    objective: Callable[[Array], Array],
    start: Float[Array, "problems unknowns"],
    *,
    iterations: int,
    tolerance: float,
) -> Minima:
    """Minima of `objective`, from (problems, unknowns) to (problems,), where no problem sees another's unknowns.

    A problem is done when the norm of its gradient is at most `tolerance`, after so many iterations, or when no step
    along its direction improves it. Pure, for use inside compiled code.

    >>> centre = jnp.array([[1.0, -2.0], [0.5, 3.0]])
    >>> bowls = lambda x: jnp.sum(jnp.array([1.0, 10.0]) * (x - centre) ** 2, axis=1)
    >>> found = minimise(bowls, jnp.zeros((2, 2)), iterations=50, tolerance=1e-4)
    >>> bool(jnp.abs(found.x - centre).max() < 1e-3)
    True
    """

    def evaluate(x: Array) -> tuple[Array, Array]:
        value, pull = jax.vjp(objective, x)
        return value, pull(jnp.ones_like(value))[0]

    def turned(gradient: Array, memory: Any, x: Array) -> tuple[Array, Array, Any]:
        """The next direction, the slope along it, and the memory that gave it."""
        found, memory = jax.vmap(_QUASI_NEWTON.update)(gradient, memory, x)
        ahead = jnp.asarray(found)
        slope = -jnp.sum(ahead * gradient, axis=1)
        # Where the value is not smooth the memory can mislead; the gradient never does.
        downhill = (slope < 0)[:, None]
        direction = jnp.where(downhill, -ahead, -gradient)
        return direction, jnp.sum(direction * gradient, axis=1), memory

    def trip(now: _Search) -> _Search:
        x = now.x + now.step[:, None] * now.direction
        value, gradient = evaluate(x)
        # Written so that a value which is not a number counts as too far.
        far = ~(value <= now.value + _DESCENT * now.step * now.slope)
        short = ~far & (jnp.sum(gradient * now.direction, axis=1) < _CURVATURE * now.slope)
        last = now.tries + 1 >= _MOST_TRIES
        take = ~now.done & ~far & (~short | last)
        stuck = far & last
        moved = _taken(now, x, value, gradient, *turned(gradient, now.memory, x))
        looking = _looked(now, far, short)
        after = jax.tree.map(lambda new, old: _where(take, new, old), moved, looking)
        flat = jnp.linalg.norm(after.gradient, axis=1) <= tolerance
        done = now.done | stuck | (take & (flat | (after.iterations >= iterations)))
        return after._replace(done=done, evaluations=now.evaluations + ~now.done)

    # Of length zero and from an infinite value, the first step is always taken: it evaluates the start.
    zeros, count = jnp.zeros_like(start[:, 0]), jnp.zeros(len(start), jnp.int32)
    first = _Search(
        x=start,
        value=zeros + jnp.inf,
        gradient=jnp.zeros_like(start),
        direction=jnp.zeros_like(start),
        slope=zeros,
        step=zeros,
        low=zeros,
        high=zeros + jnp.inf,
        tries=count,
        memory=jax.vmap(_QUASI_NEWTON.init)(start),
        iterations=count - 1,
        evaluations=count,
        done=count > 0,
    )
    end = jax.lax.while_loop(lambda now: ~jnp.all(now.done), trip, first)
    return Minima(end.x, end.value, end.iterations, end.evaluations)


def _taken(
    now: _Search, x: Array, value: Array, gradient: Array, direction: Array, slope: Array, memory: Any
) -> _Search:
    """A step done, a new search begun."""
    return now._replace(
        x=x,
        value=value,
        gradient=gradient,
        direction=direction,
        slope=slope,
        step=jnp.ones_like(now.step),
        low=jnp.zeros_like(now.low),
        high=jnp.full_like(now.high, jnp.inf),
        tries=jnp.zeros_like(now.tries),
        memory=memory,
        iterations=now.iterations + 1,
    )


def _looked(now: _Search, far: Array, short: Array) -> _Search:
    """The same search with a better idea of the step."""
    high = jnp.where(far, now.step, now.high)
    low = jnp.where(short, now.step, now.low)
    step = jnp.where(jnp.isfinite(high), (low + high) / 2, 2 * now.step)
    return now._replace(low=low, high=high, step=step, tries=now.tries + 1)


def _where(
    mask: Bool[Array, " problems"], new: Shaped[Array, " problems *rest"], old: Shaped[Array, " problems *rest"]
) -> Shaped[Array, " problems *rest"]:
    return jnp.where(mask.reshape(-1, *[1] * (new.ndim - 1)), new, old)
