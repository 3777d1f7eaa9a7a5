"""Generated systems with known ancestors, for comparing rules of selection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from forebear.systems import System, algebraic, kraichnan_orszag, lorenz63


def _system(name: str, x: np.ndarray, y: np.ndarray, ancestors: tuple[str, ...]) -> System:
    names = tuple(f"x{i + 1}" for i in range(x.shape[1]))
    table = pd.DataFrame(x, columns=list(names)).assign(y=y)
    return System(name, table, ("y",), names, {"y": ancestors})


def _algebraic(target: str, rows: int, *, seed: int) -> System:
    """One target of the algebraic system, with a proxy of its ancestor and a noise column beside it."""
    system = algebraic(rows=rows, seed=seed)
    rng = np.random.default_rng([seed, 1])
    (ancestor,) = system.ancestors[target]
    columns = system.table.filter(["x1", "x2", "x3", target])
    columns["x4"] = columns[ancestor] + 0.1 * rng.normal(size=rows)
    columns["x5"] = rng.normal(size=rows)
    return System(f"algebraic {target}", columns, (target,), ("x1", "x2", "x3", "x4", "x5"), {target: (ancestor,)})


def _weak(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5_000, 6))
    w, v = rng.normal(size=(2, 5_000))
    y = x[:, 0] + 0.3 * x[:, 1] * w + 0.2 * np.exp(0.25 * x[:, 2]) * v
    return _system("weak mixture", x, y, ("x1", "x2", "x3"))


def _interaction(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5_000, 6))
    y = np.sign(x[:, 0] * x[:, 1]) + 0.3 * rng.normal(size=5_000)
    return _system("interaction only", x, y, ("x1", "x2"))


def _arch(*, seed: int) -> System:
    """Returns whose spread depends on the last two, with the last six as candidates."""
    rng = np.random.default_rng(seed)
    rows, lags = 5_000, 6
    r = np.zeros(rows + 100)
    noise = rng.normal(size=len(r))
    for t in range(2, len(r)):
        r[t] = np.sqrt(0.3 + 0.4 * r[t - 1] ** 2 + 0.3 * r[t - 2] ** 2) * noise[t]
    r = r[-rows:]
    lagged = np.stack([r[lags - k - 1 : rows - k - 1] for k in range(lags)], axis=1)
    return _system("GARCH lags", lagged, r[lags:], ("x1", "x2"))


def _heavy(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5_000, 5))
    y = x[:, 0] + np.exp(0.5 * x[:, 1]) * rng.standard_t(3, size=5_000)
    return _system("heavy tails", x, y, ("x1", "x2"))


def _bimodal(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5_000, 5))
    sides = rng.choice([-1.0, 1.0], size=5_000)
    y = 0.5 * x[:, 1] + sides * np.exp(0.4 * x[:, 0]) + 0.3 * rng.normal(size=5_000)
    return _system("bimodal", x, y, ("x1", "x2"))


def _many(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5_000, 50))
    y = x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + 0.5 * np.exp(0.5 * x[:, 1]) * rng.normal(size=5_000)
    return _system("50 inputs, 3 matter", x, y, ("x1", "x2", "x3"))


def _noise(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(2_000, 1))
    x = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(2_000, 10))
    return _system("pure noise", x, rng.normal(size=2_000), ())


def _counts(*, seed: int) -> System:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5_000, 5))
    y = rng.poisson(np.exp(0.5 + 0.5 * x[:, 0] - 0.4 * x[:, 1])).astype(float)
    return _system("counts", x, y, ("x1", "x2"))


SUITE: dict[str, Callable[..., System]] = {
    "y1": partial(_algebraic, "y1", 1_000),
    "y2": partial(_algebraic, "y2", 1_000),
    "y3": partial(_algebraic, "y3", 10_000),
    "lorenz63": lorenz63,
    "lorenz63-residual": partial(lorenz63, residuals=True),
    "kraichnan-orszag": kraichnan_orszag,
    "weak": _weak,
    "interaction": _interaction,
    "garch": _arch,
    "heavy": _heavy,
    "bimodal": _bimodal,
    "many": _many,
    "noise": _noise,
    "counts": _counts,
}
"""name -> simulator that takes `seed`"""
