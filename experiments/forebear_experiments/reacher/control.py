"""The seven-joint arm again: does a learner that sees the discovered inputs alone reach as well as with all?"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Rows, named, tally
from forebear_experiments.reacher.discovery import NEVER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebear.control.ensembles.loop import Progress, Task

FULL, LEAST, MOST, RENEWED = "full", "least sparse", "most sparse", "rediscovered"
PRUNED = {FULL: (), LEAST: NEVER, MOST: (*NEVER, "omega1", "omega2", "omega7"), RENEWED: ()}
"""graph -> the states that its ensemble does not see; the last is renewed on the way"""
RUNS, TRIALS, STEPS = 3, 150, 150
RENEW_EVERY = 50
RENEW_WITH = {
    "targets": [f"d_omega{joint}" for joint in range(1, 8)],
    "candidates": [f"{kind}{joint}" for kind in ("theta", "omega") for joint in range(1, 8)],
    "tested": 2_000,
    "distilled": 600,
}
IDLE = -180.0
"""what doing nothing is paid on average"""
MARGIN = 0.05
"""two graphs match when their returns differ by less than this share of what the full one gains over doing nothing"""
LAST = 30
"""trials that tell how well it acts in the end, whatever the goal"""
PRECISIONS = ("float32", "bfloat16")
SECONDS = "FOREBEAR_SECONDS"
"""variable: after so many seconds the learning ends with the trials that it has made"""
_SAVE_EVERY = 5
_QUICK = {"width": 16, "depth": 2, "candidates": 20, "elites": 4, "iterations": 2, "horizon": 5, "particles": 5}
_QUICK_RENEWAL = {"rule": "nsr-jump", "steps": 50, "distilled": 60, "folds": 1, "targets": ["d_omega1", "d_omega4"]}


def learning(seed: int, quick: bool, place: Path | None = None) -> Rows:
    """All runs together, one row each; at the end an episode more in each precision, which is not learned from."""
    from forebear.control.ensembles.loop import next_trial, save_progress

    started, limit = time.perf_counter(), float(os.environ.get(SECONDS, "inf"))
    task, seen = _task(seed, quick)
    file = None if place is None else place / "progress.safetensors"
    done = _begun(task, seen, file)
    while done.trial < task.trials and time.perf_counter() - started < limit:
        done = next_trial(task, done)
        if file is not None and done.trial % _SAVE_EVERY == 0:
            save_progress(file, done)
    again = {kind: _again(task, done, kind) for kind in PRECISIONS}
    return [_row(task, done, run) | {kind: told[run] for kind, told in again.items()} for run in range(len(seen))]


def _task(seed: int, quick: bool) -> tuple[Task, np.ndarray]:
    """What is to be learned, and what each run sees at first (runs, inputs)."""
    from forebear.control.ensembles.loop import Task
    from forebear.control.ensembles.renew import Names, Renewal, renewed
    from forebear.control.ensembles.settings import PetsSettings
    from forebear_experiments.reacher.rig import ACTION, LIMITS, STATE, Arms, arm_cost

    repeats, trials, steps = (1, 2, 25) if quick else (RUNS, TRIALS, STEPS)
    graphs = [graph for graph in PRUNED for _ in range(repeats)]
    seeds = [seed + repeat for _ in PRUNED for repeat in range(repeats)]
    names = Names(STATE, ACTION)
    renewal = Renewal(1 if quick else RENEW_EVERY, options={**RENEW_WITH, **(_QUICK_RENEWAL if quick else {})})
    renewing = [own if graph == RENEWED else None for graph, own in zip(graphs, seeds, strict=True)]
    settings = PetsSettings.resolve({**(_QUICK if quick else {"precision": "bfloat16"}), "constants": "learned"})
    renew = renewed(renewal, names, renewing)
    task = Task(Arms(), arm_cost, LIMITS, len(STATE), steps, trials, settings, tuple(seeds), renew)
    return task, np.array([[float(name not in PRUNED[graph]) for name in names.inputs] for graph in graphs])


def _begun(task: Task, seen: np.ndarray, file: Path | None) -> Progress:
    from forebear.control.ensembles.loop import first_episode, load_progress

    return load_progress(file, task) if file is not None and file.is_file() else first_episode(task, seen)


def _row(task: Task, done: Progress, run: int) -> dict[str, Any]:
    from forebear_experiments.reacher.rig import STATE

    hidden = [tuple(n for n, shown in zip(STATE, row, strict=False) if not shown) for row in done.shown[run]]
    changes = [trial for trial in range(len(hidden)) if trial == 0 or hidden[trial] != hidden[trial - 1]]
    return {
        "graph": list(PRUNED)[run * len(PRUNED) // len(task.seeds)],
        "seed": task.seeds[run],
        "trials": done.trial,
        "steps": task.steps,
        "all_runs_s": round(done.seconds, 1),
        "returns": [round(float(paid), 3) for paid in done.returns[run]],
        "hidden": {str(trial + 1): list(hidden[trial]) for trial in changes},
    }


def _again(task: Task, done: Progress, kind: str) -> list[dict[str, float]]:
    """One more episode, planned in a precision: the return of each run, and the seconds of a step of all runs."""
    from forebear.control.ensembles.loop import planned_episode

    ensemble = replace(task.settings.ensemble, precision=kind)
    other = replace(task, settings=replace(task.settings, ensemble=ensemble))
    planned_episode(replace(other, steps=1), done)  # compiles
    started = time.perf_counter()
    _, returns = planned_episode(other, done)
    seconds = (time.perf_counter() - started) / task.steps
    return [{"return": round(float(paid), 3), "step_s": seconds} for paid in returns]


def _returns(findings: Findings) -> Mapping[str, np.ndarray]:
    """Graph -> returns (runs, trials)."""
    rows = findings.measured["learning"]
    return {graph: np.array([row["returns"] for row in rows if row["graph"] == graph]) for graph in PRUNED}


def _claims(findings: Findings) -> list[Claim]:
    returns = _returns(findings)
    trials = returns[FULL].shape[1]
    best = {graph: table.max(axis=1) for graph, table in returns.items()}
    claims = [
        Claim("trials of a run", TRIALS, trials, trials >= TRIALS, "" if trials >= TRIALS else _short(findings)),
        Claim(
            f"the full model learns: its best return, mean over seeds, is above doing nothing ({IDLE:g})",
            None,
            round(float(best[FULL].mean()), 1),
            bool(best[FULL].mean() > IDLE),
        ),
    ]
    for graph in (LEAST, MOST, RENEWED):
        published = "matches" if graph != RENEWED else None
        claims.append(_match(f"{graph}: best return", "the full model", best[FULL], best[graph], published))
        claims.append(_recent(graph, returns))
    return [*claims, _renewals(findings), _precisions(findings)]


def _recent(graph: str, returns: Mapping[str, np.ndarray]) -> Claim:
    full, own = (returns[one][:, -LAST:] for one in (FULL, graph))
    what = f"{graph}: mean return of the last {LAST} trials"
    claim = _match(what, "the full model", full.mean(axis=1), own.mean(axis=1), None)
    if claim.holds:
        return claim
    worst, medians = np.sort(own, axis=None)[:3], (np.median(own), np.median(full))
    told = f"the worst of these trials returned {', '.join(f'{paid:.0f}' for paid in worst)}"
    failed = ", ".join(f"{one} {np.sum(table[:, LAST:] < IDLE)}" for one, table in returns.items())
    return claim._replace(
        why=f"{claim.why}; {told}; their median is {medians[0]:.1f} against {medians[1]:.1f}; trials after the first "
        f"{LAST} that were paid less than for doing nothing: {failed}, of {returns[FULL][:, LAST:].size} each"
    )


def _short(findings: Findings) -> str:
    """Why there are fewer trials, and whether they were enough."""
    returns, seconds = _returns(findings), findings.measured["learning"][0]["all_runs_s"]
    ended = f"the learning was ended before, after {seconds:,.0f} s, by its limit on the GPU or as a quick version"
    last = min(LAST, returns[FULL].shape[1] // 2)
    if not last:
        return ended
    gains = [table[:, -last:].mean() - table[:, -2 * last : -last].mean() for table in returns.values()]
    return (
        f"{ended}; from the {last} trials before the last {last} to those, mean returns changed by {min(gains):+.1f} "
        f"to {max(gains):+.1f}"
    )


def _match(what: str, against: str, full: np.ndarray, other: np.ndarray, published: str | None) -> Claim:
    gain, short = full.mean() - IDLE, full.mean() - other.mean()
    told = " against ".join(f"{v.mean():.1f} ({v.min():.1f} to {v.max():.1f})" for v in (other, full))
    holds = bool(gain > 0 and short < MARGIN * gain)
    why = "" if holds else f"it falls short by {short:.1f}, where {MARGIN * max(gain, 0):.1f} would do"
    return Claim(f"{what} matches that of {against}", published, told, holds, why)


def _renewals(findings: Findings) -> Claim:
    rows = [row for row in findings.measured["learning"] if row["graph"] == RENEWED]
    found = [tuple(hidden) for row in rows for trial, hidden in row["hidden"].items() if int(trial) > 1]
    return Claim("inputs that discovery on the way hides", None, tally(found) if found else named(()), True)


def _precisions(findings: Findings) -> Claim:
    rows = findings.measured["learning"]
    full, half = (np.array([row[kind]["return"] for row in rows]) for kind in PRECISIONS)
    return _match("planning in bfloat16: the return of one more episode of all runs", "float32", full, half, None)


def _figure(findings: Findings) -> Figure:
    from forebear_experiments.reacher.figures import learning_curves

    title = f"Seven-joint arm, planning with an ensemble ({RUNS} seeds)"
    return learning_curves({graph: table.tolist() for graph, table in _returns(findings).items()}, title, IDLE)


EXPERIMENTS = {
    "reacher-control": Experiment(
        "Seven-joint arm, controlled",
        (),
        _claims,
        runs=1,
        repeats=f"{RUNS} seeds a graph, the same goals and the same random first episode for every graph",
        measures={"learning": learning},
        resumes=True,
        figure=_figure,
        decided=(
            "the goal's three coordinates stay among the inputs, as in the scripts (24, 20 and 17 inputs), and are "
            "learned like the rest of the state; a plan is paid for the predicted states, goal included; hidden "
            "layers plan in bfloat16 and learn in float32; returns match when they differ by less than "
            f"{MARGIN:.0%} of the gain over doing nothing; the graph '{RENEWED}' begins with all inputs and asks "
            f"`discover` anew after every {RENEW_EVERY} trials, which the publication leaves to the future"
        ),
    )
}
