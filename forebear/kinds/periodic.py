"""Angles: numbers that return after a period."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pandas as pd

from forebear.kinds.bounded import centred
from forebear.kinds.cells import check_spread, number_cells
from forebear.kinds.kind import Cells, Described, Feature, Kind, Nudge, Range, Scaled, near, nice_step

_WAVES = 6


@final
class Periodic(Kind):
    """An angle. Its values stay raw: scaling them would change their period."""

    name = "periodic"

    def recognises(self, cells: pd.Series, where: str, period: float | None) -> bool:
        """Whatever the user gave a period."""
        return period is not None

    def read(self, cells: pd.Series, where: str) -> Cells:
        """Finite numbers that vary."""
        values = number_cells(cells, where)
        check_spread(values, where)
        return Cells(values)

    def features(self, column: Scaled) -> tuple[Feature, ...]:
        """Cosine and sine."""
        # Times sqrt 2: cosine and sine of a uniform angle then have variance 1, like every other feature.
        period, factor = _period(column), math.sqrt(2)
        return Feature("cos", 0.0, period, factor), Feature("sin", 0.0, period, factor)

    def embed(self, values: np.ndarray, column: Described, lengthscale: float) -> np.ndarray:
        """k = exp(-2 sin^2(pi (x - x') / period) / lengthscale^2): points on a circle.

        >>> from types import SimpleNamespace
        >>> turn = SimpleNamespace(name="x", levels=(), period=1.0)
        >>> Periodic().embed(np.array([0.0, 0.25]), turn, 1.0).round(12).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        angle = 2 * np.pi * np.asarray(values, float) / _period(column)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1) / lengthscale

    def test_features(self, values: np.ndarray, column: Described) -> np.ndarray:
        """Waves of one to six periods a turn."""
        angle = 2 * np.pi * values[:, None] / _period(column) * np.arange(1, _WAVES + 1)
        return centred(np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(angle), -1))

    def nudge(self, column: Scaled) -> Nudge:
        """By a fiftieth of a turn."""
        return Nudge(0.02 * _period(column))

    def widget(self, values: np.ndarray, column: Scaled, within: Range | None, start: float) -> Mapping[str, Any]:
        """A dial of one turn, around zero where the data has negative angles."""
        period = _period(column)
        low, step = -period / 2 if (values < 0).any() else 0.0, nice_step(period)
        ends = {"from": near(low, step), "to": near(low + period, step)}
        return {"widget": "dial", **ends, "step": step, "start": near((start - low) % period + low, step)}


def _period(column: Described) -> float:
    assert column.period is not None, f"column '{column.name}' is periodic and has no period"
    return column.period
