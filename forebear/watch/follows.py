"""With which inputs a change goes: named one after the other, each with evidence beyond the plain change.

What is a plain change depends on the scale. A target that reads two degrees too high everywhere has latents that
moved most where the law is narrow; latents that moved alike everywhere have targets that moved most where it is wide.
An input is named only if the change goes with it on both scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.watch.contrast import NewRows, input_contrasts
from forebear.watch.features import ORDER_SHARES, InputFeatures, all_scores
from forebear.watch.misfit import Misfit

# An input is named at this level over all of them, and if it explains this share of what the first one does.
_LEVEL, _SHARE, _MOST = 0.01, 0.1, 4


class Followed(NamedTuple):
    """An input that a change follows."""

    name: str
    p_value: float
    order: int
    """of the latent's features, the one that shows it most: 0 location, 1 spread, more shape"""


class _Look(NamedTuple):
    """What each input explains on one scale, beyond those that are named."""

    explained: np.ndarray
    p_value: np.ndarray
    order: np.ndarray


def follows(
    scales: Sequence[Float[np.ndarray, " rows *draws"]],
    misfit: Misfit,
    inputs: Sequence[InputFeatures],
    design: Float[np.ndarray, "rows features"],
    rows: np.ndarray,
    margin: float,
    groups: np.ndarray | None,
) -> list[Followed]:
    """Names in the order of what they explain, from latents of the changed rows on each scale."""
    if not inputs or len(rows) < 20:
        return []
    # That something changed is certain by now: what the twin may be wrong by no longer stands in the way of a name.
    misfit = replace(misfit, doubt=np.zeros_like(misfit.doubt))
    owner = np.repeat(np.arange(len(inputs)), [one.new.shape[1] for one in inputs])
    shares = np.concatenate([one.shares for one in inputs])
    features = np.column_stack([one.new[rows] for one in inputs])
    named: list[Followed] = []
    taken: list[int] = []
    first = 0.0
    while len(named) < min(_MOST, len(inputs)):
        looks = [_look(z, misfit, features, design, owner, shares, taken, margin, groups) for z in scales]
        explained = np.min([one.explained for one in looks], axis=0)
        p_value = np.max([one.p_value for one in looks], axis=0)
        explained[p_value * (len(inputs) - len(taken)) > _LEVEL] = 0.0
        explained[taken] = 0.0
        best = int(np.argmax(explained))
        if explained[best] <= _SHARE * first or explained[best] <= 0:
            break
        first = first or float(explained[best])
        taken.append(best)
        named.append(Followed(inputs[best].name, float(p_value[best]), int(looks[0].order[best])))
    return named


def _look(
    z: np.ndarray,
    misfit: Misfit,
    features: np.ndarray,
    design: np.ndarray,
    owner: np.ndarray,
    shares: np.ndarray,
    taken: Sequence[int],
    margin: float,
    groups: np.ndarray | None,
) -> _Look:
    told = all_scores(z)
    if taken:
        known = features[:, np.isin(owner, taken)]
        known = np.column_stack([np.ones(len(z)), known, known[:, :1] ** 2 * known])
        left = told - design @ misfit.weights
        left, features = (own - known @ np.linalg.lstsq(known, own, rcond=None)[0] for own in (left, features))
        told = left + design @ misfit.weights
    new = NewRows.of(told, design, features, misfit, groups)
    seen = input_contrasts(new, misfit, slice(0, len(z)), margin)
    clear = (seen.mean**2 - seen.error**2).clip(0)
    count = int(owner.max()) + 1
    explained, p_value, order = np.zeros(count), np.ones(count), np.zeros(count, int)
    spent = seen.p_value / (ORDER_SHARES[:, None] * shares)
    for place in range(count):
        own = owner == place
        explained[place] = clear[:, own].sum()
        p_value[place] = min(1.0, float(spent[:, own].min()))
        order[place] = int(np.argmax(clear[:, own].sum(axis=1)))
    return _Look(explained, p_value, order)
