"""Landing with policies that were trained with the thrust of a twin, on all inputs or on the discovered ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forebear.systems.lander import lander
from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Rows
from forebear_experiments.lander.discovery import PUBLISHED
from forebear_experiments.lander.waits import TrainingOutcome, waiting_claims

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv
    from matplotlib.figure import Figure

    from forebear.control.sac import Act, SacSettings

TRUE, FULL, PRUNED = _REGIMES = ("true environment", "full twin", "pruned twin")
ENVIRONMENTS = 16
TRAININGS = 5
"""of a regime, each with data, twin and policy of its own"""
FIRST_SEED, EPISODES = 6_666, 1_000
LANDINGS = {FULL: 991, PRUNED: 1_000}
"""published, of 1,000"""
JUDGED = range(500_000, 500_010)
"""seeds of the episodes that show how a training goes"""
COMPARABLE = 0.02
"""share of the episodes by which two policies may differ in landings and still be comparable"""
_OWN = [(regime, training, training) for training in range(TRAININGS) for regime in _REGIMES]
_TRIED = range(3)
"""trainings of which every policy's seed is tried in every pruned twin: is it the twin or the seed that fails?"""
_CROSSED = [(PRUNED, twin, policy) for twin in _TRIED for policy in _TRIED if twin != policy]
_MORE = [(TRUE, training, training) for training in range(TRAININGS, len(_OWN) - TRAININGS + len(_CROSSED))]
"""as many trainings in the true environment as in twins: only so can it be told whether twins make them fail"""
_MOST_PROCESSES = 4


def practise(regime: str, training: int, policy: int, seed: int, quick: bool, place: Path | None = None) -> Rows:
    """Train in one regime, and fly the last policy in the true environment.

    The data and the twin are those of a training, and so is the policy's seed, unless `policy` is that of another.
    """
    from forebear.control.sac import check_sac, train_sac

    check_sac()
    from forebear_experiments.lander.rig import fly

    envs, told = landers(regime, seed + training, quick, place)
    settings = sac_settings(quick)
    trained = train_sac(envs, settings, seed=seed + policy, score=judged, place=place)
    returns, lengths = fly(trained.final, range(FIRST_SEED, FIRST_SEED + (10 if quick else EPISODES)))
    told |= {"curve": trained.course.curve, "sac": asdict(settings), "sac_s": trained.course.seconds}
    told |= {"environments": envs.num_envs, **_flown(returns)}
    return [{"regime": regime, **told, "lengths": lengths.tolist()}]


def judged(act: Act) -> np.ndarray:
    """Returns of some true episodes, to show how a training goes."""
    from forebear_experiments.lander.rig import fly

    return fly(act, JUDGED)[0]


def landers(regime: str, seed: int, quick: bool, place: Path | None) -> tuple[VectorEnv, dict[str, Any]]:
    """The landers of a regime; and how the twin was made, if their thrust is that of one."""
    from forebear.control.sac import host
    from forebear_experiments.framework.twin_training import TwinTraining, train_twin
    from forebear_experiments.lander.rig import LanderVectorEnv

    if regime == TRUE:
        return LanderVectorEnv(_count(quick)), {}
    system = lander(20 if quick else 5_000, seed=seed, jobs=1 if quick else min(_MOST_PROCESSES, os.cpu_count() or 1))
    ancestors: Mapping[str, Sequence[str]] = PUBLISHED
    if regime == FULL:
        ancestors = dict.fromkeys(system.targets, system.candidates)
    training = TwinTraining(steps=100, rows=512, lessons=100) if quick else TwinTraining()
    made = train_twin(system.table, ancestors, training, seed=seed, place=place)
    with host():
        envs = LanderVectorEnv(_count(quick), made.twin)
    return envs, {"twin": made.about, "school": asdict(training)}


def _count(quick: bool) -> int:
    return 4 if quick else ENVIRONMENTS


def sac_settings(quick: bool) -> SacSettings:
    """Those of RL Zoo; with several environments there are as many updates after each step of all of them."""
    from forebear.control.sac import SacSettings

    published = SacSettings(
        timesteps=500_000,
        rate=7.3e-4,
        decays=True,
        buffer=1_000_000,
        tau=0.01,
        widths=(400, 300),
        learning_starts=10_000,
        updates=ENVIRONMENTS,
        evaluate_every=25_000,
    )
    small = {"timesteps": 800, "learning_starts": 200, "updates": 4, "evaluate_every": 400, "buffer": 1_000}
    return replace(published, **small) if quick else published


def _flown(returns: np.ndarray) -> dict[str, Any]:
    from forebear_experiments.lander.rig import LANDED

    return {
        "landings": int((returns > LANDED).sum()),
        "mean": float(returns.mean()),
        "std": float(returns.std()),
        "returns": [round(float(one), 2) for one in returns],
    }


def _unit(regime: str, training: int, policy: int) -> str:
    if training != policy:
        return f"{regime} {training + 1}, policy {policy + 1}"
    return regime if training == 0 else f"{regime}, training {training + 1}"


def _rows(findings: Findings, regime: str) -> Rows:
    """Of every training in a regime."""
    return [findings.measured[_unit(regime, training, training)][0] for training in range(TRAININGS)]


class _Flown(NamedTuple):
    landings: list[int]
    """of each training"""
    episodes: int
    """of each policy"""
    mean: float
    """return"""
    peaks: list[float]
    """the best evaluation on the way"""

    @classmethod
    def of(cls, rows: Rows) -> _Flown:
        """What the policies of a regime did."""
        mean = float(np.mean([row["mean"] for row in rows]))
        peaks = [max(one["mean"] for one in row["curve"]) for row in rows]
        return cls([row["landings"] for row in rows], len(rows[0]["returns"]), mean, peaks)

    @property
    def share(self) -> float:
        return sum(self.landings) / (self.episodes * len(self.landings))

    @property
    def failed(self) -> list[int]:
        """Trainings of which no evaluation was a landing on average."""
        from forebear_experiments.lander.rig import LANDED

        return [number for number, peak in enumerate(self.peaks) if peak <= LANDED]

    @property
    def learned(self) -> _Flown:
        """Without those."""
        able = [number for number in range(len(self.peaks)) if number not in self.failed]
        return self._replace(landings=[self.landings[n] for n in able], peaks=[self.peaks[n] for n in able])

    def __str__(self) -> str:
        each = f" ({', '.join(map(str, self.landings))})" if len(self.landings) > 1 else ""
        return f"{sum(self.landings):,}{each} of {self.episodes * len(self.landings):,}"

    def why(self) -> str:
        """What to say when there are too few landings."""
        told = [f"{n + 1} (best evaluation on the way {self.peaks[n]:.0f})" for n in self.failed]
        return f"never learned to land: training {', '.join(told)}" if told else f"mean return {self.mean:.0f}"


def _claims(findings: Findings) -> list[Claim]:
    true, full, pruned = [_Flown.of(_rows(findings, regime)) for regime in _REGIMES]
    more = "at least as many landings with the pruned twin as with the full one"
    like = "comparable with training in the true environment: no fewer landings by more than 2% of the episodes"
    claims = _compared(more, f"{LANDINGS[PRUNED]:,} against {LANDINGS[FULL]:,}", pruned, full, 0.0)
    claims += _compared(like, "comparable", pruned, true, COMPARABLE)
    for regime, own in ((FULL, full), (PRUNED, pruned)):
        least = LANDINGS[regime] / 1_000 - COMPARABLE
        what = f"{regime}: landings within 2% of the published number, or more"
        holds = own.share >= least
        claims.append(Claim(what, f"{LANDINGS[regime]:,} of 1,000", str(own), holds, "" if holds else own.why()))
    return [*claims, _failures(full, pruned), _crossed(findings), *_waits(findings)]


def _compared(what: str, published: str, ours: _Flown, other: _Flown, margin: float) -> list[Claim]:
    """Of all trainings, and of those that learned at all."""
    able = "of trainings that learned to land at all (an evaluation on the way above 200)"
    claims = [_at_least(what, published, ours, other, margin)]
    if ours.learned.landings and other.learned.landings:
        claims.append(_at_least(f"{able}: {what}", None, ours.learned, other.learned, margin))
    return claims


def _at_least(what: str, published: str | None, ours: _Flown, other: _Flown, margin: float) -> Claim:
    holds = ours.share >= other.share - margin
    return Claim(what, published, f"{ours} against {other}", holds, "" if holds else ours.why())


def _failures(full: _Flown, pruned: _Flown) -> Claim:
    """How often a training never learns to land."""
    rates = [f"{name} {len(own.failed)} of {len(own.landings)}" for name, own in ((FULL, full), (PRUNED, pruned))]
    holds = len(pruned.failed) <= len(full.failed)
    what = "no more trainings never learn to land with the pruned twin than with the full one"
    return Claim(what, None, "; ".join(rates), holds, "" if holds else pruned.why())


def _waits(findings: Findings) -> list[Claim]:
    """Of all trainings: whether twins make a policy hover for longer before it lands, or SAC does so anywhere."""
    from forebear_experiments.lander.rig import LANDED

    outcomes: dict[str, list[TrainingOutcome]] = {regime: [] for regime in _REGIMES}
    for [row] in findings.measured.values():
        outcomes[row["regime"]].append(TrainingOutcome.of(row["curve"], LANDED))
    return waiting_claims(outcomes, TRUE)


def _crossed(findings: Findings) -> Claim:
    """Whether it is the twin or the seed of the policy that fails."""
    twins = [_Flown.of([findings.measured[_unit(PRUNED, twin, policy)][0] for policy in _TRIED]) for twin in _TRIED]
    failed = [f"twin {twin + 1} with seed {policy + 1}" for twin in _TRIED for policy in twins[twin].failed]
    count = len(_TRIED) ** 2
    landings = "; ".join(f"twin {twin + 1} {', '.join(map(str, twins[twin].landings))}" for twin in _TRIED)
    return Claim(
        "the seeds of the first three policies learn in each of the first three pruned twins",
        None,
        f"{count - len(failed)} of {count} learn; landings: {landings}",
        not failed,
        f"never learned to land: {', '.join(failed)}" if failed else "",
    )


def _figure(findings: Findings) -> Figure:
    from forebear_experiments.framework.return_figures import returns_figure
    from forebear_experiments.lander.rig import LANDED

    rows = [row for regime in _REGIMES for row in _rows(findings, regime)]
    title = f"Lunar Lander, {TRAININGS} trainings per regime, {len(rows[0]['returns']):,} true episodes each"
    return returns_figure(rows, title, line=("counts as a landing", LANDED))


EXPERIMENTS = {
    "lander-control": Experiment(
        "Lunar Lander: SAC trained with the thrust of twins",
        (),
        _claims,
        runs=1,
        repeats=f"{TRAININGS} trainings per regime, of data, twin and policy; all policies fly the same episodes",
        measures={_unit(*which): partial(practise, *which) for which in (*_OWN, *_CROSSED, *_MORE)},
        resumes=True,
        figure=_figure,
        decided=(
            "SBX's SAC with the published hyper-parameters, the learning rate falling linearly as in the text (the "
            "released scripts keep it constant; SBX keeps that of the entropy coefficient constant); 16 environments "
            "and 16 updates after each step of all of them, so that there is one update per transition as with one "
            "environment; twins are trained 40,000 steps with forebear's own recipe for twins instead of 535,000 at "
            "a rate of 1e-4, and distilled; the pruned twin has the published inputs; the thrust is exactly zero "
            "when no engine fires, and every environment ends after 1,000 steps; the last policy counts, and a "
            "return above 200 is a landing; there were three trainings per regime at first; when one of them had "
            "failed, two more of each were added, and each of the first three seeds in each of the first three "
            "pruned twins; and then, that three of 16 trainings in twins had failed and none of five in the true "
            "environment, eleven more in that one"
        ),
    )
}
