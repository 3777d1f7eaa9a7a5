"""A column that tells regimes apart (interventions, campaigns, seasons, machines): few labels, rows of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forebear.data.names import is_pattern, matching
from forebear.data.source import Opened
from forebear.errors import InputError, listed, near_miss

MOST, FEWEST_ROWS = 12, 30
"""regimes at most, and rows in each at least"""


def check_regime(regime: str, targets: Any, exclude: Any) -> None:
    """Refuse a regime that could be no candidate, before anything is read.

    >>> check_regime("campaign", "campaign", ())
    Traceback (most recent call last):
    forebear.errors.InputError: 'campaign' is a target and cannot tell regimes apart: name another column
    """
    if targets is None:
        raise InputError(f"regime='{regime}' asks which laws change: name the targets, targets=")
    named = [targets] if isinstance(targets, str) else list(targets)
    if regime in named:
        raise InputError(f"'{regime}' is a target and cannot tell regimes apart: name another column")
    out = [exclude] if isinstance(exclude, str) else list(exclude)
    if any(text == regime or (is_pattern(text) and regime in matching(text, [regime])) for text in out):
        raise InputError(f"'{regime}' is left out by exclude and cannot tell regimes apart: take it from exclude")


def labelled(opened: Opened, regime: str) -> Opened:
    """The table with regimes as labels, whatever the column held, or an `InputError` that says what is wrong with it.

    >>> table = pd.DataFrame({"campaign": [1, 2] * 40, "x": range(80)})
    >>> labelled(Opened(table, "the table"), "campaign").frame["campaign"].tolist()[:2]
    ['1', '2']
    >>> labelled(Opened(table, "the table"), "x")
    Traceback (most recent call last):
    forebear.errors.InputError: the table: column 'x' has 80 values, and regimes are at most 12: name one with fewer
    """
    frame, source = opened
    if not isinstance(regime, str) or regime not in frame.columns:
        raise InputError(
            f"{source}: no column '{regime}' (named in regime). {near_miss(regime, map(str, frame.columns))}"
        )
    cells, where = frame[regime], f"{source}: column '{regime}'"
    gone = np.flatnonzero(pd.isna(cells.to_numpy()))
    if len(gone):
        row = int(gone[0]) + 1
        raise InputError(
            f"{where} says which regime a row is of and is empty in row {row}: fill it, or drop such rows"
        )
    counts = Counter(map(_label, cells))
    if len(counts) < 2:
        raise InputError(f"{where} has one value only, so there is one regime: leave regime out")
    if len(counts) > MOST:
        raise InputError(f"{where} has {len(counts)} values, and regimes are at most {MOST}: name one with fewer")
    few = [name for name, count in counts.items() if count < FEWEST_ROWS]
    if few:
        told = f"{where}: fewer than {FEWEST_ROWS} rows are of {listed(few)}"
        raise InputError(f"{told}: leave these rows out, or put regimes together")
    text = pd.Series([_label(value) for value in cells], index=cells.index, dtype=object)
    return Opened(frame.assign(**{regime: text}), source)


def _label(value: Any) -> str:
    """Numbers as they are said: 1, not 1.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def among(
    candidates: Sequence[str] | Mapping[str, Sequence[str]] | str | None, regime: str
) -> Sequence[str] | Mapping[str, Sequence[str]] | None:
    """The candidates with the regime among them; None stands for every column already.

    >>> among(["a"], "campaign"), among({"y": "a"}, "campaign"), among(None, "campaign")
    (['a', 'campaign'], {'y': ['a', 'campaign']}, None)
    """
    if candidates is None:
        return None
    if isinstance(candidates, Mapping):
        return {target: _with(names, regime) for target, names in candidates.items()}
    return _with(candidates, regime)


def _with(names: Sequence[str] | str, regime: str) -> list[str]:
    own = [names] if isinstance(names, str) else list(names)
    return own if regime in own and not is_pattern(regime) else [*own, regime]
