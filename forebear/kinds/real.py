"""Numbers on a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pandas as pd

from forebear.kinds.bounded import legendre, standard
from forebear.kinds.cells import check_spread, holds, number_cells
from forebear.kinds.kind import Cells, Described, Feature, Kind, Nudge, Range, Scaled, near, nice_step, range_of

_ORDERS = 8


@final
class Real(Kind):
    """A real number: the network sees it standardised, the kernel its distance, the test polynomials of its rank."""

    name = "real"

    def recognises(self, cells: pd.Series, where: str, period: float | None) -> bool:
        """Floats, integers, decimals, without a period."""
        return period is None and holds(cells, where) == "numbers"

    def read(self, cells: pd.Series, where: str) -> Cells:
        """Finite numbers that vary."""
        values = number_cells(cells, where)
        check_spread(values, where)
        return Cells(values)

    def scaling(self, values: np.ndarray) -> tuple[float, float]:
        """Mean and standard deviation."""
        return float(np.mean(values)), float(np.std(values))

    def features(self, column: Scaled) -> tuple[Feature, ...]:
        """The standardised value."""
        return (Feature("line", column.centre, column.scale),)

    def embed(self, values: np.ndarray, column: Described, lengthscale: float) -> np.ndarray:
        """k = exp(-(x - x')^2 / (2 lengthscale^2)), x standardised on these rows."""
        return standard(values)[:, None] / lengthscale

    def test_features(self, values: np.ndarray, column: Described) -> np.ndarray:
        """Legendre polynomials of the rank."""
        ranks = pd.Series(values).rank().to_numpy()
        return legendre((2 * ranks - 1) / len(ranks) - 1, _ORDERS)

    def range(self, values: np.ndarray) -> Range:
        """From the least value to the greatest."""
        return range_of(values)

    def nudge(self, column: Scaled) -> Nudge:
        """By a tenth of the standard deviation, beyond the data too."""
        return Nudge(0.1 * column.scale, outwards=True)

    def widget(self, values: np.ndarray, column: Scaled, within: Range | None, start: float) -> Mapping[str, Any]:
        """A slider that ends a little past the data."""
        span = within or range_of(values)
        wide, core = span.high - span.low, span.quantiles[-1] - span.quantiles[0]
        # Past the data, so that one can step outside; but far tails would leave the bulk no room on the slider.
        low = max(span.low - 0.08 * wide, span.quantiles[0] - 0.75 * core)
        high = min(span.high + 0.08 * wide, span.quantiles[-1] + 0.75 * core)
        step = 1.0 if (values == np.round(values)).all() else nice_step(high - low)
        ends = {"from": near(low - 0.5 * step, step), "to": near(high + 0.5 * step, step)}
        data = {"low": span.low, "high": span.high}
        return {"widget": "slider", **data, **ends, "step": step, "start": near(start, step)}
