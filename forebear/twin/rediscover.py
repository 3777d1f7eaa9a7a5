"""The inputs of a law that has changed, found again: a discovery on new rows, and laws fitted on what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.data.said_kinds import CATEGORY, with_kinds
from forebear.data.source import Opened
from forebear.data.table import read_columns
from forebear.discovery.execute import Session, run_here
from forebear.discovery.prepare import Asked, prepare
from forebear.discovery.structure import ORDERED, RowStructure
from forebear.errors import InputError
from forebear.twin.fit import fit_twin
from forebear.twin.fresh import LIKELY
from forebear.twin.new_rows import read_new
from forebear.twin.reference import Reference
from forebear.twin.renew import with_latents

if TYPE_CHECKING:
    from forebear.twin.fresh import Fresh, Known
    from forebear.twin.twin import Twin

FEWEST = 100
"""new rows below which nothing is asked again"""


def rediscovered(
    twin: Twin, learned: Twin, fresh: Fresh, old: Known, missing: Mapping[str, tuple[str, ...]], seed: int
) -> tuple[Twin, dict[str, tuple[str, ...]], list[str]]:
    """The twin fitted on the inputs that a discovery on the new rows finds, and those; `learned` where it cannot be.

    A law that did not follow an input does not care what that input was: old rows, which do not have it in general,
    are given values of the rows that do.
    """
    asked = [target for target, names in missing.items() if names]
    now = np.flatnonzero(fresh.new.all(axis=1) & ~fresh.judges & ~fresh.gone)
    if len(now) < FEWEST:
        return learned, {}, [f"{len(now)} new rows are too few to find inputs again: {FEWEST} are needed"]
    frame = _with_labels(fresh.frame(now), twin)
    candidates = [c.name for c in (*twin.columns, *twin.reference.others) if _varies(frame, c.name)]
    periods = {c.name: c.period for c in twin.columns if c.period is not None and c.name in candidates}
    try:
        found = _discovered(frame, asked, candidates, periods, "ordered" if twin.reference.ordered else "auto", seed)
    except InputError as error:
        return learned, {}, [f"inputs were not found again: {error}"]
    ancestors = {target: found.get(target, own) for target, own in twin.ancestors.items()}
    if all(not set(names) - set(twin.ancestors[target]) for target, names in found.items()):
        return learned, found, ["a discovery on the new rows finds no input that the twin does not have"]
    return _fitted(twin, fresh, old, frame, now, ancestors, periods, seed), found, []


def _with_labels(frame: pd.DataFrame, twin: Twin) -> pd.DataFrame:
    """Categories whose labels are numbers are categories still."""
    columns = (*twin.columns, *twin.outputs, *twin.reference.others)
    kinds = {c.name: CATEGORY for c in columns if c.levels and c.name in frame.columns}
    return with_kinds(Opened(frame, "rows"), kinds).frame


def _varies(frame: pd.DataFrame, name: str) -> bool:
    return name in frame.columns and len(set(frame[name].dropna().tolist())) > 1


def _discovered(
    frame: pd.DataFrame, targets: list[str], candidates: list[str], periods: dict[str, float], rows: str, seed: int
) -> dict[str, tuple[str, ...]]:
    asked = Asked(
        frame, targets, candidates, (), None, periods, "certified", "fast", "flow", False, 1, seed, {}, rows
    )
    session = Session(prepare(asked, 1).problem)
    run_here(session)
    return {target: tuple(result.chosen) for target, result in session.by_run(1)[0].items()}


def _fitted(
    twin: Twin,
    fresh: Fresh,
    old: Known,
    frame: pd.DataFrame,
    now: np.ndarray,
    ancestors: Mapping[str, tuple[str, ...]],
    periods: dict[str, float],
    seed: int,
) -> Twin:
    """A twin on these inputs, from the new rows and from old ones where all laws still hold."""
    names = [*dict.fromkeys(name for own in ancestors.values() for name in own)]
    columns = [*names, *twin.targets]
    still = np.flatnonzero(old.holds.min(axis=1) > LIKELY)
    before = old.frame(twin).iloc[still].reset_index(drop=True)
    donors = np.random.default_rng(seed).integers(len(frame), size=len(before))
    for name in names:
        if name not in before:
            before[name] = frame[name].to_numpy()[donors]
    rows: Any = pd.concat([before[columns], frame[columns]], ignore_index=True)
    rows = _with_labels(rows, twin)
    table = read_columns(rows, "rows", columns, {n: p for n, p in periods.items() if n in names}, gaps=True)
    weights = np.concatenate([old.holds.min(axis=1)[still], fresh.counts[now]])
    structure = RowStructure(ORDERED if twin.reference.ordered else "independent", weights=weights / weights.mean())
    made = fit_twin(
        table,
        {target: list(own) for target, own in ancestors.items()},
        joint=twin.joint,
        settings=replace(twin.settings, test=0.0),
        seed=seed,
        units={name: unit for name, unit in twin.units.items() if name in columns},
        structure=structure,
    )
    return _with_reference(twin, made, fresh)


def _with_reference(twin: Twin, made: Twin, fresh: Fresh) -> Twin:
    """With the new rows that were set aside to compare with, and the columns beside the new inputs."""
    frame = fresh.frame(np.flatnonzero(fresh.judges & fresh.new.all(axis=1)))
    others = [c for c in (*twin.columns, *twin.reference.others) if c.name not in made.inputs and c.name in frame]
    read = read_new(made, frame, others)
    some = np.flatnonzero(~read.lacking)
    other = np.array([read.other[c.name][some] for c in others]).reshape(len(others), len(some)).T
    habits, ordered = twin.reference.habits, twin.reference.ordered
    kept = Reference(read.x[some], read.y[some], other, tuple(others), habits, ordered)
    return with_latents(replace(made, reference=kept, table="", settings=twin.settings), 0)
