"""One look for all figures."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colour-blind safe (Okabe and Ito): blue for what is kept, vermilion for the jump, grey for what is gone.
KEPT, JUMP, GONE, INK = "#0072B2", "#D55E00", "#9A9A9A", "#222222"


def cut(text: str, most: int) -> str:
    r"""A label of at most so many signs, as it stands: a dollar sign would start a formula.

    >>> cut("temperature of the oil", 12), cut("$ per hour", 12)
    ('temperature…', '\\$ per hour')
    """
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.replace("$", r"\$")


def shown_once(figure: Figure) -> Figure:
    """A figure that a method returns, so that a notebook shows it as the value of its cell.

    Where figures are drawn into cells, pyplot would show every one that it still holds once more below.
    """
    if "inline" in matplotlib.get_backend().lower():
        plt.close(figure)
    return figure


def plain(axis: Axes) -> Axes:
    """Two spines and small ticks."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    return axis
