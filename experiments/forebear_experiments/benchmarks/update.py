"""A twin that learns on, beside refitting: what it gains on new rows, what it forgets of old ones, how long it takes.

The rig's law is known. A twin is fitted on old rows; then new rows come, of the same law or of one that has changed.
Scores are mean CRPS on fresh rows, over that of the true law, less one: what is lost for want of knowledge. "Old" are
inputs at which the old law still holds; where it holds nowhere there is nothing to forget. Beside `Twin.update`,
which does not see the old rows, stand a twin fitted anew on all rows, and one on the new rows alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.data.table import read_columns
from forebear.twin.fit import fit_twin
from forebear.twin.scores import crps
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin

_FLOW: dict[str, Any] = {"steps": 1_500, "width": 32, "depth": 2, "batch": 1_024, "test": 0.2}
_BLEND: dict[str, Any] = {"test": 0.2}
_ASKED, _DRAWS = 1_500, 100


class Case(NamedTuple):
    """What the new rows are."""

    shift: Callable[[np.ndarray], np.ndarray] = lambda x: np.zeros(len(x))
    """of the mean, at inputs x (rows, inputs)"""
    wider: float = 1.0
    inputs: tuple[float, float] = (-2.0, 2.0)
    holds: Callable[[np.ndarray], np.ndarray] = lambda x: np.ones(len(x), bool)
    """where the old law still does"""


def _corner(x: np.ndarray) -> np.ndarray:
    return (x[:, 0] > 1) & (x[:, 1] > 0)


def _nowhere(x: np.ndarray) -> np.ndarray:
    return np.zeros(len(x), bool)


CASES: Mapping[str, Case] = {
    "no change": Case(),
    "new inputs": Case(inputs=(2.0, 3.5)),
    "shift": Case(lambda x: np.full(len(x), 0.6), holds=_nowhere),
    "wider": Case(wider=1.7, holds=_nowhere),
    "slope of an input": Case(lambda x: 0.5 * x[:, 0], holds=_nowhere),
    "shift in a corner": Case(lambda x: 1.2 * _corner(x), holds=lambda x: ~_corner(x)),
}


def run(
    cases: Sequence[str] = tuple(CASES), seeds: int = 3, old: int = 3_000, new: int = 600, blends: int = 1
) -> Iterator[dict[str, Any]]:
    """A row per case for small flows, with so many tables each; then some for blends, of a third of the old rows."""
    yield from _all("flow", cases, seeds, old, new, _FLOW)
    if blends:
        some = [case for case in ("no change", "shift", "shift in a corner") if case in cases]
        yield from _all("blend", some, blends, old // 3, new, _BLEND)


def rig(rows: int, rng: np.random.Generator, case: Case) -> pd.DataFrame:
    """Rows of a case."""
    x = rng.uniform(*case.inputs, size=(rows, 3))
    centre, spread = _truth(x, case)
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=centre + spread * rng.normal(size=rows))


def _truth(x: np.ndarray, case: Case) -> tuple[np.ndarray, np.ndarray]:
    centre = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] + case.shift(x)
    return centre, case.wider * 0.4 * (1 + 0.5 * np.tanh(x[:, 1]))


def _fitted(frame: pd.DataFrame, settings: Mapping[str, Any], seed: int) -> Twin:
    table = read_columns(frame, "the table", list(frame))
    return fit_twin(table, {"y": ["a", "b"]}, joint=False, settings=TwinSettings.resolve(settings), seed=seed)


def _lost(twin: Twin, rows: pd.DataFrame, case: Case) -> float | None:
    """CRPS over that of the true law, less one."""
    if not len(rows):
        return None
    y = rows["y"].to_numpy()
    centre, spread = _truth(rows[["a", "b", "c"]].to_numpy(), case)
    noise = np.random.default_rng(0).normal(size=(_DRAWS, len(rows)))
    true = crps(centre + spread * noise, y).mean()
    return float(crps(twin.sample(rows, _DRAWS, outside="ignore")[..., 0], y).mean() / true - 1)


def _all(
    kind: str, cases: Sequence[str], seeds: int, old: int, new: int, settings: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    started: dict[int, tuple[pd.DataFrame, Twin]] = {}
    for name in cases:
        told: list[dict[str, Any]] = []
        for seed in range(seeds):
            if seed not in started:
                frame = rig(old, np.random.default_rng([26, seed]), Case())
                started[seed] = frame, _fitted(frame, settings, seed)
            told.append(_one(*started[seed], CASES[name], seed, new, settings))
        yield {"what": f"{kind}: {name}", "tables": seeds, **_summed(told)}


def _one(
    frame: pd.DataFrame, twin: Twin, case: Case, seed: int, new: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    rows = rig(new, np.random.default_rng([27, seed]), case)
    makers = {
        "update": lambda: twin.update(rows, seed=seed, progress=False),
        "refit_all": lambda: _fitted(pd.concat([frame, rows], ignore_index=True), settings, seed),
        "refit_new": lambda: _fitted(rows, settings, seed),
    }
    fresh = rig(_ASKED, np.random.default_rng([28, seed]), case)
    before: Any = rig(_ASKED, np.random.default_rng([29, seed]), Case())
    before = before[case.holds(before[["a", "b", "c"]].to_numpy())]
    told: dict[str, Any] = {"before_new": _lost(twin, fresh, case), "before_old": _lost(twin, before, Case())}
    for word, make in makers.items():
        started = time.perf_counter()
        made = make()
        told[f"{word}_s"] = time.perf_counter() - started
        told |= {f"{word}_new": _lost(made, fresh, case), f"{word}_old": _lost(made, before, Case())}
        if word == "update":
            entry = made.provenance[-1].targets["y"]
            told |= {"said_changed": entry.law == "changed", "old_share": entry.old_share}
    return told


def _summed(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the tables; of seconds the medians, as the first of a kind compiles."""
    mean = {
        name: None if told[0][name] is None else float(np.mean([one[name] for one in told]))
        for name in told[0]
        if not name.endswith("_s") and name != "said_changed"
    }
    seconds = {word: float(np.median([one[f"{word}_s"] for one in told])) for word in ("update", "refit_all")}
    return {
        "ours_s": seconds["update"],
        "baseline": "fitted anew on all rows",
        "baseline_s": seconds["refit_all"],
        "ratio": seconds["refit_all"] / seconds["update"],
        "said_changed": sum(one["said_changed"] for one in told),
        **mean,
    }
