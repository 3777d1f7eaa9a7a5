"""Columns as the numbers a network sees: one encoder, for training, for twins and for compiled code.

It works on raw matrices, which hold numbers only: a category is its code, the place of its label among the levels.
What a column becomes is for its kind to say, see `forebear.kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd

from forebear.data.column import cells_of
from forebear.data.table import Column, Table
from forebear.kinds import kind_named
from forebear.kinds.kind import CURVES, Curve, Feature, curve

Numbers = Any
"""a numpy array, or a JAX array or tracer; what comes back is of the same library"""

# Starts every concatenation, so that an encoder of no columns works too.
_NOTHING = np.empty(0, np.float32)


@dataclass(frozen=True)
class ColumnCode:
    """What is known of an input column beside its values: enough to encode others like it.

    >>> ColumnCode("a", "category", levels=("u", "v")).width
    2
    """

    name: str
    kind: str
    """the word of `forebear.kinds`"""
    centre: float = 0.0
    scale: float = 1.0
    period: float | None = None
    levels: tuple[object, ...] = ()
    gaps: bool = False
    """whether cells may be missing: NaN among raw numbers"""

    @classmethod
    def of(cls, column: Column) -> ColumnCode:
        """The code of a column, scaled by its own values."""
        centre, scale = kind_named(column.kind).scaling(column.present)
        return cls(column.name, column.kind, centre, scale, column.period, column.levels, bool(column.gaps.any()))

    @property
    def features(self) -> tuple[Feature, ...]:
        """What a network sees of the column; with gaps, also whether the cell is missing."""
        own = kind_named(self.kind).features(self)
        return (*own, Feature("missing")) if self.gaps else own

    @property
    def width(self) -> int:
        """Features it takes."""
        return len(self.features)


class FeatureMap(eqx.Module):
    """The numbers of an encoder, a pytree of arrays: raw columns (rows, inputs) to features (rows, width).

    >>> codes = [ColumnCode("a", "real", 1.0, 2.0), ColumnCode("b", "category", levels=("u", "v"))]
    >>> FeatureMap.of(codes)(np.array([[5.0, 1.0]])).tolist()
    [[2.0, 0.0, 1.0]]
    """

    centre: Numbers
    """(width,), as the other arrays"""
    scale: Numbers
    factor: Numbers
    curves: tuple[Curve, ...] = eqx.field(static=True)
    owners: tuple[int, ...] = eqx.field(static=True)
    """the column of each feature"""

    @classmethod
    def of(cls, codes: Sequence[ColumnCode]) -> FeatureMap:
        """Of several columns side by side, a column's features next to each other."""
        features = [(place, feature) for place, code in enumerate(codes) for feature in code.features]
        numbers = np.array([feature[1:] for _, feature in features], float).reshape(-1, 3)
        curves: tuple[Curve, ...] = tuple(feature.curve for _, feature in features)
        return cls(numbers[:, 0], numbers[:, 1], numbers[:, 2], curves, tuple(place for place, _ in features))

    def __call__(self, x: Numbers) -> Numbers:
        """Features of raw numbers; a code that no level has is like none of them."""
        xp = np if isinstance(x, np.ndarray) else jnp
        owners = np.array(self.owners, int)
        parts, order = [], []
        for name in CURVES:
            places = np.array([place for place, own in enumerate(self.curves) if own == name], int)
            if len(places):
                own = x[:, owners[places]]
                values = curve(name, own, self.centre[places], self.scale[places], xp)
                if "missing" in self.curves and name != "missing":
                    values = xp.where(xp.isnan(own), 0.0, values).astype(values.dtype)
                parts.append(self.factor[places] * values)
                order += places.tolist()
        return xp.concatenate(parts, axis=1)[:, np.argsort(order)] if parts else xp.zeros((len(x), 0), x.dtype)


# Rows that are encoded at a time.
_ROWS = 16_384


@dataclass(frozen=True)
class Encoder:
    """The input columns of a table as one matrix of features.

    >>> from forebear.data.table import open_frame, read_columns
    >>> frame, source = open_frame({"a": [0.0, 2.0], "b": ["u", "v"]})
    >>> encoder = Encoder.of(read_columns(frame, source, ["a", "b"], {}), ["a", "b"])
    >>> encoder.encode(frame).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> encoder(np.array([[1.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    >>> encoder.mask(["b"]).tolist()
    [0.0, 1.0, 1.0]
    """

    codes: tuple[ColumnCode, ...]

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> Encoder:
        """The encoder of these columns, scaled by the table's values."""
        return cls(tuple(ColumnCode.of(table.columns[name]) for name in names))

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(code.width for code in self.codes)

    @cached_property
    def numbers(self) -> FeatureMap:
        """The encoder without its names, for compiled code."""
        return FeatureMap.of(self.codes)

    def mask(self, names: Sequence[str]) -> np.ndarray:
        """1 at the features of these columns, 0 elsewhere."""
        return np.concatenate([_NOTHING, *(np.full(c.width, c.name in names, np.float32) for c in self.codes)])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Features (rows, width) of raw numbers (rows, columns), in their precision."""
        return self.numbers(x)

    def single(self, x: np.ndarray) -> np.ndarray:
        """The same in float32, computed in double: a column far from zero would lose its digits in single."""
        return self._in_parts(len(x), lambda some: np.asarray(x[some], float))

    def of_table(self, table: Table) -> np.ndarray:
        """Features (rows, width) of a table's own columns, in float32."""
        columns = [table.columns[code.name].values for code in self.codes]
        if not columns:
            return np.zeros((table.rows, 0), np.float32)
        return self._in_parts(table.rows, lambda some: np.stack([own[some] for own in columns], axis=1))

    def _in_parts(self, rows: int, numbers: Callable[[slice], np.ndarray]) -> np.ndarray:
        """Features of raw numbers, some rows at a time, so that little is held in double precision."""
        features = np.empty((rows, self.width), np.float32)
        for start in range(0, rows, _ROWS):
            some = slice(start, start + _ROWS)
            features[some] = self.numbers(numbers(some))
        return features

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        """Features (rows, width) of a frame, in float32; a column that it lacks is zero, as a mask would make it."""
        here = Encoder(tuple(code for code in self.codes if code.name in frame))
        features = np.zeros((len(frame), self.width), np.float32)
        features[:, self.mask([code.name for code in here.codes]) > 0] = here.single(here.matrix(frame))
        return features

    def matrix(self, frame: pd.DataFrame) -> np.ndarray:
        """Raw numbers (rows, columns) of a frame that has all columns; a label that was never seen is -1."""
        read = [_numbers(cells_of(frame, code.name), code) for code in self.codes]
        return np.stack(read, axis=1) if read else np.zeros((len(frame), 0))


def _numbers(cells: pd.Series, code: ColumnCode) -> np.ndarray:
    """Raw numbers (rows,) of cells, NaN where one is missing and may be."""
    numbers = kind_named(code.kind).numbers(cells, code)
    return np.where(cells.isna().to_numpy(), np.nan, numbers) if code.gaps else numbers
