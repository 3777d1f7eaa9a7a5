"""Preset "fast" against preset "paper" on Lorenz-63: the same graph, and how much sooner."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forebear.systems import System


def run(
    trajectories: int = 50, steps: int | None = None, distilled: int = 5_000, seed: int = 0
) -> list[dict[str, Any]]:
    """Two rows: three increments by a sampler each, then by a joint one; both presets in this process, fast first.

    The first fast run pays for imports and for every compilation, provided that the process is fresh (`fresh` says
    whether JAX was loaded before); paper, which comes second, finds part of its code compiled, so the ratio errs on
    the low side.

    `trajectories` of 1,000 rows each, `steps` of the optimiser (None: as each preset has it) and `distilled` rows
    make it smaller, for tests.
    """
    import forebear

    system = forebear.systems.lorenz63(trajectories=trajectories)
    # The published rule for both: what differs is how the sampler is trained and the kernel chosen.
    options: dict[str, Any] = {"rule": "nsr-jump", "seed": seed, "distilled": distilled}
    options |= {} if steps is None else {"steps": steps}
    return [_row(system, joint, options) for joint in (False, True)]


def _row(system: System, joint: bool, options: Mapping[str, Any]) -> dict[str, Any]:
    import forebear

    fresh = "jax" not in sys.modules
    seconds: dict[str, float] = {}
    graphs: dict[str, dict[str, tuple[str, ...]]] = {}
    for preset in ("fast", "paper"):
        started = time.perf_counter()
        found = forebear.discover(system.table, **system.options(), preset=preset, joint=joint, **options)
        seconds[preset], graphs[preset] = time.perf_counter() - started, found.ancestors
    samplers = "one joint sampler" if joint else "a sampler each"
    return {
        "what": f"Lorenz-63, three increments, {samplers}, {len(system.table):,} rows, preset fast, cold",
        "ours_s": seconds["fast"],
        "baseline": "preset paper, same process",
        "baseline_s": seconds["paper"],
        "ratio": seconds["paper"] / seconds["fast"],
        "same_graph": _same(graphs["fast"], graphs["paper"]),
        "fast_exact": _same(graphs["fast"], system.ancestors),
        "paper_exact": _same(graphs["paper"], system.ancestors),
        "fast_graph": {target: list(names) for target, names in graphs["fast"].items()},
        "paper_graph": {target: list(names) for target, names in graphs["paper"].items()},
        "fresh": fresh,
    }


def _same(first: Mapping[str, tuple[str, ...]], second: Mapping[str, tuple[str, ...]]) -> bool:
    return {t: set(names) for t, names in first.items()} == {t: set(names) for t, names in second.items()}
