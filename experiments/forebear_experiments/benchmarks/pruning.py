"""What pruning costs on real tables: held-out scores of the law on the chosen inputs against that on all of them.

Each of eight UCI tables is asked about as a user would, at the defaults and on all its rows; what is told is
`found.cost`, which compares both laws on rows that neither has seen, pair by pair. Pruning costs nothing where the
interval of the difference reaches below zero.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.uci_tables import BESIDE, TABLES, check_tables

_DATA = "FOREBEAR_UCI"
"""names the folder of the tables for the processes of a run"""


def run(
    tables: Sequence[str] | None = None,
    jobs: int = 1,
    out: str | Path | None = None,
    data: str | Path | None = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """One row per table; `settings` go to `discover`, to make it smaller in tests."""
    folder = Path(data) if data is not None else BESIDE
    check_tables(folder)
    os.environ[_DATA] = str(folder)
    pieces = [(name, tuple(settings.items())) for name in (tables or TABLES)]
    told = {piece[0]: row for piece, row in resumed(prune_table, pieces, jobs, out)}
    return [told[name] for name, _ in pieces]


def prune_table(piece: tuple[str, tuple[tuple[str, Any], ...]]) -> dict[str, Any]:
    """The row of one table: what was kept, and what that costs."""
    import forebear

    name, settings = piece
    frame = pd.read_csv(Path(os.environ[_DATA]) / f"{name}.csv")
    target = str(frame.columns[-1])
    found = forebear.discover(frame, targets=target, progress=False, **dict(settings))
    cost = found.cost[target]
    row: dict[str, Any] = {
        "what": f"{name}, {len(frame):,} rows",
        "ours_s": found.seconds,
        "kept": len(found.ancestors[target]),
        "of": len(found.certificates[target]),
        "verdict": found.verdicts[target],
    }
    for score, word in (("CRPS", "crps"), ("log loss", "log_loss")):
        own = cost.loc[score].to_dict()
        row |= {f"{word}_{field}": own[field] for field in ("pruned", "full", "difference", "low", "high")}
    few = found.smallest(target, 0.02)
    return {**row, "costs": bool(row["crps_low"] > 0), "98_per_cent_with": len(few)}
