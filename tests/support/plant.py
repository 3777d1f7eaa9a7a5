"""A plant whose twin has every kind of column, made at once and never trained; served, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from served import Served, served
from toys import toy_twin

from forebear.data.dequantise import find_atoms
from forebear.serve.application import OPEN_PATHS, Service
from forebear.serve.limits import Limits
from forebear.serve.metrics import Metrics
from forebear.serve.twins import ServedTwin
from forebear.twin.twin import Twin

INPUTS = ("load", "mode", "heading", "oil")
GIVEN: dict[str, Any] = {"load": [1.0, 2.5], "mode": "eco", "heading": 1.5, "oil": [None, 60.0]}


def plant_rows(rows: int = 400) -> pd.DataFrame:
    """A number, a label, an angle, a number with gaps; what is wished for, what is counted, what has a name."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"load": rng.uniform(0.5, 4, rows), "mode": rng.choice(["eco", "full", "off"], rows)})
    table["heading"] = rng.uniform(-np.pi, np.pi, rows)
    table["oil"] = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(60, 5, rows))
    return table.assign(power=table["load"] + rng.normal(size=rows), trips=0.0, state=0.0)


def plant_twin(load: float = 0.0) -> Twin:
    """Its twin; `load` moves the law, so that one twin can be told from another."""
    rng = np.random.default_rng(1)
    table = plant_rows()
    twin = toy_twin(
        table.assign(trips=rng.normal(size=400), state=rng.normal(size=400)), laws(), {"heading": 2 * np.pi}
    )
    power, trips, state = twin.outputs
    counts, codes = find_atoms(np.repeat(np.arange(4.0), 25)), find_atoms(np.repeat(np.arange(3.0), 25))
    outputs = (
        replace(power, centre=power.centre + load),
        replace(trips, dequantiser=counts, centre=1.5, scale=1.0),
        replace(state, dequantiser=codes, centre=1.0, scale=0.8, levels=("good", "worn", "broken")),
    )
    return replace(twin, outputs=outputs, units={"load": "t", "power": "kW"}, aside=rng.normal(size=(99, 3)))


def laws() -> dict[str, tuple[str, ...]]:
    """target -> its inputs"""
    return {"power": INPUTS, "trips": ("load", "mode"), "state": ("oil",)}


@contextmanager
def plant_served(folder: Path, limits: Limits | None = None, **of_access: Any) -> Iterator[tuple[Served, Service]]:
    """The twin of the plant in `folder`, behind an address."""
    if not (folder / "twin.json").is_file():
        plant_twin().save(folder)
    bounds, metrics = limits or Limits(), Metrics()
    service = Service({"plant": ServedTwin("plant", folder, bounds, metrics)}, bounds, metrics)
    with served(service.application, open_paths=OPEN_PATHS, **of_access) as up:
        yield up, service
    service.close()
