"""The published table of Kraichnan-Orszag: Wasserstein-1 of twins on all inputs and on the ancestors alone."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from forebear.systems.kraichnan_orszag import kraichnan_orszag
from forebear.twin.scores import wasserstein
from forebear.twin.twin import Twin
from forebear_experiments.benchmarks.support.accuracy import exact_draws, exact_quantiles, fit, pick, summary

PUBLISHED = {
    "full": {"dx1": [1.15e-4, 1.30e-4], "dx2": [1.16e-4, 0.60e-4], "dx3": [1.59e-4, 2.06e-4]},
    "pruned": {"dx1": [0.95e-4, 0.82e-4], "dx2": [0.92e-4, 0.46e-4], "dx3": [1.40e-4, 1.84e-4]},
}
"""mean and deviation over 1,000 inputs, 10,000 draws each, in the units of the increments"""
_LATENTS = np.linspace(-5, 5, 81)


def run(
    trajectories: int = 50,
    length: int = 10_000,
    inputs: int = 1_000,
    draws: int = 10_000,
    seed: int = 0,
    **settings: Any,
) -> list[dict[str, Any]]:
    """One row per target and twin, pruned and full, at states of the data and of another seed's trajectories.

    Every trajectory keeps to a sphere of its own, so that another seed asks also where there was no data. A row
    `holds` when its W1 is no more than published and, for the pruned twin, no more than that of the full one.
    """
    system = kraichnan_orszag(trajectories, length, seed=seed)
    rng = np.random.default_rng([seed, 3])
    other = kraichnan_orszag(trajectories, length, seed=seed + 1).table
    places = {
        "states of the data": pick(system.table, inputs, rng),
        "states of another seed": pick(other, inputs, rng),
    }
    twins: dict[str, tuple[Twin, float]] = {}
    for kind, ancestors in (
        ("full", dict.fromkeys(system.targets, system.candidates)),
        ("pruned", system.ancestors),
    ):
        started = time.perf_counter()
        twins[kind] = fit(system, ancestors, seed=seed, **settings), time.perf_counter() - started
    rows = []
    for where, given in places.items():
        maps = {kind: _maps(twin, given) for kind, (twin, _) in twins.items()}
        for i, target in enumerate(system.targets):
            rows += _rows(system.quantiles[target], target, i, where, given, maps, draws, rng)
    for row in rows:
        row["fit_s"] = twins[row["twin"]][1]
    return rows


def _maps(twin: Twin, given: pd.DataFrame) -> np.ndarray:
    """The twin's quantile maps (latents, rows, targets) at latents an eighth apart.

    Ten thousand draws at a thousand inputs would each integrate the flow; between such points a map is straight.
    """
    return twin.quantile(given, ndtr(_LATENTS), outside="ignore")


def _rows(
    law: Any,
    target: str,
    i: int,
    where: str,
    given: pd.DataFrame,
    maps: dict[str, np.ndarray],
    draws: int,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    truth = exact_quantiles(law, given, draws)
    floor = wasserstein(exact_draws(law, given, draws, rng), truth)
    distances = {kind: _distances(heights[..., i], truth, rng) for kind, heights in maps.items()}
    rows = []
    for kind, own in distances.items():
        told, theirs = summary(own), PUBLISHED[kind][target]
        holds = told[0] <= theirs[0] and (kind == "full" or told[0] <= distances["full"].mean())
        row: dict[str, Any] = {"what": f"{target}, {kind} twin, {where}", "twin": kind, "w1": told}
        row |= {"floor": summary(floor), "published_w1": theirs, "holds": bool(holds)}
        rows.append(row)
    return rows


def _distances(heights: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """W1 (rows,) of as many draws as there are exact quantiles (draws, rows), by maps of heights (latents, rows)."""
    found = np.empty(truth.shape[1])
    for row in range(len(found)):
        z = np.sort(rng.normal(size=len(truth)))
        found[row] = np.abs(np.interp(z, _LATENTS, heights[:, row]) - truth[:, row]).mean()
    return found
