"""A table with every kind of column, gaps and odd names, and twins of it: what exporters have to carry."""

from __future__ import annotations

import numpy as np
import pandas as pd
from quick import TINY

import forebear as fb
from forebear.twin.twin import Twin

INPUTS = ("load [kg]", "angle", 'kind */ of "it"', "on", "größe")
TARGETS = ("y <&>", "rain", "count", "label")


def mixed_frame(rows: int = 600) -> pd.DataFrame:
    """Rows whose columns are of every kind."""
    rng = np.random.default_rng(0)
    load, angle = rng.normal(3, 2, rows), rng.uniform(0, 360, rows)
    table = pd.DataFrame({INPUTS[0]: load, INPUTS[1]: angle, INPUTS[2]: rng.choice(["r??/\\", "g\n", "ü"], rows)})
    table["on"] = rng.random(rows) < 0.5
    table["größe"] = 1e6 + rng.normal(size=rows)
    table[TARGETS[0]] = load + np.cos(np.radians(angle)) + 0.3 * rng.normal(size=rows)
    table["rain"] = np.maximum(0, rng.normal(size=rows) + 0.2 * load)
    table["count"] = rng.poisson(np.exp(0.2 * load.clip(-3, 5)))
    table["label"] = rng.choice(["u", "v", "w"], rows)
    table.loc[rng.random(rows) < 0.1, INPUTS[0]] = np.nan
    table.loc[rng.random(rows) < 0.1, INPUTS[2]] = None
    return table


def mixed_twin(joint: bool) -> Twin:
    """A flow on this frame, separate targets or one law of all of them, hardly trained."""
    found = fb.discover(
        mixed_frame(),
        list(TARGETS),
        candidates=list(INPUTS),
        periodic={"angle": 360.0},
        rule=lambda path: INPUTS,
        sampler="gaussian",
        distilled=40,
        nugget=1.0,
        lengthscale=1.0,
        **TINY,
    )
    return found.twin(joint=joint, law="flow", **TINY)
