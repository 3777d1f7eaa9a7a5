"""Wide tables: a quick look at thousands of candidates that leaves those worth a search.

Every candidate is held against the location, the spread and the tails of a target by ranks, alone and in a product
with every other candidate; evidence of both families counts after the number of tests in it. Trees on all candidates
name a few more, for what takes three inputs to show. A second round holds what is left against what trees on the
chosen ones leave open of the target, so that a strong input does not hide a weak one. What the screen can miss is an
input that shows in none of these: `forebear bench wide` measures how often that happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri

from forebear.data.question import Question
from forebear.data.table import Table
from forebear.discovery.residuals import features
from forebear.errors import InputError
from forebear.kernel.threads import cores

AUTO = "auto"
WIDE, KEPT = 300, 80
"""candidates from which a table is screened, and how many are left for the search"""
# Of those that are left: how many trees may name, and how many the second round may.
_BY_TREES, _SECOND = 12, 12
# Rows that are looked at, at most; columns that are multiplied with all others at once; trees.
_ROWS, _AT_A_TIME, _TREES = 20_000, 256, 60
# Features of a column that are looked at, alone; the first of them in products.
_FEATURES = 3
# Share of the target at either end whose rows have a feature of their own.
_TAIL = 0.1


class Screened(NamedTuple):
    """What is left of a question, and what was set aside."""

    question: Question
    gone: tuple[str, ...]
    """candidates that are not searched"""


def check_screen(screen: Any) -> None:
    """Refuse what is no way to screen."""
    whole = isinstance(screen, int) and not isinstance(screen, bool) and screen >= 2
    if screen is not None and screen != AUTO and not whole:
        raise InputError(f"screen must be 'auto', None, or how many candidates to search, 2 or more; got {screen!r}")


def kept_of(candidates: int, screen: int | str | None) -> int | None:
    """How many of so many candidates are searched; None: all.

    >>> kept_of(2_000, "auto"), kept_of(50, "auto"), kept_of(50, 20), kept_of(2_000, None)
    (80, None, 20, None)
    """
    if screen is None or (screen == AUTO and candidates <= WIDE):
        return None
    most = KEPT if isinstance(screen, str) else screen
    return most if candidates > most else None


def screen_question(table: Table, question: Question, most: int, weights: np.ndarray | None = None) -> Screened:
    """The question with its `most` candidates that show most in a quick look.

    >>> import pandas as pd
    >>> from forebear.data.table import read_columns
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(500, 40)), columns=[f"x{i}" for i in range(40)])
    >>> frame["y"] = frame["x7"] + frame["x3"] * rng.normal(size=500)
    >>> asked = Question("y", tuple(f"x{i}" for i in range(40)), {f"x{i}": (f"x{i}",) for i in range(40)}, ())
    >>> left = screen_question(read_columns(frame, "the table", list(frame)), asked, 10)
    >>> {"x3", "x7"} <= set(left.question.candidates), len(left.gone)
    (True, 30)
    """
    known = np.flatnonzero(~table.columns[question.target].gaps)
    rows = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), _ROWS)).astype(int))]
    names = [name for columns in question.candidates.values() for name in columns]
    owner = np.repeat(np.arange(len(question.candidates)), [len(own) for own in question.candidates.values()])
    part = table.take(rows)
    own = [features(part.columns[name])[:, :_FEATURES].astype(np.float32) for name in names]
    counts = None if weights is None else weights[rows]
    y = part.columns[question.target].values
    chosen = _chosen(y, own, owner, most, counts)
    candidates = list(question.candidates)
    left = {candidates[i]: question.candidates[candidates[i]] for i in sorted(chosen)}
    inside = {name for columns in left.values() for name in columns} | set(question.always)
    inputs = tuple(name for name in question.inputs if name in inside)
    gone = tuple(name for name in candidates if name not in left)
    return Screened(replace(question, candidates=left, inputs=inputs), gone)


def _chosen(
    y: np.ndarray, own: Sequence[np.ndarray], owner: np.ndarray, most: int, counts: np.ndarray | None
) -> set[int]:
    """Numbers of the candidates that stay: by evidence, by trees, and by what these leave open."""
    few, second = min(_BY_TREES, most // 4), min(_SECOND, most // 4)
    evidence = _evidence(_scores(y), own, owner, counts)
    chosen = list(np.argsort(-evidence, kind="stable")[: most - few - second])
    x = np.concatenate([one[:, :1] for one in own], axis=1)
    trees = _trees(x, y, counts)
    importance = np.zeros(len(evidence))
    np.maximum.at(importance, owner, trees.feature_importances_)
    chosen += [i for i in np.argsort(-importance, kind="stable") if i not in set(chosen)][:few]
    inside = np.isin(owner, chosen)
    left = y - _out_of_fold(x[:, inside], y, counts)
    again = _evidence(_scores(left), own, owner, counts)
    chosen += [i for i in np.argsort(-again, kind="stable") if i not in set(chosen)][: most - len(chosen)]
    return {int(i) for i in chosen}


def _scores(y: np.ndarray) -> np.ndarray:
    """Location, spread and both tails of a target (rows, 4), each with mean 0 and variance 1."""
    ranks = (np.argsort(np.argsort(y)) + 0.5) / len(y)
    normal = ndtri(ranks)
    parts = [normal, np.minimum(normal**2, 6.0), ranks > 1 - _TAIL, ranks < _TAIL]
    told = np.stack([np.asarray(part, float) for part in parts], axis=1)
    return ((told - told.mean(axis=0)) / told.std(axis=0)).astype(np.float32)


def _evidence(
    scores: np.ndarray, own: Sequence[np.ndarray], owner: np.ndarray, counts: np.ndarray | None
) -> np.ndarray:
    """Of each candidate, alone or in pairs, minus the logarithm of the smallest p-value times the tests beside it."""
    if counts is not None:
        scores = scores * counts[:, None].astype(np.float32)
        scores = scores / np.sqrt((scores**2).mean(axis=0))
    rows, found = len(scores), np.full(int(owner.max()) + 1, -np.inf)
    alone = [np.abs(scores.T @ one).max() / np.sqrt(rows) for one in own]
    np.maximum.at(found, owner, _surprise(np.array(alone), len(own) * _FEATURES * scores.shape[1]))
    first = np.concatenate([one[:, :1] for one in own], axis=1)
    best = np.zeros(len(own))
    for score in scores[:, :2].T:
        for start in range(0, len(own), _AT_A_TIME):
            products = np.abs((score[:, None] * first[:, start : start + _AT_A_TIME]).T @ first) / np.sqrt(rows)
            width = len(products)
            products[np.arange(width), start + np.arange(width)] = 0.0
            best[start : start + width] = np.maximum(best[start : start + width], products.max(axis=1))
    np.maximum.at(found, owner, _surprise(best, len(own) * (len(own) - 1)))
    return found


def _surprise(z: np.ndarray, tests: int) -> np.ndarray:
    return -(np.log(2) + log_ndtr(-z) + np.log(tests))


def _trees(x: np.ndarray, y: np.ndarray, counts: np.ndarray | None) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    model = ExtraTreesRegressor(_TREES, min_samples_leaf=5, max_features=0.1, n_jobs=cores(), random_state=0)
    ranks = np.argsort(np.argsort(y)) / len(y)
    model.fit(x, np.stack([ranks, np.abs(ranks - 0.5)], axis=1), counts)
    model.n_jobs = 1  # threads would add up in any order
    return model


def _out_of_fold(x: np.ndarray, y: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    """What trees that have not seen a row say of its target."""
    from sklearn.ensemble import ExtraTreesRegressor

    told = np.empty(len(y))
    for part in (0, 1):
        learn, asked = np.arange(len(y)) % 2 != part, np.arange(len(y)) % 2 == part
        model = ExtraTreesRegressor(_TREES // 2, min_samples_leaf=3, n_jobs=cores(), random_state=part)
        model.fit(x[learn], y[learn], None if counts is None else counts[learn])
        model.n_jobs = 1
        told[asked] = model.predict(x[asked])
    return told
