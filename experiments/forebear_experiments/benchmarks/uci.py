"""The law of real tables: eight UCI tables on their standard splits, ours beside what users compare it with.

Scores are those of `Twin.validate` (`forebear.twin.scores`). Ranks are by mean CRPS, over the tables that all methods
of the comparison have done.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forebear.data.dequantise import find_atoms
from forebear.errors import InputError, near_miss
from forebear.run.engine import Unfinished
from forebear.twin.scores import LEVELS, coverage, crps, mean_interval, pit
from forebear_experiments.benchmarks.support.laws import METHODS, PARTS, Told
from forebear_experiments.benchmarks.support.resume import Piece, resumed, stored
from forebear_experiments.benchmarks.support.uci_tables import BESIDE, TABLES, Split, check_tables, load, splits_of

OURS = "forebear"
_SLOW = ("treeffuser", "lightgbm")
# Its draws of thousands of rows take longer than everything else together.
_SMALL_ONLY, _SMALL = ("treeffuser",), TABLES[:4]
_DATA = "FOREBEAR_UCI"
"""names the folder of the tables for the processes of a run"""
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "LOKY_MAX_CPU_COUNT": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def run(
    tables: Sequence[str] | None = None,
    splits: int = 1,
    methods: Sequence[str] | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    data: str | Path | None = None,
    first: int = 0,
    seconds: float | None = None,
) -> list[dict[str, Any]]:
    """One row per table and method, the ablation among them, then the ranks.

    `splits` are so many of each table, from number `first` on and around its end. `out` is a file with a line for
    every piece that is done; a later call goes on from there, and a figure is put beside it. After so many `seconds`
    no piece is begun and what is done is told; 0 begins none. Of each table those splits count that every method has
    done. A method whose package is not installed is left out and named.
    """
    folder = Path(data) if data is not None else BESIDE
    check_tables(folder)
    os.environ[_DATA] = str(folder)
    if workers > 1:
        # Each process has a core to itself; threads that it does not have would only wait for one another.
        os.environ |= _ONE_THREAD
    names, chosen = _checked(tables, TABLES, "table"), _checked(methods, METHODS, "method")
    pieces = _pieces(folder, names, chosen, range(first, first + splits))
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    absent: set[str] = set()
    try:
        for (name, split, method), told in _answers(pieces, workers, out, seconds):
            if told is None:
                absent.add(method)
            for word, own in (told or {}).items():
                found.setdefault((name, word or method), {})[split] = own
    except Unfinished as trouble:
        warnings.warn(str(trouble), stacklevel=2)
    scores = _shared(found)
    rows = [table_row(name, method, own) for (name, method), own in sorted(scores.items(), key=_place)]
    _compare_time(rows)
    rows += rank_rows(scores)
    if out is not None and rows:
        figure(rows, Path(out).with_suffix(".png"))
    if absent:
        rows.append({"what": "left out, for want of their packages", "methods": sorted(absent)})
    return rows


def _answers(
    pieces: Sequence[Piece], workers: int, out: str | Path | None, seconds: float | None
) -> Iterator[tuple[Piece, Any]]:
    """As `resumed`, until the time is over."""
    end = time.monotonic() + (np.inf if seconds is None else seconds)
    done = {} if out is None else stored(Path(out))
    if seconds == 0:
        pieces = [piece for piece in pieces if piece in done]
    for piece, told in resumed(answer_piece, pieces, workers, out):
        yield piece, told
        if piece not in done and time.monotonic() > end:
            return


def _shared(
    found: Mapping[tuple[str, str], Mapping[int, dict[str, Any]]],
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Scores on the splits that all methods of a table have done; on all of its own where there are none such."""
    scores = {}
    for (name, method), own in found.items():
        others = [set(told) for (table, word), told in found.items() if table == name and word in METHODS]
        both = sorted(set(own).intersection(*others)) or sorted(own)
        scores[name, method] = [own[split] for split in both]
    return scores


def _pieces(
    folder: Path, tables: Sequence[str], methods: Sequence[str], splits: Iterable[int]
) -> list[tuple[str, int, str]]:
    """Split by split, so that a run that ends early has whole ones; those that take longest first."""
    count = {name: splits_of(folder, name) for name in tables}
    found = [
        (name, split % count[name], method)
        for split in splits
        for name in reversed([own for own in TABLES if own in tables])
        for method in sorted(methods, key=lambda word: word in _SLOW)
        if not (method in _SMALL_ONLY and name not in _SMALL)
    ]
    return list(dict.fromkeys(found))


def _checked(asked: Sequence[str] | None, known: Iterable[str], what: str) -> list[str]:
    names = list(known)
    for name in asked or ():
        if name not in names:
            raise InputError(f"there is no {what} '{name}' in this benchmark. {near_miss(name, names)}")
    return list(asked or names)


def _place(item: tuple[tuple[str, str], Any]) -> tuple[int, int, str]:
    (name, method), _ = item
    order = [*METHODS, *PARTS]
    return TABLES.index(name), order.index(method), method


def answer_piece(piece: tuple[str, int, str]) -> dict[str, dict[str, Any]] | None:
    """The scores of one method on one split; None if its package is not installed."""
    name, split, method = piece
    data = load(Path(os.environ.get(_DATA, str(BESIDE))), name, split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            told = METHODS[method](data, split)
        except ImportError:
            return None
    return scored_on(data, told)


def scored_on(data: Split, told: Mapping[str, Told]) -> dict[str, dict[str, Any]]:
    """The scores of what was told on the test rows of a split."""
    known = find_atoms(data.y)
    step = known.step if known.kind == "continuous" else 0.0
    return {word: scored(own, data.y_test, step) for word, own in told.items()}


def scored(told: Told, y: np.ndarray, step: float = 0.0) -> dict[str, Any]:
    """Plain numbers: CRPS, log score, RMSE, coverage and width of central intervals, seconds.

    Coverage is that of `pit`, ties broken and what was rounded to multiples of `step` spread; "inside" counts what is
    reported in the closed interval, which grades and rounded values make larger.
    """
    mean = told.draws.mean(axis=0)
    low, high = np.quantile(told.draws, [0.05, 0.95], axis=0)
    covered = coverage(pit(told.draws, y, np.random.default_rng(0), step))
    return {
        "crps": float(crps(told.draws, y).mean()),
        "nll": None if told.log_density is None else float(-told.log_density.mean()),
        "rmse": float(np.sqrt(np.mean((mean - y) ** 2))),
        "coverage": {str(level): share for level, share in covered.items()},
        "inside": float(np.mean((low <= y) & (y <= high))),
        "width": float((high - low).mean()),
        "seconds": told.seconds,
        "rows": len(y),
    }


def table_row(name: str, method: str, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the splits of a table."""
    own = [score["crps"] for score in scores]
    nll = [score["nll"] for score in scores if score["nll"] is not None]
    seconds = float(np.mean([score["seconds"] for score in scores]))
    ours = method == OURS or method in PARTS or method == "flow"
    timed = {"ours_s": seconds} if ours else {"baseline": method, "baseline_s": seconds}
    return {
        "what": f"{name}: {method}",
        "splits": len(scores),
        "crps": float(np.mean(own)),
        "crps_error": float(np.std(own, ddof=1) / np.sqrt(len(own))) if len(own) > 1 else None,
        "nll": float(np.mean(nll)) if nll else None,
        "rmse": float(np.mean([score["rmse"] for score in scores])),
        **{
            f"cover_{level:.0%}".replace("%", ""): float(np.mean([s["coverage"][str(level)] for s in scores]))
            for level in LEVELS
        },
        "inside_90": float(np.mean([score["inside"] for score in scores])),
        "width": float(np.mean([score["width"] for score in scores])),
        **timed,
    }


def _compare_time(rows: Sequence[dict[str, Any]]) -> None:
    """NGBoost's seconds beside ours, of the same run on the same cores."""
    known = {row["what"]: row for row in rows}
    for name in TABLES:
        ours, other = known.get(f"{name}: {OURS}"), known.get(f"{name}: ngboost")
        if ours is not None and other is not None:
            seconds = other["baseline_s"]
            ours |= {"baseline": "ngboost", "baseline_s": seconds, "ratio": seconds / ours["ours_s"]}


def rank_rows(scores: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The mean rank by CRPS of each method that has done all tables, with a 95% interval over tables."""
    tables = [name for name in TABLES if any(name == own for own, _ in scores)]
    whole = [method for method in METHODS if method != "flow" and all((name, method) in scores for name in tables)]
    if len(whole) < 2:
        return []
    means = np.array([[np.mean([s["crps"] for s in scores[name, m]]) for name in tables] for m in whole])
    ranks = means.argsort(axis=0).argsort(axis=0) + 1.0
    rows = []
    for method, own, crps_of in zip(whole, ranks, means, strict=True):
        interval = mean_interval(own, np.random.default_rng(0)) if len(own) > 4 else None
        near = sum(_near(scores, tables[i], method, float(means[:, i].min())) for i in range(len(tables)))
        rows.append(
            {
                "what": f"rank of {method}",
                "rank": float(own.mean()),
                "rank_interval": None if interval is None else list(interval),
                "best_or_within_an_error": f"{near} of {len(tables)}",
                "times_best": float(np.exp(np.mean(np.log(crps_of / means.min(axis=0))))),
            }
        )
    return rows


def _near(scores: Mapping[tuple[str, str], Any], name: str, method: str, best: float) -> bool:
    own = [score["crps"] for score in scores[name, method]]
    error = np.std(own, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
    return bool(np.mean(own) - error <= best)


def figure(rows: Sequence[Mapping[str, Any]], file: str | Path) -> None:
    """CRPS of every method over the best on each table, and coverage of 90% intervals, as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    named = [dict(zip(("table", "method"), row["what"].split(": "), strict=False)) | dict(row) for row in rows]
    told = [row for row in named if row.get("method") in METHODS]
    tables = [name for name in TABLES if any(row["table"] == name for row in told)]
    shown, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for method in METHODS:
        own = {row["table"]: row for row in told if row["method"] == method}
        if not own:
            continue
        best = {name: min(row["crps"] for row in told if row["table"] == name) for name in own}
        at = [tables.index(name) for name in own]
        style: dict[str, Any] = {"marker": "o", "linestyle": "none", "label": method}
        left.plot(at, [own[name]["crps"] / best[name] for name in own], **style)
        right.plot(at, [own[name]["cover_90"] for name in own], **style)
    left.set(ylabel="CRPS over the best", yscale="log")
    right.axhline(0.9, color="grey", linewidth=1)
    right.set(ylabel="share inside the 90% interval")
    for axis in (left, right):
        axis.set_xticks(range(len(tables)), tables, rotation=30)
    right.legend(fontsize=8)
    shown.savefig(file, dpi=120)
    plt.close(shown)
