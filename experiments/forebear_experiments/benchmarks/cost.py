"""What certified selection costs beside the published rule, on the same data, both compiled beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebear.errors import InputError, near_miss


def run(names: Sequence[str] = ("lorenz63", "weak", "heat"), **arguments: Any) -> list[dict[str, Any]]:
    """One row per system (3, 6 and 12 inputs by default): seconds of either rule. Arguments go to `discover`."""
    from forebear.systems import heat
    from forebear_experiments.benchmarks.support.suite import SUITE

    known = {**SUITE, "heat": heat}
    for name in names:
        if name not in known:
            raise InputError(f"there is no system '{name}' in this benchmark. {near_miss(name, known)}")
    return [_row(name, known[name](seed=0), arguments) for name in names]


def _row(name: str, system: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    import forebear

    seconds = {}
    for rule in ("nsr-jump", "certified"):
        for seed in (0, 1):  # the first compiles
            found = forebear.discover(system.table, **system.options(), rule=rule, seed=seed, **arguments)
        seconds[rule] = found.seconds
    ratio = seconds["nsr-jump"] / seconds["certified"]
    return {
        "what": f"{name}: certified, {len(system.candidates)} inputs, {len(system.targets)} targets",
        "ours_s": seconds["certified"],
        "baseline": "nsr-jump",
        "baseline_s": seconds["nsr-jump"],
        "ratio": ratio,
    }
