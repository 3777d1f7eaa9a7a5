"""Does the certificate hold its level: how often is the reported p-value of a useless input small?

Each table has a target, a strong driver, and two useless inputs of the named sort. What is recorded is what a user
reads after the search: the p-values of the first useless input in `found.certificates`, from all rows and from those
that had no part in choosing, the verdict, and the inputs that were kept. Where that input does act, a little, what is
asked is whether its limit lies above what it truly explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forebear.errors import InputError, near_miss
from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.verdicts import CANNOT_TELL, verdict_of

if TYPE_CHECKING:
    from forebear.api.found import Found
    from forebear_experiments.benchmarks.support.level_tables import NamedTable

SIZES = (300, 2_000, 10_000)
THRESHOLDS = (0.05, 0.01, 0.001)
COVERS = 0.95
"""the share of tables in which a limit is to lie above the truth"""
LEVEL = 0.01
"""of the search, as users have it by default"""
OPTIONAL = ("Lorenz-63",)
"""settings that are measured when they are named: this one has a single useless input, and two drivers"""
# Tables in a piece of work. Each has a discovery of its own.
_TOGETHER = 16


class Reading(NamedTuple):
    """What was reported of one table."""

    p_value: float
    """of the useless input that was chosen in advance"""
    verdict: str
    kept: bool
    """one useless input, or both"""
    lost: bool
    """a driver is not among the ancestors"""
    seconds: float
    fresh_p: float | None = None
    """the p-value from rows that had no part in choosing; None where there are none"""
    limit: float = 1.0
    """95% upper limit on what the first useless input explains"""
    first_kept: bool = False
    """the first useless input is among the ancestors"""


def run(
    names: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    tables: int = 400,
    first: int = 1_000,
    jobs: int = 1,
    out: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per setting and number of rows.

    `first` is the seed of the first table: those below 1,000 are for looking at while a test is built. `out` is a
    file with a line for every sixteen tables that are done; a later call with the same file goes on from there.
    """
    from forebear_experiments.benchmarks.support.level_tables import SETTINGS

    for name in names or ():
        if name not in SETTINGS:
            raise InputError(f"there is no setting '{name}' in this benchmark. {near_miss(name, SETTINGS)}")
    chosen = names or [name for name in SETTINGS if name not in OPTIONAL]
    batches = [(first + at, min(_TOGETHER, tables - at)) for at in range(0, tables, _TOGETHER)]
    pieces = [(name, rows, *batch) for name in chosen for rows in sizes for batch in batches]
    readings: dict[tuple[str, int], list[Reading]] = {(name, rows): [] for name, rows, *_ in pieces}
    for (name, rows, *_), told in resumed(read_tables, pieces, jobs, out):
        readings[name, rows] += [Reading(*one) for one in told]
    return [
        summarise(what, own) if (share := SETTINGS[name].share) is None else limits_row(what, own, share(rows))
        for (name, rows), own in readings.items()
        for what in [f"{name}, {rows:,} rows"]
    ]


def read_tables(piece: tuple[str, int, int, int]) -> list[Reading]:
    """What is reported of some tables, one after the other: (setting, rows, seed of the first, how many)."""
    name, rows, first, number = piece
    return [read_table(name, rows, first + place) for place in range(number)]


def read_table(name: str, rows: int, seed: int) -> Reading:
    """What is reported of one table."""
    from forebear_experiments.benchmarks.support.level_tables import CLUSTER, SETTINGS, named_table

    table = named_table(name, rows, seed)
    declared: dict[str, Any] = {} if SETTINGS[name].clusters is None else {"rows": CLUSTER}
    found = certified(table, seed, **declared)
    chosen, own = set(found.ancestors["y"]), found.certificates["y"].loc[table.useless[0]]
    return Reading(
        float(own["p_value"]),
        verdict_of(found, "y"),
        bool(chosen & set(table.useless)),
        not chosen >= set(table.drivers),
        found.seconds,
        None if np.isnan(own["fresh_p"]) else float(own["fresh_p"]),
        float(own["limit"]),
        table.useless[0] in chosen,
    )


def certified(table: NamedTable, seed: int, **declared: Any) -> Found:
    """What a search alone finds in a table.

    It starts from nothing that the pruning path says (`starts=()`), so the path, its samplers and the rows it is
    traced on have no part in the certificate: as little as will do saves their time.
    """
    import forebear

    return forebear.discover(
        table.frame,
        targets="y",
        candidates=[*table.useless, *table.drivers],
        rule=forebear.Certified(starts=()),
        level=LEVEL,
        distilled=100,
        steps=10,
        width=8,
        depth=1,
        seed=seed,
        **declared,
    )


def summarise(what: str, readings: Sequence[Reading]) -> dict[str, Any]:
    """The row of one setting: what share of p-values is below each threshold, and whether that is its level.

    A level holds when no share is above the 99% binomial band around its threshold; where most tables are answered
    with "cannot tell", it is enough that useless inputs are kept no oftener than the level of the search allows.
    """
    decided = [reading for reading in readings if reading.verdict != CANNOT_TELL]
    kept = _share([reading.kept for reading in readings])
    row: dict[str, Any] = {
        "what": what,
        "ours_s": float(np.mean([reading.seconds for reading in readings])),
        "tables": len(readings),
    }
    calm = True
    for threshold in THRESHOLDS:
        low, high = band(len(readings), threshold)
        below = _share([reading.p_value < threshold for reading in readings])
        fresh = [reading.fresh_p < threshold for reading in readings if reading.fresh_p is not None]
        row |= {f"below_{threshold:g}": below, f"band_{threshold:g}": [low, high]}
        row[f"fresh_below_{threshold:g}"] = _share(fresh) if fresh else None
        calm = calm and below <= high
    row["cannot_tell"] = 1 - len(decided) / len(readings)
    for threshold in THRESHOLDS:
        below = _share([reading.p_value < threshold for reading in decided]) if decided else None
        row[f"decided_below_{threshold:g}"] = below
    row["kept_useless"] = kept
    row["kept_useless_decided"] = _share([reading.kept for reading in decided]) if decided else None
    row["driver_lost"] = _share([reading.lost for reading in readings])
    undecided = row["cannot_tell"] >= 0.5 and kept <= band(len(readings), LEVEL)[1]
    row["holds"] = bool(calm or undecided)
    return row


def limits_row(what: str, readings: Sequence[Reading], share: float) -> dict[str, Any]:
    """The row of a setting in which an input explains a share, less than can be surely found: how often the limit
    that is reported of it lies above that, among tables in which the search has removed it and among all."""
    removed = [reading for reading in readings if not reading.first_kept]
    covered = [reading.limit >= share for reading in removed]
    low = band(len(removed), COVERS)[0] if removed else 0.0
    return {
        "what": what,
        "ours_s": float(np.mean([reading.seconds for reading in readings])),
        "tables": len(readings),
        "explains": share,
        "removed": len(removed) / len(readings),
        "covered": _share(covered) if removed else None,
        "median_limit": float(np.median([reading.limit for reading in removed])) if removed else None,
        "holds": not removed or _share(covered) >= low,
    }


def band(number: int, share: float) -> tuple[float, float]:
    """The 99% binomial band of a share of so many.

    >>> band(400, 0.05)
    (0.025, 0.08)
    """
    from scipy.stats import binom

    low, high = binom.ppf([0.005, 0.995], number, share) / number
    return float(low), float(high)


def _share(these: Sequence[bool]) -> float:
    return sum(these) / len(these)
