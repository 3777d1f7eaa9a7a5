"""What a law that has learned on still leaves: columns that its latents go with on the rows that it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from forebear.data.scaling import ColumnCode
from forebear.watch.features import ORDER_SHARES, Input, features_of
from forebear.watch.follows import follows
from forebear.watch.misfit import no_misfit

if TYPE_CHECKING:
    from forebear.twin.fresh import Fresh
    from forebear.twin.twin import Twin

# Rows below which nothing is asked, and how much a column must tell, in deviations of a latent.
FEWEST, MARGIN = 100, 0.1


def left_over(twin: Twin, fresh: Fresh, targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns beside the inputs of each law that the latents of its new rows go with.

    Without such a column latents are standard normal whatever it says. What the law still has wrong along its own
    inputs is named first, and taken out.
    """
    found: dict[str, tuple[str, ...]] = {target: () for target in targets}
    if not twin.law_rises:
        return found
    z = twin.latent(fresh.x, fresh.y, seed=0)
    columns = [(c, fresh.x[:, place]) for place, c in enumerate(twin.columns)]
    columns += [
        (c, fresh.table.other[c.name][fresh.places]) for c in twin.reference.others if c.name in fresh.table.other
    ]
    for target in targets:
        place = twin.targets.index(target)
        rows = np.flatnonzero(fresh.new[:, place] & ~fresh.gone & np.isfinite(z[:, place]))
        if len(rows) < FEWEST:
            continue
        inputs = [features_of(_input(code, cells[rows])) for code, cells in columns]
        inputs = [one for one in inputs if one.known.shape[1]]
        every = np.arange(len(rows))
        misfit = no_misfit(1, len(ORDER_SHARES))
        named = follows([z[rows, place]], misfit, inputs, np.ones((len(rows), 1)), every, MARGIN, None)
        found[target] = tuple(one.name for one in named if one.name not in twin.ancestors[target])
    return found


def _input(code: ColumnCode, cells: np.ndarray) -> Input:
    return Input(code.name, cells, cells, code.period, len(code.levels))
