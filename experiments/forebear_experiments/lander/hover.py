"""Some policies learn to hover and never to land: how often, what shows it, and whether twins have to do with it.

A training with the published networks takes hours without a GPU. Networks with a fifth of the units learn the same
task, fail in the same way, and take minutes.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Rows
from forebear_experiments.lander.control import PRUNED, TRUE, judged, landers, sac_settings
from forebear_experiments.lander.waits import TrainingOutcome, waiting_claims

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebear.control.sac import SacSettings

_REGIMES = (TRUE, PRUNED)
TRAININGS = 12
"""of a regime, each with a seed of its own; one twin serves them all"""


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


def _claims(findings: Findings) -> list[Claim]:
    from forebear_experiments.lander.rig import LANDED

    outcomes = {
        regime: [TrainingOutcome.of(row["curve"], LANDED) for row in findings.measured[regime]] for regime in _REGIMES
    }
    return waiting_claims(outcomes, TRUE)


def _figure(findings: Findings) -> Figure:
    from forebear_experiments.lander.figures import waiting_figure
    from forebear_experiments.lander.rig import LANDED

    curves = {regime: [row["curve"] for row in findings.measured[regime]] for regime in _REGIMES}
    counts = {len(own) for own in curves.values()}
    return waiting_figure(curves, f"Lunar Lander, small networks, {max(counts)} trainings each", LANDED)


EXPERIMENTS = {
    "lander-hover": Experiment(
        "Lunar Lander: how often policies hover",
        (),
        _claims,
        runs=1,
        repeats=f"{TRAININGS} trainings per regime, of one twin",
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
