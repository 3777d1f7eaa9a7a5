"""Draws as a table that speaks for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from forebear.twin.twin import Target, Twin


def long_table(twin: Twin, draws: np.ndarray) -> pd.DataFrame:
    """One line per draw: the row of `given` it belongs to and its number, both from 1, and the targets."""
    n, rows = draws.shape[:2]
    table = {"row": np.repeat(np.arange(1, rows + 1), n), "draw": np.tile(np.arange(1, n + 1), rows)}
    flat = draws.transpose(1, 0, 2).reshape(n * rows, -1)
    return pd.DataFrame({**table, **{t.name: cells_of_target(t, flat[:, i]) for i, t in enumerate(twin.outputs)}})


def cells_of_target(target: Target, values: np.ndarray) -> np.ndarray:
    """Values of a target as a table of the user's has them: labels, whole numbers, or numbers."""
    if target.levels:
        return np.array(target.levels, dtype=object)[values.astype(int)]
    lattice = target.dequantiser.values if target.dequantiser.kind == "lattice" else np.array([0.5])
    return values.astype(np.int64) if (lattice == np.round(lattice)).all() else values
