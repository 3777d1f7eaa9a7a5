"""Move points along a velocity field: latent to data and back.

Time runs from the latent at t = 0 to the data at t = 1. A velocity is a function (t, zeta) -> d zeta / dt, where
zeta has shape (rows, outputs) and the inputs x are already fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float

from forebear.flow.settings import FlowSettings

Velocity = Callable[[ArrayLike, Array], Array]


def integrate(
    velocity: Velocity, start: Float[Array, "*shape"], settings: FlowSettings, *, backward: bool = False
) -> Float[Array, "*shape"]:
    """Carry `start` from t = 0 to t = 1, or from 1 to 0 when `backward`.

    >>> ends = integrate(lambda t, zeta: zeta, jnp.ones((1, 1)), FlowSettings())
    >>> bool(abs(ends[0, 0] - jnp.e) < 1e-4)
    True
    """
    if settings.solver == "tsit5":
        return _adaptive(velocity, start, settings.tolerance, backward)
    return _fixed(velocity, start, 1 - np.linspace(1, 0, settings.ode_steps + 1) ** settings.crowding, backward)


def _fixed(
    velocity: Velocity, start: Float[Array, "*shape"], times: Float[np.ndarray, " steps"], backward: bool
) -> Float[Array, "*shape"]:
    times = times[::-1] if backward else times

    def step(zeta: Array, time: tuple[Array, Array]) -> tuple[Array, None]:
        t, h = time
        k1 = velocity(t, zeta)
        k2 = velocity(t + h / 2, zeta + h / 2 * k1)
        k3 = velocity(t + h / 2, zeta + h / 2 * k2)
        k4 = velocity(t + h, zeta + h * k3)
        return zeta + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    steps = (jnp.asarray(times[:-1], start.dtype), jnp.asarray(np.diff(times), start.dtype))
    return jax.lax.scan(step, start, steps)[0]


def _adaptive(
    velocity: Velocity, start: Float[Array, "*shape"], tolerance: float, backward: bool
) -> Float[Array, "*shape"]:
    # Imported here: the preset "fast" does without it, and its import takes a while.
    import diffrax

    t0, t1 = (1.0, 0.0) if backward else (0.0, 1.0)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, zeta, args: velocity(t, zeta)),
        diffrax.Tsit5(),
        t0,
        t1,
        dt0=None,
        y0=start,
        # The largest error of any row counts: rows share their steps, and none may hide behind the others.
        stepsize_controller=diffrax.PIDController(tolerance, tolerance, norm=lambda e: jnp.max(jnp.abs(e))),
        max_steps=None,
        adjoint=diffrax.ForwardMode(),
    )
    assert solution.ys is not None
    return solution.ys[0]
