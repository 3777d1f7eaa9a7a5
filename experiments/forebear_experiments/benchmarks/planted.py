"""The same as `bench trust`, on real inputs with targets that are drawn given two of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forebear_experiments.benchmarks import trust
from forebear_experiments.benchmarks.support.planted import BESIDE, PLANTED, check_sources


def run(
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1),
    baselines: bool | Sequence[str] = True,
    jobs: int = 1,
    out: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per table and law, then one of all of them, then one per baseline; see `trust.run`."""
    check_sources(BESIDE)
    return trust.run(names or list(PLANTED), seeds, baselines, jobs, out)
