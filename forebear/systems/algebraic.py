"""Three targets whose means say nothing: one spread, one pair of modes, one weight of tails."""

from __future__ import annotations

import numpy as np
import pandas as pd

from forebear.systems._paths import column, numbered, positive
from forebear.systems.laws import Gaussian, NormalPlusLaplace
from forebear.systems.system import System


def algebraic(rows: int = 10_000, seed: int = 0) -> System:
    """`y1 = x1 w`, `y2 = +-sqrt(x3)` with equal odds, `y3 = sqrt(1 - a) xi + sqrt(a) eta`, `a = sin(pi x2)`.

    x1 ~ U(-1/2, 1/2), x2 ~ U(0, 1), w and xi standard normal, eta Laplace with variance 1. y2 ~ U(-1, 1) is
    drawn first and x3 is its square. Every target has conditional mean zero; y3 also has conditional variance
    one, so that x2 moves nothing but the weight of the tails. The published size is 1,000 rows for y1 and y2
    and 10,000 for y3.

    >>> algebraic(rows=10).ancestors
    {'y1': ('x1',), 'y2': ('x3',), 'y3': ('x2',)}
    """
    positive(rows=rows)
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-0.5, 0.5, rows), rng.uniform(0, 1, rows)
    y1 = x1 * rng.standard_normal(rows)
    y2 = rng.uniform(-1, 1, rows)
    weight = _laplace_weight(x2)
    normal, laplace = rng.standard_normal(rows), rng.laplace(scale=np.sqrt(0.5), size=rows)
    y3 = np.sqrt(1 - weight) * normal + np.sqrt(weight) * laplace
    table = pd.DataFrame({"x1": x1, "x2": x2, "x3": y2 * y2, "y1": y1, "y2": y2, "y3": y3})
    return System(
        name="algebraic",
        table=table,
        targets=numbered("y", 3),
        candidates=numbered("x", 3),
        ancestors={"y1": ("x1",), "y2": ("x3",), "y3": ("x2",)},
        quantiles={
            "y1": Gaussian(_zero, _modulus),
            "y2": _two_points,
            "y3": NormalPlusLaplace(_normal_part, _laplace_part),
        },
    )


def _laplace_weight(x2: np.ndarray) -> np.ndarray:
    # sin(pi) is 1.2e-16 and may as well round below zero
    return np.clip(np.sin(np.pi * x2), 0.0, 1.0)


def _zero(given: pd.DataFrame) -> np.ndarray:
    return np.zeros(len(given))


def _modulus(given: pd.DataFrame) -> np.ndarray:
    return np.abs(column(given, "x1"))


def _two_points(given: pd.DataFrame, p: np.ndarray) -> np.ndarray:
    return np.where(np.asarray(p) < 0.5, -1.0, 1.0) * np.sqrt(column(given, "x3"))


def _normal_part(given: pd.DataFrame) -> np.ndarray:
    return np.sqrt(1 - _laplace_weight(column(given, "x2")))


def _laplace_part(given: pd.DataFrame) -> np.ndarray:
    return np.sqrt(_laplace_weight(column(given, "x2")) / 2)
