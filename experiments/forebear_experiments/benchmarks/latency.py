"""How long a control loop waits for one draw of a distilled twin, in Python: three ways to ask for it.

What is told is the median and the 99th percentile of many calls, each after the other in one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

SIZES = ((2, 1), (6, 3))
"""inputs and targets"""


def run(
    sizes: Sequence[tuple[int, int]] = SIZES, calls: int = 5_000, rows: int = 2_000, steps: int = 500
) -> list[dict[str, Any]]:
    """One row per size of the twin: `stepper`, beside the compiled core called from Python, and beside `sample`.

    How well the twin is trained does not matter to its speed, so it is trained for `steps` alone.
    """
    return [_row(inputs, targets, calls, rows, steps) for inputs, targets in sizes]


def _row(inputs: int, targets: int, calls: int, rows: int, steps: int) -> dict[str, Any]:
    import jax

    import forebear

    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, inputs))
    table = pd.DataFrame(x, columns=pd.Index([f"x{i + 1}" for i in range(inputs)]))
    for i in range(targets):
        table[f"y{i + 1}"] = x[:, i % inputs] + np.exp(0.3 * x[:, (i + 1) % inputs]) * rng.normal(size=rows)
    names = [f"y{i + 1}" for i in range(targets)]
    found = forebear.discover(table, targets=names, rule=_everything, distilled=200, steps=steps, progress=False)
    twin = found.twin(law="flow", steps=steps).distil(rows=1_024, steps=steps, progress=False)
    step, core = twin.stepper(), twin.core()
    pushed = jax.jit(lambda one, z: core.push(core.params, one, z))
    row, z = np.zeros(inputs), np.zeros(step.latents)
    single_row, single_z = (np.zeros((1, len(own)), np.float32) for own in (row, z))
    ours = _times(lambda: step(row, z), calls)
    compiled = _times(lambda: np.asarray(pushed(single_row, single_z)), calls)
    drawn = _times(lambda: twin.sample(row[None], n=1, outside="ignore"), max(1, calls // 20))
    return {
        "what": f"one draw, {inputs} inputs, {targets} target{'s' * (targets > 1)}",
        "ours_s": float(np.median(ours)),
        "p99_s": float(np.quantile(ours, 0.99)),
        "baseline": "twin.sample",
        "baseline_s": float(np.median(drawn)),
        "ratio": float(np.median(drawn) / np.median(ours)),
        "compiled_s": float(np.median(compiled)),
        "compiled_p99_s": float(np.quantile(compiled, 0.99)),
    }


def _everything(path: Any) -> tuple[str, ...]:
    return tuple(path.candidates)


def _times(call: Callable[[], Any], calls: int) -> np.ndarray:
    """Seconds of each call, the first few, which may compile, not counted."""
    for _ in range(10):
        call()
    ends = np.empty(calls + 1)
    ends[0] = time.perf_counter()
    for i in range(calls):
        call()
        ends[i + 1] = time.perf_counter()
    return np.diff(ends)
