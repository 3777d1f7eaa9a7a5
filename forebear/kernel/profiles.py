"""Kernels: how fast a factor of the product kernel falls with distance.

Every input enters the product kernel through a factor k between two points of the line or the plane. The kind of its
column makes these points of its values, at a lengthscale (`Kind.embed` in `forebear.kinds`). A kernel says what k is
at a squared distance, and nothing else: a new one is a class with one method, handed to `discover(kernel=...)`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forebear.errors import InputError, near_miss


class Kernel(abc.ABC):
    """k as a function of squared distance: 1 at 0, never negative, falling, and positive definite in the plane.

    Must be hashable, with equal ones equal: compiled code is kept for each.
    """

    @abc.abstractmethod
    def __call__(self, squared: Any, xp: Any) -> Any:
        """k at squared distances, an array of any shape, with numpy or jax.numpy as `xp`.

        With numpy the array may be overwritten: it is scratch.
        """


@dataclass(frozen=True)
class RBF(Kernel):
    """The squared exponential, exp(-d^2 / 2): infinitely smooth; the published one.

    >>> RBF()(np.array([0.0, 2.0]), np).round(4).tolist()
    [1.0, 0.3679]
    """

    def __call__(self, squared: Any, xp: Any) -> Any:
        """In place with numpy: this is the innermost loop of every path."""
        if xp is not np:
            return xp.exp(-0.5 * squared)
        squared *= -0.5
        return np.exp(squared, out=squared)


@dataclass(frozen=True)
class Matern32(Kernel):
    """Once differentiable: (1 + r) exp(-r) with r = sqrt(3) d; for laws with kinks.

    >>> Matern32()(np.array([0.0, 1.0]), np).round(4).tolist()
    [1.0, 0.4834]
    """

    def __call__(self, squared: Any, xp: Any) -> Any:
        """The same for both libraries."""
        r = math.sqrt(3) * xp.sqrt(squared)
        return (1 + r) * xp.exp(-r)


@dataclass(frozen=True)
class Matern52(Kernel):
    """Twice differentiable: (1 + r + r^2 / 3) exp(-r) with r = sqrt(5) d.

    >>> Matern52()(np.array([0.0, 1.0]), np).round(4).tolist()
    [1.0, 0.524]
    """

    def __call__(self, squared: Any, xp: Any) -> Any:
        """The same for both libraries."""
        r = math.sqrt(5) * xp.sqrt(squared)
        return (1 + r + r**2 / 3) * xp.exp(-r)


KERNELS: Mapping[str, Callable[[], Kernel]] = {"rbf": RBF, "matern32": Matern32, "matern52": Matern52}
"""the names that `discover(kernel=...)` knows"""


def find_kernel(kernel: str | Kernel) -> Kernel:
    """A kernel by its name, or the kernel itself.

    >>> find_kernel("mattern32")
    Traceback (most recent call last):
    forebear.errors.InputError: unknown kernel 'mattern32'. Did you mean 'matern32'?
    """
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise InputError(f"unknown kernel '{kernel}'. {near_miss(kernel, KERNELS)}")
        return KERNELS[kernel]()
    if not isinstance(kernel, Kernel):
        raise InputError(f"kernel must be a name or a forebear.Kernel; got {kernel!r}")
    try:
        hash(kernel)
    except TypeError:
        raise InputError(
            f"kernel {type(kernel).__name__} cannot be hashed: make it a dataclass with frozen=True"
        ) from None
    return kernel
