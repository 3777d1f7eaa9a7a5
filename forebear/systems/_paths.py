"""What several simulators share: noisy trajectories, lag windows, names of columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from forebear.errors import InputError

Field = Callable[[np.ndarray], np.ndarray]


def numbered(stem: str, count: int, first: int = 1) -> tuple[str, ...]:
    """Column names that end in a number.

    >>> numbered("x", 3)
    ('x1', 'x2', 'x3')
    """
    return tuple(f"{stem}{i}" for i in range(first, first + count))


def positive(**sizes: float) -> None:
    """Refuse a size that is not above zero, by its name.

    >>> positive(steps=0)
    Traceback (most recent call last):
    forebear.errors.InputError: `steps` must be above 0; got 0
    """
    for name, size in sizes.items():
        if not size > 0:
            raise InputError(f"`{name}` must be above 0; got {size}")


def not_negative(**sizes: int) -> None:
    """Refuse a size below zero, by its name.

    >>> not_negative(burn_in=-1)
    Traceback (most recent call last):
    forebear.errors.InputError: `burn_in` must be 0 or more; got -1
    """
    for name, size in sizes.items():
        if size < 0:
            raise InputError(f"`{name}` must be 0 or more; got {size}")


def column(given: pd.DataFrame, name: str) -> np.ndarray:
    """One column as floats of shape (rows,).

    >>> column(pd.DataFrame({"a": [1, 2]}), "a")
    array([1., 2.])
    """
    return given[name].to_numpy(dtype=float)


def euler_maruyama(
    drift: Field, spread: Field, start: np.ndarray, *, steps: int, dt: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """States and the increments that leave them, each of shape (trajectories, steps, dimensions).

    One step is `x <- x + drift(x) dt + spread(x) sqrt(dt) w`, `w ~ N(0, 1)` per coordinate. The increment is
    kept as it was drawn: a difference of two recorded states would lose digits where it is small.

    >>> still = lambda x: 0 * x
    >>> states, increments = euler_maruyama(
    ...     still, still, np.ones((2, 3)), steps=4, dt=0.1, rng=np.random.default_rng(0))
    >>> states.shape, float(increments.max())
    ((2, 4, 3), 0.0)
    """
    states = np.empty((steps, *start.shape))
    increments = np.empty_like(states)
    x, root = start, np.sqrt(dt)
    for n in range(steps):
        states[n] = x
        increments[n] = drift(x) * dt + spread(x) * (root * rng.standard_normal(x.shape))
        x = x + increments[n]
    return states.swapaxes(0, 1), increments.swapaxes(0, 1)


def lag_windows(series: np.ndarray, lags: int) -> np.ndarray:
    """Values at lag 0, 1, ..., `lags` of every time that has them all, episode after episode.

    `series` has shape (episodes, times), the answer (episodes * (times - lags), lags + 1), newest value
    first. No window reaches into another episode.

    >>> lag_windows(np.array([[1, 2, 3], [7, 8, 9]]), 1).tolist()
    [[2, 1], [3, 2], [8, 7], [9, 8]]
    """
    windows = np.lib.stride_tricks.sliding_window_view(series, lags + 1, axis=1)
    return windows[:, :, ::-1].reshape(-1, lags + 1)
