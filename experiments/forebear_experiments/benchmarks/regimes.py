"""Does `regime=` say rightly which laws are the same and which change? And do interventions sharpen the answer?

The tables (`support/campaigns.py`) and their seeds were written down before anything was asked of them. Beside it
stands what one would do by hand: boosted trees for the mean on all inputs but the regime, out of fold, then
Kolmogorov-Smirnov and Levene tests of their residuals in each regime against those in the others, at the level
divided by the number of tests. It knows two words; a law that it does not find changed counts as "the same".
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp, levene

import forebear as fb
from forebear.api.in_regimes import InRegimes
from forebear.data.lagged import Lagged
from forebear.discovery.regimes import CANNOT_TELL, CHANGES, SAME
from forebear.trees.learn import boosted
from forebear_experiments.benchmarks.support.campaigns import REGIME, TABLES, Made, tied

LEVEL, _FOLDS = 0.05, 5


def run(
    kinds: Sequence[str] = tuple(TABLES), tables: int = 5, rows: int = 1_200, readings: int = 5, first: int = 0
) -> Iterator[dict[str, Any]]:
    """A row per kind of table, with so many tables of so many rows each, from the seed `first` on; then two tied
    readings."""
    for kind in kinds:
        yield _words(kind, tables, rows, first)
    if readings:
        yield from _sharpened(readings)


def _words(kind: str, tables: int, rows: int, first: int) -> dict[str, Any]:
    """What is said of the laws that change, and of those that do not."""
    told, seconds, theirs, theirs_s, inputs = Counter(), 0.0, Counter(), 0.0, []
    needed: list[bool] = []
    for number in range(first, first + tables):
        made = TABLES[kind](rows, np.random.default_rng([24, number]))
        found, took = _timed(lambda made=made, number=number: _discovered(made, number))
        seconds += took
        words = found.regimes["law"]
        told.update((truth, str(words[target])) for target, truth in made.changes.items())
        peer, took = _timed(lambda made=made: compared(made))
        theirs_s += took
        theirs.update((truth, peer[target]) for target, truth in made.changes.items())
        if made.only:
            parts = found.in_regimes(list(made.only), progress=False)
            inputs.append(parts.only == made.only)
            needed.append(_needed_where(parts, made.only))
    return {
        "what": kind,
        "tables": tables,
        "ours_s": seconds / tables,
        **_rates("", told),
        "baseline": "residuals of boosted trees by regime",
        "baseline_s": theirs_s / tables,
        **_rates("baseline_", theirs),
        **({"inputs_right": sum(inputs), "needed_right": sum(needed)} if inputs else {}),
    }


def _needed_where(parts: InRegimes, only: Mapping[str, Mapping[str, tuple[str, ...]]]) -> bool:
    """Whether each regime keeps such an input where it matters and nowhere else, however sure it says it is."""
    return all(
        (name in part.ancestors[target]) == (label in regimes)
        for target, inputs in only.items()
        for name, regimes in inputs.items()
        for label, part in parts.found.items()
    )


def _rates(who: str, told: Counter[tuple[bool, str]]) -> dict[str, int]:
    """By truth: how often each word was said."""
    names = {SAME: "same", CHANGES: "changes", CANNOT_TELL: "cannot_tell"}
    return {
        f"{who}{'changed' if truth else 'unchanged'}_{short}": told[truth, word]
        for truth in (False, True)
        if any(key[0] == truth for key in told)
        for word, short in names.items()
    }


def _discovered(made: Made, seed: int) -> fb.Found:
    targets = list(made.changes)
    return fb.discover(made.data, targets, regime=REGIME, seed=seed, progress=False)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def compared(made: Made, seed: int = 0) -> dict[str, str]:
    """The words by hand."""
    table = made.data.table if isinstance(made.data, Lagged) else made.data
    x = table.drop(columns=[REGIME, *made.changes]).to_numpy(float)
    labels = table[REGIME].to_numpy()
    p_values = {target: _of_residuals(x, table[target].to_numpy(float), labels, seed) for target in made.changes}
    level = LEVEL / sum(len(own) for own in p_values.values())
    return {target: CHANGES if min(own) < level else SAME for target, own in p_values.items()}


def _of_residuals(x: np.ndarray, y: np.ndarray, labels: np.ndarray, seed: int) -> list[float]:
    fold = np.random.default_rng(seed).permutation(np.arange(len(y)) % _FOLDS)
    left = np.empty(len(y))
    for number in range(_FOLDS):
        learn, rest = fold != number, fold == number
        left[rest] = y[rest] - boosted(x[learn], y[learn], seed=seed).values(x[rest])[..., 0].sum(axis=0)
    found: list[float] = []
    for label in np.unique(labels):
        both = left[labels == label], left[labels != label]
        found += [float(ks_2samp(*both).pvalue), float(levene(*both).pvalue)]  # type: ignore[attr-defined]
    return found


def _sharpened(count: int) -> Iterator[dict[str, Any]]:
    """Two readings that follow one another, of which the target needs the first: does a stretch in which they are
    set apart tell which?"""
    cases: dict[str, Callable[[pd.DataFrame], tuple[Any, str | None]]] = {
        "seen rows alone": lambda table: (table[table[REGIME] == "seen"].drop(columns=REGIME), None),
        "set rows alone": lambda table: (table[table[REGIME] == "set"].drop(columns=REGIME), None),
        "both, with regime=": lambda table: (table, REGIME),
    }
    for case, chosen in cases.items():
        exact, certified, same = 0, 0, 0
        started = time.perf_counter()
        for number in range(count):
            table, regime = chosen(tied(1_000, np.random.default_rng([25, number]), 200))
            found = fb.discover(table.reset_index(drop=True), "y", regime=regime, seed=number, progress=False)
            exact += found.ancestors["y"] == ("u",)
            certified += found.ancestors["y"] == ("u",) and found.verdicts["y"] == "certified"
            same += regime is not None and found.regimes["law"]["y"] == SAME
        yield {
            "what": f"two tied readings: {case}",
            "tables": count,
            "ours_s": (time.perf_counter() - started) / count,
            "exact": exact,
            "certified_and_exact": certified,
            **({"said_the_same": same} if case.startswith("both") else {}),
        }
