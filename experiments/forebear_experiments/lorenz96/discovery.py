"""Two-scale Lorenz-96: every site of ten, and the first site among 10 to 200 with the time of pruning."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from forebear.systems.lorenz96 import lorenz96
from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Part, Rows, set_claims

SITES = (*range(10, 101, 10), 150, 200)
SLOPE = 1.81
"""of the logarithm of the published time of pruning in that of the number of sites"""
# An increment over a finite step truly depends on two more sites, at second order in the step: by about 1% of its
# deviation, which is where the certificate's threshold lies by default.
_THRESHOLD = {"least_shift": 0.02}
_DECIDED = (
    "the certificate leaves out what moves a law by less than 2% of its deviation (1% by default): increments over a "
    "finite step truly depend on two more sites by about 1%, at second order in the step"
)
_PAPER = {"epochs": 2_000, "lengthscale": 5.0, "distilled": 2_000, **_THRESHOLD}
_FAST = {"distilled": 2_000, **_THRESHOLD}
_DISTILLED = 2_000


def _neighbours(site: int, sites: int) -> tuple[str, ...]:
    """In the order of the columns.

    >>> _neighbours(1, 10)
    ('x1', 'x2', 'x9', 'x10')
    """
    places = sorted((site + shift - 1) % sites + 1 for shift in (-2, -1, 0, 1))
    return tuple(f"x{place}" for place in places)


def _name(sites: int) -> str:
    return f"{sites} sites"


_ALL = Part(
    partial(lorenz96, 10),
    partial(lorenz96, 10, 2_000),
    published={f"dx{j}": _neighbours(j, 10) for j in range(1, 11)},
    paper=_PAPER,
    fast=_FAST,
)
_FIRST = tuple(
    Part(
        partial(lorenz96, sites),
        partial(lorenz96, sites, 2_000) if sites <= 20 else None,
        _name(sites),
        targets=("dx1",),
        published={"dx1": _neighbours(1, sites)},
        paper=_PAPER,
        fast=_FAST,
    )
    for sites in SITES
)


def pruning_time(seed: int, quick: bool) -> Rows:
    """Seconds of the pruning stage alone, for each number of sites, as preset "fast" does it: a quarter of the sites
    at a time while there are many.

    What is pruned is a table of increments with a latent that means nothing: the time depends on sizes alone.
    """
    from forebear.discovery.embed import standard
    from forebear.discovery.path import prune
    from forebear.kernel.settings import KernelSettings

    rows = []
    for sites in SITES[:2] if quick else SITES:
        system = lorenz96(sites, 200 if quick else _DISTILLED, seed)
        rng = np.random.default_rng(seed)
        removable = [name for name in system.candidates if name != "x1"]
        inputs = standard(system.table[[*removable, "x1"]].to_numpy()) / 5
        points = np.concatenate([inputs, rng.normal(size=(len(inputs), 1))], axis=1).T[:, None, :]
        y = standard(system.table[["dx1"]].to_numpy())
        units = {name: (place,) for place, name in enumerate(removable)}
        started = time.perf_counter()
        [path] = prune(points, y, units, nugget=1.0, drop=KernelSettings().drop)
        seconds = time.perf_counter() - started
        rows.append({"sites": sites, "draws": len(inputs), "prune_s": seconds, "last": list(path.removed[-3:])})
    return rows


def slope(rows: Rows, least: int) -> float:
    """Of log seconds in log sites, from `least` sites on.

    >>> round(slope([{"sites": m, "prune_s": m**1.5} for m in (10, 50, 100, 200)], 50), 6)
    1.5
    """
    kept = [row for row in rows if row["sites"] >= least] or rows
    sites, seconds = (np.log([row[key] for row in kept]) for key in ("sites", "prune_s"))
    return float(np.polyfit(sites, seconds, 1)[0])


def _all_claims(findings: Findings) -> list[Claim]:
    return set_claims(findings, _ALL)


def _scaling_claims(findings: Findings) -> list[Claim]:
    claims = [claim for part in _FIRST for claim in set_claims(findings, part)]
    rows = findings.measured.get("pruning")
    if rows is None:
        return claims
    measured = slope(rows, 50)
    longest = rows[-1]
    growth = Claim(
        "time of the pruning stage (a quarter of the sites at a time while more than 32 are left) grows no faster "
        "than published (one at a time), as a power of the number of sites, from 50 on",
        SLOPE,
        round(measured, 2),
        measured <= SLOPE,
    )
    seconds = Claim(
        f"seconds of the pruning stage with {longest['sites']} sites", None, round(longest["prune_s"], 2), True
    )
    return [*claims, growth, seconds]


EXPERIMENTS = {
    "lorenz96": Experiment("Two-scale Lorenz-96, ten sites", (_ALL,), _all_claims, runs=3, decided=_DECIDED),
    "lorenz96-scaling": Experiment(
        "Two-scale Lorenz-96, up to 200 sites",
        _FIRST,
        _scaling_claims,
        runs=1,
        measures={"pruning": pruning_time},
        decided=_DECIDED,
    ),
}
