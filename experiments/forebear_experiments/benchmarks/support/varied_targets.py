"""Kinds of table whose target is not a plain number: counts, grades, atoms, bounds, waiting times, two at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from forebear_experiments.benchmarks.support.varied import VariedTable, normals, varied

Rng = np.random.Generator


def _grades(rng: Rng) -> VariedTable:
    x = normals(rng, 1_000, 4)
    latent = 0.5 * x["x1"] + 0.4 * x["x2"] + rng.normal(size=1_000)
    return varied(x, np.clip(np.round(3 + latent), 1, 5), "x1 x2")


def _zeros(rng: Rng) -> VariedTable:
    """One input decides whether there is anything, another how much."""
    x = normals(rng, 2_000, 4)
    some = rng.uniform(size=2_000) < 1 / (1 + np.exp(-0.8 * x["x1"]))
    return varied(x, np.where(some, np.exp(0.4 * x["x2"] + 0.6 * rng.normal(size=2_000)), 0.0), "x1 x2")


def _saturated(rng: Rng) -> VariedTable:
    """A meter that ends at 0.8: a quarter of the rows read just that."""
    x = normals(rng, 1_500, 4)
    return varied(x, np.minimum(0.6 * x["x1"] + rng.normal(size=1_500), 0.8), "x1")


def _detection_limit(rng: Rng) -> VariedTable:
    """Readings below the limit of detection are given as half of it; an input moves the spread above."""
    x = normals(rng, 2_500, 4)
    raw = np.exp(0.4 * x["x1"] + np.exp(0.3 * x["x2"]) * 0.7 * rng.normal(size=2_500))
    return varied(x, np.where(raw < 0.5, 0.25, raw), "x1 x2")


def _binary(rng: Rng) -> VariedTable:
    x = normals(rng, 1_500, 4)
    chance = 1 / (1 + np.exp(-0.8 * x["x1"] + 0.6 * x["x2"]))
    return varied(x, (rng.uniform(size=1_500) < chance).astype(float), "x1 x2")


def _overdispersed(rng: Rng) -> VariedTable:
    """Counts with more spread than those of chance: one input moves their mean, another how far they clump."""
    x = normals(rng, 3_000, 4)
    mean, clump = np.exp(1.2 + 0.3 * x["x1"]), np.exp(0.6 - 0.7 * x["x2"])
    return varied(x, rng.poisson(mean * rng.gamma(clump, 1 / clump)).astype(float), "x1 x2")


def _rare_events(rng: Rng) -> VariedTable:
    """Counts that are nearly always none."""
    x = normals(rng, 5_000, 4)
    return varied(x, rng.poisson(np.exp(-2.5 + 0.6 * x["x1"])).astype(float), "x1")


def _atoms(rng: Rng) -> VariedTable:
    """Two values that come up again and again, whatever the inputs; the rest follows one of them."""
    x, rows = normals(rng, 2_000, 4), 2_000
    lot = rng.uniform(size=rows)
    rest = 0.5 * x["x1"] + rng.normal(size=rows)
    return varied(x, np.select([lot < 0.3, lot < 0.4], [0.0, 1.0], rest), "x1")


def _moving_atom(rng: Rng) -> VariedTable:
    """How often the repeated value comes up is all that an input moves."""
    x, rows = normals(rng, 2_000, 4), 2_000
    again = rng.uniform(size=rows) < 1 / (1 + np.exp(1.0 - 0.7 * x["x1"]))
    return varied(x, np.where(again, 0.5, rng.normal(size=rows)), "x1")


def _share(rng: Rng) -> VariedTable:
    """A share between none and all, whose mean and concentration follow an input each."""
    x = normals(rng, 2_000, 4)
    mean, total = 1 / (1 + np.exp(-0.4 * x["x1"])), np.exp(1.5 + 0.5 * x["x2"])
    return varied(x, rng.beta(mean * total, (1 - mean) * total), "x1 x2")


def _waiting(rng: Rng) -> VariedTable:
    x = normals(rng, 2_000, 4)
    shape = np.exp(0.3 + 0.25 * x["x2"])
    return varied(x, np.exp(0.3 * x["x1"]) * rng.weibull(shape), "x1 x2")


def _coarse(rng: Rng) -> VariedTable:
    """Readings to the nearest half."""
    x = normals(rng, 1_200, 4)
    return varied(x, np.round(2 * (0.4 * x["x1"] + np.exp(0.3 * x["x2"]) * rng.normal(size=1_200))) / 2, "x1 x2")


def _noise_counts(rng: Rng) -> VariedTable:
    """Counts that nothing moves."""
    x = normals(rng, 1_000, 6)
    return varied(x, rng.poisson(2.0, size=1_000).astype(float))


def _two_targets(rng: Rng) -> VariedTable:
    rows = 2_000
    x = normals(rng, rows, 5)
    frame = pd.DataFrame(x)
    frame["y1"] = 0.4 * x["x1"] + 0.4 * x["x2"] + rng.normal(size=rows)
    frame["y2"] = 0.4 * x["x3"] + np.exp(0.3 * x["x2"]) * rng.normal(size=rows)
    return VariedTable(frame, ("y1", "y2"), {"y1": frozenset({"x1", "x2"}), "y2": frozenset({"x2", "x3"})})


def _shared_noise(rng: Rng) -> VariedTable:
    """Three targets that a hidden cause ties together; one of them depends on nothing in the table."""
    rows = 1_500
    x, hidden = normals(rng, rows, 4), rng.normal(size=rows)
    frame = pd.DataFrame(x)
    frame["y1"] = 0.5 * x["x1"] + hidden + 0.5 * rng.normal(size=rows)
    frame["y2"] = 0.5 * x["x2"] * x["x3"] + hidden + 0.5 * rng.normal(size=rows)
    frame["y3"] = hidden + 0.5 * rng.normal(size=rows)
    truth = {"y1": frozenset({"x1"}), "y2": frozenset({"x2", "x3"}), "y3": frozenset[str]()}
    return VariedTable(frame, ("y1", "y2", "y3"), truth)


OF_TARGETS: dict[str, Callable[[Rng], VariedTable]] = {
    "grades": _grades,
    "zero-inflated": _zeros,
    "saturated": _saturated,
    "detection limit": _detection_limit,
    "binary target": _binary,
    "overdispersed counts": _overdispersed,
    "rare events": _rare_events,
    "atoms": _atoms,
    "moving atom": _moving_atom,
    "share": _share,
    "waiting times": _waiting,
    "coarse readings": _coarse,
    "noise counts": _noise_counts,
    "two targets": _two_targets,
    "three tied targets": _shared_noise,
}
"""name -> what draws one"""
