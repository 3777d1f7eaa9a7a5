"""What a user adds to a twin to make it an environment, each rule a function of one environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from forebear.errors import InputError
from forebear.twin.dynamics import Plan
from forebear.twin.history import History


@dataclass(frozen=True)
class Rules:
    """Reward, termination, observation, and the part of the dynamics that is not the twin's."""

    reward: Callable[[Any, Any, Any], Any]
    """(state, action, next state) -> number"""
    terminated: Callable[[Any], Any] | None = None
    """(next state) -> whether the episode ends there; None: never"""
    observe: Callable[[History], Any] | None = None
    """(history) -> vector; None: all that the twin remembers, newest first, states and then actions"""
    step_rest: Callable[[Any, Any, Any, Any], Any] | None = None
    """(state, action, the twin's targets, key) -> next state; None: the twin moves every state"""

    def __post_init__(self) -> None:
        for name in ("reward", "terminated", "observe", "step_rest"):
            rule = getattr(self, name)
            if not (callable(rule) or (rule is None and name != "reward")):
                raise InputError(f"{name} must be a function; got {rule!r}")

    def traceable(self, plan: Plan, targets: int) -> bool:
        """Whether JAX can trace every rule, so that a whole step compiles; and whether what they return fits.

        A rule that cannot be traced, because it uses numpy or branches on values, is called as it is.
        """
        state, action = _vector(len(plan.state)), _vector(len(plan.action))
        past = History(_matrix(plan.lags + 1, len(plan.state)), _matrix(plan.lags, len(plan.action)))
        wanted = [("reward", (state, action, state), 1), ("terminated", (state,), 1), ("observe", (past,), None)]
        wanted += [("step_rest", (state, action, _vector(targets), _KEY), len(plan.state))]
        found = []
        for name, arguments, count in wanted:
            rule = getattr(self, name)
            if rule is not None:
                shape = _traced_shape(rule, arguments)
                found.append(shape is not None)
                if shape is not None:
                    check_size(name, shape, count)
        return all(found)


def check_size(name: str, shape: tuple[int, ...], count: int | None) -> None:
    """Refuse what has not so many numbers in one row; None: any number."""
    size = 1 if shape == () else shape[0]
    if len(shape) > 1 or (count is not None and size != count):
        what = "a vector" if count is None else "one number" if count == 1 else f"{count} numbers"
        raise InputError(f"{name} must return {what} for one environment; it returned an array of shape {shape}")


# Only the shape matters here, and a key is drawn from nowhere.
_KEY = jax.eval_shape(lambda: jax.random.key(0))


def _vector(size: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((size,), jnp.float32)


def _matrix(rows: int, size: int) -> Any:
    return jax.ShapeDtypeStruct((rows, size), jnp.float32)


def _traced_shape(rule: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, ...] | None:
    try:
        return jax.eval_shape(lambda *a: jnp.asarray(rule(*a)), *arguments).shape
    except Exception:
        # Whatever is wrong: a rule that is broken rather than plain numpy says so itself when it is called.
        return None


def rows(rule: Callable[..., Any], *arguments: Any, size: int | None = None) -> Array:
    """A rule at every environment: (environments,), or (environments, size) for a vector."""
    found = jnp.asarray(jax.vmap(rule)(*arguments))
    count = len(jax.tree.leaves(arguments)[0])
    return found.reshape(count) if size is None else found.reshape(count, size).astype(jnp.float32)
