"""What a kind of column is: everything the rest of forebear asks of a column, in one place.

A kind is one file: a final subclass of `Kind`, registered in `forebear/kinds/__init__.py`. Its cells become float64
numbers when a table is read, and stay raw numbers (codes, for labels) everywhere inside; the methods below say what
those numbers mean to the network, to the kernel, to the test of independence, to a twin and to a page.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np
import pandas as pd

Curve = Literal["line", "cos", "sin", "equal", "step", "missing"]
CURVES: tuple[Curve, ...] = get_args(Curve)


class Feature(NamedTuple):
    """One number that a network sees of a column: `factor` times a curve of its raw value x.

    | curve | value                              |
    |-------|------------------------------------|
    | line  | (x - centre) / scale               |
    | cos   | cos(2 pi (x - centre) / scale)     |
    | sin   | sin(2 pi (x - centre) / scale)     |
    | equal | 1 where x = centre, 0 elsewhere    |
    | step  | 1 where x >= centre, 0 elsewhere   |
    | missing | 1 where the cell is missing (NaN), 0 elsewhere |

    At a missing cell every other curve is 0.

    Written down rather than computed, so that numpy, JAX, ONNX and the JavaScript of a page all read the same one.
    """

    curve: Curve
    centre: float = 0.0
    scale: float = 1.0
    factor: float = 1.0


def curve(name: Curve, x: Any, centre: Any, scale: Any, xp: Any) -> Any:
    """A curve at raw values x, with numpy or jax.numpy as `xp`; the arrays broadcast.

    >>> curve("line", np.array([5.0]), 1.0, 2.0, np), curve("step", np.array([0.0, 1.0]), 1.0, 1.0, np)
    (array([2.]), array([0., 1.]))
    """
    if name == "line":
        return (x - centre) / scale
    if name in ("cos", "sin"):
        turn = 2 * np.pi * (x - centre) / scale
        return xp.cos(turn) if name == "cos" else xp.sin(turn)
    if name == "missing":
        return xp.isnan(x).astype(x.dtype)
    return (x == centre if name == "equal" else x >= centre).astype(x.dtype)


class Cells(NamedTuple):
    """The cells of a column as numbers."""

    values: np.ndarray
    """(rows,) float64"""
    levels: tuple[object, ...] = ()
    """the labels that codes stand for, where the cells are labels"""


@dataclass(frozen=True)
class Range:
    """Where the data of an input lies; quantiles at 1, 5, 25, 50, 75, 95 and 99 per cent."""

    low: float
    high: float
    quantiles: tuple[float, ...]


RANGE_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class Nudge(NamedTuple):
    """How a value may be moved a little and still be one: what a student of a twin is asked about beside the data."""

    spread: float
    """standard deviation of a move; 0 leaves values as they are"""
    outwards: bool = False
    """whether values beyond the data make sense"""


class Described(Protocol):
    """What a kind may know of a column beside its values."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> Sequence[object]: ...
    @property
    def period(self) -> float | None: ...


class Scaled(Described, Protocol):
    """The same, once the scaling by the training data is known."""

    @property
    def centre(self) -> float: ...
    @property
    def scale(self) -> float: ...


class Kind(abc.ABC):
    """One kind of column. Has no state: what belongs to a column is handed over with it."""

    name: ClassVar[str]
    """the word for it in files, messages and `Column.kind`"""

    @abc.abstractmethod
    def recognises(self, cells: pd.Series, where: str, period: float | None) -> bool:
        """Whether a column with these cells, for which the user gave this period or none, is of this kind.

        May raise an `InputError` that begins with `where` if no kind could read the cells.
        """

    @abc.abstractmethod
    def read(self, cells: pd.Series, where: str) -> Cells:
        """The cells as numbers, or an `InputError` that begins with `where` and says what to do."""

    def cells(self, values: np.ndarray, column: Described) -> pd.Series:
        """The way back from numbers (rows,) to cells, as samplers that users write see them."""
        return pd.Series(values)

    def numbers(self, cells: pd.Series, column: Described) -> np.ndarray:
        """Such cells, unchecked, as the numbers of a column that was read before; a label never seen is -1."""
        if not column.levels:
            return cells.to_numpy(float)
        known = pd.Index(column.levels, dtype=object)
        if not isinstance(cells.dtype, pd.CategoricalDtype):
            return known.get_indexer(pd.Index(cells.astype(object))).astype(float)
        # The places of pandas' own labels among ours, and -1 for a cell without one.
        places = np.append(known.get_indexer(cells.cat.categories.astype(object)), -1)
        return places[cells.cat.codes.to_numpy()].astype(float)

    def scaling(self, values: np.ndarray) -> tuple[float, float]:
        """Centre and scale by the values of the training data; distances are told in scales."""
        return 0.0, 1.0

    @abc.abstractmethod
    def features(self, column: Scaled) -> tuple[Feature, ...]:
        """What a network sees of the column; each feature has a variance of about 1 over the data."""

    @abc.abstractmethod
    def embed(self, values: np.ndarray, column: Described, lengthscale: float) -> np.ndarray:
        """Points p (rows, 1 or 2) whose distances make the kernel's factor: k = exp(-|p - p'|^2 / 2).

        `values` are those of the distilled rows. The lengthscale is in standard deviations, or in what stands for
        them.
        """

    @abc.abstractmethod
    def test_features(self, values: np.ndarray, column: Described) -> np.ndarray:
        """Bounded features (rows, some) for the test of independence, most telling first.

        Each has mean about 0 and variance about 1; more than eight are seldom used.
        """

    def range(self, values: np.ndarray) -> Range | None:
        """Where the data lies, if values can lie outside."""
        return None

    def nudge(self, column: Scaled) -> Nudge:
        """How values may be moved a little."""
        return Nudge(0.0)

    @abc.abstractmethod
    def widget(self, values: np.ndarray, column: Scaled, within: Range | None, start: float) -> Mapping[str, Any]:
        """What a page shows to set an input: plain numbers and text, "widget" among them.

        "choices" has `start`, a code; "slider" and "dial" (of a whole turn) have `from`, `to`, `step` and `start`.
        With `low` and `high` the page says where the data lies, and warns outside. `values` are some of the data,
        `start` the value to begin with.
        """


def range_of(values: np.ndarray) -> Range:
    """The range of numbers that have ends."""
    quantiles = tuple(float(q) for q in np.quantile(values, RANGE_QUANTILES))
    return Range(float(values.min()), float(values.max()), quantiles)


def nice_step(width: float) -> float:
    """A power of ten, of which 200 to 2,000 make the width.

    >>> nice_step(360.0), nice_step(0.7)
    (1.0, 0.001)
    """
    return float(f"1e{int(np.floor(np.log10(width / 200)))}")


def near(value: float, step: float) -> float:
    """The nearest multiple of the step, without the dust of binary fractions.

    >>> near(0.30000001, 0.1)
    0.3
    """
    return float(f"{step * round(value / step):.10g}")
