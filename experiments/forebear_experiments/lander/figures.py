"""Figures of trainings that wait: scores on the way, and how many of the training episodes run out of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from forebear_experiments.framework.colours import GONE, INK, JUMP, KEPT


def waiting_figure(curves: Mapping[str, Sequence[Sequence[Mapping[str, float]]]], title: str, level: float) -> Figure:
    """A column of panels for each regime, one line per training; those that never score above a level stand out.

    Arguments:
        curves: regime -> of each training, its evaluations (see `forebear.control.sac.Course`).
    """
    drawn = Figure(figsize=(11, 5.4), layout="constrained")
    panels = drawn.subplots(2, len(curves), sharex=True, sharey="row", squeeze=False)
    for (above, below), (regime, trainings) in zip(panels.T, curves.items(), strict=True):
        able = [max(one["mean"] for one in curve) > level for curve in trainings]
        for curve, learned in zip(trainings, able, strict=True):
            style = {"color": KEPT if learned else JUMP, "linewidth": 1.2 if learned else 2, "zorder": 3 - learned}
            above.plot([one["timesteps"] / 1_000 for one in curve], [one["mean"] for one in curve], **style)
            told = [(one["timesteps"] / 1_000, 100 * one["cut_off"]) for one in curve if one["episodes"]]
            below.plot([steps for steps, _ in told], [share for _, share in told], **style)
        above.axhline(level, color=GONE, linewidth=1, linestyle=":")
        above.set_title(f"{regime}: {len(able) - sum(able)} of {len(able)} never above {level:g}", fontsize=10)
        below.set_xlabel("thousand transitions")
    panels[0, 0].set_ylabel("mean return of an evaluation")
    panels[1, 0].set_ylabel("training episodes\nout of time, %")
    drawn.suptitle(title, fontsize=12, color=INK, x=0.01, ha="left")
    return drawn
