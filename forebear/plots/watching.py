"""Latents of new rows over the number of the row, with the rows of a change marked."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forebear.plots.style import GONE, INK, JUMP, KEPT, cut, plain

_MOST_TARGETS, _MOST_DOTS, _REACH = 12, 5_000, 5.0


class Track(NamedTuple):
    """The latents of one target, and when its law changed, if it did."""

    target: str
    rows: np.ndarray
    latents: np.ndarray
    since: int | None
    interval: tuple[int, int] | None
    until: int | None


def watched_figure(tracks: Sequence[Track]) -> Figure:
    """A panel for each target."""
    shown = list(tracks)[:_MOST_TARGETS]
    size = (9, 2.2 * len(shown) + 0.4)
    figure, axes = plt.subplots(len(shown), 1, figsize=size, layout="constrained", squeeze=False, sharex=True)
    for track, axis in zip(shown, axes[:, 0], strict=True):
        track_figure(track, axis)
    axes[-1, 0].set_xlabel("row", fontsize=9)
    return figure


def track_figure(track: Track, ax: Axes | None = None) -> Axes:
    """Dots, their median and middle 80% along the rows, and the stretch of the change."""
    axis = ax if ax is not None else plt.subplots(figsize=(9, 2.6), layout="constrained")[1]
    every = max(1, len(track.rows) // _MOST_DOTS)
    z = np.clip(track.latents, -_REACH, _REACH)
    axis.plot(track.rows[::every], z[::every], ".", ms=2.5, color=GONE, alpha=0.6, rasterized=True)
    _bands(track.rows, z, axis)
    if track.since is not None:
        last = track.until if track.until is not None else int(track.rows[-1])
        axis.axvspan(track.since, last, color=JUMP, alpha=0.12, lw=0)
        for row in track.interval or ():
            axis.axvline(row, color=JUMP, lw=0.8, ls=":")
        axis.axvline(track.since, color=JUMP, lw=1.2)
    axis.set_ylim(-_REACH, _REACH)
    axis.set_title(cut(track.target, 60), fontsize=10, loc="left", color=INK)
    axis.set_ylabel("latent", fontsize=9)
    return plain(axis)


def _bands(rows: np.ndarray, z: np.ndarray, axis: Axes) -> None:
    parts = int(np.clip(len(rows) // 30, 1, 40))
    places = np.array_split(np.arange(len(rows)), parts)
    middle = [rows[own].mean() for own in places if len(own)]
    low, median, high = np.array([np.quantile(z[own], [0.1, 0.5, 0.9]) for own in places if len(own)]).T
    axis.fill_between(middle, low, high, color=KEPT, alpha=0.15, lw=0)
    axis.plot(middle, median, color=KEPT, lw=1.4)


def svg_of(figure: Figure, stream: BytesIO) -> None:
    """As SVG, and the figure is let go."""
    try:
        figure.savefig(stream, format="svg", dpi=110, metadata={"Date": None})
    finally:
        plt.close(figure)
