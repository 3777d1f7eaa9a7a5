"""Columns as the numbers a network sees, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from forebear.data.column import cells_of
from forebear.data.table import Column, Table

# Starts every concatenation, so that an encoder of no columns works too.
_NOTHING = np.empty(0, np.float32)


@dataclass(frozen=True)
class ColumnCode:
    """How one column is encoded: a real one standardised, an angle as (cos, sin), a category one-hot."""

    name: str
    kind: str
    centre: float = 0.0
    scale: float = 1.0
    period: float | None = None
    levels: tuple[object, ...] = ()

    @classmethod
    def of(cls, column: Column) -> ColumnCode:
        """The code of a column, scaled by its own values."""
        if column.kind == "real":
            return cls(column.name, "real", float(np.mean(column.values)), float(np.std(column.values)))
        return cls(column.name, column.kind, period=column.period, levels=column.levels)

    @property
    def width(self) -> int:
        """Features it takes."""
        return {"real": 1, "periodic": 2}.get(self.kind, len(self.levels))

    def encode(self, values: pd.Series) -> np.ndarray:
        """(rows, width) features; a category level that was never seen is all zeros."""
        if self.kind == "category":
            codes = pd.Categorical(values, categories=pd.Index(self.levels)).codes
            return (np.asarray(codes)[:, None] == np.arange(len(self.levels))).astype(float)
        numbers = values.to_numpy(float)
        if self.kind == "periodic":
            assert self.period is not None
            angle = 2 * np.pi * numbers / self.period
            # Times sqrt 2: cosine and sine of a uniform angle then have variance 1, like every other feature.
            return np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return ((numbers - self.centre) / self.scale)[:, None]


@dataclass(frozen=True)
class Encoder:
    """The input columns of a table as one matrix of features.

    >>> from forebear.data.table import open_frame, read_columns
    >>> frame, source = open_frame({"a": [0.0, 2.0], "b": ["u", "v"]})
    >>> encoder = Encoder.of(read_columns(frame, source, ["a", "b"], {}), ["a", "b"])
    >>> encoder.encode(frame).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
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

    def mask(self, names: Sequence[str]) -> np.ndarray:
        """1 at the features of these columns, 0 elsewhere."""
        return np.concatenate([_NOTHING, *(np.full(c.width, c.name in names, np.float32) for c in self.codes)])

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        """Features (rows, width) in float32; columns that `frame` lacks are zero, as a mask would make them."""
        parts = [np.zeros((len(frame), 0))]
        parts += [
            code.encode(cells_of(frame, code.name)) if code.name in frame else np.zeros((len(frame), code.width))
            for code in self.codes
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)
