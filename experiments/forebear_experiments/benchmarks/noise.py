"""Targets that are pure noise: how often does certified selection keep an input all the same?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from forebear.run.engine import spread

_ROWS, _INPUTS = 5_000, 10


def run(
    tables: Sequence[int] = tuple(range(10)), targets: int = 10, level: float = 0.05, jobs: int = 1, **arguments: Any
) -> list[dict[str, Any]]:
    """One row: targets for which an input was kept, over tables of 10 correlated inputs and some noise targets each.

    `tables` are the seeds; what else is given goes to `forebear.discover`.
    """
    count = partial(kept, targets=targets, level=level, arguments=arguments)
    return [summarise([answers for _, answers in spread(count, list(tables), jobs)], level)]


def kept(seed: int, targets: int, level: float, arguments: dict[str, Any]) -> dict[str, list[str]]:
    """What certified selection keeps for each target of one table."""
    import forebear

    rng = np.random.default_rng([seed, 7])
    x = np.sqrt(0.5) * (rng.normal(size=(_ROWS, 1)) + rng.normal(size=(_ROWS, _INPUTS)))
    table = pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(_INPUTS)])
    names = [f"y{i + 1}" for i in range(targets)]
    table[names] = rng.normal(size=(_ROWS, targets))
    found = forebear.discover(table, names, level=level, seed=seed, **arguments)
    return {target: list(found.ancestors[target]) for target in names}


def summarise(tables: Sequence[dict[str, list[str]]], level: float) -> dict[str, Any]:
    """The row of the benchmark."""
    sets = [names for answers in tables for names in answers.values()]
    return {
        "what": f"pure noise, {_INPUTS} correlated inputs, {_ROWS:,} rows, level {level:g}",
        "targets": len(sets),
        "kept_an_input": sum(bool(names) for names in sets),
        "share": sum(bool(names) for names in sets) / len(sets),
        "kept": [names for names in sets if names],
    }
