"""Conditional laws that are known in closed form, written as quantile maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

Quantile = Callable[[pd.DataFrame, np.ndarray], np.ndarray]
"""(rows, p of shape (rows,) or (k, rows)) -> y of the shape of p. It may also have a method `push(rows, z)`
that equals the map at p = Phi(z); a sampler prefers it, because Phi(z) rounds to 1 from z = 8.3 on."""

OfRows = Callable[[pd.DataFrame], np.ndarray]


@dataclass(frozen=True)
class Gaussian:
    """A normal law whose mean and standard deviation are functions of the row, cut off at two limits.

    A value beyond a limit is moved onto it, as an actuator that saturates would do.

    >>> law = Gaussian(mean=lambda rows: rows["a"].to_numpy(), std=lambda rows: np.ones(len(rows)))
    >>> law(pd.DataFrame({"a": [0.0, 5.0]}), np.array([0.5, 0.5])).tolist()
    [0.0, 5.0]
    """

    mean: OfRows
    std: OfRows
    low: float = -np.inf
    high: float = np.inf

    def __call__(self, given: pd.DataFrame, p: Float[np.ndarray, "*draws rows"]) -> Float[np.ndarray, "*draws rows"]:
        return self.push(given, ndtri(p))

    def push(self, given: pd.DataFrame, z: Float[np.ndarray, "*draws rows"]) -> Float[np.ndarray, "*draws rows"]:
        """The quantile at Phi(z), without going through Phi.

        >>> law = Gaussian(mean=lambda rows: np.zeros(len(rows)), std=lambda rows: np.ones(len(rows)))
        >>> law.push(pd.DataFrame({"a": [0.0]}), np.array([30.0])).tolist()
        [30.0]
        """
        return np.clip(self.mean(given) + self.std(given) * z, self.low, self.high)


@dataclass(frozen=True)
class NormalPlusLaplace:
    """The law of `N(0, s^2) + Laplace(0, b)`, with `s` and `b` functions of the row.

    >>> law = NormalPlusLaplace(s=lambda rows: rows["s"].to_numpy(), b=lambda rows: rows["b"].to_numpy())
    >>> rows = pd.DataFrame({"s": [1.0, 0.0], "b": [0.0, 1.0]})
    >>> law(rows, np.array([0.975, 0.75])).round(6).tolist()        # purely normal, purely Laplace
    [1.959964, 0.693147]
    """

    s: OfRows
    b: OfRows

    def __call__(self, given: pd.DataFrame, p: Float[np.ndarray, "*draws rows"]) -> Float[np.ndarray, "*draws rows"]:
        # 1 - p is exact for p >= 1/2, so both tails are equally good
        tail = np.log(np.minimum(p, 1 - p))
        return np.copysign(self._upper(given, tail), p - 0.5)

    def push(self, given: pd.DataFrame, z: Float[np.ndarray, "*draws rows"]) -> Float[np.ndarray, "*draws rows"]:
        """The quantile at Phi(z), as accurate at z = 6 as at z = -6.

        >>> law = NormalPlusLaplace(s=lambda rows: np.ones(len(rows)), b=lambda rows: np.zeros(len(rows)))
        >>> law.push(pd.DataFrame({"a": [0.0]}), np.array([-9.0])).round(9).tolist()
        [-9.0]
        """
        return np.copysign(self._upper(given, log_ndtr(-np.abs(z))), z)

    def _upper(self, given: pd.DataFrame, log_tail: np.ndarray) -> np.ndarray:
        return normal_laplace_upper(log_tail, self.s(given), self.b(given))


def normal_laplace_cdf(y: np.ndarray, s: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
    """P(N(0, s^2) + Laplace(0, b) <= y); arguments broadcast.

    >>> normal_laplace_cdf(np.array([0.0]), 1.0, 1.0).tolist()
    [0.5]
    """
    tail = np.exp(_log_survival(np.abs(y), *_floored(s, b))[0])
    return np.where(np.asarray(y) < 0, tail, 1 - tail)


def normal_laplace_upper(
    log_tail: np.ndarray, s: np.ndarray | float, b: np.ndarray | float, most: int = 60
) -> np.ndarray:
    """The y >= 0 that leaves probability exp(log_tail) <= 1/2 above it.

    Newton's method on the logarithm of the tail. Both parts have log-concave densities, hence so has the sum
    and its tail: seen from 0 the tangent lands beyond the root, and from there the steps walk back to it
    without crossing. No bracket is needed, whatever the parameters.

    >>> normal_laplace_upper(np.log([0.5, 1e-9]), 1.0, 0.0).round(6).tolist()
    [0.0, 5.997807]
    """
    s, b = _floored(s, b)
    y = np.zeros(np.broadcast_shapes(np.shape(log_tail), np.shape(s), np.shape(b)))
    for _ in range(most):
        log_survival, hazard = _log_survival(y, s, b)
        step = (log_survival - log_tail) / hazard
        # a row that has arrived stays: its answer must not depend on which other rows are still on the way
        move = np.abs(step) > 1e-13 * (1 + y)
        y = np.where(move, np.maximum(y + step, 0.0), y)
        if not move.any():
            break
    return y


def _floored(s: np.ndarray | float, b: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    # the two limits are reached smoothly: at 1e-12 the law is the limiting one to that accuracy, and no
    # quotient below overflows
    return np.maximum(s, 1e-12), np.maximum(b, 1e-12)


def _log_survival(y: np.ndarray, s: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of P(Y > y) and the density over P(Y > y), for y >= 0.

    P(Y > y) = Phi(-y/s) + A - B and density = (A + B) / b, where
    A = exp(s^2/2b^2 - y/b) Phi(y/s - s/b) / 2 and B = exp(s^2/2b^2 + y/b) Phi(-y/s - s/b) / 2. A factor is
    taken out, exp(-y^2/2s^2) before the kink u = y/s - s/b = 0 and exp(s^2/2b^2 - y/b) after it; what remains
    is of order one, so that neither overflow nor underflow can occur.
    """
    with np.errstate(under="ignore"):
        h, k = y / s, s / b
        u = h - k
        normal = erfcx(h / np.sqrt(2)) / 2
        minus = erfcx((h + k) / np.sqrt(2)) / 4
        before = erfcx(np.maximum(-u, 0) / np.sqrt(2)) / 4
        after = ndtr(u) / 2
        shrink = np.exp(-np.square(np.maximum(u, 0)) / 2)
        late = u > 0
        plus = np.where(late, after, before)
        rest = plus + shrink * (normal - minus)
        log_factor = np.where(late, k * (k / 2 - h), -h * h / 2)
        return log_factor + np.log(rest), (plus + shrink * minus) / (b * rest)
