"""`forebear.discover`: a table in, a `Found` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from forebear.api.asked import keep_asked
from forebear.api.found import Found
from forebear.api.slips import check_slips
from forebear.data.checked import TableUse
from forebear.data.lagged import Lagged
from forebear.discovery.agreed import certify_agreed
from forebear.discovery.certificate import Certificate
from forebear.discovery.choose import Rule
from forebear.discovery.execute import Session, run_here, run_in_processes, run_on_cluster
from forebear.discovery.prepare import Asked, prepare
from forebear.discovery.record import Discovery, saved_before
from forebear.flow.sampler import Sampler
from forebear.run.compiled import spare_maps
from forebear.run.engine import is_cluster
from forebear.run.events import Listener, listening
from forebear.storage.folder import open_run


def discover(
    data: Any,
    targets: str | Sequence[str] | None = None,
    candidates: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] | Mapping[str, Sequence[str]] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    periodic: Mapping[str, float] | None = None,
    rule: str | Rule = "certified",
    preset: str = "fast",
    runs: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    jobs: int | Any = 1,
    progress: bool | Listener | None = None,
    sampler: str | Sampler = "flow",
    joint: bool = False,
    rows: str = "auto",
    exclude: str | Sequence[str] = (),
    missing: str = "model",
    time: str | None = None,
    sample: int | None = 100_000,
    weights: str | None = None,
    screen: int | str | None = "auto",
    regime: str | None = None,
    kinds: Mapping[str, str] | None = None,
    **settings: Any,
) -> Found:
    """Find the few inputs that shape the whole conditional law of each target.

    Arguments:
        data: a pandas, polars or pyarrow table, an xarray dataset, a dict of arrays, or the path of a .csv or
            .parquet file; or what `forebear.lagged` made, with its own targets, candidates, groups and periods.
        targets: a name, a pattern such as "d*", or a list of them; None takes every column in turn as a target of
            all the others. Wherever columns are named, patterns will do.
        candidates: the inputs to choose from, for all targets or as {target: list}, which rules edges out; by
            default every column that is not a target.
        keep: inputs that are conditioned on and never removed, for all targets or as {target: list}.
        groups: {name: columns} that are removed together and reported under the name.
        periodic: {column: period} of angles.
        rule: "certified", the smallest set whose latents know nothing of the other candidates, with the evidence;
            "nsr-jump", the published rule, which reads the pruning path; or an object with the interface of
            `forebear.Rule`, such as a function from a path to names.
        preset: "fast", or "paper" for the published optimiser, steps, solver, tolerances and kernel.
        runs: independent repeats, each on a random subset of the rows (`subset`), with its own training and
            distillation; the answer is what more than half of them chose, certified anew on all rows, and
            frequencies tell how many. With `subset=0.5` they come in pairs that share no row, and `found.stability`
            bounds what is agreed by chance.
        seed: the same data, seed and device give the same result, to the last bit.
        out: a run folder; all that is finished (a training, a fit, a target, a run) is saved there as it is made; the
            same call goes on from it after an interruption, with the same result to the last bit.
        jobs: worker processes, or a `dask.distributed.Client`, to whose workers the table is sent once; trainings,
            paths of a few targets each and the certificates of each run are its tasks (`forebear.run.cluster`). The
            result does not depend on it. A worker that dies is replaced; what fails twice is named when all the rest
            is done and saved.
        progress: show a bar; None shows it in a terminal and in a notebook; a function is called with each event,
            see `forebear.run.events`.
        sampler: "flow", "gaussian" (mean and spread only), "mean" (functional dependence only), or an object with
            the interface of `forebear.Sampler`.
        joint: model all targets by one joint sampler, whose latents all enter the kernel; the targets must then
            have the same inputs.
        rows: how rows hang together: "independent"; "ordered" (each follows the one before: time series, records of
            a plant); the name of a column whose values tell episodes, batches or machines apart, the rows of which
            may share something hidden; or "auto", judged from the data and told in `found.rows`.
        exclude: columns to leave out, names or patterns. Constants, identifiers, free text, timestamps and exact
            copies of another column are left out without being named here, unless they are asked for by name;
            `found.columns` says what became of every column, `forebear.check` says it beforehand.
        missing: "model" takes gaps in inputs as they are: laws are learned from what each row has, a set of inputs is
            tested on the rows that have all of it, and whether a cell is missing counts as part of the input; rows
            without a target are not used for that target. "drop" leaves rows with any gap out, "refuse" names them.
        time: a column of timestamps. Rows are put in its order, and hour of the day, day of the week, day of the year
            (those that the table holds at least twice) and days since the start become candidates.
        sample: rows that are read at most, drawn at random by the seed in one pass; None reads all. Parquet files and
            folders, Arrow datasets, lazy polars frames, DuckDB relations and dask frames are read in parts, and of
            them only the columns that are needed; `found.columns` and the report say how many rows there were.
        weights: a column that says how much each row counts, such as how many of a population it stands for. The law
            that is learned and tested is that of the weighted rows, statistics have variances that hold whatever the
            weights follow, and `found.columns` and the report say how many equal rows the rows are worth.
        screen: of very many candidates, how many are searched: a quick look at ranks, pairs and trees chooses them,
            and `found.columns` names the others, which are held against the answer once. "auto" leaves 80 of more
            than 300 for the certified rule; None searches all.
        regime: a column that tells regimes apart (interventions, campaigns, seasons, machines): it is a candidate of
            every target, and `found.regimes` says which laws are the same in all of them.
        kinds: {column: kind} of columns that are not what their cells look like: "category" for numbers that are
            labels (a grade, the code of a product), "real" for numbers that are written as text. Angles have
            `periodic`.
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
    said = dict(locals())
    started = perf_counter()
    check_slips(settings, targets)
    if isinstance(data, Lagged):
        own = data.options(targets, candidates, keep, groups, periodic)
        data, (targets, candidates, keep, groups, periodic) = data.table, own.values()
    spare_maps()
    asked = Asked(
        data,
        targets,
        candidates,
        keep,
        groups,
        periodic,
        rule,
        preset,
        sampler,
        joint,
        runs,
        seed,
        settings,
        rows,
        exclude,
        missing,
        time,
        sample,
        weights,
        screen,
        regime,
        kinds,
    )
    problem, questions, settings_record, memory, use = prepared = prepare(asked, jobs)
    with ExitStack() as stack:
        tell = stack.enter_context(listening(progress))
        folder = None if out is None else stack.enter_context(open_run(out, prepared.identity()))
        session = Session(problem, folder, tell)
        if out is not None:
            keep_asked(out, said["data"], said, settings, discover)
        if is_cluster(jobs):
            run_on_cluster(session, jobs)
        elif jobs > 1 and len(session.waiting) > 1:
            run_in_processes(session, jobs)
        else:
            run_here(session)
        by_run = session.by_run(settings_record["runs"])
        record = Discovery(
            {question.target: question for question in questions},
            tuple({q.target: run[q.target].path for q in questions} for run in by_run),
            tuple({q.target: run[q.target].chosen for q in questions} for run in by_run),
            tuple(
                {q.target: with_copies(c, use) for q in questions if (c := run[q.target].certificate) is not None}
                for run in by_run
            ),
            {**settings_record, "estimated_gb": round(memory.total / 1e9, 2)},
            perf_counter() - started,
            session.notes.notes,
            use,
        )
        agreed = certify_agreed(problem, record.agreed_sets(), len(by_run), folder)
        certificates = {target: with_copies(one, use) for target, one in agreed.items()}
        record = replace(record, agreed=certificates, seconds=perf_counter() - started)
    own = None if isinstance(sampler, str) else sampler
    before = None if out is None else saved_before(record, Path(out))
    if before is not None:
        return Found(before, problem.table, out, own, problem.structure)
    found = Found(record, problem.table, sampler=own, structure=problem.structure)
    if out is not None:
        found.save(out)
    return found


def with_copies(certificate: Certificate, use: TableUse) -> Certificate:
    """The certificate with the copies of chosen inputs, which were left out, in their classes."""
    copies: dict[str, list[str]] = {}
    for column in use.columns:
        if column.copy_of in certificate.kept:
            copies.setdefault(str(column.copy_of), []).append(column.name)
    classes = [(*names, *copies.pop(names[0], [])) for names in certificate.classes]
    return replace(certificate, classes=(*classes, *((name, *others) for name, others in copies.items())))
