"""The same as `bench trust`, on kinds of table that were answered wrongly once, after which the method was mended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forebear_experiments.benchmarks import trust


def run(
    seeds: Sequence[int] = (0, 1, 2),
    baselines: bool | Sequence[str] = True,
    jobs: int = 1,
    out: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per kind of table, then one of all kinds, then one per baseline; see `trust.run`."""
    from forebear_experiments.benchmarks.support.varied_mended import MENDED

    return trust.run(list(MENDED), seeds, baselines, jobs, out)
