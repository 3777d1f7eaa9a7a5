"""A watch over rows as they come: bets against "the law holds", which win only where it does not.

For every function h(x) (score - misfit) there are bets on both of its signs. A bet multiplies its wealth by
1 + stake (value - bound) at each row; as the value is bounded and its mean, while the law holds, at most `bound`, the
expected factor is at most 1. Bets of all stakes, functions and starting times share one unit of wealth, so that the
wealth of a law that holds ever reaches 1/p with probability p at most, however often one looks (Ville's inequality;
Shafer and Vovk 2019, Ramdas and others 2023). `bound` is what the known rows leave open about the mean, with a fifth
of the error, and the margin.

Within a block the bound is that of the block's mean: the mean of the factors is then at most 1, and so is their
product (geometric beside arithmetic mean). Rows that remember those before them are bet on in blocks of ten times
their memory, each as one normal value: there the promise holds nearly, not exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from forebear.watch.features import MOST, ORDER_SHARES, ORDERS, InputFeatures, all_scores
from forebear.watch.memory import inflation
from forebear.watch.misfit import Misfit

# The smallest block in rows, and rows of a block for each row of memory: blocks then hardly know of one another, and
# the slack of their variance allows for what they do.
_BLOCK, _PER_MEMORY, _SLACK = 25, 10.0, 1.3
_STAKES = np.array([0.04, 0.12, 0.36, 0.9])
"""as shares of the largest stake that cannot ruin"""
_LEANS = np.array([0.3, 0.7, 1.5, 3.0])
"""the same for blocks, in deviations"""
# Share of the error for what the known rows leave open; curves and orders of an input that are bet on.
_OF_KNOWN, _CURVES, _ORDERS_OF_INPUTS = 0.2, 2, 2
_REACH = 2.0
"""beyond which a feature of an input counts no more"""
_KEPT = 400
"""blocks that are remembered, to tell since when"""


@dataclass(frozen=True, eq=False)
class Bets:
    """What is bet on for one law: functions of a row, and the order of the latent of each."""

    orders: np.ndarray
    owner: np.ndarray
    """(functions,) place of the input; -1 for plain ones"""
    curves: np.ndarray
    inputs: tuple[str, ...]
    weights: np.ndarray
    """(functions,) of the wealth"""

    @classmethod
    def of(cls, features: list[InputFeatures]) -> Bets:
        """Half of the wealth on plain changes, half on those with an input."""
        plain = [(order, -1, 0, 1.0) for order in range(len(ORDER_SHARES))]
        with_input = [
            (order, place, curve, 1.0)
            for place, one in enumerate(features)
            for curve in range(min(_CURVES, one.known.shape[1]))
            for order in range(_ORDERS_OF_INPUTS)
        ]
        table = np.array([*plain, *with_input])
        is_plain = table[:, 1] < 0
        share = 0.5 if with_input else 1.0
        weights = np.where(is_plain, share / is_plain.sum(), (1 - share) / max(1, (~is_plain).sum()))
        places = table[:, :3].astype(int)
        return cls(places[:, 0], places[:, 1], places[:, 2], tuple(one.name for one in features), weights)

    def functions(self, features: list[InputFeatures], rows: int) -> Float[np.ndarray, "rows functions"]:
        """h(x) of each row."""
        ones = np.ones(rows)
        told = [
            ones if place < 0 else np.clip(features[place].new[:, curve], -_REACH, _REACH)
            for place, curve in zip(self.owner, self.curves, strict=True)
        ]
        return np.stack(told, axis=1)

    @property
    def reach(self) -> Float[np.ndarray, " functions"]:
        """How large a value can be."""
        return _MOST[self.orders] * np.where(self.owner < 0, 1.0, _REACH)


# The largest value of each order, and some room for the misfit.
_MOST = MOST + 0.5


def _held(left: np.ndarray) -> np.ndarray:
    return np.clip(left, -_MOST, _MOST)


@dataclass(eq=False)
class Wealth:
    """The bets on one law, block by block."""

    bets: Bets
    misfit: Misfit
    level: float
    """chance that the wealth ever says "changed" while the law holds"""
    margin: float
    factor: float = 1.0
    """how many rows are worth one; 1: each is bet on alone"""
    unlike: np.ndarray | None = None
    """(functions,) variance of their means from stretch to stretch of the known rows"""
    blocks: int = 0
    running: np.ndarray | None = None
    """(functions, signs, stakes) wealth of all bets that have started, times their share"""
    history: list[list[float]] | None = None
    """log factors of the last blocks, per function and sign, at the stake that did best"""
    highest: float = 1.0
    since_block: int | None = None
    """when the alarm was given: the block at which the change most likely began"""
    follows: tuple[str, ...] = ()

    @property
    def block(self) -> int:
        """Rows of a block."""
        return block_of(self.factor)

    @property
    def threshold(self) -> float:
        """Wealth that is an alarm."""
        return 1 / ((1 - _OF_KNOWN) * self.level)

    @property
    def changed(self) -> bool:
        """Whether it has ever been reached."""
        return self.highest >= self.threshold

    def add(
        self,
        z: Float[np.ndarray, " rows *draws"],
        features: list[InputFeatures],
        design: Float[np.ndarray, "rows features"],
    ) -> None:
        """One whole block."""
        left = all_scores(z) - design @ self.misfit.weights
        functions = self.bets.functions(features, len(z))
        values = _held(left)[:, self.bets.orders] * functions
        open_part = self.misfit.variance(functions.T @ design / len(z))[self.bets.orders, np.arange(values.shape[1])]
        if self.unlike is not None:
            open_part = open_part + self.unlike
        # Both signs of every function share the error of the known rows.
        spent = _OF_KNOWN * self.level / (2 * len(self.bets.orders))
        bound = self.margin + self.misfit.doubt[self.bets.orders] + float(-ndtri(spent)) * np.sqrt(open_part)
        if self.factor == 1.0:
            self._count(_row_by_row(values, bound, self.bets.reach))
        else:
            spread = self.misfit.spread
            # A tail in which the known rows had nobody is not one in which there never is anybody.
            spread = np.where(np.arange(len(spread)) < ORDERS, spread, np.maximum(spread, 1.0))
            variance = spread[self.bets.orders] * np.square(functions).mean(axis=0) * self.factor / len(z)
            self._count(_as_one(values.mean(axis=0), bound, _SLACK * variance))

    def _count(self, logs: Float[np.ndarray, "functions signs stakes"]) -> None:
        self.blocks += 1
        shares = np.broadcast_to(self.bets.weights[:, None, None], logs.shape) / (2 * len(_STAKES))
        if self.running is None or self.history is None:
            self.running, self.history = np.zeros(logs.shape), []
        # A share of the wealth is kept for each block to come, so that a late change is found too.
        starting = shares * _prior(self.blocks)
        with np.errstate(over="ignore"):
            self.running = np.minimum((self.running + starting) * np.exp(logs), 1e300)
        self.history = [*self.history, logs[:, :, 1:3].max(axis=2).ravel().tolist()][-_KEPT:]
        before = self.changed
        wealth = float(self.running.sum()) + _rest(self.blocks)
        self.highest = max(self.highest, wealth)
        if self.changed and not before:
            self._explain()

    def _explain(self) -> None:
        """The bet that won most, and the block it would best have started at."""
        assert self.running is not None and self.history is not None
        by_function = self.running.sum(axis=2)
        function, sign = np.unravel_index(int(np.argmax(by_function)), by_function.shape)
        own = np.array(self.history)[:, int(function) * 2 + int(sign)]
        suffix = np.cumsum(own[::-1])[::-1]
        self.since_block = self.blocks - len(own) + int(np.argmax(suffix))
        place = int(self.bets.owner[function])
        self.follows = () if place < 0 else (self.bets.inputs[place],)

    def state(self) -> dict[str, Any]:
        """All that has been learned, as plain lists and numbers."""
        return {
            "blocks": self.blocks,
            "running": None if self.running is None else self.running.tolist(),
            "history": self.history,
            "highest": self.highest,
            "since_block": self.since_block,
            "follows": list(self.follows),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from there; a ValueError or KeyError if it is the state of another law."""
        running = None if state["running"] is None else np.array(state["running"], float)
        if running is not None and running.shape != (len(self.bets.orders), 2, len(_STAKES)):
            raise ValueError("the state of another law")
        self.blocks, self.running, self.history = int(state["blocks"]), running, state["history"]
        self.highest, self.since_block = float(state["highest"]), state["since_block"]
        self.follows = tuple(state["follows"])


def _row_by_row(values: np.ndarray, bound: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Log factors (functions, signs, stakes) of rows that are independent: exact, whatever their law."""
    stakes = _STAKES / (reach + bound)[:, None]
    signs = np.array([1.0, -1.0])
    gains = values.T[:, None, :] * signs[None, :, None] - bound[:, None, None]
    return np.log1p(stakes[:, None, :, None] * gains[:, :, None, :]).sum(axis=-1)


def _as_one(mean: np.ndarray, bound: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log factors of a block that counts as one normal value, as many rows that remember one another do nearly."""
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    away = (mean[:, None] * np.array([1.0, -1.0]) - bound[:, None]) / deviation[:, None]
    return _LEANS * away[:, :, None] - _LEANS**2 / 2


def block_of(factor: float) -> int:
    """Rows of a block: many times their memory.

    >>> block_of(1.0), block_of(19.0)
    (25, 190)
    """
    return max(_BLOCK, int(np.ceil(_PER_MEMORY * factor)))


def factor_of(misfit: Misfit) -> float:
    """How many rows are worth one, by the memory of the known rows."""
    factor = float(inflation(misfit.slow)[:2].max())
    return 1.0 if factor < 1.05 else factor


def unlike_of(bets: Bets, misfit: Misfit, features: list[InputFeatures]) -> Float[np.ndarray, " functions"]:
    """How much the mean of each bet varies from stretch to stretch of the known rows: so it may in the next one."""
    known = [InputFeatures(one.name, one.known, one.known, one.shares, one.smooth) for one in features]
    between = misfit.between(bets.functions(known, misfit.rows))
    return between[bets.orders, np.arange(len(bets.orders))]


def _prior(block: int) -> float:
    """The share of the wealth for bets that start with this block; all shares together are 1."""
    return _rest(block - 1) - _rest(block)


def _rest(block: int) -> float:
    """What is left for later blocks: it falls slowly, so that a late change costs little more than an early one."""
    return float(1 / np.log2(block + 2))
