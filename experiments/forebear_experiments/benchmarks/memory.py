"""A regression on more draws than a kernel matrix would fit for, and what it takes."""

from __future__ import annotations

import time
from typing import Any

from forebear_experiments.framework.machine import peak_gib


def run(distilled: int = 50_000, trajectories: int = 50, **arguments: Any) -> list[dict[str, Any]]:
    """One row: dx1 of Lorenz-63 by the published rule and kernel, with so many draws; peak memory beside the matrix.

    Arguments go to `forebear.discover`.
    """
    import forebear

    system = forebear.systems.lorenz63(trajectories=trajectories)
    kernel = {"lengthscale": 1.0, "latent_lengthscale": 1.0, "nugget": 1.0}
    options: dict[str, Any] = {**system.options("dx1"), "rule": "nsr-jump", **kernel, **arguments}
    forebear.discover(system.table, **options, distilled=1_000)  # compiles the training
    before = peak_gib()
    started = time.perf_counter()
    found = forebear.discover(system.table, **options, distilled=distilled)
    return [
        {
            "what": f"Lorenz-63, dx1, {distilled:,} draws, published rule and kernel",
            "ours_s": time.perf_counter() - started,
            "peak_memory_gib": round(peak_gib(), 2),
            "peak_before_gib": round(before, 2),
            "kernel_matrix_gib": round(8 * distilled**2 / 2**30, 2),
            "exact": set(found.ancestors["dx1"]) == set(system.ancestors["dx1"]),
            "nsr": [round(value, 6) for value in found.runs[0]["dx1"].nsr],
        }
    ]
