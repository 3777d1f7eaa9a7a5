"""Rules of selection compared: certified, the published rule, and cheap selectors that users have today."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from forebear.errors import InputError, near_miss
from forebear.run.engine import spread


class Answer(NamedTuple):
    """One method's set for one target of one seed."""

    method: str
    chosen: frozenset[str]
    truth: frozenset[str]
    seconds: float


def run(
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = tuple(range(10)),
    baselines: Sequence[str] | None = None,
    jobs: int = 1,
) -> list[dict[str, Any]]:
    """One row per system and method: exact sets, precision, recall, seconds per target.

    The published rule reads the pruning path of the same run, so its seconds are not known apart; `bench cost`
    compares the two. A baseline whose package is not installed is left out.
    """
    from forebear_experiments.benchmarks.support.suite import SUITE

    for name in names or ():
        if name not in SUITE:
            raise InputError(f"there is no system '{name}' in this benchmark. {near_miss(name, SUITE)}")
    pieces = [(name, seed) for name in (names or SUITE) for seed in seeds]
    answers: dict[str, list[Answer]] = {}
    for (name, _), found in spread(partial(_answers, baselines=baselines), pieces, jobs):
        answers.setdefault(name, []).extend(found)
    return [_row(name, method, of) for name, of in answers.items() for method in _methods(of)]


def _methods(answers: Sequence[Answer]) -> list[str]:
    return list(dict.fromkeys(answer.method for answer in answers))


def _answers(piece: tuple[str, int], baselines: Sequence[str] | None) -> list[Answer]:
    import forebear
    from forebear_experiments.benchmarks.support.baselines import BASELINES
    from forebear_experiments.benchmarks.support.suite import SUITE

    name, seed = piece
    system = SUITE[name](seed=seed)
    found = forebear.discover(
        system.table, **system.options(), seed=seed, path="own"
    )  # the published rule reads the path
    each = found.seconds / len(found.targets)
    answers = []
    for target in found.targets:
        truth = frozenset(system.ancestors[target])
        jump = forebear.LargestJump()(found.runs[0][target])
        answers.append(Answer("certified", frozenset(found.ancestors[target]), truth, each))
        answers.append(Answer("nsr-jump", frozenset(jump), truth, float("nan")))
        x, y = system.table[list(system.candidates)].to_numpy(float), system.table[target].to_numpy(float)
        for method in BASELINES if baselines is None else baselines:
            started = time.perf_counter()
            try:
                kept = BASELINES[method](x, y, seed)
            except ImportError:
                continue
            chosen = frozenset(system.candidates[j] for j in kept)
            answers.append(Answer(method, chosen, truth, time.perf_counter() - started))
    return answers


def _row(name: str, method: str, answers: Sequence[Answer]) -> dict[str, Any]:
    own = [answer for answer in answers if answer.method == method]
    right = [len(answer.chosen & answer.truth) for answer in own]
    chosen, needed = sum(len(a.chosen) for a in own), sum(len(a.truth) for a in own)
    seconds = float(np.mean([answer.seconds for answer in own]))
    wrong = [sorted(a.chosen) for a in own if a.chosen != a.truth]
    return {
        "what": name,
        "method": method,
        **({} if np.isnan(seconds) else {"ours_s" if method == "certified" else "baseline_s": seconds}),
        "exact": len(own) - len(wrong),
        "of": len(own),
        "precision": sum(right) / chosen if chosen else 1.0,
        "recall": sum(right) / needed if needed else 1.0,
        "wrong": wrong,
    }
