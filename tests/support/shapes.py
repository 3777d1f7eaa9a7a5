"""Shapes in signatures are checked while tests run: jaxtyping's import hook with this as its checker.

Only annotations that tell a shape are looked at. What else a signature says is for pyright, and tests hand wrong
values to functions on purpose, to see what these say about them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_args, get_origin

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

_CONF = BeartypeConf(is_pep484_tower=True)


def shapes_alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its shapes checked at every call.

    >>> import numpy as np
    >>> from jaxtyping import Float, jaxtyped
    >>> def total(x: Float[np.ndarray, "rows 2"], scale: int): return scale * x.sum()
    >>> checked = jaxtyped(total, typechecker=shapes_alone)
    >>> float(checked(np.ones((3, 2)), scale="no number".count("n")))
    12.0
    >>> checked(np.ones((2, 3)), scale=1)
    Traceback (most recent call last):
    jaxtyping.TypeCheckError: Type-check error whilst checking the parameters of shapes.total.
    ...
    """
    told = {name: hint if _tells_a_shape(hint) else Any for name, hint in function.__annotations__.items()}
    if all(hint is Any for hint in told.values()):
        return function
    function.__annotations__ = told
    return beartype(conf=_CONF)(function)


def _tells_a_shape(hint: Any) -> bool:
    if get_origin(hint) in (list, Sequence):
        return False  # beartype looks at an item at random, which Hypothesis does not like
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return True
    return any(_tells_a_shape(part) for part in get_args(hint))
