"""The few steps that draws are made with, against many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import forebear as fb
from forebear.data.table import read_columns
from forebear.flow.sampler import NetworkLaw, Task
from forebear.flow.samplers import FlowSampler
from forebear.flow.train import fit


@pytest.fixture(scope="module", params=["narrow", "wide"])
def law(request: pytest.FixtureRequest) -> tuple[NetworkLaw, fb.systems.System]:
    """Of an increment that its inputs almost determine, or of what a closure leaves over."""
    system = (
        fb.systems.lorenz96(10) if request.param == "narrow" else fb.systems.lorenz63(trajectories=10, residuals=True)
    )
    target, inputs = system.targets[0], tuple(system.candidates)
    table = read_columns(system.table, "the table", [*inputs, target], {})
    y = table.columns[target].values[:, None]
    lessons = FlowSampler().prepare(table, [Task(inputs, (target,))], [y], np.arange(table.rows), seed=0)
    [trained] = lessons.laws(fit(lessons.training))
    return trained, system


def _drawn(law: NetworkLaw, system: fb.systems.System, **solver: float) -> np.ndarray:
    settings = replace(law.sampler.settings, **solver)  # pyright: ignore[reportArgumentType]
    other = replace(law, sampler=replace(law.sampler, settings=settings))
    z = np.random.default_rng(0).normal(size=(2_000, 1))
    return other.push(system.table.head(2_000), z) / law.scale


def test_eight_crowded_steps_draw_what_a_hundred_do(law: tuple[NetworkLaw, fb.systems.System]) -> None:
    exact = _drawn(*law, ode_steps=100)
    few, fewer = (np.sqrt(np.mean((_drawn(*law, ode_steps=n) - exact) ** 2)) for n in (8, 3))
    assert few < 0.003 < fewer
