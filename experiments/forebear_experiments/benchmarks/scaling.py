"""The pruning stage with many inputs: against the obvious implementation, and how its time grows up to 1,000."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from forebear_experiments.framework.machine import peak_gib


def run(
    sizes: Sequence[int] = (100, 200, 500, 1_000), obvious: int = 200, distilled: int = 2_000, whole: int = 1_000
) -> Iterator[dict[str, Any]]:
    """Rows: one input removed at a time, beside an implementation that builds the kernel anew for every input and
    solves by LU, with `obvious` inputs; several removed at a time, for each of the `sizes`, and the slope of its
    time from the first size to the last; the whole discovery with `whole` inputs (0: leave it out).

    The obvious implementation would take hours: its time is that of one kernel and of one solution, times how many
    of either it needs.
    """
    from forebear.discovery.path import prune

    points, y, units = _problem(obvious, distilled)
    before = peak_gib()
    started = time.perf_counter()
    [path] = prune(points, y, units, nugget=1.0)
    seconds = time.perf_counter() - started
    slow = _obvious(points, y, len(units))
    yield {
        "what": f"pruning {obvious} inputs one at a time, {distilled:,} draws",
        "ours_s": seconds,
        "baseline": "kernel built anew for every input, LU (from the time of one of each)",
        "baseline_s": slow,
        "ratio": slow / seconds,
        "peak_memory_gib": round(peak_gib(), 2),
        "peak_before_gib": round(before, 2),
    }
    times = []
    for size in sizes:
        points, y, units = _problem(size, distilled)
        started = time.perf_counter()
        [many] = prune(points, y, units, nugget=1.0, drop=0.25)
        times.append(time.perf_counter() - started)
        what = f"pruning {size:,} inputs, a quarter at a time down to 32, {distilled:,} draws"
        row: dict[str, Any] = {"what": what, "ours_s": times[-1], "last_four": list(many.removed[-4:])}
        if size == sizes[-1] and len(sizes) > 1:
            row["slope"] = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
            row["slope_from"] = sizes[0]
        yield row
    if whole:
        yield _whole(whole, distilled)


def _problem(size: int, distilled: int) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[int, ...]]]:
    """Increments of the first site of Lorenz-96, and a latent that means nothing: the time depends on sizes alone."""
    from forebear.discovery.embed import standard
    from forebear.systems import lorenz96

    system = lorenz96(size, distilled)
    inputs = standard(system.table[list(system.candidates)].to_numpy()) / 5
    latent = np.random.default_rng(0).normal(size=(len(inputs), 1))
    points = np.concatenate([inputs, latent], axis=1).T[:, None, :]
    return points, standard(system.table[["dx1"]].to_numpy()), {n: (i,) for i, n in enumerate(system.candidates)}


def _obvious(points: np.ndarray, y: np.ndarray, units: int) -> float:
    """Seconds for all steps: at each, a kernel for every input that is left, and one solution."""
    few = 20
    started = time.perf_counter()
    kernel = np.ones((points.shape[2],) * 2)
    for point in points[:few, 0]:
        kernel *= 1 + np.exp(-0.5 * np.subtract.outer(point, point) ** 2)
    factor = (time.perf_counter() - started) / few
    started = time.perf_counter()
    np.linalg.solve(kernel + np.eye(len(y)), y)
    solution = time.perf_counter() - started
    # With n inputs left: n kernels without one of them, and one of all, each a product of about n factors.
    return sum((left + 1) * left * factor + solution for left in range(units, 0, -1))


def _whole(size: int, distilled: int) -> dict[str, Any]:
    import forebear

    system = forebear.systems.lorenz96(size)
    started = time.perf_counter()
    found = forebear.discover(system.table, **system.options("dx1"), distilled=distilled)
    return {
        "what": f"Lorenz-96 with {size:,} sites: the ancestors of dx1, certified, {len(system.table):,} rows",
        "ours_s": time.perf_counter() - started,
        "found": list(found.ancestors["dx1"]),
        "exact": set(found.ancestors["dx1"]) == set(system.ancestors["dx1"]),
        "passes": found.certified[0]["dx1"].passes,
        "peak_memory_gib": round(peak_gib(), 2),
    }
