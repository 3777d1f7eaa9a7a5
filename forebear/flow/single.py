"""Numbers on their way to the device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float32


def single(values: ArrayLike) -> Float32[Array, "..."]:
    """In single precision, and converted by numpy: JAX would compile a program for every shape.

    >>> single(np.array([0.1])).dtype
    dtype('float32')
    """
    if isinstance(values, Array):
        return values.astype(jnp.float32)
    return jax.device_put(np.asarray(values, np.float32))
