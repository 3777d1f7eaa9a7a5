"""Gaps: how many sets stay exact when cells of the inputs are deleted, and what other ways of dealing with them find.

Cells are deleted at random (each with the same chance), or because of their value (the larger, the likelier). The
ways: "model" (the default of `discover`), "drop" (rows with a gap are left out), "median" (the gap is filled with the
median of its column, as a pipeline would do it before any selection).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forebear.errors import InputError, near_miss
from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.verdicts import CERTIFIED, verdict_of

WAYS = ("model", "drop", "median")
MECHANISMS = ("random", "value")


def run(
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1),
    shares: Sequence[float] = (0.1, 0.3),
    ways: Sequence[str] = WAYS,
    mechanisms: Sequence[str] = MECHANISMS,
    jobs: int = 1,
    out: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per mechanism, share of deleted cells and way: exact sets, wrong ones that were certified, seconds.

    `out` is a file with a line for every piece that is done; a later call with the same file goes on from there.
    """
    from forebear_experiments.benchmarks.support.suite import SUITE

    for name in names or ():
        if name not in SUITE:
            raise InputError(f"there is no system '{name}' in this benchmark. {near_miss(name, SUITE)}")
    chosen = list(names or SUITE)
    settings: list[tuple[str, float, str]] = [("random", 0.0, "model")]
    settings += [(how, share, way) for how in mechanisms for share in shares for way in ways]
    pieces = [(name, seed, *one) for one in settings for name in chosen for seed in seeds]
    told = dict(resumed(answer_piece, pieces, jobs, out))
    rows = []
    for how, share, way in settings:
        own = [answer for n in chosen for seed in seeds for answer in told[n, seed, how, share, way]]
        rows.append(_row(how, share, way, own))
    whole = max(1, rows[0]["exact"])
    return [{**row, "of_those_without_gaps": round(row["exact"] / whole, 3)} for row in rows]


def _row(how: str, share: float, way: str, answers: Sequence[Sequence[Any]]) -> dict[str, Any]:
    exact = sum(bool(answer[2]) for answer in answers)
    wrong = sum(not answer[2] and answer[3] == CERTIFIED for answer in answers)
    what = f"{share:.0%} of cells missing by {how}, {way}" if share else "no cell missing"
    seconds = round(float(np.mean([answer[4] for answer in answers])), 1)
    return {"what": what, "exact": exact, "targets": len(answers), "certified_and_wrong": wrong, "ours_s": seconds}


def delete(table: pd.DataFrame, columns: Sequence[str], share: float, how: str, seed: int) -> pd.DataFrame:
    """The table without some cells of these columns: so large a share of each, at random or by their value.

    >>> made = delete(pd.DataFrame({"x": np.arange(1_000.0)}), ["x"], 0.3, "value", 0)
    >>> bool(abs(made["x"].isna().mean() - 0.3) < 0.05), bool(made["x"].mean() < 450)
    (True, True)
    """
    rng, made = np.random.default_rng([seed, 77]), table.copy()
    for name in columns:
        ranks = table[name].rank(pct=True).to_numpy() if how == "value" else np.full(len(table), 0.5)
        made[name] = table[name].mask(rng.random(len(table)) < 2 * share * ranks)
    return made


def answer_piece(piece: tuple[str, int, str, float, str]) -> list[list[Any]]:
    """The answers on one system, as plain lists: target, chosen, exact, verdict, seconds."""
    import forebear
    from forebear_experiments.benchmarks.support.suite import SUITE

    name, seed, how, share, way = piece
    system = SUITE[name](seed=seed)
    table = delete(system.table, system.candidates, share, how, seed) if share else system.table
    if way == "median":
        table = table.fillna(table.median(numeric_only=True))
    started = time.perf_counter()
    options: dict[str, Any] = {"candidates": list(system.candidates), "seed": seed}
    try:
        missing = "drop" if way == "drop" else "model"
        found = forebear.discover(table, list(system.targets), missing=missing, **options)
    except InputError as error:  # too few rows are left: no answer is no exact set
        return [[target, [], False, str(error), 0.0] for target in system.targets]
    each = (time.perf_counter() - started) / len(system.targets)
    return [
        [t, list(found.ancestors[t]), set(found.ancestors[t]) == set(system.ancestors[t]), verdict_of(found, t), each]
        for t in system.targets
    ]
