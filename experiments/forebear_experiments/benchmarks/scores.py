"""Scores of many inputs: where the needed ones rank, by variation and by the published energies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from forebear.errors import InputError, near_miss
from forebear.run.engine import spread

_ROWS = 2_000
SCORES = ("energy", "variation")

LAWS: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "mean": lambda a, b, c, z: a + 0.7 * np.sin(2 * b) + 0.5 * c + 0.5 * z,
    "spread": lambda a, b, c, z: np.exp(0.5 * a + 0.5 * b - 0.4 * c) * z,
    "mean and spread": lambda a, b, c, z: a + 0.5 * c + np.exp(0.6 * b) * z,
    "interaction": lambda a, b, c, z: a * b + 0.5 * c + 0.4 * z,
    "two states": lambda a, b, c, z: np.sign(z) * (1 + np.abs(a)) + 0.7 * b + 0.5 * c + 0.4 * z,
    "steps": lambda a, b, c, z: (a > 0) + (b > 0.5) * c + 0.3 * z,
}
"""what three of the inputs, and noise, do to the target"""


def run(
    laws: Sequence[str] | None = None,
    inputs: Sequence[int] = (20, 40),
    seeds: Sequence[int] = (0,),
    jobs: int = 1,
    **arguments: Any,
) -> list[dict[str, Any]]:
    """One row per law and number of inputs, of which three are needed.

    `…_last` is the rank of the needed input that scores least (3 is perfect), `…_path` the same in the order of the
    path; with several seeds the worst of them. `…_useless` is the largest score of an input that does nothing. What
    else is given goes to `forebear.discover`.
    """
    for law in laws or ():
        if law not in LAWS:
            raise InputError(f"there is no law '{law}' in this benchmark. {near_miss(law, LAWS)}")
    pieces = [(law, count, seed) for law in (laws or LAWS) for count in inputs for seed in seeds]
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for (law, count, _), found in spread(partial(_ranks, arguments=arguments), pieces, jobs):
        row = rows.setdefault((law, count), {"what": f"{law}, {count} inputs", "needed": 3})
        for field, value in found.items():
            row[field] = max(value, row.get(field, value))
    return list(rows.values())


def table_of(law: str, inputs: int, seed: int) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table with a target "y", and the three inputs that shape it; all inputs are a little alike."""
    rng = np.random.default_rng([seed, inputs, 11])
    x = np.sqrt(0.8) * rng.normal(size=(_ROWS, inputs)) + np.sqrt(0.2) * rng.normal(size=(_ROWS, 1))
    needed = (3, inputs // 2, inputs - 2)
    table = pd.DataFrame(x, columns=[f"x{number}" for number in range(inputs)])
    a, b, c = (x[:, number] for number in needed)
    return table.assign(y=LAWS[law](a, b, c, rng.normal(size=_ROWS))), tuple(f"x{n}" for n in needed)


def _ranks(piece: tuple[str, int, int], arguments: Mapping[str, Any]) -> dict[str, Any]:
    import forebear

    law, inputs, seed = piece
    table, needed = table_of(law, inputs, seed)
    told: dict[str, Any] = {}
    for scores in SCORES:
        path = forebear.discover(table, "y", seed=seed, scores=scores, **arguments).runs[0]["y"]
        of = dict(zip(path.candidates, path.scores[0].tolist(), strict=True))
        ranked = sorted(of, key=of.__getitem__, reverse=True)
        told[f"{scores}_last"] = max(ranked.index(name) for name in needed) + 1
        told[f"{scores}_path"] = max(path.removed[::-1].index(name) for name in needed) + 1
        told[f"{scores}_useless"] = max(score for name, score in of.items() if name not in needed)
    return told
