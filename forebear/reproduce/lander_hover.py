"""Some policies learn to hover and never to land: how often, what shows it, and whether twins have to do with it.

A training with the published networks takes hours without a GPU. Networks with a fifth of the units learn the same
task, fail in the same way, and take minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forebear.reproduce.experiment import Claim, Evidence, Experiment, Rows
from forebear.reproduce.lander_control import PRUNED, TRUE, judged, landers, no_difference, sac_settings
from forebear.reproduce.waits import Wait

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebear.control.sac import SacSettings

_REGIMES = (TRUE, PRUNED)
TRAININGS = 12
"""of a regime, each with a seed of its own; one twin serves them all"""
_MOST = 0.5
"""share of the episodes that is most of them"""


def practise(regime: str, seed: int, quick: bool, place: Path | None = None) -> Rows:
    """Train in one regime with one seed after the other."""
    from forebear.control.sac import check_sac, train_sac

    check_sac()
    envs, told = landers(regime, seed, quick, place)
    settings = hover_settings(quick)
    told |= {"regime": regime, "sac": asdict(settings), "environments": envs.num_envs}
    rows = []
    for training in range(2 if quick else TRAININGS):
        own = None if place is None else place / f"training{training + 1}"
        if own is not None:
            own.mkdir(parents=True, exist_ok=True)
        course = train_sac(envs, settings, seed=seed + training, score=judged, place=own).course
        rows.append({**told, "training": training + 1, "curve": course.curve, "sac_s": course.seconds})
    return rows


def hover_settings(quick: bool) -> SacSettings:
    """Those of `lander-control`, but for smaller networks and fewer steps."""
    small = replace(sac_settings(quick), widths=(64, 64))
    return small if quick else replace(small, timesteps=200_000, evaluate_every=20_000)


class _Outcome(NamedTuple):
    wait: Wait
    cut_off: float
    """share of the last training episodes that the limit of time ended"""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Outcome:
        """What became of one training."""
        from forebear.control.lander import LANDED

        shares = [one["cut_off"] for one in row["curve"] if one["episodes"]]
        return cls(Wait.of(row["curve"], LANDED), shares[-1] if shares else 0.0)


def _claims(evidence: Evidence) -> list[Claim]:
    outcomes = {regime: [_Outcome.of(row) for row in evidence.measured[regime]] for regime in _REGIMES}
    waits = {regime: [one.wait for one in own] for regime, own in outcomes.items()}
    never = {regime: sum(not wait.over for wait in own) for regime, own in waits.items()}
    rates = "; ".join(f"{regime} {count} of {len(waits[regime])}" for regime, count in never.items())
    return [
        Claim(
            "trainings that never land are found in the true environment too",
            None,
            f"without an evaluation above 200: {rates}",
            never[TRUE] > 0,
            "" if never[TRUE] else "all of them landed",
        ),
        no_difference(waits),
        _hovering([one for own in outcomes.values() for one in own]),
    ]


def _hovering(outcomes: list[_Outcome]) -> Claim:
    """Whether those that never land are those that wait."""
    late = [one.cut_off for one in outcomes if not one.wait.over]
    able = [one.cut_off for one in outcomes if one.wait.over]
    holds = all(share > _MOST for share in late)
    told = [f"{name} {_span(shares)}" for name, shares in (("never landed", late), ("landed", able)) if shares]
    return Claim(
        "those that never land hover: the limit of time ends more than half of their last training episodes",
        None,
        f"share of episodes cut off: {'; '.join(told)}",
        holds,
        "" if holds else "some of them crash, or rest where it does not count",
    )


def _span(shares: list[float]) -> str:
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f}%"


def _figure(evidence: Evidence) -> Figure:
    from forebear.control.lander import LANDED
    from forebear.report.waiting import waiting_figure

    curves = {regime: [row["curve"] for row in evidence.measured[regime]] for regime in _REGIMES}
    counts = {len(own) for own in curves.values()}
    return waiting_figure(curves, f"Lunar Lander, small networks, {max(counts)} trainings each", LANDED)


EXPERIMENTS = {
    "lander-hover": Experiment(
        "Lunar Lander: how often policies hover",
        (),
        _claims,
        runs=1,
        repeats=f"{TRAININGS} trainings a regime, of one twin",
        measures={regime: partial(practise, regime) for regime in _REGIMES},
        resumes=True,
        figure=_figure,
        decided=(
            "not in the publication; SAC as in lander-control, but with networks of 64 and 64 units instead of 400 "
            "and 300, and 200,000 steps instead of 500,000, over which the learning rate falls to zero: so a "
            "training takes minutes on a CPU; what is claimed was written down when six trainings in the true "
            "environment had been seen, two of which hovered, and none in the twin; that less than half of the "
            "episodes of those that land are cut off was claimed too, and taken back for one that had landed and "
            "came to hover again"
        ),
    )
}
