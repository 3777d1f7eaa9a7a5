"""Gaps: how many sets stay exact when cells of the inputs are deleted, what other ways of dealing with them find, and
whether the certificate holds its level where inputs have gaps.

Cells are deleted at random (each with the same chance), by their own value (the larger, the likelier), or by another
input (the larger the next candidate, the likelier). The ways: "model" (the default of `discover`), "drop" (rows with
a gap are left out), "median" (the gap is filled with the median of its column, as a pipeline would do it before any
selection). The level is measured on tables with one driver and six useless inputs, see `support.gap_tables`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forebear.errors import InputError, near_miss
from forebear_experiments.benchmarks.level import band, certified
from forebear_experiments.benchmarks.support.resume import Piece, resumed
from forebear_experiments.benchmarks.support.verdicts import CANNOT_TELL, CERTIFIED, verdict_of

WAYS = ("model", "drop", "median")
MECHANISMS = {"random": "at random", "value": "by their value", "other": "by another input"}
"""why a cell is missing, and in words"""
LEVEL = "level"
"""the first word of pieces that measure the level"""
# Tables of a setting that are looked at in one piece.
_TOGETHER = 5
_NOTHING = ("random", 0.0, "model")
"""no cell is deleted"""

Setting = tuple[str, float, str]
"""mechanism, share of deleted cells, way"""


def run(
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1),
    shares: Sequence[float] = (0.3, 0.1),
    ways: Sequence[str] = WAYS,
    mechanisms: Sequence[str] = tuple(MECHANISMS),
    rows: int = 1_000,
    tables: int = 200,
    first: int = 1_000,
    workers: int = 1,
    out: str | Path | None = None,
    seconds: float | None = None,
) -> list[dict[str, Any]]:
    """One row per mechanism, share of deleted cells and way: exact sets, wrong ones that were certified, seconds.
    Behind them one row per sort of gap with the p-values of useless inputs, on `tables` tables of so many rows, whose
    seeds begin with `first`.

    `out` is a file with a line for every piece that is done; a later call with the same file goes on from there.
    Where more than `seconds` have passed, nothing more is begun but what goes together with the last piece; rows tell
    what is done by then, and compare with the same systems and seeds without gaps.
    """
    from forebear_experiments.benchmarks.support.gap_tables import GAPS
    from forebear_experiments.benchmarks.support.suite import SUITE

    for name in names or ():
        if name not in SUITE:
            raise InputError(f"there is no system '{name}' in this benchmark. {near_miss(name, SUITE)}")
    settings: list[Setting] = [_NOTHING]
    first_way, *others = ways
    tried = [(how, first_way) for how in mechanisms] + [(how, way) for how in mechanisms for way in others]
    settings += [(how, share, way) for share in shares for how, way in tried]
    told: dict[Piece, Any] = {}
    started = time.perf_counter()
    for group in _in_turn(list(names or SUITE), seeds, settings, list(GAPS), rows, tables, first):
        late = seconds is not None and time.perf_counter() - started > seconds
        # What is in the file counts, however late it is.
        told |= dict(resumed(_given_up if late else answer_piece, group, 1 if late else workers, out))
    told = {piece: result for piece, result in told.items() if result is not None}
    found = [_row(setting, told) for setting in settings]
    return [*filter(None, found), *_level_rows(told, rows)]


def _in_turn(
    names: Sequence[str],
    seeds: Sequence[int],
    settings: Sequence[Setting],
    gaps: Sequence[str],
    rows: int,
    tables: int,
    first: int,
) -> Iterator[list[Piece]]:
    """All pieces, in groups that are worth something alone: what matters most first, sets and level in turn."""
    level = [
        [(LEVEL, name, rows, first + at, min(_TOGETHER, tables - at)) for name in gaps]
        for at in range(0, tables, _TOGETHER)
    ]
    sets = [[(name, seed, *setting) for name in names] for seed in seeds for setting in settings]
    for place in range(max(len(level), len(sets))):
        yield from (own[place] for own in (sets, level) if place < len(own))


def _given_up(piece: Piece) -> None:
    """There was no time for it."""


def _row(setting: Setting, told: Mapping[Piece, Any]) -> dict[str, Any] | None:
    """What was found in one setting; None where no piece of it is done."""
    how, share, way = setting
    whole = {piece[:2]: result for piece, result in told.items() if piece[2:] == _NOTHING}
    pieces = [piece for piece in told if piece[2:] == setting and piece[:2] in whole]
    if not pieces:
        return None
    answers = [answer for piece in pieces for answer in told[piece]]
    exact = sum(bool(answer[2]) for answer in answers)
    before = sum(bool(answer[2]) for piece in pieces for answer in whole[piece[:2]])
    return {
        "what": f"{share:.0%} of cells missing {MECHANISMS[how]}, {way}" if share else "no cell missing",
        "systems": len({piece[0] for piece in pieces}),
        "seeds": len({piece[1] for piece in pieces}),
        "exact": exact,
        "targets": len(answers),
        "of_those_without_gaps": round(exact / max(1, before), 3),
        "certified_and_wrong": sum(not answer[2] and answer[3] == CERTIFIED for answer in answers),
        "wrong": sorted({piece[0] for piece in pieces for answer in told[piece] if not answer[2]}),
        "ours_s": round(float(np.mean([answer[4] for answer in answers])), 1),
    }


def _level_rows(told: Mapping[Piece, Any], rows: int) -> Iterator[dict[str, Any]]:
    from forebear_experiments.benchmarks.support.gap_tables import GAPS

    for name, gaps in GAPS.items():
        own = [one for piece, result in told.items() if piece[:3] == (LEVEL, name, rows) for one in result]
        if own:
            yield _level_row(f"level: gaps in {name}", own, gaps.null)


def _level_row(what: str, readings: Sequence[Sequence[Any]], null: bool) -> dict[str, Any]:
    """What useless inputs look like; where they are of use after all, nothing has to hold."""
    p_values = np.array([p for reading in readings for p in reading[0]])
    row: dict[str, Any] = {"what": what, "tables": len(readings), "p_values": len(p_values)}
    for threshold in (0.05, 0.01):
        row[f"below_{threshold:g}"] = float((p_values < threshold).mean())
        row[f"band_{threshold:g}"] = list(band(len(p_values), threshold))
    kept = [name for reading in readings for name in reading[1]]
    row |= {
        "kept_useless": sum(bool(reading[1]) for reading in readings) / len(readings),
        "kept_most": max(set(kept), key=kept.count) if kept else None,
        "driver_lost": sum(reading[2] for reading in readings) / len(readings),
        "cannot_tell": sum(reading[3] == CANNOT_TELL for reading in readings) / len(readings),
        "certified_and_wrong": sum(bool(r[1] or r[2]) and r[3] == CERTIFIED for r in readings),
        "holds": all(row[f"below_{threshold:g}"] <= row[f"band_{threshold:g}"][1] for threshold in (0.05, 0.01))
        if null
        else None,
        "ours_s": round(float(np.mean([reading[4] for reading in readings])), 1),
    }
    return row


def delete(table: pd.DataFrame, columns: Sequence[str], share: float, how: str, seed: int) -> pd.DataFrame:
    """The table without some cells of these columns: so large a share of each, for one of the `MECHANISMS`.

    >>> rng = np.random.default_rng(0)
    >>> whole = pd.DataFrame(rng.uniform(size=(1_000, 2)), columns=["a", "b"])
    >>> made = delete(whole, ["a", "b"], 0.3, "value", 0)
    >>> bool(abs(made["a"].isna().mean() - 0.3) < 0.05), bool(made["a"].mean() < 0.45)
    (True, True)
    >>> made = delete(whole, ["a", "b"], 0.3, "other", 0)
    >>> bool(abs(made["a"].mean() - 0.5) < 0.05), bool(whole["b"][made["a"].isna()].mean() > 0.6)
    (True, True)
    """
    rng, made = np.random.default_rng([seed, 77]), table.copy()
    for place, name in enumerate(columns):
        follows = {"value": name, "other": columns[(place + 1) % len(columns)]}.get(how)
        ranks = np.full(len(table), 0.5) if follows is None else table[follows].rank(pct=True).to_numpy()
        made[name] = table[name].mask(rng.random(len(table)) < 2 * share * ranks)
    return made


def answer_piece(piece: Piece) -> list[list[Any]]:
    """The answers on one system, as plain lists: target, chosen, exact, verdict, seconds. Or those on tables of the
    level: p-values of useless inputs, which of them are kept, whether the driver is lost, verdict, seconds."""
    return _readings(piece) if piece[0] == LEVEL else _answers(piece)


def _readings(piece: Piece) -> list[list[Any]]:
    from forebear_experiments.benchmarks.support.gap_tables import gap_table

    _, name, rows, first, number = piece
    readings: list[list[Any]] = []
    for seed in range(first, first + number):
        table = gap_table(name, rows, seed)
        found = certified(table, seed)
        chosen, evidence = set(found.ancestors["y"]), found.certificates["y"]["p_value"]
        p_values = evidence.loc[list(table.useless)].to_numpy(float).tolist()
        kept, lost = sorted(chosen & set(table.useless)), not chosen >= set(table.drivers)
        readings.append([p_values, kept, lost, verdict_of(found, "y"), found.seconds])
    return readings


def _answers(piece: Piece) -> list[list[Any]]:
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
