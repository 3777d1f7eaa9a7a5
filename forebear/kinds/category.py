"""Labels without an order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pandas as pd

from forebear.kinds.bounded import centred
from forebear.kinds.cells import holds, label_cells
from forebear.kinds.kind import Cells, Described, Feature, Kind, Range, Scaled

# exp(-100^2 / 2) is exactly 0 in float64.
_APART = 100.0
_LEVELS = 20


@final
class Category(Kind):
    """A label, by its code: two of them are equal or not. One that the data does not have is like none."""

    name = "category"

    def recognises(self, cells: pd.Series, where: str, period: float | None) -> bool:
        """Booleans, text and pandas categories, without a period."""
        return period is None and holds(cells, where) == "labels"

    def read(self, cells: pd.Series, where: str) -> Cells:
        """Codes, and the labels in order."""
        return Cells(*label_cells(cells, where))

    def cells(self, values: np.ndarray, column: Described) -> pd.Series:
        """The labels, as a pandas category."""
        return pd.Series(pd.Categorical.from_codes(values.astype(int).tolist(), list(column.levels)))

    def features(self, column: Scaled) -> tuple[Feature, ...]:
        """One for each level, 1 there."""
        return tuple(Feature("equal", float(code)) for code in range(len(column.levels)))

    def embed(self, values: np.ndarray, column: Described, lengthscale: float) -> np.ndarray:
        """k = 1 where two are equal and 0 where not, whatever the lengthscale: codes so far apart that k vanishes."""
        return np.asarray(values, float)[:, None] * _APART

    def test_features(self, values: np.ndarray, column: Described) -> np.ndarray:
        """Indicators of the levels, commonest first; that of the commonest itself comes last."""
        codes, counts = np.unique(values, return_counts=True)
        first, *others = codes[np.argsort(-counts, kind="stable")][: _LEVELS + 1]
        # Of two levels each says what the other does. Of more, the commonest may be the only one at which a law is
        # another one, and each of the others alone sees little of that.
        shown = np.array([*others, first] if len(others) > 1 else others)
        return centred((values[:, None] == shown).astype(float))

    def widget(self, values: np.ndarray, column: Scaled, within: Range | None, start: float) -> Mapping[str, Any]:
        """A list of the levels to choose from."""
        return {"widget": "choices", "start": int(start)}
