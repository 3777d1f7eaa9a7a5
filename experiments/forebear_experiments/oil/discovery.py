"""Oil returns and geopolitical risk: which lag of the risk index lasts longest, and whether any is needed."""

from __future__ import annotations

import os
from collections import Counter
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from forebear.errors import InputError, near_miss
from forebear.systems.system import System
from forebear_experiments.framework.experiment import CERTIFIED, Claim, Experiment, Findings, Part

FILE = "oil_gpr_daily.csv"
PLACES = (".", "data", "data/oil_gpr", "../shared/data/oil_gpr")
VARIABLE = "FOREBEAR_OIL"
LAST_DAY = "2026-04-20"

RETURN_LAGS = (1, 5, 10, 15, 20)
RISK = {"1-day": 0, "5-day": 4, "10-day": 9, "15-day": 14, "20-day": 19}
"""name of a lag of the risk index -> rows before the one whose return is explained"""
_DEEPEST = 20

WINDOWS: dict[str, tuple[int, int, str]] = {
    "1986-2026": (0, 10_142, "1-day"),
    "1986-1999": (0, 3_550, "1-day"),
    "2000-2009": (3_550, 6_056, "10-day"),
    "2010-2026": (6_056, 10_142, "1-day"),
    "1987-1991": (251, 1_532, "1-day"),
    "1992-1996": (1_532, 2_796, "1-day"),
    "1997-2001": (2_796, 4_050, "10-day"),
    "2002-2006": (4_050, 5_299, "1-day"),
    "2007-2011": (5_299, 6_560, "10-day"),
    "2012-2016": (6_560, 7_820, "5-day"),
    "2017-2021": (7_820, 9_071, "20-day"),
    "2022-2026": (9_071, 10_142, "1-day"),
}
"""window -> first row, the row after the last, and the published lag that is pruned last"""

_QUICK = ("1986-2026", "2022-2026")

# Equal effort in every window, where the published epochs give 2,000 to 20,000 steps.
_STEPS = 5_000
_PAPER = {
    "steps": _STEPS,
    "distilled": 10_000,
    "lengthscale": 5.0,
    "latent_lengthscale": 5.0,
    "nugget": float(np.e),
}


def read_days(file: str | Path) -> pd.DataFrame:
    """Days with both a positive price and an index, up to the last day of the publication: date, oil, gprd.

    The file is a CSV with the columns date, oil (the daily WTI spot price, FRED series DCOILWTICO) and gprd (the
    daily index of Caldara and Iacoviello, from the authors' page); a column gprd_v20260420, the vintage of the
    publication, is preferred to gprd.
    """
    try:
        table = pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read as a CSV file ({error})") from None
    index = "gprd_v20260420" if "gprd_v20260420" in table.columns else "gprd"
    for name in ("date", "oil", index):
        if name not in table.columns:
            raise InputError(f"{file}: there is no column '{name}'. {near_miss(name, map(str, table.columns))}")
    days = pd.DataFrame({"date": table["date"].astype(str), "oil": table["oil"], "gprd": table[index]}).dropna()
    positive = (days["oil"] > 0) & (days["gprd"] > 0) & (days["date"] <= LAST_DAY)
    return days.loc[positive].sort_values(by="date").reset_index(drop=True)


def find_file() -> Path:
    """The user's file: where the variable FOREBEAR_OIL says, or in one of a few folders."""
    named = os.environ.get(VARIABLE)
    for place in [Path(named)] if named else [Path(place) / FILE for place in PLACES]:
        if place.is_file():
            return place
    raise InputError(
        f"the oil experiment needs your copy of {FILE}, with columns date, oil (FRED series DCOILWTICO) and gprd "
        f"(daily geopolitical risk index of Caldara and Iacoviello): put it into this folder, or set {VARIABLE} to it"
    )


@lru_cache(maxsize=1)
def _days() -> pd.DataFrame:
    return read_days(find_file())


def window(first: int, after: int, seed: int) -> System:
    """Returns, their own past and lags of the risk index, in one window of rows; the seed does not matter."""
    return table_of(_days().iloc[first:after], f"oil rows {first} to {after - 1}")


def table_of(days: pd.DataFrame, name: str) -> System:
    """The table of one window: cut first, lags built inside.

    >>> days = pd.DataFrame({"oil": np.exp(np.arange(30.0)), "gprd": np.exp(np.arange(30.0))})
    >>> row = table_of(days, "test").table.iloc[0]
    >>> row["r"], row["r_1"], row["1-day"], row["20-day"]
    (np.float64(1.0), np.float64(1.0), np.float64(20.0), np.float64(1.0))
    """
    price, risk = np.log(days["oil"].to_numpy()), np.log(days["gprd"].to_numpy())
    returns = np.diff(price)  # number n is the return from day n to day n + 1
    now = np.arange(_DEEPEST, len(returns))
    columns = {"r": returns[now]}
    columns |= {f"r_{lag}": returns[now - lag] for lag in RETURN_LAGS}
    columns |= {word: risk[now - lag] for word, lag in RISK.items()}
    past = tuple(f"r_{lag}" for lag in RETURN_LAGS)
    return System(
        name=name,
        table=pd.DataFrame(columns),
        targets=("r",),
        candidates=tuple(RISK),
        ancestors={},
        keep={"r": past},
    )


_PARTS = tuple(
    Part(partial(window, first, after), partial(window, first, after) if name in _QUICK else None, name, paper=_PAPER)
    for name, (first, after, _) in WINDOWS.items()
)


def _claims(findings: Findings) -> list[Claim]:
    claims = []
    for name in findings.answers:
        published = WINDOWS[name][2]
        last = Counter(order[-1] for order in findings.removed(name, "r"))
        runs = sum(last.values())
        told = ", ".join(f"{lag} {count}" for lag, count in last.most_common())
        holds = last[published] > runs / 2
        other = max(last.values()) > runs / 2
        why = "another lag goes last in most runs" if other else "the lag that is pruned last changes with the seed"
        why = "" if holds else why
        claims.append(Claim(f"{name}: lag pruned last, in most runs", published, f"{told} of {runs}", holds, why))
    first = Counter(
        max(RISK, key=record["targets"]["r"]["scores"].__getitem__) for record in findings.answers["1986-2026"]
    )
    runs = sum(first.values())
    told = ", ".join(f"{lag} {count}" for lag, count in first.most_common())
    holds = first["1-day"] > runs / 2
    why = "" if holds else "the first scores of the lags are so close that the seed decides"
    claims.append(Claim("1986-2026: lag with the largest first score", "1-day", f"{told} of {runs}", holds, why))
    for name in findings.answers:
        chosen = findings.chosen(name, "r", CERTIFIED)
        kept = Counter(lag for names in chosen for lag in names if lag in RISK)
        told = ", ".join(f"{lag} {count}" for lag, count in kept.most_common()) or "none"
        what = f"{name}: lags that the law needs beyond the return's own past (certified rule)"
        claims.append(Claim(what, None, f"{told} of {len(chosen)} runs", True))
    return claims


EXPERIMENTS = {
    "oil": Experiment(
        "Oil returns and geopolitical risk",
        _PARTS,
        _claims,
        runs=10,
        repeats="training and distillation are drawn anew in every run; the data is what it is",
        decided="four hidden layers, as in the text; the released scripts have two. 5,000 steps in every window",
    )
}
