"""Run an experiment unit by unit, keep every finished one, and judge the claims."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from forebear.discovery.settings import PRESETS
from forebear.errors import InputError, check_whole, near_miss
from forebear.run.engine import as_done
from forebear.run.events import progress as show_progress
from forebear.storage.files import write_json
from forebear.storage.folder import RunFolder
from forebear.storage.lock import alone_in
from forebear_experiments import find_experiment
from forebear_experiments.framework.experiment import Claim, Experiment, Findings
from forebear_experiments.framework.work import Request, WorkUnit, work

_QUICK_RUNS = 1


@dataclass(frozen=True)
class Reproduction:
    """What came out of an experiment."""

    request: Request
    runs: int
    """that were made, of every part that does not ask for fewer"""
    findings: Findings
    records: Sequence[dict[str, Any]]
    """of every unit of work, in order"""

    @property
    def claims(self) -> list[Claim]:
        """Published, measured, and whether it holds."""
        return self.findings.experiment.claims(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers: what `forebear reproduce --json` prints and results/NAME.json holds."""
        experiment = self.findings.experiment
        machines = []
        for record in self.records:
            if record["machine"] not in machines:
                machines.append(record["machine"])
        told = {
            "name": self.request.name,
            "title": experiment.title,
            "preset": self.request.preset,
            "seed": self.request.seed,
            "quick": self.request.quick,
            "runs": self.runs,
            "repeats": experiment.repeats,
            "decided": experiment.decided,
            "seconds": sum(record["seconds"] for record in self.records),
            "claims": [claim._asdict() for claim in self.claims],
            "machines": machines,
            "command": self.command,
        }
        answers = {
            part: [{key: value for key, value in record.items() if key != "machine"} for record in records]
            for part, records in self.findings.answers.items()
        }
        return {**told, "answers": answers, "measured": dict(self.findings.measured)}

    @property
    def command(self) -> str:
        """What to type to get it again."""
        repeats = [f"--preset {self.request.preset} --runs {self.runs}"] * bool(self.findings.experiment.parts)
        words = ["forebear reproduce", self.request.name, *repeats, f"--seed {self.request.seed}"]
        return " ".join([*words, *(["--quick"] * self.request.quick)])


def reproduce(
    request: Request, out: str | Path = "results", jobs: int | Any = 1, progress: bool | None = None
) -> Reproduction:
    """Rebuild a published experiment from nothing.

    Every finished unit of work (a run of a part, a measurement) is kept under `out`; the same call takes up where it
    was interrupted. At the end `out` holds NAME.json and figures/NAME.svg and .png, with the preset in the name
    unless it is "fast"; the figures of a quick version are in figures/quick.

    Arguments:
        request: the experiment, its preset, repeats and seed.
        out: a folder.
        jobs: worker processes, or a dask.distributed.Client.
        progress: whether to show a bar; None: when standard error is a terminal.
    """
    experiment = find_experiment(request.name)
    repeats = _repeats(request, experiment)
    todo = work_units(experiment, repeats, request.preset, request.quick)
    records = _make(request, todo, out, jobs, progress)
    made = Reproduction(request, repeats, _findings(experiment, todo, records), [*records.values()])
    write_json(Path(out) / f"{request.label}.json", made.to_dict())
    _draw(made, figures_folder(out, request))
    return made


def reproduce_only(
    request: Request,
    only: Sequence[str],
    out: str | Path = "results",
    jobs: int | Any = 1,
    progress: bool | None = None,
) -> Path:
    """Make some parts or measurements of an experiment, by name, and nothing else; returns where they are kept.

    They can be made on different machines: `reproduce` takes up everything that it finds in this folder.
    """
    experiment = find_experiment(request.name)
    todo = work_units(experiment, _repeats(request, experiment), request.preset, request.quick)
    known = list(dict.fromkeys(unit.part for unit in todo))
    for name in only:
        if name not in known:
            raise InputError(f"{request.name} has no part '{name}'. {near_miss(name, known)}")
    _make(request, [unit for unit in todo if unit.part in only], out, jobs, progress)
    return pieces_folder(out, request)


def _repeats(request: Request, experiment: Experiment) -> int:
    preset, runs = request.preset, request.runs
    if preset not in PRESETS:
        raise InputError(f"unknown preset '{preset}'. {near_miss(preset, PRESETS)}")
    if runs is not None:
        check_whole("runs", runs, 1)
    if not experiment.parts and (preset != "fast" or runs is not None):
        option = "runs" if runs is not None else "preset"
        raise InputError(
            f"{request.name} has one set of settings and says itself what it repeats: leave {option} out"
        )
    return runs or (_QUICK_RUNS if request.quick else experiment.runs)


def _make(
    request: Request, todo: Sequence[WorkUnit], out: str | Path, jobs: Any, progress: bool | None
) -> dict[WorkUnit, dict[str, Any]]:
    check_whole("seed", request.seed, 0)
    place = pieces_folder(out, request)
    folder = RunFolder(place, request.identity)
    with alone_in(place):
        function = partial(work, request, place=folder.folder / "unfinished")
        return _gather(function, todo, folder, jobs, progress)


def _draw(made: Reproduction, folder: Path) -> None:
    from forebear_experiments.framework.run_figures import figure, save_figure

    experiment, label = made.findings.experiment, made.request.label
    for part, records in made.findings.answers.items():
        title = ", ".join(filter(None, [experiment.title, part, f"preset {made.request.preset}"]))
        save_figure(figure(records, title), folder / figure_name(label, part))
    if experiment.figure is not None and made.findings.measured:
        name = figure_name(label, "measured" if experiment.parts else "")
        save_figure(experiment.figure(made.findings), folder / name)


def figure_name(label: str, part: str) -> str:
    """The file of a part's figure, without its ending.

    >>> figure_name("oil", "1986-1999"), figure_name("heat", "")
    ('oil-1986-1999', 'heat')
    """
    words = "".join(c if c.isalnum() else "-" for c in part.replace(",", "")).strip("-").lower()
    return f"{label}-{words}" if words else label


def figures_folder(out: str | Path, request: Request) -> Path:
    """Where the figures go; those of a quick version mean little, and stay out of the way of the others."""
    return Path(out) / "figures" / ("quick" if request.quick else "")


def pieces_folder(out: str | Path, request: Request) -> Path:
    """Where the finished units of work of an experiment are kept, however often it is to be repeated."""
    words = [request.name, request.preset, str(request.seed), *(["quick"] * request.quick)]
    return Path(out) / "pieces" / "-".join(words)


def work_units(experiment: Experiment, runs: int, preset: str, quick: bool = False) -> list[WorkUnit]:
    """All there is to do, first runs of every part first; what is measured once does not depend on the preset."""
    repeated = [
        WorkUnit(part.name, run)
        for run in range(runs)
        for part in experiment.parts
        if (part.runs is None or run < part.runs) and not (quick and part.quick is None)
    ]
    once = experiment.measures if preset == "fast" else ()
    return [*repeated, *(WorkUnit(name, 0, measure=True) for name in once)]


def _gather(
    function: Any, todo: Sequence[WorkUnit], folder: RunFolder, jobs: Any, progress: bool | None
) -> dict[WorkUnit, dict[str, Any]]:
    records = {unit: saved for unit in todo if (saved := folder.get(unit.label)) is not None}
    waiting = [unit for unit in todo if unit not in records]
    with show_progress(progress) as show:
        for place, record in as_done(function, waiting, jobs, name=lambda unit: unit.label):
            unit = waiting[place]
            folder.put(unit.label, record)
            shutil.rmtree(folder.folder / "unfinished" / unit.label, ignore_errors=True)
            records[unit] = record
            show(unit.label, len(records) / len(todo))
    return {unit: records[unit] for unit in todo}


def _findings(experiment: Experiment, todo: Sequence[WorkUnit], records: dict[WorkUnit, dict[str, Any]]) -> Findings:
    answers: dict[str, list[dict[str, Any]]] = {}
    for unit in todo:
        if not unit.measure:
            answers.setdefault(unit.part, []).append(records[unit])
    measured = {unit.part: records[unit]["rows"] for unit in todo if unit.measure}
    return Findings(experiment, answers, measured)
