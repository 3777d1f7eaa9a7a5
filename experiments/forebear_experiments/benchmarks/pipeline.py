"""How often the whole pipeline, at its defaults, returns exactly the true ancestors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from forebear.errors import InputError, near_miss

if TYPE_CHECKING:
    from forebear.systems import System


class Case(NamedTuple):
    """One row of the benchmark."""

    what: str
    make: Callable[..., System]
    """takes `seed`"""
    targets: tuple[str, ...] = ()
    """all of the system's by default"""


def cases() -> dict[str, Case]:
    """The systems by name. Built on demand: some simulators load JAX."""
    from forebear import systems

    return {
        "lorenz63": Case("Lorenz-63, three increments", systems.lorenz63),
        "lorenz63-residual": Case("Lorenz-63, three residuals", partial(systems.lorenz63, residuals=True)),
        "kraichnan-orszag": Case("Kraichnan-Orszag, three increments", systems.kraichnan_orszag),
        "algebraic": Case("algebraic, y1 and y2, 1,000 rows", partial(systems.algebraic, rows=1_000), ("y1", "y2")),
        "heat": Case("heat equation, both ends", systems.heat),
        "lorenz96-10": Case("Lorenz-96, 10 sites, every increment", partial(systems.lorenz96, sites=10)),
        "lorenz96-40": Case("Lorenz-96, 40 sites, first increment", partial(systems.lorenz96, sites=40), ("dx1",)),
    }


def run(
    names: Sequence[str] | None = None, seeds: Sequence[int] = (0, 1, 2), **arguments: Any
) -> list[dict[str, Any]]:
    """One row per system: exact sets out of targets x data seeds, seconds for all seeds, and the sets that are wrong;
    `nsr_jump_exact` counts the exact sets of the published rule, read off the same pruning paths.

    `names` picks systems, `seeds` the data; what else is given goes to `forebear.discover`.
    """
    known = cases()
    for name in names or ():
        if name not in known:
            raise InputError(f"there is no system '{name}' in this benchmark. {near_miss(name, known)}")
    return [_row(known[name], seeds, arguments) for name in (names or known)]


def _row(case: Case, seeds: Sequence[int], arguments: dict[str, Any]) -> dict[str, Any]:
    import forebear

    seconds, asked, wrong, rule, published = 0.0, 0, [], "", 0
    for seed in seeds:
        system = case.make(seed=seed)
        started = time.perf_counter()
        found = forebear.discover(system.table, **system.options(*case.targets), **{"path": "own", **arguments})
        seconds += time.perf_counter() - started
        asked, rule = asked + len(found.targets), found.settings["rule"]
        for target, names in found.ancestors.items():
            truth = system.ancestors[target]
            jump = {*forebear.LargestJump()(found.runs[0][target]), *found.questions[target].always}
            published += jump == set(truth)
            if set(names) != set(truth):
                wrong.append({"seed": seed, "target": target, "found": list(names), "truth": list(truth)})
    counts = {"exact": asked - len(wrong), "of": asked, "wrong": wrong}
    return {"what": case.what, "ours_s": seconds, "rule": rule, **counts, "nsr_jump_exact": published}
