"""States of partly observed systems by a twin, beside the filter that knows the true model and the unpruned twin."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd

from forebear.assimilation.assimilate import assimilate
from forebear.assimilation.localise import ring
from forebear.assimilation.transition import Transition
from forebear.systems.lorenz63 import BETA, RHO, SIGMA, lorenz63
from forebear.systems.pendulum import (
    DT,
    GRAVITY,
    LARGEST_SPEED,
    LARGEST_TORQUE,
    NOISE,
    TORQUE,
    TURN,
    pendulum,
    swing,
    wrap,
)

_L63_DT, _L63_NOISE = 0.01, 0.5
_L96_DT, _L96_NOISE, _L96_FORCING = 0.005, 0.5, 8.0
_LEVEL = 0.9


@dataclass(frozen=True)
class Case:
    """One system: rows to learn from, and records to find the states of."""

    name: str
    table: pd.DataFrame
    pruned: Mapping[str, Sequence[str]]
    full: Mapping[str, Sequence[str]]
    known: Transition
    truth: np.ndarray
    """(records, rows, states) of those states that are compared"""
    observations: Sequence[pd.DataFrame]
    noise: Mapping[str, float]
    start: Any
    known_start: pd.DataFrame
    options: Mapping[str, Any]
    periodic: Mapping[str, float]


def run(
    rows: int = 10_000,
    records: int = 4,
    length: int = 300,
    settle: int = 100,
    particles: int = 2_000,
    seed: int = 0,
    systems: Sequence[str] = ("lorenz63", "pendulum", "lorenz96"),
    steps: int = 1_500,
    student_steps: int = 2_000,
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """Three rows a system: the true model, the pruned twin, the unpruned one.

    Twins are distilled flows on the known graph, learned from `rows` rows of records of their own. The first `settle`
    rows of a record are left out. `rmse` is that of the filter's mean, over records, rows and states, in deviations
    of the state; `coverage` counts how often the truth lies in the 90% band, and `spread` is the filter's own
    deviation, in the same unit: in a calibrated filter it is the error.
    """
    made = {"lorenz63": _lorenz63, "lorenz96": _lorenz96, "pendulum": _pendulum}
    for name in systems:
        case = made[name](rows, records, length, particles, seed)
        models: list[tuple[str, Any]] = [("true model", case.known)]
        seconds = {"true model": 0.0}
        for word, inputs in (("pruned twin", case.pruned), ("unpruned twin", case.full)):
            started = time.perf_counter()
            models.append((word, _fitted(case, inputs, seed, student_steps, {"steps": steps, **settings})))
            seconds[word] = time.perf_counter() - started
        for word, model in models:
            told = {"what": f"{case.name}: {word}", "system": name, "model": word, "fit_s": seconds[word]}
            yield {**told, **_measured(case, model, settle, seed)}


def _fitted(case: Case, inputs: Mapping[str, Sequence[str]], seed: int, steps: int, settings: dict[str, Any]) -> Any:
    from forebear.data.table import read_columns
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    names = sorted({name for own in inputs.values() for name in own} | set(inputs))
    periodic = {name: period for name, period in case.periodic.items() if name in names}
    table = read_columns(case.table, "the table", names, periodic)
    own = {target: tuple(some) for target, some in inputs.items()}
    twin = fit_twin(table, own, joint=False, settings=TwinSettings.resolve({"law": "flow", **settings}), seed=seed)
    return twin.distil(steps=steps, progress=False)


def _measured(case: Case, model: Any, settle: int, seed: int) -> dict[str, Any]:
    """Errors and coverage of every record, together."""
    errors, inside, spreads, evidence, effective, spent = [], [], [], [], [], []
    scale = case.truth.std(axis=(0, 1))
    count = case.truth.shape[2]
    start = case.known_start if isinstance(model, Transition) else case.start
    for number, (truth, seen) in enumerate(zip(case.truth, case.observations, strict=True)):
        started = time.perf_counter()
        told = assimilate(model, seen, start=start, noise=case.noise, seed=seed + number, **case.options)
        spent.append(time.perf_counter() - started)
        period = np.array([p for p, _ in told.step.plan.turns])[:count]
        low, high = told.filtered.bands(_LEVEL)[:, settle:, :count]
        mean, own = told.filtered.mean[settle:, :count], told.filtered.spread[settle:, :count]
        apart = _short(truth[settle:] - mean, period)
        errors.append(apart / scale)
        inside.append((_short(truth[settle:] - low, period) >= 0) & (_short(high - truth[settle:], period) >= 0))
        spreads.append(own / scale)
        evidence.append(told.log_evidence)
        effective.append(float(told.effective.min()))
    return {
        "rmse": float(np.sqrt(np.mean(np.square(errors)))),
        "spread": float(np.sqrt(np.mean(np.square(spreads)))),
        "coverage": float(np.mean(inside)),
        "log_evidence": float(np.mean(evidence)),
        "least_effective": min(effective),
        "ours_s": float(np.median(spent)),
        "records": len(case.observations),
    }


def _short(apart: np.ndarray, period: np.ndarray) -> np.ndarray:
    safe = np.where(period > 0, period, 1.0)
    return np.where(period > 0, apart - period * np.round(apart / safe), apart)


def _seen(truth: np.ndarray, names: Sequence[str], every: int, noise: float, seed: int) -> list[pd.DataFrame]:
    """Noisy observations of states (records, rows, some), one row in `every`."""
    rng = np.random.default_rng(seed)
    y = truth + noise * rng.normal(size=truth.shape)
    y[:, np.arange(truth.shape[1]) % every > 0] = np.nan
    return [pd.DataFrame(record, columns=list(names)) for record in y]


def _lorenz63(rows: int, records: int, length: int, particles: int, seed: int) -> Case:
    steps = 500
    system = lorenz63(trajectories=max(rows // steps, 1), steps=steps, seed=seed)
    names = list(system.candidates)
    other = lorenz63(trajectories=records, steps=length, seed=seed + 1)
    truth = other.table[names].to_numpy().reshape(records, length, 3)

    def move(x: Any, action: Any, key: Any) -> Any:
        drift = jnp.stack([SIGMA * (x[1] - x[0]), x[0] * (RHO - x[2]) - x[1], x[0] * x[1] - BETA * x[2]])
        return x + _L63_DT * drift + _L63_NOISE * x * jnp.sqrt(_L63_DT) * jr.normal(key, (3,))

    start = pd.DataFrame(system.table[names]).sample(particles, random_state=seed, replace=True, ignore_index=True)
    return Case(
        "Lorenz-63, x1 alone seen at every tenth row",
        system.table,
        system.ancestors,
        {target: names for target in system.targets},
        Transition(names, move),
        truth,
        _seen(truth[:, :, :1], ["x1"], 10, 1.0, seed),
        {"x1": 1.0},
        start,
        start,
        {"method": "particle", "particles": particles},
        {},
    )


def _lorenz96(rows: int, records: int, length: int, particles: int, seed: int, sites: int = 9) -> Case:
    rng = np.random.default_rng(seed)
    trajectories, steps = 20, max(rows // 20, 1)
    states = _lorenz96_states(sites, trajectories, steps + 1, rng)
    names, targets = [f"x{i + 1}" for i in range(sites)], [f"dx{i + 1}" for i in range(sites)]
    values = np.concatenate([states[:, :-1], np.diff(states, axis=1)], axis=2).reshape(-1, 2 * sites)
    table = pd.DataFrame(values, columns=[*names, *targets])
    # Its steps are short, and the filter needs some units of time to find the sites that nobody sees.
    truth = _lorenz96_states(sites, records, 4 * length, np.random.default_rng(seed + 1))

    def move(x: Any, action: Any, key: Any) -> Any:
        drift = (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + _L96_FORCING
        return x + _L96_DT * drift + _L96_NOISE * jnp.sqrt(_L96_DT) * jr.normal(key, x.shape)

    observed = names[::3]
    members = 100
    start = pd.DataFrame(table[names]).sample(members, random_state=seed, ignore_index=True)
    near = {name: [names[(i + k) % sites] for k in (-2, -1, 0, 1)] for i, name in enumerate(targets)}
    return Case(
        f"Lorenz-96, {len(observed)} of {sites} sites seen at every tenth row",
        table,
        near,
        {target: names for target in targets},
        Transition(names, move),
        truth,
        _seen(truth[:, :, ::3], observed, 10, 1.0, seed),
        dict.fromkeys(observed, 1.0),
        start,
        start,
        {"method": "ensemble", "particles": members, "inflation": 1.02, "near": ring(sites, 4.0)},
        {},
    )


def _lorenz96_states(sites: int, trajectories: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    """(trajectories, rows, sites) of one scale with additive noise, by Euler-Maruyama, without the first thousand."""
    x = _L96_FORCING + rng.normal(size=(trajectories, sites))
    found = []
    for number in range(1_000 + rows):
        if number >= 1_000:
            found.append(x)
        drift = (np.roll(x, -1, 1) - np.roll(x, 2, 1)) * np.roll(x, 1, 1) - x + _L96_FORCING
        x = x + _L96_DT * drift + _L96_NOISE * np.sqrt(_L96_DT) * rng.normal(size=x.shape)
    return np.stack(found, axis=1)


def _pendulum(rows: int, records: int, length: int, particles: int, seed: int) -> Case:
    lags, steps = 3, 200
    system = pendulum(max(rows // (steps - lags), 1), steps, lags, seed)
    rng = np.random.default_rng(seed + 1)
    theta, speed = rng.uniform(-np.pi, np.pi, records), rng.uniform(-1, 1, records)
    u = rng.uniform(-LARGEST_TORQUE, LARGEST_TORQUE, (records, length))
    path = []
    for row in range(length):
        path.append(theta)
        theta, speed = swing(theta, speed, u[:, row], 1 + NOISE * rng.standard_normal(records))
    truth = wrap(np.stack(path, axis=1))[:, :, None]

    def move(x: Any, action: Any, key: Any) -> Any:
        shake = 1 + NOISE * jr.normal(key)
        speed = x[1] + DT * (GRAVITY * shake * jnp.sin(x[0]) + TORQUE * action[0])
        speed = jnp.clip(speed, -LARGEST_SPEED, LARGEST_SPEED)
        return jnp.stack([x[0] + DT * speed, speed])

    some = system.table.sample(particles, random_state=seed, replace=True).reset_index(drop=True)
    turned = wrap((some["theta_0"] - some["theta_1"]).to_numpy())
    known_start = pd.DataFrame({"theta": some["theta_0"], "speed": turned / DT})
    seen = _seen(truth, ["theta"], 4, 0.2, seed)
    return Case(
        "pendulum, its angle seen at every fourth row",
        system.table,
        {"dtheta": ["theta_0", "theta_1", "u_0"]},
        {"dtheta": list(system.candidates)},
        Transition(["theta", "speed"], move, ["u"], {"theta": TURN}),
        truth,
        [frame.assign(u=own) for frame, own in zip(seen, u, strict=True)],
        {"theta": 0.2},
        some,
        known_start,
        {"method": "particle", "particles": particles},
        dict(system.periodic),
    )
