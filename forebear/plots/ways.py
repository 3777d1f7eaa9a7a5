"""Trajectories of one state that cross a limit, and the likeliest among them."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from forebear.plots.style import GONE, INK, JUMP, KEPT, beside, cut, plain

_MOST = 60


def ways_figure(
    name: str, crossing: np.ndarray, likeliest: np.ndarray, ends: Sequence[float], ax: Axes | None = None
) -> Axes:
    """Lines over the steps (trajectories, steps + 1), and where the limits are."""
    axis = plt.subplots(figsize=(7.4, 3.2), layout="constrained")[1] if ax is None else ax
    for path in crossing[:_MOST]:
        axis.plot(path, color=GONE, lw=0.6, alpha=0.5, label="crossing")
    for number, path in enumerate(likeliest):
        first = number == 0
        axis.plot(
            path,
            color=KEPT,
            lw=2.0 if first else 1.0,
            ls="-" if first else "--",
            label="likeliest" if first else "other ways",
        )
    for end in ends:
        axis.axhline(end, color=JUMP, lw=1.2, label="limit")
    axis.set_xlabel("step", fontsize=9, color=INK)
    axis.set_ylabel(cut(name, 40), fontsize=9, color=INK)
    beside(axis)
    return plain(axis)
