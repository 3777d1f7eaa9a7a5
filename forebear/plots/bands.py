"""A quantity over rows, with the band in which it lies."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from forebear.plots.style import INK, KEPT, folded, plain


def band_figure(
    name: str, rows: np.ndarray, middle: np.ndarray, low: np.ndarray, high: np.ndarray, ax: Axes | None = None
) -> Axes:
    """A line, and the band around it."""
    axis = plt.subplots(figsize=(6.4, 3.0), layout="constrained")[1] if ax is None else ax
    axis.fill_between(rows, low, high, color=KEPT, alpha=0.25, lw=0)
    axis.plot(rows, middle, color=KEPT, lw=1.4)
    axis.set_xlabel("row", fontsize=9, color=INK)
    axis.set_ylabel(folded(name, 26), fontsize=9, color=INK)
    return plain(axis)
