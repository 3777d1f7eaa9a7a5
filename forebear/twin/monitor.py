"""Do the laws of a twin still hold on new rows? What is read and asked here is judged in `forebear.watch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import ndtri

from forebear.data.column import cells_of
from forebear.errors import InputError, check_whole
from forebear.twin.blend import BlendLaw
from forebear.twin.intervals import check_level
from forebear.twin.knots import rows_line
from forebear.twin.new_rows import NewTable, read_new
from forebear.watch.batch import Batch, Together, judge
from forebear.watch.faults import Fault, Habit, faulty_rows, find_faults
from forebear.watch.features import Input
from forebear.watch.laws import LawVerdict
from forebear.watch.result import CANNOT_TELL, CHANGED, HOLDS, Monitored, Outside

if TYPE_CHECKING:
    from forebear.data.scaling import ColumnCode
    from forebear.twin.twin import Twin

# Without rows set aside nothing is known of what the twin gets wrong: smaller changes than this say nothing.
UNKNOWN_MARGIN = 0.2
# Of the latents that a value of a lattice, or an atom, stands for.
_PLACES = 16
# Of laws that are no quantile map the place of a value is that among so many draws, at so many rows at most.
_DRAWS, _MOST_DRAWN = 200, 5_000
# Known rows below which the twin is taken at its word.
FEWEST_KNOWN = 50


@dataclass(frozen=True, eq=False)
class Latents:
    """Latents of rows, and how they come about."""

    z: Float[np.ndarray, "rows targets draws"]
    """several draws where a value stands for an interval of them"""
    moved: Callable[[int, np.ndarray, float], np.ndarray]
    """those of one target on some rows, once so much has been taken off it"""


def monitor(twin: Twin, rows: Any, *, reference: Any, level: float, margin: float, seed: int) -> Monitored:
    """The work of `Twin.monitor`."""
    check_level(level)
    check_margin(margin)
    check_whole("seed", seed, 0)
    twin.demand("pull", "monitor")
    others = list(twin.reference.others)
    table = read_new(twin, rows, others)
    known = known_rows(twin, reference, seed)
    notes = []
    if known is None:
        margin = max(margin, UNKNOWN_MARGIN)
        notes.append(
            f"no rows were set aside for this twin: its latents are taken for standard normal, and changes below "
            f"{margin:g} deviations are not told; pass reference=, or fit it with test=0.2"
        )
    inside = table.inside
    if not (twin.law_rises or len(inside) <= _MOST_DRAWN):
        inside = inside[np.linspace(0, len(inside) - 1, _MOST_DRAWN).astype(int)]
        notes.append(f"{_MOST_DRAWN:,} rows were tested, as the law is no quantile map")
    own = latents_of(twin, table.x[inside], table.y[inside], seed)
    if known is not None:
        notes += _unseen(twin, table)
    batch = batch_of(twin, table, inside, own, known)
    verdicts, together = judge(batch, level, margin)
    faults = _faults(twin, table)
    stuck = faulty_rows(faults, len(table.x))[inside]
    changed = _changed(verdicts, together, level)
    without = None
    if stuck.any():
        clean = judge(batch.take(np.flatnonzero(~stuck)), level, margin)[0]
        without = {target: told.verdict for target, told in clean.items()}
    if table.lacking.any():
        notes.append(f"{int(table.lacking.sum()):,} rows lack a cell that a law needs, and are left out")
    return Monitored(
        CHANGED if changed else HOLDS,
        verdicts,
        _outside(table),
        tuple(faults),
        tuple(together),
        without,
        len(table.x),
        len(inside),
        float(level),
        float(margin),
        (*notes, *_untold(verdicts)),
        dict(twin.units),
        own.z[..., 0],
        inside + 1,
    )


def check_margin(margin: Any) -> None:
    """A number of at least 0."""
    if isinstance(margin, bool) or not isinstance(margin, int | float | np.number) or not 0 <= margin < 10:
        raise InputError(f"margin must be a number of deviations of at least 0, such as 0.05; got {margin!r}")


def _changed(verdicts: dict[str, LawVerdict], together: list[Together], level: float) -> bool:
    return any(told.verdict == CHANGED for told in verdicts.values()) or any(p.adjusted <= level for p in together)


def _untold(verdicts: dict[str, LawVerdict]) -> list[str]:
    none = [target for target, told in verdicts.items() if told.verdict == CANNOT_TELL]
    return (
        ["nothing can be told of any law: 'holds' here only says that no change was seen"]
        if (none and len(none) == len(verdicts))
        else []
    )


@dataclass(frozen=True, eq=False)
class Known:
    """Rows on which the laws hold."""

    z: Float[np.ndarray, "rows targets draws"]
    x: Float[np.ndarray, "rows inputs"]
    other: dict[str, np.ndarray]
    ordered: bool
    groups: np.ndarray | None


def known_rows(twin: Twin, reference: Any, seed: int) -> Known | None:
    """The user's own reference rows, or those that were set aside; None where there are too few."""
    if reference is None:
        kept = twin.reference
        if len(kept) < FEWEST_KNOWN:
            return None
        other = {one.name: kept.other[:, place] for place, one in enumerate(kept.others)}
        groups = kept.groups if len(kept.groups) else None
        return Known(latents_of(twin, kept.x, kept.y, seed).z, kept.x, other, kept.ordered, groups)
    table = read_new(twin, reference, list(twin.reference.others), "reference")
    inside = table.inside
    if len(inside) < FEWEST_KNOWN:
        raise InputError(
            f"reference has {len(inside)} rows that the twin can answer for: give {FEWEST_KNOWN} or more"
        )
    other = {name: cells[inside] for name, cells in table.other.items()}
    groups = _groups(twin, table, inside)
    z = latents_of(twin, table.x[inside], table.y[inside], seed).z
    return Known(z, table.x[inside], other, groups is None, groups)


def batch_of(twin: Twin, table: NewTable, inside: np.ndarray, own: Latents, known: Known | None) -> Batch:
    """What is judged: latents and inputs of both sides as plain arrays."""
    inputs = inputs_of(twin, known, table.x[inside], {name: cells[inside] for name, cells in table.other.items()})
    z = np.zeros((0, len(twin.outputs), 1)) if known is None else known.z
    return Batch(
        twin.targets,
        twin.ancestors,
        z,
        own.z,
        inputs,
        own.moved,
        np.array([t.scale if t.dequantiser.kind == "continuous" else np.nan for t in twin.outputs]),
        inside,
        known is not None and known.ordered,
        None if known is None else known.groups,
        None if known is None or known.groups is None else _groups(twin, table, inside),
    )


def inputs_of(twin: Twin, known: Known | None, x: np.ndarray, other: dict[str, np.ndarray]) -> list[Input]:
    """The twin's inputs, and the columns beside them that both sides have."""
    codes: dict[str, ColumnCode] = {c.name: c for c in (*twin.columns, *twin.reference.others)}
    # Where the twin is taken at its word, its training inputs say on which scale new ones are looked at.
    before = twin.rows if known is None else known.x
    inputs = [_input(codes[name], before[:, place], x[:, place]) for place, name in enumerate(twin.inputs)]
    if known is None:
        return inputs
    return inputs + [
        _input(codes[name], known.other[name], cells) for name, cells in other.items() if name in known.other
    ]


def _input(code: ColumnCode, known: np.ndarray, new: np.ndarray) -> Input:
    return Input(code.name, known, new, code.period, len(code.levels))


def _groups(twin: Twin, table: NewTable, inside: np.ndarray) -> np.ndarray | None:
    column = twin.reference.column
    if not column or column not in table.frame.columns:
        return None
    return np.asarray(pd.factorize(cells_of(table.frame, column))[0])[inside]


def latents_of(twin: Twin, x: np.ndarray, y: np.ndarray, seed: int) -> Latents:
    """One latent for each target: its own, or its place among draws where the law is no quantile map of each."""
    if isinstance(twin.law, BlendLaw):
        return Latents(_drawn(twin, x, y, seed), _off_tables(twin.law, x, y))
    if twin.law_rises:

        def pulled(target: int, rows: np.ndarray, amount: float) -> np.ndarray:
            values = y[rows].copy()
            values[:, target] -= amount
            return twin.latent(x[rows], values, seed=seed)[:, target]

        return Latents(_drawn(twin, x, y, seed), pulled)
    draws = twin.sample(x, n=_DRAWS, seed=seed, outside="ignore") if len(x) else np.zeros((_DRAWS, *y.shape))
    chance = np.random.default_rng(seed).random(y.shape)

    def placed(target: int, rows: np.ndarray, amount: float) -> np.ndarray:
        return _among(draws[:, rows, target], y[rows, target] - amount, chance[rows, target])

    every = np.arange(len(x))
    return Latents(np.stack([placed(i, every, 0.0) for i in range(y.shape[1])], axis=1)[..., None], placed)


def _drawn(twin: Twin, x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    if not len(x):
        return np.zeros((0, len(twin.outputs), 1))
    single = all(target.dequantiser.kind == "continuous" for target in twin.outputs)
    return twin.latents(x, y, 1 if single else _PLACES, seed)


def _off_tables(law: BlendLaw, x: np.ndarray, y: np.ndarray) -> Callable[[int, np.ndarray, float], np.ndarray]:
    """Asking trees takes time, and the same rows are asked with many amounts: their tables are made once."""
    made: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}

    def pulled(target: int, rows: np.ndarray, amount: float) -> np.ndarray:
        key = (target, rows.tobytes())
        if key not in made:
            made.clear()
            made[key] = law.line(x[rows], target)
        latents, values = made[key]
        return rows_line(y[rows, target, None] - amount, values, latents)[0][:, 0]

    return pulled


def _among(draws: np.ndarray, y: np.ndarray, chance: np.ndarray) -> np.ndarray:
    below, up_to = (draws < y).sum(axis=0), (draws <= y).sum(axis=0)
    return ndtri((below + chance * (up_to - below + 1)) / (len(draws) + 1))


def _unseen(twin: Twin, table: NewTable) -> list[str]:
    missing = [one.name for one in twin.reference.others if one.name not in table.other]
    if not missing:
        return []
    shown = ", ".join(f"'{name}'" for name in missing[:5]) + (" and others" if len(missing) > 5 else "")
    return [f"not among the new rows: {shown}; whether a change follows them cannot be seen"]


def _faults(twin: Twin, table: NewTable) -> list[Fault]:
    columns = {name: (table.x[:, i], not twin.columns[i].levels) for i, name in enumerate(twin.inputs)}
    columns |= {t.name: (table.y[:, i], not t.levels) for i, t in enumerate(twin.outputs)}
    labels = {one.name for one in twin.reference.others if one.levels}
    columns |= {name: (cells, name not in labels) for name, cells in table.other.items()}
    habits = twin.reference.habits
    found = [
        find_faults(name, cells, habits[name] if name in habits else Habit(), number)
        for name, (cells, number) in columns.items()
        if name in habits
    ]
    return [fault for faults in found for fault in faults]


def _outside(table: NewTable) -> Outside:
    rows = np.any([np.zeros(len(table.x), bool), *table.beyond.values()], axis=0)
    return Outside(int(rows.sum()), {name: int(own.sum()) for name, own in table.beyond.items()})
