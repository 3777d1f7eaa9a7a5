"""A new kind of column, to copy: labels that have an order, as pandas' ordered categories have it.

Save it as forebear/kinds/ordinal.py and add `Ordinal()` to `_BUILT_IN` in forebear/kinds/__init__.py, before
`Category()`; or leave it in a module of yours and call `forebear.kinds.register(Ordinal())` there. Then run
`pytest tests/contracts/test_kinds.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pandas as pd

from forebear.kinds.bounded import legendre, standard
from forebear.kinds.cells import label_cells
from forebear.kinds.kind import Cells, Described, Feature, Kind, Range, Scaled

_ORDERS = 3


@final
class Ordinal(Kind):
    """A label with a place in an order: neighbours are alike."""

    name = "ordinal"

    def recognises(self, cells: pd.Series, where: str, period: float | None) -> bool:
        """An ordered pandas category."""
        return period is None and isinstance(cells.dtype, pd.CategoricalDtype) and bool(cells.dtype.ordered)

    def read(self, cells: pd.Series, where: str) -> Cells:
        """Codes in that order, and the labels."""
        return Cells(*label_cells(cells, where))

    def cells(self, values: np.ndarray, column: Described) -> pd.Series:
        """The labels again."""
        return pd.Series(pd.Categorical.from_codes(values.astype(int).tolist(), list(column.levels), ordered=True))

    def features(self, column: Scaled) -> tuple[Feature, ...]:
        """A step up at every level but the first: twice as many steps lie between labels that are twice as far."""
        return tuple(Feature("step", float(code)) for code in range(1, len(column.levels)))

    def embed(self, values: np.ndarray, column: Described, lengthscale: float) -> np.ndarray:
        """As a number: labels that are neighbours are alike."""
        return standard(values)[:, None] / lengthscale

    def test_features(self, values: np.ndarray, column: Described) -> np.ndarray:
        """Polynomials of the rank, no more than there are levels, standardised: ranks of so few values are coarse."""
        ranks = pd.Series(values).rank().to_numpy()
        orders = min(_ORDERS, len(column.levels) - 1)
        return standard(legendre((2 * ranks - 1) / len(ranks) - 1, orders))

    def widget(self, values: np.ndarray, column: Scaled, within: Range | None, start: float) -> Mapping[str, Any]:
        """A list to choose from."""
        return {"widget": "choices", "start": int(start)}
