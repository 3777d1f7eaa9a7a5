"""Two-scale Lorenz-96: slow sites on a ring, each with ten hidden fast variables."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.systems._paths import not_negative, numbered, positive
from forebear.systems.system import System

FAST, FORCING, RATE, RATIO, COUPLING = 10, 10.0, 10.0, 10.0, 0.1
DT, STEPS_BETWEEN = 0.001, 10


def lorenz96(sites: int = 10, pairs: int = 10_000, seed: int = 0, burn_in: int = 2_000) -> System:
    """Increments of the slow sites over 0.01 time units along one trajectory.

    With f = h c / b = 0.1, `dx_j = (x_(j+1) - x_(j-2)) x_(j-1) - x_j + 10 - f sum_k y_(k,j)` and
    `dy_(k,j) = -c b y_(k+1,j) (y_(k+2,j) - y_(k-1,j)) - c y_(k,j) + f x_j`. The sites form a ring, and so do
    the ten fast variables of each site: these are hidden and differ from site to site. Runge-Kutta of order
    four with step 0.001 in float64; `burn_in` steps are dropped, then every tenth state is recorded.

    The equation of x_j reads x_(j-2), x_(j-1), x_j and x_(j+1); sites further away act within an increment
    only at higher order in its length. x_j itself is kept, never removed. All randomness is in the hidden
    fast variables, whose law given the slow ones has no closed form: `quantiles` is empty.

    >>> data = lorenz96(sites=5, pairs=4, burn_in=10)
    >>> data.table.shape, data.ancestors["dx1"], data.keep["dx1"]
    ((4, 10), ('x1', 'x2', 'x4', 'x5'), ('x1',))
    """
    positive(pairs=pairs)
    not_negative(burn_in=burn_in)
    if sites < 4:
        raise InputError(f"`sites` must be at least 4, the neighbours an equation reads; got {sites}")
    rng = np.random.default_rng(seed)
    slow = FORCING + 0.01 * rng.standard_normal(sites)
    fast = 0.01 * rng.standard_normal((sites, FAST))
    states = _trajectory(slow, fast, pairs, burn_in)
    candidates, targets = numbered("x", sites), numbered("dx", sites)
    values = np.hstack([states[:-1], np.diff(states, axis=0)])
    return System(
        name="lorenz96",
        table=pd.DataFrame(values, columns=list(candidates + targets)),
        targets=targets,
        candidates=candidates,
        ancestors={
            target: tuple(candidates[i] for i in sorted((j + k) % sites for k in (-2, -1, 0, 1)))
            for j, target in enumerate(targets)
        },
        keep={target: (name,) for target, name in zip(targets, candidates, strict=True)},
    )


def _trajectory(slow: np.ndarray, fast: np.ndarray, pairs: int, burn_in: int) -> np.ndarray:
    """Slow states of shape (pairs + 1, sites)."""
    # imported here: the rest of the package's simulators work without loading JAX
    import jax

    # 100,000 tiny steps in sequence are the wrong work for an accelerator
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        return np.asarray(_integrator()(slow, fast, pairs, burn_in))


@lru_cache
def _integrator() -> Any:
    """The compiled integrator, built once."""
    import jax
    import jax.numpy as jnp

    link = COUPLING * RATE / RATIO

    def tendency(state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, y = state
        dx = (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + FORCING - link * y.sum(axis=1)
        ahead, two_ahead, behind = (jnp.roll(y, k, axis=1) for k in (-1, -2, 1))
        dy = -RATE * RATIO * ahead * (two_ahead - behind) - RATE * y + link * x[:, None]
        return dx, dy

    def moved(state: tuple[Any, Any], slope: tuple[Any, Any], by: float) -> tuple[Any, Any]:
        return state[0] + by * slope[0], state[1] + by * slope[1]

    def step(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        k1 = tendency(state)
        k2 = tendency(moved(state, k1, DT / 2))
        k3 = tendency(moved(state, k2, DT / 2))
        k4 = tendency(moved(state, k3, DT))
        for slope, weight in ((k1, 1), (k2, 2), (k3, 2), (k4, 1)):
            state = moved(state, slope, weight * DT / 6)
        return state

    def record(state: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], Any]:
        after = jax.lax.fori_loop(0, STEPS_BETWEEN, step, state)
        return after, state[0]

    def run(slow: Any, fast: Any, pairs: int, burn_in: int) -> Any:
        state = jax.lax.fori_loop(0, burn_in, step, (slow, fast))
        return jax.lax.scan(record, state, length=pairs + 1)[1]

    return jax.jit(run, static_argnums=(2, 3))
