"""The whole flow on one page: a table in, a graph out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from forebear.data.question import Question, ask, check_questions
from forebear.data.table import Table, fingerprint, open_frame, read_columns
from forebear.discovery.choose import RULES, Rule
from forebear.discovery.found import Found
from forebear.discovery.scattered import Work, on_cluster
from forebear.discovery.settings import Settings, resolve
from forebear.discovery.study import Outcome, Study, Tick, study
from forebear.discovery.trace import companies
from forebear.errors import InputError, check_whole, near_miss
from forebear.flow.sampler import NetworkSampler, Sampler
from forebear.flow.samplers import SAMPLERS
from forebear.kernel.memory import dense_rows
from forebear.kernel.room import kept_bytes
from forebear.run.compiled import spare_maps
from forebear.run.engine import as_done, check_jobs, is_cluster
from forebear.run.notes import Teller
from forebear.run.parts import Parts
from forebear.run.progress import Show
from forebear.run.progress import progress as show_progress
from forebear.storage.folder import RunFolder, check_run
from forebear.storage.lock import alone_in
from forebear.storage.memory import Memory, Size, check_memory, estimate

CERTIFIED = "certified"
"""the rule that searches for the smallest set that passes the test of latent independence, on or off the path"""

_SEEDS = 2**63
# Fewer rows than this cannot hold out a fold.
_ROWS_A_FOLD = 2

# Targets whose samplers are trained side by side. Fixed, so that the result does not depend on `jobs`.
_TOGETHER = 16


def discover(
    data: Any,
    targets: str | Sequence[str] | None = None,
    candidates: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] | Mapping[str, Sequence[str]] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    periodic: Mapping[str, float] | None = None,
    rule: str | Rule = CERTIFIED,
    preset: str = "fast",
    runs: int = 1,
    seed: int = 0,
    out: str | FilePath | None = None,
    jobs: int | Any = 1,
    progress: bool | None = None,
    sampler: str | Sampler = "flow",
    joint: bool = False,
    **settings: Any,
) -> Found:
    """Find the few inputs that shape the whole conditional law of each target.

    Arguments:
        data: a pandas, polars or pyarrow table, an xarray dataset, a dict of arrays, or the path of a .csv or
            .parquet file.
        targets: a name, a pattern such as "d*", or a list of them; None takes every column in turn as a target of
            all the others. Wherever columns are named, patterns will do.
        candidates: the inputs to choose from, for all targets or as {target: list}, which rules edges out; by
            default every column that is not a target.
        keep: inputs that are conditioned on and never removed, for all targets or as {target: list}.
        groups: {name: columns} that are removed together and reported under the name.
        periodic: {column: period} of angles.
        rule: "certified", the smallest set whose latents know nothing of the other candidates, with the evidence;
            "nsr-jump", the published rule, which reads the pruning path; or a callable from a path to names.
        preset: "fast", or "paper" for the published optimiser, steps, solver, tolerances and kernel.
        runs: independent repeats, each on a random subset of the rows (`subset`), with its own training and
            distillation; the answer is what more than half of them chose, and frequencies tell how many.
        seed: the same data, seed and device give the same result, to the last bit.
        out: a run folder; all that is finished (a training, a fit, a target, a run) is saved there as it is made; the
            same call goes on from it after an interruption, with the same result to the last bit.
        jobs: worker processes, or a `dask.distributed.Client`, to whose workers the table is sent once; trainings,
            paths of a few targets each and the certificates of each run are its tasks (`forebear.run.cluster`). The
            result does not depend on it. A worker that dies is replaced; what fails twice is named when all the rest
            is done and saved.
        progress: show a bar; None shows it when standard error is a terminal.
        sampler: "flow", "gaussian" (mean and spread only), "mean" (functional dependence only), or an object with
            the interface of `forebear.Sampler`.
        joint: model all targets by one joint sampler, whose latents all enter the kernel; the targets must then
            have the same inputs.
        **settings: any field of `FlowSettings`, `KernelSettings` and `CertificateSettings`, `folds` and `subset`.

    Returns:
        A `Found`: ancestors, graph, certificates, effects, paths, frequencies, plots.

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(3)
    >>> table = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=["a", "b", "c"])
    >>> table["y"] = table["b"] * rng.normal(size=2_000)  # b moves the spread of y, nothing moves its mean
    >>> found = discover(table, "y", steps=300, distilled=500)
    >>> found.ancestors
    {'y': ('b',)}
    """
    started = time.perf_counter()
    spare_maps()
    chooser, fitter, config = _options(rule, sampler, preset, settings)
    certified = rule == CERTIFIED
    check_whole("runs", runs, 1)
    check_whole("seed", seed, 0)
    runs, seed = int(runs), int(seed)  # numpy's whole numbers do not go into JSON
    if seed >= _SEEDS:
        raise InputError(f"seed must be below 2**63; got one of {len(str(seed))} digits")
    check_jobs(jobs)
    table, questions = _problem(data, targets, candidates, keep, groups, periodic)
    if joint:
        _check_joint(questions)
    _check_folds(table, runs, config)
    studies = _studies(questions, joint, runs, seed, _subset(table.rows, runs, config), certified)
    record = {
        "preset": preset,
        "rule": _name(rule),
        "sampler": _name(sampler),
        "joint": joint,
        "runs": runs,
        "seed": seed,
        **config.flat(),
    }
    memory = _memory(table, studies, config, jobs)
    work = Work(table, tuple(studies), fitter, config)
    teller = Teller()
    with ExitStack() as stack:
        show = stack.enter_context(show_progress(progress))
        folder = None if out is None else _open(out, {**record, **_identity(table, questions)}, stack)
        outcomes = _outcomes(work, folder, jobs, show, teller)
    by_run = [_merge(outcomes, studies, number) for number in range(runs)]
    found = Found(
        {q.target: q for q in questions},
        tuple({q.target: run[q.target].path for q in questions} for run in by_run),
        tuple({q.target: _choose(chooser, run[q.target]) for q in questions} for run in by_run),
        tuple({q.target: c for q in questions if (c := run[q.target].certificate) is not None} for run in by_run),
        {**record, "estimated_gb": round(memory.total / 1e9, 2)},
        time.perf_counter() - started,
        table,
        tuple(teller.told),
        None if isinstance(sampler, str) else sampler,
    )
    if out is not None:
        found.save(out)
    return found


def _options(
    rule: str | Rule, sampler: str | Sampler, preset: str, settings: Mapping[str, Any]
) -> tuple[Rule | None, Sampler | NetworkSampler, Settings]:
    config = resolve(preset, settings)
    if isinstance(rule, str) and rule not in (CERTIFIED, *RULES):
        raise InputError(f"unknown rule '{rule}'. {near_miss(rule, (CERTIFIED, *RULES))}")
    if not isinstance(rule, str) and not callable(rule):
        raise InputError(f"rule must be a name or a callable from a path to names; got {rule!r}")
    if isinstance(sampler, str) and sampler not in SAMPLERS:
        raise InputError(f"unknown sampler '{sampler}'. {near_miss(sampler, SAMPLERS)}")
    if not isinstance(sampler, str | Sampler):
        raise InputError(f"sampler must be a name or have a method fit(given, y, *, seed); got {sampler!r}")
    chooser = rule if not isinstance(rule, str) else None if rule == CERTIFIED else RULES[rule]()
    fitter = SAMPLERS[sampler](config.flow) if isinstance(sampler, str) else sampler
    return chooser, fitter, config


def _name(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def _problem(
    data: Any, targets: Any, candidates: Any, keep: Any, groups: Any, periodic: Any
) -> tuple[Table, list[Question]]:
    frame, source = open_frame(data)
    questions = ask(list(frame.columns), source, targets=targets, candidates=candidates, keep=keep, groups=groups)
    used = {name for question in questions for name in (question.target, *question.inputs)}
    table = read_columns(frame, source, used, periodic)
    check_questions(table, questions)
    return table, questions


def _check_joint(questions: Sequence[Question]) -> None:
    first = questions[0]
    for other in questions[1:]:
        if other.inputs != first.inputs:
            raise InputError(
                f"joint=True needs the same inputs for every target; '{first.target}' and '{other.target}' differ: "
                "give candidates as one list, or leave joint out"
            )


def _check_folds(table: Table, runs: int, config: Settings) -> None:
    rows = _subset(table.rows, runs, config) or table.rows
    if config.folds > rows // _ROWS_A_FOLD:
        raise InputError(
            f"setting 'folds' is {config.folds} for {rows} rows of {table.source}: use at most {rows // _ROWS_A_FOLD}"
        )


def _memory(table: Table, studies: Sequence[Study], config: Settings, jobs: Any) -> Memory:
    """The estimate for one process; too much for this machine is refused, for a cluster's workers nobody can tell."""
    flow, distilled = config.flow, config.kernel.distilled
    size = Size(
        rows=studies[0].rows or table.rows,
        columns=len(table.columns),
        together=max(len(study.questions) for study in studies),
        distilled=distilled,
        dense=dense_rows(),
        side_by_side=max(len(some) for study in studies for some in companies(study.questions, distilled)),
        tested=config.certificate.tested if studies[0].certified else 0,
        width=flow.width,
        depth=flow.depth,
        batch=flow.batch,
    )
    if is_cluster(jobs):
        return estimate(size)
    processes = min(jobs, len(studies))
    return check_memory(size, processes, held=kept_bytes() if processes == 1 else 0.0)


def _subset(rows: int, runs: int, config: Settings) -> int | None:
    return None if runs == 1 else max(1, round(config.subset * rows))


def _studies(
    questions: Sequence[Question], joint: bool, runs: int, seed: int, rows: int | None, certified: bool
) -> list[Study]:
    together = len(questions) if joint else _TOGETHER
    return [
        Study(tuple(questions[start : start + together]), joint, run, rows, (seed, run, start), certified)
        for run in range(runs)
        for start in range(0, len(questions), together)
    ]


def _identity(table: Table, questions: Sequence[Question]) -> dict[str, Any]:
    """What beside the settings must be the same for a run to be taken up: data, questions, versions, device."""
    import jax
    import scipy

    from forebear import __version__

    versions = {"forebear": __version__, "jax": jax.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    return {
        "data": fingerprint(table),
        "questions": [vars(q) for q in questions],
        **{f"version of {name}": version for name, version in versions.items()},
        "device": jax.devices()[0].device_kind,
    }


def _open(out: str | FilePath, identity: dict[str, Any], stack: ExitStack) -> RunFolder:
    """The run folder, for this process alone until the stack is left."""
    check_run(FilePath(out), identity)
    stack.enter_context(alone_in(out))
    folder = RunFolder(out, identity)
    folder.tidy()
    return folder


def _outcomes(
    work: Work, folder: RunFolder | None, jobs: Any, show: Show, teller: Teller
) -> list[dict[str, Outcome]]:
    """The outcomes of every study, from the folder where it has them."""
    studies = work.studies
    done = {} if folder is None else _saved(folder, studies)
    for number in done:
        teller.told.update(dict.fromkeys(_notes(done[number])))  # told when they arose
    waiting = [number for number in range(len(studies)) if number not in done]
    already = len(done)

    def tick(stage: str, share: float) -> None:
        now = studies[waiting[len(done) - already]]
        first, length, word = _STAGES[now.certified][stage]
        show(f"{now.label} ({word})", (len(done) + first + length * share) / len(studies))

    places = {} if folder is None else {number: folder.place_of_parts(number) for number in range(len(studies))}
    for number in done:
        Parts(places.get(number)).clear()  # of a process that ended between keeping the whole and dropping the parts
    alone = not is_cluster(jobs) and (jobs == 1 or len(waiting) < 2)
    answers = (
        on_cluster(work, waiting, places, jobs)
        if is_cluster(jobs)
        else as_done(_Piece(work, places, tick if alone else _silent), waiting, jobs, lambda n: studies[n].label)
    )
    try:
        for place, outcomes in answers:
            number = waiting[place]
            if folder is not None:
                folder.put(number, {target: outcome.record() for target, outcome in outcomes.items()})
                Parts(places[number]).clear()
            done[number] = outcomes
            teller(_notes(outcomes))
            show(studies[number].label, len(done) / len(studies))
    except FloatingPointError as error:
        teller(getattr(error.__cause__ or error, "__notes__", ()))
        raise
    return [done[number] for number in range(len(studies))]


def _saved(folder: RunFolder, studies: Sequence[Study]) -> dict[int, dict[str, Outcome]]:
    """The studies that an earlier process has finished."""
    done = {}
    for number, one in enumerate(studies):
        saved = folder.get(number)
        try:
            if saved is not None:
                done[number] = {q.target: Outcome.restore(saved[q.target]) for q in one.questions}
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise InputError(
                f"{folder.folder}: pieces/{number:05d}.json is damaged: delete that file, and it is computed again"
            ) from None
    return done


def _notes(outcomes: Mapping[str, Outcome]) -> list[str]:
    return [note for outcome in outcomes.values() for note in outcome.notes]


# Where each stage begins and how long it takes, as shares of a study, with and without a certificate.
_STAGES = {
    False: {"train": (0.0, 0.5, "training"), "prune": (0.5, 0.5, "pruning")},
    True: {
        "train": (0.0, 0.25, "training"),
        "prune": (0.25, 0.25, "pruning"),
        "certify": (0.5, 0.5, "certifying"),
    },
}


def _silent(stage: str, share: float) -> None:
    """Worker processes have no bar of their own."""


@dataclass(frozen=True)
class _Piece:
    """One study by its number; a class, so that it can travel to a worker process."""

    work: Work
    places: Mapping[int, FilePath]
    """where the parts of each study are kept"""
    tick: Tick

    def __call__(self, number: int) -> dict[str, Outcome]:
        work, parts = self.work, Parts(self.places.get(number))
        return study(work.table, work.studies[number], work.sampler, work.settings, self.tick, parts)


def _merge(paths: Sequence[dict[str, Outcome]], studies: Sequence[Study], run: int) -> dict[str, Outcome]:
    merged: dict[str, Outcome] = {}
    for one, result in zip(studies, paths, strict=True):
        if one.run == run:
            merged.update(result)
    return merged


def _choose(chooser: Rule | None, outcome: Outcome) -> tuple[str, ...]:
    if outcome.certificate is not None:
        return outcome.certificate.kept
    assert chooser is not None
    units = outcome.path.units
    chosen = tuple(chooser(outcome.path))
    strays = [unit for unit in chosen if unit not in units]
    if strays:
        raise InputError(
            f"the rule chose '{strays[0]}', which is not among the candidates. {near_miss(strays[0], units)}"
        )
    return chosen
