"""Double precision for the kernel stage only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

_P = ParamSpec("_P")
_R = TypeVar("_R")


def double(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run `function` in float64 without touching the precision of the caller's other JAX code.

    The kernel matrix of n inputs has entries down to 2^-n of its diagonal, so single precision breaks from
    about twenty inputs on, silently.

    >>> import jax.numpy as jnp
    >>> str(double(lambda: jnp.ones(1))().dtype), str(jnp.ones(1).dtype)
    ('float64', 'float32')
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped
