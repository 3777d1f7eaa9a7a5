"""Tables with gaps: cells of a driver and of useless inputs, lost at random or for what inputs or target say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from forebear_experiments.benchmarks.support.level_tables import NamedTable

Rng = np.random.Generator
SHARE = 0.3
"""of the cells of a column with gaps, about"""
USELESS, DRIVER = tuple(f"z{i}" for i in range(6)), "x0"


Grows = Callable[[pd.DataFrame, str], pd.Series]
"""what the chance of a gap in a column grows with, of a table of ranks"""


class Gaps(NamedTuple):
    """Which cells are lost."""

    useless: Grows | None = None
    """of gaps in useless inputs; None: no gaps there"""
    driver: Grows | None = None
    null: bool = True
    """useless inputs stay useless among the rows that have the driver"""


def _own(ranks: pd.DataFrame, name: str) -> pd.Series:
    return _by(name)(ranks, name)


def _by(*names: str) -> Grows:
    return lambda ranks, _: pd.Series(ranks[list(names)].to_numpy().mean(axis=1), index=ranks.index)


def _at_random(ranks: pd.DataFrame, name: str) -> pd.Series:
    return pd.Series(0.5, index=ranks.index)


GAPS: Mapping[str, Gaps] = {
    "useless inputs, at random": Gaps(_at_random),
    "useless inputs, by their own value": Gaps(_own),
    "useless inputs, by the driver": Gaps(_by(DRIVER)),
    "the driver, by its own value": Gaps(driver=_own),
    "the driver, by a useless input": Gaps(driver=_by("z0")),
    "the driver by its value, useless inputs by the driver": Gaps(_by(DRIVER), _own),
    "the driver, by the target": Gaps(driver=_by("y")),
    # Among rows that were chosen by both, the target does depend on the useless input.
    "the driver, by the target and a useless input": Gaps(driver=_by("y", "z0"), null=False),
}
"""name -> what is lost; useless inputs are correlated with the driver, so they can stand in for what it lacks"""


def gap_table(name: str, rows: int, seed: int) -> NamedTable:
    """The table of a seed, with gaps.

    >>> table = gap_table("useless inputs, by the driver", 1_000, seed=1_000).frame
    >>> bool(abs(table["z0"].isna().mean() - 0.3) < 0.05), bool(table["x0"].isna().any())
    (True, False)
    >>> bool(table.loc[table["z0"].isna(), "x0"].mean() > 0.3)
    True
    """
    rng, own = np.random.default_rng([seed, rows, *name.encode()]), GAPS[name]
    x = rng.normal(size=rows)
    z = 0.6 * x[:, None] + 0.8 * rng.normal(size=(rows, len(USELESS)))
    y = 2 * x + np.exp(0.3 * x) * rng.normal(size=rows)
    whole = pd.DataFrame({**dict(zip(USELESS, z.T, strict=True)), DRIVER: x, "y": y})
    ranks, frame = whole.rank(pct=True), whole.copy()
    for columns, grows in ((USELESS, own.useless), ((DRIVER,), own.driver)):
        if grows is None:
            continue
        for column in columns:
            frame[column] = whole[column].mask(rng.random(rows) < 2 * SHARE * _ranked(grows(ranks, column)))
    return NamedTable(frame, [DRIVER], list(USELESS))


def _ranked(values: pd.Series) -> np.ndarray:
    """As shares of the rows, so that what grows with any of them deletes as many cells; equal ones stay."""
    return values.rank(pct=True).to_numpy() if values.nunique() > 1 else values.to_numpy()
