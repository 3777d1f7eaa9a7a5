"""The arm that learns to reach: the same code path as the experiment, in little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("mujoco")

from forebear.control.ensembles.loop import Task, first_episode, next_trial
from forebear.control.ensembles.settings import PetsSettings
from forebear_experiments import find_experiment
from forebear_experiments.framework.experiment import Findings
from forebear_experiments.reacher import control
from forebear_experiments.reacher.rig import LIMITS, STATE, Arms, arm_cost


def test_arms_pay_minus_the_cost() -> None:
    arms, rng = Arms(), np.random.default_rng(0)
    before = arms.reset([np.random.default_rng(run) for run in range(3)])
    actions = rng.uniform(-20, 20, (3, 7))
    shown = arms.step(actions)
    paid = [float(arm_cost(b, a, n)) for b, a, n in zip(before, actions, shown.states, strict=True)]
    np.testing.assert_allclose(shown.rewards, -np.array(paid), rtol=1e-6)
    inside = arm_cost(*(jnp.asarray(part[0], jnp.float32) for part in (before, actions, shown.states)))
    assert float(inside) == pytest.approx(paid[0], rel=1e-5)


def test_each_graph_hides_what_its_name_says() -> None:
    task, seen = control._task(0, quick=False)
    assert seen.shape == (12, 24) and task.seeds == (0, 1, 2) * 4
    assert seen.sum(axis=1).tolist() == [24.0] * 3 + [20.0] * 3 + [17.0] * 3 + [24.0] * 3
    # Goal and torques are always seen.
    assert seen[:, 7:10].all() and seen[:, 17:].all()
    hidden = [name for name, shown in zip(STATE, seen[8], strict=False) if not shown]
    assert hidden == ["theta1", "theta2", "theta5", "theta7", "omega1", "omega2", "omega7"]


def test_the_arm_learns_more_than_chance() -> None:
    """A small ensemble and a weak search, for the full graph and the most sparse one."""
    small = {"width": 48, "depth": 2, "epochs": 20, "candidates": 60, "elites": 8, "iterations": 3}
    settings = PetsSettings.resolve({**small, "horizon": 8, "particles": 5})
    seen = np.ones((2, 24))
    seen[1, [0, 1, 4, 6, 10, 11, 16]] = 0
    task = Task(Arms(), arm_cost, LIMITS, len(STATE), 60, 3, settings, (0, 0))
    done = first_episode(task, seen)
    # The same seed, the same random torques and goals, whatever is seen.
    assert np.array_equal(done.x[0], done.x[1])
    chance = -sum(float(arm_cost(None, row[17:], row[:17] + d)) for row, d in zip(*done.data(0), strict=True))
    for _ in range(3):
        done = next_trial(task, done)
    assert chance < -400 and (done.returns > 0.3 * chance).all()


@pytest.mark.slow
def test_learning_stops_at_its_limit_and_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(control, "_SAVE_EVERY", 1)
    whole = control.learning(0, True, tmp_path / "whole")
    monkeypatch.setenv(control.SECONDS, "0")
    none = control.learning(0, True, tmp_path / "cut")
    assert [row["trials"] for row in none] == [0] * 4 and [row["trials"] for row in whole] == [2] * 4
    assert [row["graph"] for row in whole] == ["full", "least sparse", "most sparse", "rediscovered"]
    assert whole[0]["hidden"] == {"1": []} and whole[1]["hidden"] == {"1": list(control.NEVER)}
    # From the file there is nothing left to learn, and the answer is the same.
    again = control.learning(0, True, tmp_path / "whole")
    assert [row["returns"] for row in again] == [row["returns"] for row in whole]


def _rows(graph: str, best: float, trials: int = 150, half: float = 0.0) -> list[dict[str, Any]]:
    told = {"float32": {"return": best, "step_s": 0.1}, "bfloat16": {"return": best + half, "step_s": 0.1}}
    curve = [-900.0, *[best] * (trials - 1)]
    hidden = {"1": [], "51": ["theta1"]} if graph == control.RENEWED else {"1": []}
    row = {
        "graph": graph,
        "trials": trials,
        "steps": 150,
        "all_runs_s": 997.0,
        "returns": curve,
        "hidden": hidden,
        **told,
    }
    return [{**row, "seed": seed} for seed in range(3)]


def _claims(**best: float) -> dict[str, bool]:
    experiment = find_experiment("reacher-control")
    full = {control.FULL: -50.0, control.LEAST: -50.0, control.MOST: -50.0, control.RENEWED: -50.0}
    rows = [row for graph, value in (full | best).items() for row in _rows(graph, value)]
    findings = Findings(experiment, {}, {"learning": rows})
    assert experiment.figure is not None and len(experiment.figure(findings).axes) == 2
    return {claim.claim: claim.holds for claim in experiment.claims(findings)}


def test_single_trials_that_spoil_a_mean_are_named() -> None:
    experiment = find_experiment("reacher-control")
    rows = [row for graph in control.PRUNED for row in _rows(graph, -50.0)]
    spoiled = rows[-1]["returns"][:]
    spoiled[140] = -939.0
    rows[-1] = {**rows[-1], "returns": spoiled}
    failed = [c for c in experiment.claims(Findings(experiment, {}, {"learning": rows})) if not c.holds]
    assert [claim.claim for claim in failed] == [
        "rediscovered: mean return of the last 30 trials matches that of the full model"
    ]
    assert "returned -939, -50, -50; their median is -50.0 against -50.0" in failed[0].why


def test_claims_fail_when_a_sparse_graph_falls_short() -> None:
    assert all(_claims().values())
    worse = _claims(**{control.MOST: -60.0})
    failed = [claim for claim, holds in worse.items() if not holds]
    assert len(failed) == 2 and all(claim.startswith("most sparse") for claim in failed)
    assert not any(holds for claim, holds in _claims(**{control.FULL: -181.0}).items() if "learns" in claim)


@pytest.mark.parametrize(
    ("kept", "learned", "broken"),
    [
        ([-100.0, -90.0], [-300.0, -90.0], []),
        ([-300.0, -90.0], [-100.0, -90.0], ["the first 5 trials", "fewer trials"]),
        ([-100.0, -120.0], [-300.0, -90.0], ["in the last 5 trials"]),
    ],
)
def test_whether_it_is_better_to_keep_the_goal(kept: list[float], learned: list[float], broken: list[str]) -> None:
    """Returns of the first five trials, and of the last."""
    experiment = find_experiment("reacher-goal")
    rows = {
        name: [{"goal": name, "seed": seed, "returns": [*[early] * 5, *[late] * 5]} for seed in range(3)]
        for name, (early, late) in (("kept", kept), ("learned", learned))
    }
    findings = Findings(experiment, {}, rows)
    lost = [claim for claim in experiment.claims(findings) if not claim.holds]
    assert len(lost) == len(broken) and all(words in claim.claim for words, claim in zip(broken, lost, strict=True))
    assert all(claim.why for claim in lost)
    assert experiment.figure is not None and len(experiment.figure(findings).axes) == 2


@pytest.mark.parametrize(("trials", "why"), [(90, "30 trials before the last 30"), (2, "1 trials before"), (1, "")])
def test_fewer_trials_than_published_are_told(trials: int, why: str) -> None:
    experiment = find_experiment("reacher-control")
    rows = [row for graph in control.PRUNED for row in _rows(graph, -50.0, trials=trials)]
    claim = experiment.claims(Findings(experiment, {}, {"learning": rows}))[0]
    assert (claim.published, claim.measured, claim.holds) == (150, trials, False)
    assert claim.why.startswith("the learning was ended before, after 997 s") and why in claim.why
