"""What a twin keeps beside its law, once it has learned on: rows to compare with, ranges, inputs to draw at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forebear.kinds import kind_named
from forebear.twin.fresh import LIKELY
from forebear.twin.reference import Reference

if TYPE_CHECKING:
    from forebear.twin.fresh import Fresh, Known
    from forebear.twin.twin import Range, Twin

# Inputs, and rows set aside, that a twin keeps at most.
_MOST_ROWS, _MOST_REFERENCE = 8_192, 2_000


def renewed(twin: Twin, fresh: Fresh, kept: Known, trained: Known, seed: int) -> Twin:
    """The twin with what the new rows bring, and without those old rows at which a law has changed."""
    rng = np.random.default_rng(seed)
    learn = np.flatnonzero(~fresh.judges & ~fresh.gone)
    still = trained.holds.min(axis=1) > LIKELY
    rows = np.concatenate([trained.x[still], fresh.x[learn]])
    made = replace(
        twin,
        rows=rows[rng.permutation(len(rows))[:_MOST_ROWS]],
        ranges=tuple(_wider(twin, place, fresh.x[learn]) for place in range(len(twin.columns))),
        reference=_reference(twin, fresh, kept),
        test_rows=fresh.places[fresh.judges],
        table="",
    )
    return with_latents(made, seed)


def with_latents(twin: Twin, seed: int) -> Twin:
    """The twin with the latents of its rows set aside, which intervals with a guarantee are made of."""
    kept = twin.reference
    if twin.joint or not twin.law_rises or not len(kept):
        return replace(twin, aside=np.zeros((0, len(twin.outputs))))
    return replace(twin, aside=twin.latent(kept.x, kept.y, seed=seed))


def _wider(twin: Twin, place: int, x: np.ndarray) -> Range | None:
    """The range with the new rows in it."""
    known = twin.ranges[place]
    own = x[:, place][~np.isnan(x[:, place])]
    if known is None or not len(own):
        return known
    both = kind_named(twin.columns[place].kind).range(np.concatenate([twin.rows[:, place], own]))
    assert both is not None
    return replace(both, low=min(known.low, both.low), high=max(known.high, both.high))


def _reference(twin: Twin, fresh: Fresh, kept: Known) -> Reference:
    """Rows set aside before, where the laws still hold, and those of the new rows."""
    own = twin.reference
    new = np.flatnonzero(fresh.judges & fresh.new.all(axis=1))
    still = np.flatnonzero(kept.holds.min(axis=1) > LIKELY)
    still = still[max(0, len(still) + len(new) - _MOST_REFERENCE) :]
    other = np.full((len(new), len(own.others)), np.nan)
    for place, column in enumerate(own.others):
        if column.name in fresh.table.other:
            other[:, place] = fresh.table.other[column.name][fresh.places[new]]
    before = own.other[still] if len(own) else np.zeros((0, len(own.others)))
    return replace(
        own,
        x=np.concatenate([kept.x[still], fresh.x[new]]),
        y=np.concatenate([kept.y[still], fresh.y[new]]),
        other=np.concatenate([before, other]),
        groups=_groups(own, still, fresh, new),
    )


def _groups(own: Reference, still: np.ndarray, fresh: Fresh, new: np.ndarray) -> np.ndarray:
    """Of the rows that are kept and of new ones, which belong to no group that was there before."""
    if not len(own.groups):
        return own.groups
    codes = np.arange(len(new))
    if own.column in fresh.table.frame.columns:
        labels = fresh.table.frame[own.column].to_numpy()[fresh.places[new]]
        codes = np.unique(labels.astype(str), return_inverse=True)[1]
    both = np.concatenate([own.groups[still], own.groups.max(initial=-1) + 1 + codes])
    return np.unique(both, return_inverse=True)[1].astype(np.int64)
