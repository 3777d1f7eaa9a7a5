"""One look for all figures."""

from __future__ import annotations

import textwrap

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colour-blind safe (Okabe and Ito): blue for what is kept, vermilion for the jump, grey for what is gone.
KEPT, JUMP, GONE, INK = "#0072B2", "#D55E00", "#9A9A9A", "#222222"
ACTS = {
    "location": ("#0072B2", "-", "mostly moves it"),
    "scale": ("#E69F00", "--", "mostly widens or narrows it"),
    "shape": ("#00785A", ":", "mostly changes its shape"),
    "dependence": ("#B5508D", "-.", "mostly changes how targets go together"),
}
"""colour, dash and meaning of an edge, by what the input mostly does to the law; as on the page"""


def cut(text: str, most: int) -> str:
    r"""A label of at most so many signs, as it stands: a dollar sign would start a formula.

    >>> cut("temperature of the oil", 12), cut("$ per hour", 12)
    ('temperature…', '\\$ per hour')
    """
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.replace("$", r"\$")


def folded(text: str, width: int) -> str:
    r"""A label in two lines at most, the second one cut.

    >>> folded("outlet temperature of the second heat exchanger [°C]", 26)
    'outlet temperature of the\nsecond heat exchanger [°C]'
    """
    lines = textwrap.wrap(text, width) or [""]
    return "\n".join(cut(line, width) for line in [lines[0], " ".join(lines[1:])] if line)


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


def beside(axis: Axes) -> None:
    """A legend to the right of the axis, where it covers nothing; each name once."""
    handles, names = axis.get_legend_handles_labels()
    shown = dict(zip(names[::-1], handles[::-1], strict=True))
    if shown:
        axis.legend(
            list(shown.values())[::-1],
            list(shown)[::-1],
            fontsize=7,
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.2,
        )
