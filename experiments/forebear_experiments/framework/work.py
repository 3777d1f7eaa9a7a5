"""One unit of an experiment's work: make the data, discover, and write down what both rules say; or measure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forebear_experiments.framework.elapsed import elapsed_before
from forebear_experiments.framework.experiment import CERTIFIED, JUMP, Part

if TYPE_CHECKING:
    from forebear.api.found import Found
    from forebear.systems import System

QUICK = {"steps": 400, "batch": 256, "distilled": 400, "subset_steps": 400, "tested": 1_500}
"""settings of a quick version, whatever the preset"""


@dataclass(frozen=True)
class Request:
    """Which experiment to rebuild, and how.

    >>> Request("heat", preset="paper", quick=True).label
    'heat-paper-quick'
    """

    name: str
    """see `forebear_experiments.EXPERIMENTS`"""
    preset: str = "fast"
    """or "paper" for the published settings, which need a GPU for most experiments"""
    runs: int | None = None
    """repeats, with data, training and distillation drawn anew; None: as many as the experiment asks for"""
    seed: int = 0
    """of the first run; run number r has seed + r"""
    quick: bool = False
    """a small version of the same code path, to see it work; its answers mean little"""

    @property
    def label(self) -> str:
        """The name of its files."""
        return "-".join([self.name, *([self.preset] if self.preset != "fast" else []), *(["quick"] * self.quick)])

    @property
    def identity(self) -> dict[str, Any]:
        """What a unit of work depends on: one that was made for another number of runs is as good."""
        return {"experiment": self.name, "preset": self.preset, "seed": self.seed, "quick": self.quick}


class WorkUnit(NamedTuple):
    """What to do: one run of one part, or a measurement."""

    part: str
    run: int
    measure: bool = False

    @property
    def label(self) -> str:
        """A name that is unique within an experiment and fit for a file."""
        kind = "measure" if self.measure else f"run{self.run:03d}"
        words = "".join(c if c.isalnum() else "-" for c in self.part)
        return f"{words or 'all'}-{kind}"


def work(request: Request, unit: WorkUnit, place: Path | None = None) -> dict[str, Any]:
    """The record of a unit: plain lists and numbers. `place` is where it may keep what is unfinished."""
    from forebear_experiments import find_experiment
    from forebear_experiments.framework.machine import machine

    experiment = find_experiment(request.name)
    unfinished = [None if place is None else place / unit.label] if experiment.resumes else []
    before = sum(elapsed_before(folder) for folder in unfinished if folder is not None)
    started = time.perf_counter()
    if unit.measure:
        told: dict[str, Any] = {"rows": experiment.measures[unit.part](request.seed, request.quick, *unfinished)}
    else:
        part = next(part for part in experiment.parts if part.name == unit.part)
        told = _answer(part, request.preset, request.seed + unit.run, request.quick)
    seconds = before + time.perf_counter() - started
    return {"part": unit.part, "run": unit.run, **told, "seconds": seconds, "machine": machine()}


def _answer(part: Part, preset: str, seed: int, quick: bool) -> dict[str, Any]:
    import forebear

    make = part.quick if quick and part.quick is not None else part.make
    system = make(seed=seed)
    settings = {**(part.paper if preset == "paper" else part.fast), **(QUICK if quick else {})}
    found = forebear.discover(
        system.table,
        **system.options(*part.targets),
        preset=preset,
        joint=part.joint,
        seed=seed,
        progress=False,
        **{"path": "own", **settings},  # the published rule reads the path
    )
    return {
        "seed": seed,
        "data_rows": len(system.table),
        "discovery_s": found.seconds,
        "targets": {target: _told(found, system, target) for target in found.targets},
    }


def _told(found: Found, system: System, target: str) -> dict[str, Any]:
    from forebear.discovery.choose import LargestJump

    path, certificate = found.runs[0][target], found.certified[0][target]
    truth = system.ancestors.get(target)
    jump = set(LargestJump()(path))
    return {
        "truth": None if truth is None else list(truth),
        "kept": list(found.questions[target].always),
        "units": list(path.candidates),
        "removed": list(path.removed),
        "nsr": list(path.nsr),
        "scores": dict(zip(path.candidates, path.scores[0].tolist(), strict=True)),
        JUMP: [*found.questions[target].always, *(unit for unit in path.candidates if unit in jump)],
        CERTIFIED: list(found.ancestors[target]),
        "passes": certificate.passes,
        "agrees": certificate.agrees,
        "left_p_value": None if certificate.jointly is None else certificate.jointly.p_value,
        "certificate": {unit: _verdict(verdict) for unit, verdict in certificate.tests.items()},
        "alternatives": [list(kept) for kept in certificate.alternatives],
        "negligible": list(certificate.negligible),
    }


def _verdict(verdict: Any) -> Mapping[str, float]:
    return {"p_value": verdict.p_value, "effect": verdict.effect, "shift": verdict.shift}
