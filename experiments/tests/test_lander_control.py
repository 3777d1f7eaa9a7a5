"""Landers that step together, with the thrust of a twin, and what `forebear reproduce lander-control` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from forebear.errors import InputError
from forebear.systems.lander import ACTIONS, STATES, TARGETS, TIME_LIMIT, lander
from forebear.twin.core import Core
from forebear_experiments.framework.experiment import Findings
from forebear_experiments.lander import control
from forebear_experiments.lander.rig import LanderVectorEnv, conditions, fly

INPUTS = (*STATES, *ACTIONS)


def _twin(push: Callable[[Any, Any], Any], targets: tuple[str, ...] = TARGETS) -> Any:
    """What an environment needs of a twin: (inputs (rows, 10), latents) -> increments (rows, 3)."""
    core = Core({}, lambda params, x, z: push(x, z), lambda params, x: jnp.zeros(len(x)), len(targets))  # type: ignore[arg-type]
    return SimpleNamespace(inputs=INPUTS, targets=targets, core=lambda: core)


def test_the_twin_is_given_rows_of_the_training_table() -> None:
    """Fly a recorded episode again, its thrust from the record: the conditions are the rows of the table."""
    table = lander(episodes=1, seed=3).table
    rng = np.random.default_rng([3, 0])
    seed = int(rng.integers(2**31))
    actions = rng.uniform(-1, 1, (len(table), 2))
    given: list[np.ndarray] = []
    thrusts = table[list(TARGETS)].to_numpy()

    def push(x: Any, z: Any) -> Any:
        def look(rows: np.ndarray) -> np.ndarray:
            given.append(np.asarray(rows))
            return thrusts[[len(given) - 1]].astype(np.float32)

        return jax.pure_callback(look, jax.ShapeDtypeStruct((1, 3), np.float32), x)

    envs = LanderVectorEnv(1, _twin(push))
    envs.reset(seed=seed)
    wanted = table[list(INPUTS)].to_numpy().astype(np.float32)
    for n in range(30):
        *_, info = envs.step(actions[[n]])
        np.testing.assert_allclose(info["thrust"][0], thrusts[n], atol=2e-6)
    # Positions follow the thrusts, which pass through single precision.
    np.testing.assert_allclose(np.concatenate(given), wanted[:30], atol=1e-5)


def test_landers_begin_again_with_their_seed() -> None:
    envs = LanderVectorEnv(2, _twin(lambda x, z: 0.1 * z))
    actions = np.random.default_rng(0).uniform(-1, 1, (200, 2, 2))

    def flight() -> np.ndarray:
        envs.reset(seed=5)
        return np.array([envs.step(action)[0] for action in actions])

    first = flight()
    envs.step(actions[0])
    np.testing.assert_array_equal(flight(), first)


def test_actions_are_clipped_before_the_twin_sees_them() -> None:
    told = conditions(np.zeros((1, 8)), np.array([[3.0, -3.0]]))
    assert list(told) == list(INPUTS) and told["a1"] == 1 and told["a2"] == -1


def test_no_engine_no_thrust() -> None:
    envs = LanderVectorEnv(2, _twin(lambda x, z: jnp.ones((len(x), 3))))
    envs.reset(seed=0)
    *_, info = envs.step(np.array([[0.0, 0.5], [0.1, 0.0]]))
    np.testing.assert_array_equal(info["thrust"][0], 0)
    np.testing.assert_allclose(info["thrust"][1], 1, atol=1e-5)


def test_targets_of_a_twin_come_in_any_order_and_must_be_there() -> None:
    turned = _twin(lambda x, z: jnp.tile(jnp.array([3.0, 1.0, 2.0]), (len(x), 1)), ("domega", "dvx", "dvy"))
    envs = LanderVectorEnv(1, turned)
    envs.reset(seed=0)
    *_, info = envs.step(np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(info["thrust"][0], [1, 2, 3], atol=1e-5)
    with pytest.raises(InputError, match="the twin must have the targets"):
        LanderVectorEnv(1, _twin(lambda x, z: z, ("dvx",)))


def test_a_lander_that_hovers_is_truncated() -> None:
    """The thrust holds it upright near one height, always moving, so that nothing else ends the episode."""

    def hold(x: Any, z: Any) -> Any:
        vx, vy, omega = x[:, 2] * 5, x[:, 3] * 7.5, x[:, 5] * 2.5
        return jnp.stack([-vx, jnp.where(x[:, 1] < 1, 0.5, -0.5) - vy, -omega], axis=1)

    envs = LanderVectorEnv(1, _twin(hold))
    envs.reset(seed=1)
    for step in range(1, TIME_LIMIT + 1):
        _, _, terminated, truncated, info = envs.step(np.array([[1.0, 0.0]]))
        assert not terminated[0] and truncated[0] == (step == TIME_LIMIT)
    assert info["final_obs"][0] is not None


def _careful(seen: np.ndarray) -> np.ndarray:
    """Falls slowly and keeps upright, well enough to land now and then."""
    main = np.where(seen[:, 3] < -0.25, 1.0, -1.0) * np.where(seen[:, 6:].any(axis=1), -1.0, 1.0)
    turn = np.clip(-4 * (seen[:, 4] - 0.3 * (seen[:, 0] + seen[:, 2])) - 4 * seen[:, 5], -1, 1)
    return np.stack([main, -turn], axis=1)


def test_episodes_do_not_depend_on_those_beside_them() -> None:
    seeds = [6_666, 6_667, 6_668, 6_669, 6_670]
    returns, lengths = fly(_careful, seeds, together=5)
    few, short = fly(_careful, seeds, together=2)
    np.testing.assert_array_equal(returns, few)
    np.testing.assert_array_equal(lengths, short)
    assert len(set(returns.tolist())) == 5


_LANDS = {"timesteps": 25_000, "mean": 250.0, "episodes": 9, "cut_off": 0.1}
_HOVERS = {"timesteps": 25_000, "mean": 0.0, "episodes": 9, "cut_off": 0.9}


def _findings(**landings: int) -> Findings:
    """All trainings learn, but for the last in the true environment, which is not among the first five."""
    names = dict(true=control.TRUE, full=control.FULL, pruned=control.PRUNED)
    values = {**dict(true=995, full=990, pruned=998), **landings}
    rows = {}
    for key, name in names.items():
        returns = [250.0] * values[key] + [-100.0] * (1_000 - values[key])
        told = {"regime": name, "curve": [_LANDS], "returns": returns}
        row = {**told, "landings": values[key], "mean": float(np.mean(returns)), "std": 1.0}
        rows |= {unit: [row] for unit in control.EXPERIMENTS["lander-control"].measures if unit.startswith(name)}
    [last] = rows[f"{control.TRUE}, training 16"]
    rows[f"{control.TRUE}, training 16"] = [{**last, "landings": 10, "curve": [_HOVERS]}]
    return Findings(control.EXPERIMENTS["lander-control"], {}, rows)


@pytest.mark.parametrize(
    ("landings", "broken"),
    [({}, 0), ({"full": 999}, 2), ({"full": 960}, 1), ({"pruned": 900}, 5)],
)
def test_claims_can_fail(landings: dict[str, int], broken: int) -> None:
    findings = _findings(**landings)
    claims = findings.experiment.claims(findings)
    assert len({claim.claim for claim in claims}) == len(claims)  # a page tells claims apart by their words
    lost = [claim for claim in claims if not claim.holds]
    assert len(lost) == broken and all(claim.why for claim in lost)
    assert findings.experiment.figure is not None and len(findings.experiment.figure(findings).axes) == 2


def test_a_training_that_never_landed_is_named() -> None:
    findings = _findings()
    [failed] = findings.measured[f"{control.PRUNED}, training 2"]
    hovers = {**failed, "landings": 10, "curve": [_HOVERS]}
    findings = replace(findings, measured={**findings.measured, f"{control.PRUNED}, training 2": [hovers]})
    first, learned, *others = findings.experiment.claims(findings)
    assert not first.holds and "training 2 (best evaluation on the way 0)" in first.why
    assert learned.holds and str(learned.measured).startswith("3,992 (998, 998, 998, 998) of 4,000")
    failures, crossed, rates, waits, hovering = others[-5:]
    assert failures.measured == "full twin 0 of 5; pruned twin 1 of 5" and not failures.holds
    assert str(crossed.measured).startswith("8 of 9 learn") and not crossed.holds
    assert str(rates.measured).endswith("true environment 1 of 16; full twin 0 of 5; pruned twin 1 of 11")
    assert waits.holds and "full twin 25, 25, 25, 25, 25; pruned twin never, 25, 25" in str(waits.measured)
    assert hovering.measured == "share of episodes cut off: never landed 90 to 90%; landed 10 to 10%"
    assert sum(not claim.holds for claim in others) == 4


def test_twins_that_take_longer_to_learn_in_are_told() -> None:
    findings = _findings()
    late = [_HOVERS, {**_LANDS, "timesteps": 300_000}]
    measured = {
        unit: [{**row, "curve": late} if row["regime"] != control.TRUE else row]
        for unit, [row] in findings.measured.items()
    }
    waits = findings.experiment.claims(replace(findings, measured=measured))[-2]
    assert not waits.holds and waits.why == "the times differ"
    assert "25, 25, 25; full twin 300," in str(waits.measured)


def test_trainings_of_which_it_was_not_written_down_how_episodes_end() -> None:
    findings = _findings()
    bare = [{"timesteps": 25_000, "mean": 250.0}]
    measured = {unit: [{**row, "curve": bare}] for unit, [row] in findings.measured.items()}
    rates, _ = findings.experiment.claims(replace(findings, measured=measured))[-2:]
    assert not rates.holds and rates.why == "all of them landed"


def test_a_twin_that_teaches_nobody_is_named() -> None:
    findings = _findings()
    hovers = {"landings": 10, "curve": [_HOVERS]}
    twin = {
        unit: [{**rows[0], **hovers}] for unit, rows in findings.measured.items() if unit.startswith("pruned twin 2")
    }
    assert len(twin) == 2
    claims = findings.experiment.claims(replace(findings, measured={**findings.measured, **twin}))
    [crossed] = [claim for claim in claims if "in each of the first three pruned twins" in claim.claim]
    assert not crossed.holds and crossed.why == "never learned to land: twin 2 with seed 1, twin 2 with seed 3"
    assert str(crossed.measured).startswith("7 of 9 learn")


def test_quick_is_the_published_training_for_fewer_steps() -> None:
    quick, published = (control.sac_settings(quick) for quick in (True, False))
    changed = {name for name in vars(quick) if getattr(quick, name) != getattr(published, name)}
    assert changed == {"timesteps", "learning_starts", "updates", "evaluate_every", "buffer"}
    assert all(getattr(quick, name) < getattr(published, name) for name in changed)


@pytest.mark.slow
def test_a_quick_unit(tmp_path: Path) -> None:
    pytest.importorskip("sbx")
    (row,) = control.practise(control.PRUNED, 0, 2, 0, True, tmp_path)
    assert len(row["returns"]) == 10 and row["landings"] <= 10 and row["environments"] == 4
    assert row["twin"]["inputs"]["domega"] == ["a2"]
