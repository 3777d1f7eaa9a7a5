"""Control of the heated rod: anchors of theory, rows of the training table, and what the claims make of costs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import toy_twin

import forebear as fb
from forebear.systems.heat import CONTROLS, NODES, STATES
from forebear_experiments.framework.experiment import Findings
from forebear_experiments.heat.control import EXPERIMENTS, FULL, KNOWN, LINEAR, NONE, PRUNED
from forebear_experiments.heat.rig import (
    BOUNDS,
    LearnedStep,
    cost,
    final_cost,
    follow,
    linear_control,
    true_step,
)
from forebear_experiments.heat.student import StudentSettings, teach

DATA = fb.systems.heat(trajectories=4, steps=50, seed=5)
EXPERIMENT = EXPERIMENTS["heat-control"]


def _starts(trials: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((trials, NODES))


def test_linear_control_is_that_of_theory() -> None:
    control = linear_control()
    assert np.trace(control.value) == pytest.approx(44.85, abs=0.05)
    starts = _starts(3_000)
    free = follow(lambda state: jnp.zeros(2), starts, 100, seed=0).sum(axis=0)
    linear = follow(lambda state: -control.gain @ state, starts, 100, seed=0).sum(axis=0)
    # The bounds cost a little; costs have heavy tails.
    assert 44 < linear.mean() < 54 and free.mean() > 3 * linear.mean()


def test_plans_with_the_true_dynamics_match_linear_control() -> None:
    """A shorter version of the experiment's first unit: the same noise for all three."""
    starts, steps = _starts(6), 15
    controller = fb.control.mpc(true_step, cost, BOUNDS, noise=NODES, terminal=final_cost, scenarios=16)
    told = controller.simulate(starts, steps, world=true_step, noise=NODES, seed=1)
    gain = linear_control().gain
    linear = follow(lambda state: -gain @ state, starts, steps, seed=1)
    free = follow(lambda state: jnp.zeros(2), starts, steps, seed=1)
    assert np.abs(told.actions).max() <= BOUNDS[0][1]
    assert told.cost.mean() < 1.05 * linear.sum(axis=0).mean() < 0.8 * free.sum(axis=0).mean()
    np.testing.assert_allclose(told.costs[0], (starts**2).sum(axis=1) + 0.1 * (told.actions[0] ** 2).sum(axis=1))


@pytest.mark.parametrize(
    "inputs", [DATA.ancestors, dict.fromkeys(DATA.targets, DATA.candidates)], ids=["pruned", "full"]
)
def test_learned_ends_are_given_rows_of_the_training_table(inputs: Any) -> None:
    twin = toy_twin(DATA.table, inputs)
    core = twin.core()
    step = LearnedStep.of(twin, lambda x, z: core.push(core.params, x[None], z[None])[0])
    table = DATA.table.to_numpy(np.float32)
    names = list(DATA.table.columns)
    state, action = (jnp.asarray(table[:20, [names.index(n) for n in wanted]]) for wanted in (STATES, CONTROLS))
    given = np.asarray(jax.vmap(step.condition)(state, action))
    np.testing.assert_array_equal(given, DATA.table[list(twin.inputs)].to_numpy(np.float32)[:20])
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(20, NODES)), jnp.float32)
    moved = np.asarray(jax.vmap(step)(state, action, noise))
    drawn = np.asarray(core.push(core.params, jnp.asarray(given), noise[:, np.array([0, NODES - 1])]))
    np.testing.assert_allclose(moved[:, [0, -1]], np.asarray(state)[:, [0, -1]] + drawn, atol=1e-5)
    np.testing.assert_allclose(moved[:, 1:-1], jax.vmap(true_step)(state, action, noise)[:, 1:-1], atol=1e-6)


def test_the_true_step_is_that_of_the_data() -> None:
    """Row after row of a trajectory: state and increment of the table give the next row's state."""
    whole = fb.systems.heat(trajectories=1, steps=6, nodes=range(1, NODES + 1)).table
    x, u, dx = (whole.filter(regex=f"^{name}[0-9]+$").to_numpy() for name in ("x", "u", "dx"))
    np.testing.assert_allclose(x[:-1] + dx[:-1], x[1:])
    for state, action, change in zip(x, u, dx, strict=True):
        with jax.enable_x64(True):
            mean = np.asarray(true_step(jnp.asarray(state), jnp.asarray(action), jnp.zeros(NODES)))
            noise = (state + change - mean) / (0.2 * state)
            np.testing.assert_allclose(
                true_step(jnp.asarray(state), jnp.asarray(action), jnp.asarray(noise)), state + change
            )


def test_students_learn_their_teacher() -> None:
    twin = toy_twin(DATA.table, DATA.ancestors)
    students = teach(twin, StudentSettings(width=32, depth=2, steps=400, batch=128, rate=5e-3), seed=0)
    x = jnp.asarray(DATA.table[list(twin.inputs)].to_numpy(np.float32)[:100])
    z = jnp.asarray(np.random.default_rng(0).normal(size=(100, 2)), jnp.float32)
    taught = np.asarray(twin.core().push(twin.core().params, x, z))
    learned = np.asarray(jax.vmap(students)(x, z))
    assert (np.sqrt(np.mean((taught - learned) ** 2, axis=0)) < 0.2 * taught.std(axis=0)).all()
    # A student sees the inputs of its own target alone.
    moved = x.at[:, twin.inputs.index("x9")].add(3.0)
    np.testing.assert_array_equal(np.asarray(jax.vmap(students)(moved, z))[:, 0], learned[:, 0])


def _row(name: str, costs: list[float], seconds: float = 1.0) -> dict[str, Any]:
    told = {"mean": float(np.mean(costs)), "deviation": float(np.std(costs)), "cost": costs, "cost_by_step": costs}
    return {"controller": name, **told, "seconds_per_simulation": seconds, "evaluations_of_the_slowest": 30.0}


def test_claims_compare_the_same_trials() -> None:
    bounds = [_row(NONE, [200.0, 100.0]), _row(LINEAR, [42.0, 21.0]), _row(KNOWN, [40.0, 20.0])]
    good = Findings(
        EXPERIMENT, {}, {"all": [*bounds, _row(PRUNED, [41.0, 20.5], 1.0), _row(FULL, [44.0, 23.0], 2.0)]}
    )
    bad = Findings(EXPERIMENT, {}, {"all": [*bounds, _row(PRUNED, [50.0, 20.0], 2.0), _row(FULL, [41.0, 19.0], 1.0)]})
    claims = EXPERIMENT.claims(good)
    assert all(claim.holds for claim in claims)
    assert claims[2].measured == "33.50 against 30.75; by trial +2.75 ± 0.18"
    claims = EXPERIMENT.claims(bad)
    assert [claim.holds for claim in claims] == [True, False, False, False]
    assert claims[1].why == "its mean cost is 17% higher, where 5% counts"
    assert all(claim.why for claim in claims[1:])
    assert EXPERIMENT.figure is not None and len(EXPERIMENT.figure(good).axes) == 2


def test_the_first_unit_runs_small() -> None:
    rows = EXPERIMENT.measures["known"](0, True)
    assert [row["controller"] for row in rows] == [NONE, LINEAR, KNOWN]
    assert rows[2]["mean"] < rows[0]["mean"] and rows[2]["seconds_per_simulation"] > 0


@pytest.mark.slow
def test_twins_of_the_ends_run_small() -> None:
    pruned, full = EXPERIMENT.measures["published twins"](0, True)
    assert pruned["learning_s"] > 0 and len(full["map_errors"]) == 2 and max(pruned["map_errors"]) < 1
