"""The seven-joint arm once more: must the ensemble learn that its goal stays where it is?

As published it learns every state, and plans are judged by the goal it predicts. A small ensemble and a weak search
show in minutes on a CPU what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Rows
from forebear_experiments.reacher.control import IDLE, MARGIN, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEARNED, KEPT = "learned", "kept"
"""the goal; see `constants` of `EnsembleSettings`"""
RUNS, TRIALS = 8, 20
FEW = 5
"""trials that are the first, or the last"""
SMALL = {
    "width": 48,
    "depth": 2,
    "epochs": 20,
    "candidates": 60,
    "elites": 8,
    "iterations": 3,
    "horizon": 8,
    "particles": 5,
}


def learning(goal: str, seed: int, quick: bool) -> Rows:
    """All runs together, one row each; the same random first episode and the same goals whatever is learned."""
    from forebear.control.ensembles.loop import Task, first_episode, next_trial
    from forebear.control.ensembles.settings import PetsSettings
    from forebear_experiments.reacher.rig import LIMITS, STATE, Arms, arm_cost

    runs, trials, steps = (2, 2, 25) if quick else (RUNS, TRIALS, STEPS)
    settings = PetsSettings.resolve({**SMALL, "constants": goal})
    seeds = tuple(range(seed, seed + runs))
    task = Task(Arms(), arm_cost, LIMITS, len(STATE), steps, trials, settings, seeds)
    done = first_episode(task, np.ones((runs, len(STATE) + len(LIMITS[0]))))
    for _ in range(trials):
        done = next_trial(task, done)
    told = {"goal": goal, "steps": steps, "all_runs_s": round(done.seconds, 1)}
    return [
        {**told, "seed": own, "returns": [round(float(paid), 3) for paid in paid_of]}
        for own, paid_of in zip(seeds, done.returns, strict=True)
    ]


def _returns(findings: Findings) -> Mapping[str, np.ndarray]:
    """Goal -> returns (runs, trials)."""
    return {goal: np.array([row["returns"] for row in findings.measured[goal]]) for goal in (KEPT, LEARNED)}


def _claims(findings: Findings) -> list[Claim]:
    returns = _returns(findings)
    kept, learned = returns[KEPT], returns[LEARNED]
    first = kept[:, :FEW].mean(axis=1), learned[:, :FEW].mean(axis=1)
    sooner = int(np.sum(first[0] > first[1]))
    failed = {goal: int(np.sum(table < IDLE)) for goal, table in returns.items()}
    last = kept[:, -FEW:].mean(), learned[:, -FEW:].mean()
    allowed = MARGIN * (last[1] - IDLE)
    return [
        _claim(
            f"with the goal kept the first {FEW} trials are paid more, for every seed",
            f"{_span(first[0])} against {_span(first[1])}; for {sooner} of {len(kept)} seeds",
            sooner == len(kept),
            "not for all seeds",
        ),
        _claim(
            f"with the goal kept fewer trials are paid less than for doing nothing ({IDLE:g})",
            "; ".join(f"{goal} {count} of {returns[goal].size}" for goal, count in failed.items()),
            failed[KEPT] < failed[LEARNED],
            "no fewer",
        ),
        _claim(
            f"in the last {FEW} trials it is paid no less, but for {MARGIN:.0%} of the gain over doing nothing",
            f"{last[0]:.1f} against {last[1]:.1f}",
            bool(last[0] > last[1] - allowed),
            f"it falls short by {last[1] - last[0]:.1f}, where {allowed:.1f} would do",
        ),
    ]


def _claim(what: str, measured: Any, holds: bool, why: str) -> Claim:
    return Claim(what, None, measured, holds, "" if holds else why)


def _span(means: np.ndarray) -> str:
    return f"{means.mean():.1f} ({means.min():.1f} to {means.max():.1f})"


def _figure(findings: Findings) -> Figure:
    from forebear_experiments.reacher.figures import learning_curves

    returns = {f"goal {goal}": table.tolist() for goal, table in _returns(findings).items()}
    return learning_curves(returns, f"Seven-joint arm, small ensemble ({RUNS} seeds)", IDLE)


EXPERIMENTS = {
    "reacher-goal": Experiment(
        "Seven-joint arm: is the goal learned or kept?",
        (),
        _claims,
        runs=1,
        repeats=f"{RUNS} seeds, the same goals and the same random first episode for both",
        measures={goal: partial(learning, goal) for goal in (LEARNED, KEPT)},
        figure=_figure,
        decided=(
            f"not in the publication; the ensemble has {SMALL['depth']} layers of {SMALL['width']} units and the "
            f"search {SMALL['candidates']} candidates, {SMALL['iterations']} iterations and a horizon of "
            f"{SMALL['horizon']} steps, so that it takes minutes on a CPU; what is claimed was written down when two "
            "seeds had been seen, in six shorter trials each"
        ),
    )
}
