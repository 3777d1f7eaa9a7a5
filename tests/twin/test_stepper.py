"""One row at a time: the numbers are those of compiled code, whatever the kinds of columns, and sooner there."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from mixed import mixed_twin
from toys import toy_twin

from forebear.errors import InputError
from forebear.twin.twin import Twin


@pytest.fixture(scope="module", params=[False, True], ids=["separate", "joint"])
def student(request: pytest.FixtureRequest) -> Twin:
    return mixed_twin(request.param).distil(rows=256, steps=60, progress=False)


def test_the_numbers_are_those_of_the_twin(student: Twin) -> None:
    step, x = student.stepper(), student.rows[:300]
    # Latents far outside too, where the curves go on as straight lines.
    z = 2.5 * np.random.default_rng(1).normal(size=(len(x), 4))
    assert np.isnan(x).any() and np.abs(z).max() > 6
    ours, theirs = np.stack([step(*row) for row in zip(x, z, strict=True)]), student.at_latents(x, z[None])[0]
    error = np.abs(ours - theirs) / [target.scale for target in student.outputs]
    # A latent within rounding of the border of a cell may fall to the other side of it.
    assert (error > 1e-5).mean() <= 2e-3


def test_columns_that_are_numbers_take_the_short_way() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(1e6, 3, size=(200, 4)), columns=list("abyu"))
    twin = toy_twin(frame, {"y": ("a", "b"), "u": ("b",)})
    step, rng = twin.stepper(), np.random.default_rng(1)
    assert (step.inputs, step.targets, step.latents) == (("a", "b"), ("y", "u"), 2)
    for row in frame[["a", "b"]].to_numpy()[:50]:
        z = rng.normal(size=2)
        np.testing.assert_allclose(step(row, z), twin.at_latents(row[None], z[None, None])[0, 0], rtol=0, atol=3e-5)


def test_a_flow_is_distilled_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, asked = mixed_twin(joint=False), []
    student = toy_twin(pd.DataFrame({"a": [0.0, 1.0, 3.0], "y": [0.0, 2.0, 1.0]}), {"y": ("a",)})
    monkeypatch.setattr(Twin, "distil", lambda self, **options: asked.append(self) or student)
    assert flow.stepper().inputs == ("a",) and flow.stepper().inputs == ("a",) and asked == [flow]


def test_a_row_of_another_shape_is_refused() -> None:
    step = toy_twin(pd.DataFrame({"a": [0.0, 1.0, 3.0], "y": [0.0, 2.0, 1.0]}), {"y": ("a",)}).stepper()
    with pytest.raises(InputError, match=r"one row of 1 inputs and 1 latents; got x of shape \(1, 1\)"):
        step(np.zeros((1, 1)), np.zeros(1))
    with pytest.raises(InputError, match=r"z of shape \(2,\)"):
        step(np.zeros(1), np.zeros(2))


def test_a_step_takes_a_fraction_of_the_time_of_a_draw() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("aby"))
    twin = toy_twin(frame, {"y": ("a", "b")})
    step, x, z = twin.stepper(), np.zeros(2), np.zeros(1)
    given = {"a": [0.0], "b": [0.0]}
    for call in (lambda: step(x, z), lambda: twin.sample(given, n=1)):
        call()
    # The least of many calls, which a busy machine does not change.
    ours = min(_seconds(lambda: step(x, z)) for _ in range(300))
    theirs = min(_seconds(lambda: twin.sample(given, n=1)) for _ in range(30))
    assert ours < theirs / 5


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
