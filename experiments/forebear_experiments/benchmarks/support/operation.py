"""Rigs whose laws are known, and what can happen to them while a twin is in operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.signal import lfilter

INPUTS = ("a", "b", "c", "d")
OWN = ("a", "b")
"""those that the law of `y` has; the others do nothing"""


class Rows(NamedTuple):
    """How rows hang together: how much inputs, and the noise, remember of the row before."""

    inputs: float = 0.0
    noise: float = 0.0


KINDS: Mapping[str, Rows] = {
    "independent rows": Rows(),
    "inputs AR 0.9": Rows(inputs=0.9),
    "inputs and noise AR 0.9": Rows(inputs=0.9, noise=0.9),
}


class Event(NamedTuple):
    """What happens, and what a monitor should say."""

    follows: tuple[str, ...]
    noise: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda x, e: e
    """inputs (rows, inputs) and noise of variance 1 to noise"""
    inputs: Callable[[np.ndarray], np.ndarray] = lambda x: x
    """what the inputs do; the law sees it too"""
    read: Callable[[np.ndarray], np.ndarray] = lambda x: x
    """what the sensors of the inputs make of them"""


def _heavy(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Student's t with three degrees of freedom, at the same variance, value by value."""
    from scipy.special import ndtr
    from scipy.stats import t

    return t.ppf(np.clip(ndtr(e), 1e-9, 1 - 1e-9), 3) / np.sqrt(3)


def _moved(x: np.ndarray) -> np.ndarray:
    more = x.copy()
    more[:, 0] = 0.6 * more[:, 0] + 1.0
    more[:, 1] = 0.5 * more[:, 1] - 0.6
    return more


def _tied(x: np.ndarray) -> np.ndarray:
    """The inputs begin to follow one another."""
    more = x.copy()
    more[:, 1] = 0.8 * more[:, 0] + 0.6 * more[:, 1]
    return more


NOTHING: Mapping[str, Event] = {
    "nothing": Event(()),
    "other mix of inputs": Event((), inputs=_moved),
    "inputs tied together": Event((), inputs=_tied),
}
"""of which no law takes notice"""
CHANGES: Mapping[str, Event] = {
    "shift": Event((), lambda x, e: e + 0.5),
    "wider": Event((), lambda x, e: 1.5 * e),
    "heavy tails": Event((), _heavy),
    "slope of an input": Event(("a",), lambda x, e: e + 0.5 * x[:, 0]),
    "an input that did nothing": Event(("c",), lambda x, e: e + 0.5 * x[:, 2]),
    "its spread with an input": Event(("d",), lambda x, e: e * np.exp(0.45 * x[:, 3])),
    "slope, and another mix": Event(("b",), lambda x, e: e + 0.7 * x[:, 1], inputs=_moved),
}


def rig(rows: int, kind: Rows, rng: np.random.Generator, event: Event | None = None, since: int = 0) -> pd.DataFrame:
    """A table of the rig, in which the event begins with row `since`."""
    x = _slow(rng, rows, kind.inputs, len(INPUTS))
    e = _slow(rng, rows, kind.noise, 1)[:, 0]
    if event is not None:
        x[since:] = event.inputs(x[since:])
        e[since:] = event.noise(x[since:], e[since:])
    y = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] + 0.3 * (1 + 0.6 * np.tanh(x[:, 1])) * e
    seen = x.copy()
    if event is not None:
        seen[since:] = event.read(x[since:])
    return pd.DataFrame(seen, columns=list(INPUTS)).assign(y=y)


def _slow(rng: np.random.Generator, rows: int, memory: float, series: int) -> np.ndarray:
    steps = rng.normal(size=(series, rows)) * np.sqrt(1 - memory**2)
    steps[:, 0] = rng.normal(size=series)
    return np.asarray(lfilter([1.0], [1.0, -memory], steps, axis=1)).T.copy()
