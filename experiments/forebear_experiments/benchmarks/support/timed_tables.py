"""Tables of the sizes that people have, to be timed on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear_experiments.benchmarks.support.uci_tables import BESIDE

APPLIANCES = BESIDE.parent / "appliances" / "energydata.csv"
"""where the sensors of a house are looked for: beside the checkout"""

Drawn = tuple[pd.DataFrame, list[str]]
"""a table and its targets"""


def _plain(rows: int, inputs: int) -> Drawn:
    """Three inputs of many matter: a mean, a product, a spread."""
    rng = np.random.default_rng([rows, inputs])
    x = rng.normal(size=(rows, inputs))
    y = x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + np.exp(0.5 * x[:, 1]) * rng.normal(size=rows)
    names = pd.Index([*(f"x{i + 1}" for i in range(inputs)), "y"])
    return pd.DataFrame(np.column_stack([x, y]), columns=names), ["y"]


def _lorenz63() -> Drawn:
    from forebear.systems import lorenz63

    system = lorenz63(seed=0)
    return system.table.filter([*system.candidates, *system.targets]), list(system.targets)


def _appliances() -> Drawn:
    if not APPLIANCES.is_file():
        raise InputError(
            f"{APPLIANCES}: not there: 'Appliances energy prediction' of the UCI Machine Learning Repository "
            "(https://archive.ics.uci.edu) is that file"
        )
    # One of two equal columns, so that versions that refuse copies can be timed as well.
    return pd.read_csv(APPLIANCES).drop(columns=["date", "rv2"], errors="ignore"), ["Appliances"]


TABLES: dict[str, Callable[[], Drawn]] = {
    "300x5": lambda: _plain(300, 5),
    "2000x12": lambda: _plain(2_000, 12),
    "2000x30": lambda: _plain(2_000, 30),
    "20000x30": lambda: _plain(20_000, 30),
    "lorenz63": _lorenz63,
    "appliances": _appliances,
}
"""name -> a table and its targets"""


def save(name: str, file: Path) -> None:
    """Write a table for `timed.py`."""
    frame, targets = TABLES[name]()
    columns, names = np.array(list(frame), dtype=str), np.array(targets, dtype=str)
    np.savez(file, columns=columns, targets=names, values=frame.to_numpy(float))
