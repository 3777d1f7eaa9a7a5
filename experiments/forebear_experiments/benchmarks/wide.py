"""Wide tables: how many of the true inputs a quick look leaves for the search, and what the search then finds.

Each table has four true inputs among very many: one that moves the location, one that moves the spread, and two whose
product moves the location, while neither does alone. Inputs are independent, or correlated with the neighbour.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

SHAPES = ((500, 500), (500, 2_000), (2_000, 500), (2_000, 2_000))
"""rows and candidates"""
WEAK = (0.5,)
"""effects as shares of the usual ones"""
TRUE = {"mean": ("x10",), "spread": ("x20",), "interaction": ("x30", "x40")}


def make(rows: int, candidates: int, correlated: bool, seed: int, strength: float = 1.0) -> pd.DataFrame:
    """A table; the true inputs are those of `TRUE`, and `strength` scales what they do.

    >>> make(30, 50, True, 0).shape
    (30, 51)
    """
    rng = np.random.default_rng([seed, rows, candidates, correlated])
    x = rng.normal(size=(rows, candidates))
    if correlated:
        for place in range(1, candidates):
            x[:, place] = 0.7 * x[:, place - 1] + np.sqrt(1 - 0.49) * x[:, place]
    table = pd.DataFrame(x, columns=pd.Index([f"x{i}" for i in range(candidates)]))
    mean = 0.5 * table["x10"] + 0.6 * table["x30"] * table["x40"]
    return table.assign(y=strength * mean + np.exp(0.6 * strength * table["x20"]) * rng.normal(size=rows))


def run(
    shapes: Sequence[tuple[int, int]] = SHAPES, seeds: Sequence[int] = tuple(range(20)), whole: int = 2
) -> Iterator[dict[str, Any]]:
    """One row per shape: the share of true inputs that the screen keeps, by effect, and of `whole` discoveries of
    each shape how many true inputs were found, how many others, and seconds."""
    for rows, candidates in shapes:
        for correlated in (False, True):
            kept, seconds = _screened(rows, candidates, correlated, seeds)
            row: dict[str, Any] = {
                "what": f"{rows:,} rows, {candidates:,} candidates{', correlated' if correlated else ''}",
                "tables": len(seeds),
                **{f"kept_{effect}": round(float(np.mean(kept[effect])), 3) for effect in TRUE},
                "ours_s": round(seconds, 2),
            }
            if not correlated and whole:
                row |= _found(rows, candidates, seeds[:whole])
            yield row
        for strength in WEAK:
            kept, seconds = _screened(rows, candidates, False, seeds, strength)
            yield {
                "what": f"{rows:,} rows, {candidates:,} candidates, effects times {strength:g}",
                "tables": len(seeds),
                **{f"kept_{effect}": round(float(np.mean(kept[effect])), 3) for effect in TRUE},
                "ours_s": round(seconds, 2),
            }


def _screened(
    rows: int, candidates: int, correlated: bool, seeds: Sequence[int], strength: float = 1.0
) -> tuple[dict[str, list[float]], float]:
    from forebear.data.question import Question
    from forebear.data.table import read_columns
    from forebear.discovery.screen import KEPT, screen_question

    kept: dict[str, list[float]] = {effect: [] for effect in TRUE}
    taken = 0.0
    for seed in seeds:
        frame = make(rows, candidates, correlated, seed, strength)
        names = tuple(name for name in frame if name != "y")
        table = read_columns(frame, "the table", list(frame))
        started = time.perf_counter()
        left = screen_question(table, Question("y", names, {name: (name,) for name in names}, ()), KEPT).question
        taken += time.perf_counter() - started
        for effect, inputs in TRUE.items():
            kept[effect].append(float(np.mean([name in left.candidates for name in inputs])))
    return kept, taken / len(seeds)


def _found(rows: int, candidates: int, seeds: Sequence[int]) -> dict[str, Any]:
    import forebear

    truth = {name for inputs in TRUE.values() for name in inputs}
    found, others, started = 0, 0, time.perf_counter()
    for seed in seeds:
        answer = set(forebear.discover(make(rows, candidates, False, seed), "y", progress=False).ancestors["y"])
        found, others = found + len(answer & truth), others + len(answer - truth)
    each = (time.perf_counter() - started) / len(seeds)
    of = len(truth) * len(seeds)
    return {"found": found, "of": of, "others_kept": others, "discovery_s": round(each, 1)}
