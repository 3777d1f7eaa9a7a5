"""Planning with an ensemble that learns while it acts, and with a twin."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.control.ensembles.asked import cost_of
from forebear.control.ensembles.cem import Limits, search, shifted
from forebear.control.ensembles.ensemble import Inputs, fresh_weights, law, prepare
from forebear.control.ensembles.learn import Examples, begin, learn, standardised
from forebear.control.ensembles.loop import Task, first_episode, load_progress, next_trial, save_progress
from forebear.control.ensembles.plan import judged_by
from forebear.control.ensembles.renew import Names, Renewal
from forebear.control.ensembles.settings import CemSettings, EnsembleSettings, PetsSettings
from forebear.control.ensembles.worlds import Simulated
from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin

SMALL: dict[str, Any] = {
    "width": 32,
    "depth": 2,
    "epochs": 100,
    "candidates": 60,
    "elites": 8,
    "iterations": 4,
    "horizon": 8,
    "particles": 5,
}
STEPS, TRIALS = 20, 3
"""the same throughout, so that most tests share what is compiled"""


def push(state: np.ndarray, action: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A cart on a rail; `wind` changes by chance and moves nothing."""
    place, speed, _ = state
    return np.array([place + 0.2 * speed, speed + 0.3 * action[0] + 0.01 * rng.normal(), rng.normal()])


def start(rng: np.random.Generator) -> np.ndarray:
    return np.array([1.0, 0.0, rng.normal()])


def cost(state: Any, action: Any, after: Any) -> Any:
    return after[0] ** 2 + 0.1 * after[1] ** 2 + 0.001 * action[0] ** 2


NAMES = Names(("place", "speed", "wind"), ("push",))
ENDS = (np.array([-1.0]), np.array([1.0]))


def _task(*seeds: int) -> Task:
    settings = PetsSettings.resolve(SMALL)
    return Task(Simulated(push, start, cost), cost, ENDS, 3, STEPS, TRIALS, settings, seeds)


_weights = partial(jax.jit, static_argnums=(1, 2))(fresh_weights)


def _data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    return x, np.stack([x[:, 0] * x[:, 1], 0.5 * x[:, 2] + 0.3 * rng.normal(size=rows)], axis=1)


def test_the_first_weights_are_as_published() -> None:
    settings = EnsembleSettings()
    weights = _weights(jnp.ones(24), 17, settings, key=jr.key(0))
    assert [matrix.shape[1:] for matrix in weights.matrices] == [(24, 200), *[(200, 200)] * 3, (200, 34)]
    # A normal law cut off at two deviations deviates by 0.88.
    assert float(weights.matrices[1].std()) == pytest.approx(0.88 / (2 * np.sqrt(200)), rel=0.02)
    assert float(jnp.abs(weights.matrices[0]).max()) <= 2 / (2 * np.sqrt(24)) + 1e-6
    assert float(weights.upper[0]) == 0.5 and float(weights.lower[0]) == -10
    masked = _weights(jnp.ones(24).at[:7].set(0.0), 17, settings, key=jr.key(0))
    ratio = float(masked.matrices[0].std() / weights.matrices[0].std())
    assert ratio == pytest.approx(np.sqrt(24 / 17), rel=1e-5)


def test_log_variances_stay_between_their_bounds() -> None:
    weights = _weights(jnp.ones(3), 2, EnsembleSettings(width=8, depth=2), key=jr.key(0))
    big = weights._replace(biases=(*weights.biases[:-1], jnp.full_like(weights.biases[-1], 100.0)))
    small = weights._replace(biases=(*weights.biases[:-1], jnp.full_like(weights.biases[-1], -100.0)))
    x = jnp.ones((5, 4, 3))
    assert float(law(big, x)[1].max()) <= 0.5 + 1e-4 and float(law(small, x)[1].min()) >= -10 - 1e-4


def test_a_hidden_input_changes_nothing() -> None:
    weights = _weights(jnp.array([1.0, 0.0]), 1, EnsembleSettings(width=8, depth=2), key=jr.key(0))
    inputs = Inputs(jnp.zeros(2), jnp.ones(2), jnp.array([1.0, 0.0]))
    rows = jnp.array([[0.3, -5.0], [0.3, 7.0]])
    mean, _ = law(weights, jnp.broadcast_to(prepare(inputs, rows), (5, 2, 2)))
    assert bool((mean[:, 0] == mean[:, 1]).all()) and float(mean.std()) > 0


def _trained(rows: int, epochs: int = 60) -> Any:
    x, y = _data(rows)
    settings = EnsembleSettings(width=32, depth=2, epochs=epochs)
    # Room for more: what lies beyond the rows must not count.
    room = np.full((1, 2 * rows, 3), 1e3), np.full((1, 2 * rows, 2), -1e3)
    room[0][0, :rows], room[1][0, :rows] = x, y
    fresh = begin(jnp.ones((1, 3)), jr.split(jr.key(0), 1), outputs=2, settings=settings)
    learner = standardised(fresh, x[None], np.ones((1, 3)))
    examples = Examples(jnp.asarray(room[0], jnp.float32), jnp.asarray(room[1], jnp.float32), jnp.int32(rows))
    return learn(learner, examples, jr.split(jr.key(1), 1), settings=settings)[0]


def test_the_ensemble_learns_mean_and_spread() -> None:
    learner = _trained(1_000)
    x, y = _data(3_000)
    ensemble = jax.tree.map(lambda leaf: leaf[0], learner.ensemble)
    rows = jnp.broadcast_to(prepare(ensemble.inputs, jnp.asarray(x[1_000:], jnp.float32)), (5, 2_000, 3))
    mean, log_variance = (np.asarray(part) for part in law(ensemble.weights, rows))
    error = np.sqrt(((mean.mean(axis=0) - y[1_000:]) ** 2).mean(axis=0))
    assert error[0] < 0.3 and error[1] == pytest.approx(0.3, abs=0.05)
    assert np.exp(0.5 * log_variance[..., 1]).mean() == pytest.approx(0.3, abs=0.05)
    # Members see rows of their own, so they differ.
    assert mean.std(axis=0).mean() > 1e-3


def test_half_precision_plans_with_nearly_the_same_law() -> None:
    weights = _weights(jnp.ones(24), 17, EnsembleSettings(), key=jr.key(0))
    x = jr.normal(jr.key(1), (5, 50, 24))
    full, half = law(weights, x), law(weights, x, "bfloat16")
    assert half[0].dtype == jnp.float32
    for a, b in zip(full, half, strict=True):
        assert float(jnp.abs(a - b).max()) < 0.03 * float(jnp.abs(a).max())


def test_the_search_stays_within_bounds_and_stops_when_it_is_sure() -> None:
    limits = Limits(jnp.array([-1.0]), jnp.array([3.0]))
    settings = CemSettings(horizon=2, candidates=200, elites=20, iterations=8, particles=1)
    seen = []

    def judge(plans: Any, key: Any) -> Any:
        jax.debug.callback(lambda values: seen.append(np.asarray(values)), plans)
        return ((plans - 5.0) ** 2).sum(axis=(1, 2))

    found = search(judge, jnp.ones((2, 1)), limits, settings, key=jr.key(0))
    jax.effects_barrier()
    drawn = np.stack(seen)
    assert drawn.min() >= -1 and drawn.max() <= 3 and (np.asarray(found) > 2.7).all()
    # The first draws deviate by a quarter of the range, cut off at two deviations.
    assert np.ptp(seen[0]) <= 4.0 and seen[0].std() == pytest.approx(0.88, abs=0.05)
    still = replace(settings, least_variance=1e9)
    assert search(judge, jnp.ones((2, 1)), limits, still, key=jr.key(0)).tolist() == [[1.0], [1.0]]
    assert shifted(jnp.array([[0.2], [0.4]]), limits).ravel().tolist() == pytest.approx([0.4, 1.0])


def test_what_is_not_a_number_costs_a_million() -> None:
    task = _task(0)
    done = first_episode(task, np.ones((1, 4)))
    ensemble = jax.tree.map(lambda leaf: leaf[0], done.learner.ensemble)
    judge = judged_by(ensemble, jnp.zeros(3), lambda s, a, after: jnp.nan * after[0], task.settings)
    plans = jnp.zeros((task.settings.cem.candidates, task.settings.cem.horizon, 1))
    assert (np.asarray(judge(plans, jr.key(0))) == 1e6).all()


@pytest.mark.parametrize("constants", ["kept", "learned"])
def test_a_goal_does_not_run_away(constants: str) -> None:
    """Nor does a clock go wrong, however far a plan leads from what was seen."""

    def move(state: np.ndarray, action: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.array([state[0] + action[0], state[1], state[2] + 0.1])

    settings = PetsSettings.resolve({**SMALL, "constants": constants})
    world = Simulated(move, lambda rng: np.array([0.0, rng.normal(), 0.0]), cost)
    done = first_episode(Task(world, cost, ENDS, 3, STEPS, TRIALS, settings, (0,)), np.ones((1, 4)))
    ensemble = jax.tree.map(lambda leaf: leaf[0], done.learner.ensemble)
    known = [np.nan, 0.0, 0.1] if constants == "kept" else [np.nan] * 3
    np.testing.assert_allclose(ensemble.constant, known, atol=1e-7)

    def strays(state: Any, action: Any, after: Any) -> Any:
        return jnp.abs(after[1] - 2.0) + jnp.abs(after[2] - state[2] - 0.1)

    plans = jnp.full((settings.cem.candidates, settings.cem.horizon, 1), 50.0)
    worst = np.asarray(judged_by(ensemble, jnp.array([0.0, 2.0, 0.0]), strays, settings)(plans, jr.key(0))).max()
    assert worst < 1e-5 if constants == "kept" else worst > 1e-2


def _paid_by(policy: Any, seeds: int = 3) -> float:
    total = 0.0
    for seed in range(seeds):
        rng = np.random.default_rng([7, seed])
        state, decide = start(rng), policy(seed)
        for _ in range(STEPS):
            action = decide(state)
            after = push(state, action, rng)
            total -= float(cost(state, action, after))
            state = after
    return total / seeds


def test_it_learns_to_act() -> None:
    learned = fb.control.pets(
        push,
        cost,
        [(-1, 1)],
        start=start,
        trials=TRIALS,
        steps=STEPS,
        state=NAMES.state,
        action=NAMES.action,
        **SMALL,
    )
    idle = _paid_by(lambda seed: lambda state: np.zeros(1))
    rng = np.random.default_rng(0)
    chance = _paid_by(lambda seed: lambda state: rng.uniform(-1, 1, 1))
    paid = _paid_by(learned.policy)
    assert idle == pytest.approx(-STEPS, rel=0.1)
    assert paid > 0.6 * idle and paid > 0.6 * chance
    assert learned.returns.shape == (TRIALS,) and learned.best[-1] == learned.returns.max()
    assert list(learned.table) == ["place", "speed", "wind", "push", "d_place", "d_speed", "d_wind"]
    assert len(learned.table) == (TRIALS + 1) * STEPS and (np.diff(learned.best) >= 0).all()


def test_runs_together_are_runs_alone(tmp_path: Path) -> None:
    """And a run that was kept on disk goes on as if it had never stopped."""

    class Two:
        def __init__(self) -> None:
            self.each = [Simulated(push, start, cost) for _ in range(2)]

        def reset(self, rngs: Any) -> np.ndarray:
            return np.concatenate([world.reset([rng]) for world, rng in zip(self.each, rngs, strict=True)])

        def step(self, actions: np.ndarray) -> Any:
            told = [world.step(action[None]) for world, action in zip(self.each, actions, strict=True)]
            parts = (np.concatenate([getattr(one, name) for one in told]) for name in ("states", "rewards"))
            return told[0]._replace(**dict(zip(("states", "rewards"), parts, strict=True)))

    seen = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0]])
    alone = [first_episode(_task(seed), seen[seed : seed + 1]) for seed in range(2)]
    alone = [next_trial(_task(seed), done) for seed, done in enumerate(alone)]
    task = replace(_task(0, 1), world=Two())
    done = next_trial(task, first_episode(task, seen))
    for run in range(2):
        np.testing.assert_allclose(done.returns[run], alone[run].returns[0], rtol=1e-3)
    assert done.shown.shape == (2, 1, 4) and done.shown[1, 0].tolist() == [1, 1, 0, 1]
    save_progress(tmp_path / "progress.safetensors", done)
    back = load_progress(tmp_path / "progress.safetensors", task)
    went_on, never_stopped = next_trial(task, back), next_trial(task, done)
    assert np.array_equal(went_on.returns, never_stopped.returns) and went_on.trial == 2
    assert back.seconds == done.seconds > 0
    for a, b in zip(*(jax.tree.leaves(p.learner) for p in (went_on, never_stopped)), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_inputs_are_discovered_while_learning() -> None:
    def speed_alone(path: fb.Path) -> tuple[str, ...]:
        assert set(path.candidates) == {"speed", "wind"}
        return ("speed",)

    few = {"rule": speed_alone, "steps": 20, "distilled": 40, "folds": 1, "rows": 100}
    learned = fb.control.pets(
        push,
        cost,
        {"push": (-1, 1)},
        start=start,
        trials=TRIALS,
        steps=STEPS,
        state=NAMES.state,
        action=NAMES.action,
        inputs=["speed", "wind", "push"],
        rediscover_every=2,
        rediscover={"candidates": ["speed", "wind"], "targets": ["d_speed"], **few},
        **SMALL,
    )
    assert learned.inputs[0] == learned.inputs[1] == ("speed", "wind", "push")
    # What was no candidate is back in, and an action is never out.
    assert learned.inputs[2] == ("place", "speed", "push")


def test_a_renewal_needs_no_discovery_where_an_increment_is_an_input() -> None:
    x, y = _data(200)
    names = Names(("a", "b"), ("u",))
    table = names.table(x, y).assign(d_a=0.1 * x[:, 1])
    assert Renewal(1, options={"targets": ["d_a"]}).seen(table, names, 0).tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(InputError, match="no candidate varies"):
        Renewal(1, options={"candidates": ["a"]}).seen(table.assign(a=1.0), names, 0)


@pytest.fixture(scope="module")
def rail() -> Twin:
    """A twin of the cart, without its wind."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-1.5, 1.5, (2_000, 3)), columns=["place", "speed", "push"])
    table["d_place"] = 0.2 * table["speed"] + 0.01 * rng.normal(size=2_000)
    table["d_speed"] = 0.3 * table["push"] + 0.01 * rng.normal(size=2_000)
    columns = read_columns(table, "the table", list(table))
    small = TwinSettings.resolve({"steps": 400, "width": 24, "depth": 2, "ode_steps": 4})
    ancestors = {"d_place": ["place", "speed", "push"], "d_speed": ["place", "speed", "push"]}
    return fit_twin(columns, ancestors, joint=False, settings=small, seed=0)


def test_planning_in_a_twin(rail: Twin) -> None:
    settings = {name: SMALL[name] for name in ("candidates", "elites", "iterations", "horizon", "particles")}
    planner = fb.control.cem(rail, cost, {"push": (-1, 1)}, **settings)
    states, plans = np.array([[1.0, 0.0], [-1.0, 0.5]]), None
    rng, first = np.random.default_rng(0), np.abs([1.0, -1.0])
    for step in range(STEPS):
        plans = planner.plan({"place": states[:, 0], "speed": states[:, 1]}, seed=step, after=plans)
        assert plans.shape == (2, 8, 1) and np.abs(plans).max() <= 1
        states = np.stack([push(np.append(s, 0.0), a, rng)[:2] for s, a in zip(states, plans[:, 0], strict=True)])
    assert (np.abs(states[:, 0]) < 0.3 * first).all()


def test_learning_in_a_twin_and_in_an_environment(rail: Twin) -> None:
    once: dict[str, Any] = {"trials": 1, "steps": 5, **SMALL}
    inside = fb.control.pets(rail, cost, {"push": (-1, 1)}, start={"place": [1.0], "speed": [0.0]}, **once)
    assert inside.inputs == (("place", "speed", "push"),) and len(inside.table) == 10
    env = fb.envs.TwinEnv(
        rail, {"place": [1.0], "speed": [0.0]}, lambda s, a, n: -cost(s, a, n), max_steps=4, bounds={"push": (-1, 1)}
    )
    outside = fb.control.pets(env, cost, **once)
    # The environment ends its episodes, and knows the ends of its actions.
    assert len(outside.table) == 8 and outside.inputs[0] == ("x1", "x2", "u1")


def test_a_cost_may_leave_out_the_next_state() -> None:
    same = cost_of(lambda state, action: state + action)
    assert same(1, 2, 3) == 3 and cost_of(cost) is cost


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"environment": 3}, "environment must be a Gymnasium environment, a twin or a step function; got 3"),
        ({"start": None}, "start: a step function needs a function (rng) -> state"),
        ({"cost": 1.0}, "cost must be a function"),
        ({"cost": lambda s, a, n: float(n[0])}, "cost: JAX cannot trace it; write it in jax.numpy"),
        ({"cost": lambda s, a, n: n}, "cost must return one number for one row; it returned an array of shape (3,)"),
        ({"bounds": None}, "bounds: the environment does not tell the ends of its actions"),
        ({"bounds": [(1, -1)]}, "bounds of '1' must be two finite numbers, the lower first"),
        ({"bounds": {"pull": (-1, 1)}, "action": ["push"]}, "bounds: no action 'pull'. Known: 'push'."),
        ({"state": ["place"]}, "state names 1 columns, 'place', but there are 3"),
        ({"inputs": ["x9"]}, "inputs: no column 'x9'"),
        ({"trials": 0}, "trials must be a whole number of at least 1"),
        ({"horizno": 3}, "unknown setting 'horizno'. Did you mean 'horizon'?"),
        ({"constants": "keep"}, "constants is 'keep'. Did you mean 'kept'?"),
        ({"particles": 7}, "particles=7 must be a multiple of members=5"),
        ({"elites": 500}, "elites=500, but only candidates=400 plans are drawn"),
        ({"precision": "float16"}, "precision is 'float16'. Did you mean 'bfloat16'?"),
        ({"rediscover": {}}, "rediscover says how, and rediscover_every when: give both"),
        ({"rediscover_every": 0}, "rediscover_every must be a whole number of at least 1"),
    ],
)
def test_bad_input(changes: dict[str, Any], line: str) -> None:
    given = {"environment": push, "cost": cost, "bounds": [(-1, 1)], "start": start, **changes}
    with pytest.raises(InputError) as told:
        fb.control.pets(given.pop("environment"), given.pop("cost"), given.pop("bounds"), **given)
    assert line in str(told.value)
