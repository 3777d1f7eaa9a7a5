"""Four small effects, and for each the test that knows its form: what no general method can be expected to beat."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

Rng = np.random.Generator
INPUTS = 5
"""of each table; they are independent and normal"""
_TAIL = 1.8807936
"""the normal quantile above which 3% lie"""


class Effect(NamedTuple):
    """What moves the target, and who would find it."""

    about: str
    ancestors: frozenset[int]
    draw: Callable[[np.ndarray, Rng], np.ndarray]
    """(inputs; generator) -> target"""
    known: Callable[[np.ndarray, np.ndarray, float], frozenset[int]]
    """(inputs, target, level) -> the inputs that a test of the right form keeps, at that level over all of them"""


def _mean(x: np.ndarray, rng: Rng) -> np.ndarray:
    return 0.12 * x[:, 0] + rng.normal(size=len(x))


def _spread(x: np.ndarray, rng: Rng) -> np.ndarray:
    return np.exp(0.1 * x[:, 0]) * rng.normal(size=len(x))


def _tail(x: np.ndarray, rng: Rng) -> np.ndarray:
    y = rng.normal(size=len(x))
    return np.where(y > _TAIL, _TAIL + (y - _TAIL) * np.exp(0.6 * x[:, 0]), y)


def _three(x: np.ndarray, rng: Rng) -> np.ndarray:
    return 0.3 * np.sign(x[:, :3].prod(axis=1)) + rng.normal(size=len(x))


def regression_p(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The p-value of the t test of every column in a linear regression with an intercept.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> p = regression_p(x, x[:, 0] + rng.normal(size=200))
    >>> bool(p[0] < 1e-6), bool(p[1] > 0.01)
    (True, True)
    """
    from scipy.stats import t

    design = np.column_stack([np.ones(len(y)), x])
    inverse = np.linalg.inv(design.T @ design)
    weights = inverse @ design.T @ y
    left, free = y - design @ weights, len(y) - design.shape[1]
    error = np.sqrt(np.diag(inverse) * (left @ left) / free)
    return 2 * t.sf(np.abs(weights / error), free)[1:]


def _kept(p_values: np.ndarray, level: float) -> frozenset[int]:
    return frozenset(int(j) for j in np.flatnonzero(p_values < level / len(p_values)))


def _t_test(x: np.ndarray, y: np.ndarray, level: float) -> frozenset[int]:
    """The t tests of a linear regression."""
    return _kept(regression_p(x, y), level)


def _breusch_pagan(x: np.ndarray, y: np.ndarray, level: float) -> frozenset[int]:
    """Squared residuals regressed on the inputs (Breusch and Pagan, as Koenker studentised it)."""
    return _kept(regression_p(x, (y - y.mean()) ** 2), level)


def _excess(x: np.ndarray, y: np.ndarray, level: float) -> frozenset[int]:
    """Logarithms of what rows exceed the known edge by, regressed on the inputs: the stretch adds to them."""
    over = y > _TAIL
    if over.sum() < INPUTS + 3:
        return frozenset()
    return _kept(regression_p(x[over], np.log(y[over] - _TAIL)), level)


def _triples(x: np.ndarray, y: np.ndarray, level: float) -> frozenset[int]:
    """The signs of all triple products as the inputs of a regression."""
    triples = list(combinations(range(x.shape[1]), 3))
    signs = np.stack([np.sign(x[:, list(triple)].prod(axis=1)) for triple in triples], axis=1)
    return frozenset(j for place in _kept(regression_p(signs, y), level) for j in triples[place])


EFFECTS: dict[str, Effect] = {
    "mean": Effect("an input moves the mean by 0.12 deviations", frozenset({0}), _mean, _t_test),
    "spread": Effect("an input moves the spread by a tenth", frozenset({0}), _spread, _breusch_pagan),
    "tail": Effect("an input stretches the upper 3%", frozenset({0}), _tail, _excess),
    "three-way": Effect("exclusive or of three inputs", frozenset({0, 1, 2}), _three, _triples),
}
"""name -> effect"""


def draw(name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (rows, 5) and target of one table."""
    rng = np.random.default_rng([seed, rows, *name.encode()])
    x = rng.normal(size=(rows, INPUTS))
    return x, EFFECTS[name].draw(x, rng)
