"""Model predictive control of the heated rod, with its true dynamics and with twins of both ends, full and pruned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebear.control.model import Step
    from forebear.systems import System
    from forebear_experiments.heat.rig import LearnedStep

NONE, LINEAR, KNOWN = "no control", "clipped linear control", "known dynamics"
PRUNED, FULL = "pruned twin", "full twin"
CLOSE = 0.05
"""by how much a mean cost may exceed another and still be close"""


@dataclass(frozen=True)
class _Size:
    """How much of it is done."""

    trials: int = 50
    steps: int = 100
    horizon: int = 20
    scenarios: int = 64
    trajectories: int = 10
    teacher_steps: int = 10_000
    student_steps: int = 20_000


_QUICK = _Size(3, 4, 5, 8, 5, 200, 200)
_PUBLISHED = {"batch": 1_000, "rate": 1e-4, "schedule": "constant", "averaging": 0.0, "held_out": 0}
"""how the published flows are trained"""


def _size(quick: bool) -> _Size:
    return _QUICK if quick else _Size()


def _starts(seed: int, size: _Size) -> np.ndarray:
    from forebear.systems.heat import NODES

    return np.random.default_rng(seed).standard_normal((size.trials, NODES))


def _known(seed: int, quick: bool) -> Rows:
    """The bounds of what can be hoped for: nothing done, linear control, and plans made with the true dynamics."""
    import jax.numpy as jnp

    from forebear_experiments.heat.rig import follow, linear_control, true_step

    size = _size(quick)
    starts, gain = _starts(seed, size), linear_control().gain
    still = follow(lambda state: jnp.zeros(len(gain)), starts, size.steps, seed)
    linear = follow(lambda state: -gain @ state, starts, size.steps, seed)
    rows = [_row(name, costs) for name, costs in ((NONE, still), (LINEAR, linear))]
    return [*rows, _controlled(KNOWN, true_step, seed, size)]


def _twins(seed: int, quick: bool) -> Rows:
    """Plans made with learned ends, pruned and full in one unit, so that their times can be compared."""
    size = _size(quick)
    rows = []
    for name, full in ((PRUNED, False), (FULL, True)):
        started = time.perf_counter()
        step, errors = _learned(full, seed, size)
        told = {"learning_s": time.perf_counter() - started, "map_errors": errors}
        rows.append(_controlled(name, step, seed, size) | told)
    return rows


def _learned(full: bool, seed: int, size: _Size) -> tuple[Step, list[float]]:
    """The rod with the published flows of its ends, in their students, and how far the map of each is from the exact
    one."""
    from forebear.data.table import read_columns
    from forebear.systems import heat
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings
    from forebear_experiments.heat.rig import LearnedStep
    from forebear_experiments.heat.student import StudentSettings, teach

    data = heat(trajectories=size.trajectories, seed=seed)
    inputs = {target: data.candidates if full else data.ancestors[target] for target in data.targets}
    used = dict.fromkeys(name for names in inputs.values() for name in names)
    settings = TwinSettings.resolve(_PUBLISHED | {"steps": size.teacher_steps})
    table = read_columns(data.table, "the table", [*used, *data.targets])
    twin = fit_twin(table, inputs, joint=False, settings=settings, seed=seed)
    step = LearnedStep.of(twin, teach(twin, StudentSettings(steps=size.student_steps), seed))
    return step, _map_errors(step, heat(trajectories=size.trajectories, seed=seed + 1))


def _map_errors(step: LearnedStep, fresh: System, rows: int = 2_000) -> list[float]:
    """Root mean square of the learned against the exact quantile maps on fresh data, in deviations of the targets."""
    import jax
    import jax.numpy as jnp
    from scipy.special import ndtr

    from forebear.systems.heat import CONTROLS, STATES

    some = fresh.table.sample(min(rows, len(fresh.table)), random_state=0)
    z = np.random.default_rng(0).standard_normal((len(some), len(fresh.targets)))
    state, action = (jnp.asarray(some[list(names)].to_numpy(np.float32)) for names in (STATES, CONTROLS))
    learned = jax.jit(jax.vmap(step.draw))(jax.vmap(step.condition)(state, action), jnp.asarray(z, jnp.float32))
    exact = np.stack([fresh.quantiles[t](some, ndtr(z[:, i])) for i, t in enumerate(fresh.targets)], axis=1)
    apart = np.sqrt(np.mean((np.asarray(learned) - exact) ** 2, axis=0))
    return (apart / some[list(fresh.targets)].to_numpy().std(axis=0)).tolist()


def _controlled(name: str, step: Step, seed: int, size: _Size) -> dict[str, Any]:
    """All trials at once, on the true rod; timed when compiled."""
    from forebear.control import mpc
    from forebear.systems.heat import NODES
    from forebear_experiments.heat.rig import BOUNDS, cost, final_cost, true_step

    controller = mpc(
        *(step, cost, BOUNDS),
        noise=NODES,
        terminal=final_cost,
        horizon=size.horizon,
        scenarios=size.scenarios,
    )
    starts = _starts(seed, size)
    act = partial(controller.simulate, steps=size.steps, world=true_step, noise=NODES, seed=seed)
    # A rod at rest needs hardly a plan: this compiles, and takes little else.
    act(np.zeros_like(starts))
    started = time.perf_counter()
    told = act(starts)
    seconds = time.perf_counter() - started
    return _row(name, told.costs) | {
        "seconds_per_simulation": seconds / size.trials,
        "evaluations": float(told.evaluations.mean()),
        "evaluations_of_the_slowest": float(told.evaluations.max(axis=1).mean()),
        "seconds_per_evaluation": seconds / float(told.evaluations.max(axis=1).sum()),
        "saturated": float(np.mean(np.abs(told.actions) >= BOUNDS[0][1])),
    }


def _row(name: str, costs: np.ndarray) -> dict[str, Any]:
    total = costs.sum(axis=0)
    return {
        "controller": name,
        "mean": float(total.mean()),
        "deviation": float(total.std()),
        "cost": total.tolist(),
        "cost_by_step": costs.mean(axis=1).tolist(),
    }


def _by_name(findings: Findings) -> dict[str, dict[str, Any]]:
    return {row["controller"]: row for rows in findings.measured.values() for row in rows}


def _claims(findings: Findings) -> list[Claim]:
    rows = _by_name(findings)
    return [
        _acts(rows[KNOWN], rows[NONE]),
        _close(rows[PRUNED], rows[KNOWN]),
        _not_better(rows[FULL], rows[PRUNED]),
        _faster(rows[PRUNED], rows[FULL]),
    ]


def _acts(known: dict[str, Any], none: dict[str, Any]) -> Claim:
    measured = f"{known['mean']:.1f} ± {known['deviation']:.1f} against {none['mean']:.0f} ± {none['deviation']:.0f}"
    return Claim(
        "known dynamics: a cost far below that of no control", None, measured, known["mean"] < none["mean"] / 2
    )


def _paired(one: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """Mean difference of the costs of the same trials, and its standard error."""
    apart = np.array(one["cost"]) - np.array(other["cost"])
    return float(apart.mean()), float(apart.std() / np.sqrt(len(apart)))


def _told(one: dict[str, Any], other: dict[str, Any]) -> str:
    mean, error = _paired(one, other)
    return f"{one['mean']:.2f} against {other['mean']:.2f}; by trial {mean:+.2f} ± {error:.2f}"


def _close(pruned: dict[str, Any], known: dict[str, Any]) -> Claim:
    holds = pruned["mean"] <= (1 + CLOSE) * known["mean"]
    why = (
        f"its mean cost is {100 * (pruned['mean'] / known['mean'] - 1):.0f}% higher, where {100 * CLOSE:.0f}% counts"
    )
    claim = "pruned twin: cost close to that with known dynamics"
    return Claim(claim, "close", _told(pruned, known), holds, "" if holds else why)


def _not_better(full: dict[str, Any], pruned: dict[str, Any]) -> Claim:
    mean, error = _paired(full, pruned)
    holds = mean >= -error
    why = "" if holds else "in these trials its cost is lower"
    return Claim("full twin: no better than the pruned one", "slightly higher", _told(full, pruned), holds, why)


def _faster(pruned: dict[str, Any], full: dict[str, Any]) -> Claim:
    ours, theirs = pruned["seconds_per_simulation"], full["seconds_per_simulation"]
    trips = [row["evaluations_of_the_slowest"] for row in (pruned, full)]
    measured = f"{ours:.3f} s against {theirs:.3f} s; evaluations a plan {trips[0]:.0f} against {trips[1]:.0f}"
    why = "inputs are a small part of the network's work; how many evaluations a plan takes decides"
    claim = "pruned twin: less time per simulation than the full one"
    return Claim(claim, "24.7 s against 31.0 s", measured, ours < theirs, "" if ours < theirs else why)


def _figure(findings: Findings) -> Figure:
    from forebear_experiments.heat.figures import cost_figure

    return cost_figure(list(_by_name(findings).values()), "Heat equation under model predictive control")


EXPERIMENTS = {
    "heat-control": Experiment(
        "Control of the stochastic heat equation",
        (),
        _claims,
        runs=1,
        repeats="50 trials, each with the same start and the same noise of the rod for every controller",
        measures={
            "known": _known,
            "published twins": _twins,
        },
        figure=_figure,
        decided=(
            "teachers are trained for 10,000 steps on 2,000 rows, as in the scripts, with 16 Runge-Kutta steps in "
            "place of an adaptive solver; the pruned twins have the published inputs, which the certified rule finds "
            "in every run of `heat`; what is left of a plan is clipped to the bounds before the next search begins "
            "with it, because an action far outside them has no gradient and stays there; a plan ends at a gradient "
            "of norm 1e-3, as in the scripts; seconds per simulation are those of all 50 trials at once, over 50; "
            "close means a mean cost at most 5% higher"
        ),
    )
}
