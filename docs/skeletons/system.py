"""A new system, to copy: a simulator whose graph is known and, here, the exact conditional law too.

Save it as forebear/systems/fan.py and name it in forebear/systems/__init__.py; or leave it in a module of yours. Add
it, at a size that takes a second, to `SYSTEMS` in tests/contracts/test_systems.py and run that file.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from forebear.errors import check_whole
from forebear.systems.laws import Gaussian
from forebear.systems.system import System


def fan(rows: int = 1_000, seed: int = 0) -> System:
    """y = x1 + x2 w with standard normal w: x1 moves the law, x2 sets its spread, x3 does nothing.

    >>> fan(rows=5).ancestors
    {'y': ('x1', 'x2')}
    """
    check_whole("rows", rows, least=1)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    table = pd.DataFrame(x, columns=["x1", "x2", "x3"])
    table["y"] = x[:, 0] + x[:, 1] * rng.normal(size=rows)
    # Functions of a module, not lambdas: the law can then be sent to worker processes.
    law = Gaussian(mean=_mean, std=_std)
    return System("fan", table, ("y",), ("x1", "x2", "x3"), {"y": ("x1", "x2")}, quantiles={"y": law})


def _mean(given: pd.DataFrame) -> np.ndarray:
    return given["x1"].to_numpy()


def _std(given: pd.DataFrame) -> np.ndarray:
    return np.abs(given["x2"].to_numpy())
