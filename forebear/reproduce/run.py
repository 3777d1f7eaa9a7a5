"""Run an experiment piece by piece, keep every piece, and judge the claims."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from forebear.discovery.settings import PRESETS
from forebear.errors import InputError, check_whole, near_miss
from forebear.reproduce import find_experiment
from forebear.reproduce.experiment import Claim, Evidence, Experiment
from forebear.reproduce.piece import Piece, work
from forebear.run.engine import as_done
from forebear.run.events import progress as show_progress
from forebear.storage.files import write_json
from forebear.storage.folder import RunFolder
from forebear.storage.lock import alone_in

_QUICK_RUNS = 1


@dataclass(frozen=True)
class Reproduction:
    """What came out of an experiment."""

    name: str
    preset: str
    seed: int
    quick: bool
    runs: int
    evidence: Evidence
    records: Sequence[dict[str, Any]]
    """of every piece, in order"""

    @property
    def claims(self) -> list[Claim]:
        """Published, measured, and whether it holds."""
        return self.evidence.experiment.claims(self.evidence)

    @property
    def label(self) -> str:
        """The name of its files."""
        return "-".join([self.name, *([self.preset] if self.preset != "fast" else []), *(["quick"] * self.quick)])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers: what `forebear reproduce --json` prints and results/NAME.json holds."""
        experiment = self.evidence.experiment
        machines = []
        for record in self.records:
            if record["machine"] not in machines:
                machines.append(record["machine"])
        told = {
            "name": self.name,
            "title": experiment.title,
            "preset": self.preset,
            "seed": self.seed,
            "quick": self.quick,
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
            for part, records in self.evidence.answers.items()
        }
        return {**told, "answers": answers, "measured": dict(self.evidence.measured)}

    @property
    def command(self) -> str:
        """What to type to get it again."""
        repeats = [f"--preset {self.preset} --runs {self.runs}"] * bool(self.evidence.experiment.parts)
        words = ["forebear reproduce", self.name, *repeats, f"--seed {self.seed}"]
        return " ".join([*words, *(["--quick"] * self.quick)])


def reproduce(
    name: str,
    preset: str = "fast",
    runs: int | None = None,
    seed: int = 0,
    quick: bool = False,
    out: str | Path = "results",
    jobs: int | Any = 1,
    progress: bool | None = None,
) -> Reproduction:
    """Rebuild a published experiment from nothing.

    Every finished piece (a run of a part) is kept under `out`; the same call takes up where it was interrupted. At
    the end `out` holds NAME.json and figures/NAME.svg and .png, with the preset in the name unless it is "fast".

    Arguments:
        name: see `forebear.reproduce.EXPERIMENTS`.
        preset: "fast", or "paper" for the published settings, which need a GPU for most experiments.
        runs: repeats, with data, training and distillation drawn anew; None: as many as the experiment asks for.
        seed: of the first run; run number r has seed + r.
        quick: a small version of the same code path, to see it work; its answers mean little.
        out: a folder.
        jobs: worker processes, or a dask.distributed.Client.
    """
    experiment = find_experiment(name)
    repeats = _repeats(name, experiment, preset, runs, quick)
    todo = pieces(experiment, repeats, preset, quick)
    records = _make(name, preset, seed, quick, todo, out, jobs, progress)
    made = Reproduction(name, preset, seed, quick, repeats, _evidence(experiment, todo, records), [*records.values()])
    write_json(Path(out) / f"{made.label}.json", made.to_dict())
    _draw(made, Path(out) / "figures")
    return made


def reproduce_only(
    name: str,
    only: Sequence[str],
    preset: str = "fast",
    runs: int | None = None,
    seed: int = 0,
    quick: bool = False,
    out: str | Path = "results",
    jobs: int | Any = 1,
    progress: bool | None = None,
) -> Path:
    """Make some parts or measurements of an experiment, by name, and nothing else; returns where they are kept.

    They can be made on different machines: `reproduce` takes up every piece that it finds in this folder.
    """
    experiment = find_experiment(name)
    repeats = _repeats(name, experiment, preset, runs, quick)
    todo = pieces(experiment, repeats, preset, quick)
    known = list(dict.fromkeys(piece.part for piece in todo))
    for unit in only:
        if unit not in known:
            raise InputError(f"{name} has no part '{unit}'. {near_miss(unit, known)}")
    chosen = [piece for piece in todo if piece.part in only]
    _make(name, preset, seed, quick, chosen, out, jobs, progress)
    return pieces_folder(out, name, preset, seed, quick)


def _repeats(name: str, experiment: Experiment, preset: str, runs: int | None, quick: bool) -> int:
    if preset not in PRESETS:
        raise InputError(f"unknown preset '{preset}'. {near_miss(preset, PRESETS)}")
    if runs is not None:
        check_whole("runs", runs, 1)
    if not experiment.parts and (preset != "fast" or runs is not None):
        option = "runs" if runs is not None else "preset"
        raise InputError(f"{name} has one set of settings and says itself what it repeats: leave {option} out")
    return runs or (_QUICK_RUNS if quick else experiment.runs)


def _make(
    name: str,
    preset: str,
    seed: int,
    quick: bool,
    todo: Sequence[Piece],
    out: str | Path,
    jobs: Any,
    show: bool | None,
) -> dict[Piece, dict[str, Any]]:
    check_whole("seed", seed, 0)
    identity = {"experiment": name, "preset": preset, "seed": seed, "quick": quick}
    place = pieces_folder(out, name, preset, seed, quick)
    folder = RunFolder(place, identity)
    with alone_in(place):
        function = partial(work, name, preset, seed, quick, place=folder.folder / "unfinished")
        return _gather(function, todo, folder, jobs, show)


def _draw(made: Reproduction, folder: Path) -> None:
    from forebear.report.runs import figure, save_figure

    experiment = made.evidence.experiment
    for part, records in made.evidence.answers.items():
        title = ", ".join(filter(None, [experiment.title, part, f"preset {made.preset}"]))
        save_figure(figure(records, title), folder / figure_name(made.label, part))
    if experiment.figure is not None and made.evidence.measured:
        name = figure_name(made.label, "measured" if experiment.parts else "")
        save_figure(experiment.figure(made.evidence), folder / name)


def figure_name(label: str, part: str) -> str:
    """The file of a part's figure, without its ending.

    >>> figure_name("oil", "1986-1999"), figure_name("heat", "")
    ('oil-1986-1999', 'heat')
    """
    words = "".join(c if c.isalnum() else "-" for c in part.replace(",", "")).strip("-").lower()
    return f"{label}-{words}" if words else label


def pieces_folder(out: str | Path, name: str, preset: str, seed: int, quick: bool) -> Path:
    """Where the finished pieces of an experiment are kept."""
    return Path(out) / "pieces" / "-".join([name, preset, str(seed), *(["quick"] * quick)])


def pieces(experiment: Experiment, runs: int, preset: str, quick: bool = False) -> list[Piece]:
    """All there is to do, first runs of every part first; what is measured once does not depend on the preset."""
    repeated = [
        Piece(part.name, run)
        for run in range(runs)
        for part in experiment.parts
        if (part.runs is None or run < part.runs) and not (quick and part.quick is None)
    ]
    once = experiment.measures if preset == "fast" else ()
    return [*repeated, *(Piece(name, 0, measure=True) for name in once)]


def _gather(
    function: Any, todo: Sequence[Piece], folder: RunFolder, jobs: Any, progress: bool | None
) -> dict[Piece, dict[str, Any]]:
    records = {piece: saved for piece in todo if (saved := folder.get(piece.label)) is not None}
    waiting = [piece for piece in todo if piece not in records]
    with show_progress(progress) as show:
        for place, record in as_done(function, waiting, jobs):
            piece = waiting[place]
            folder.put(piece.label, record)
            shutil.rmtree(folder.folder / "unfinished" / piece.label, ignore_errors=True)
            records[piece] = record
            show(piece.label, len(records) / len(todo))
    return {piece: records[piece] for piece in todo}


def _evidence(experiment: Experiment, todo: Sequence[Piece], records: dict[Piece, dict[str, Any]]) -> Evidence:
    answers: dict[str, list[dict[str, Any]]] = {}
    for piece in todo:
        if not piece.measure:
            answers.setdefault(piece.part, []).append(records[piece])
    measured = {piece.part: records[piece]["rows"] for piece in todo if piece.measure}
    return Evidence(experiment, answers, measured)
