"""From what a user asks for to a problem that can be run: read and check everything before any long work starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from forebear.data.checked import TableUse
from forebear.data.names import is_pattern, matching
from forebear.data.question import Question
from forebear.data.regimes import among, check_regime, labelled
from forebear.data.said_kinds import with_kinds
from forebear.data.source import open_sample
from forebear.data.survey import MODEL, Roles, named_texts, survey
from forebear.data.table import Table, fingerprint
from forebear.data.weights import check_weights, doubt_of, scaled
from forebear.discovery.choose import Certified, Rule, find_rule
from forebear.discovery.halves import HALF
from forebear.discovery.problem import Aside, Problem, SetAside, make_batches
from forebear.discovery.screen import AUTO as SCREEN
from forebear.discovery.screen import check_screen, kept_of, screen_question
from forebear.discovery.settings import Settings, resolve
from forebear.discovery.structure import AUTO, RowStructure, declared, doubt_of_copies, judge
from forebear.errors import InputError, check_whole
from forebear.flow.sampler import Sampler
from forebear.flow.samplers import FlowSampler, find_sampler
from forebear.kernel.buffers import POOL
from forebear.kernel.memory import dense_rows
from forebear.run.engine import check_jobs, is_cluster
from forebear.storage.memory import Memory, Size, check_memory, estimate
from forebear.version import __version__

_SEEDS = 2**63
# Fewer rows than this cannot hold out a fold.
_ROWS_PER_FOLD = 2


SAMPLE = 100_000
"""rows that are read at most: more bring nothing to the training, and less than half of them are tested"""


class Asked(NamedTuple):
    """A discovery as its user asked for it: what is asked of which table, how, how often, and with what settings."""

    data: Any
    targets: str | Sequence[str] | None
    candidates: Sequence[str] | Mapping[str, Sequence[str]] | None
    keep: Sequence[str] | Mapping[str, Sequence[str]]
    groups: Mapping[str, Sequence[str]] | None
    periodic: Mapping[str, float] | None
    rule: str | Rule
    preset: str
    sampler: str | Sampler
    joint: bool
    runs: int
    seed: int
    settings: Mapping[str, Any]
    rows: str = AUTO
    exclude: str | Sequence[str] = ()
    missing: str = MODEL
    time: str | None = None
    sample: int | None = SAMPLE
    weights: str | None = None
    screen: int | str | None = SCREEN
    regime: str | None = None
    kinds: Mapping[str, str] | None = None


class Prepared(NamedTuple):
    """A problem that can be run, and what describes it."""

    problem: Problem
    questions: tuple[Question, ...]
    record: dict[str, Any]
    """preset, rule, sampler, runs, seed and every setting by its name"""
    memory: Memory
    """an estimate of what one process needs"""
    use: TableUse
    """what was done to the table"""

    def identity(self) -> dict[str, Any]:
        """What must be the same for a run to be taken up: settings, data, questions, versions, device."""
        import jax
        import numpy
        import scipy

        libraries = {"jax": jax, "numpy": numpy, "scipy": scipy}
        versions = {"forebear": __version__, **{name: library.__version__ for name, library in libraries.items()}}
        # Versions first: where they differ, other settings may differ because of it.
        return {
            **{f"version of {name}": version for name, version in versions.items()},
            **self.record,
            "kinds": self.record.get("kinds"),  # before the data, which are other numbers where these differ
            "data": fingerprint(self.problem.table),
            **self._set_aside(),
            **self._weighing(),
            "questions": [vars(q) for q in self.questions],
            "device": jax.devices()[0].device_kind,
        }

    def _set_aside(self) -> dict[str, str]:
        aside = self.problem.aside
        return {} if aside is None else {"data set aside": fingerprint(aside.table)}

    def _weighing(self) -> dict[str, str]:
        weights = self.problem.structure.weights
        return {} if weights is None else {"weights of rows": sha256(weights.tobytes()).hexdigest()}


def prepare(asked: Asked, jobs: Any) -> Prepared:
    """The problem behind a question, or an `InputError` that says what is wrong with it."""
    config = resolve(asked.preset, asked.settings)
    rule, sampler = find_rule(asked.rule), find_sampler(asked.sampler, config.flow)
    sharing = isinstance(rule, Certified) and isinstance(sampler, FlowSampler) and not asked.joint
    config = config.settled(sharing, asked.settings)
    check_whole("runs", asked.runs, 1)
    check_whole("seed", asked.seed, 0)
    runs, seed = int(asked.runs), int(asked.seed)  # numpy's whole numbers do not go into JSON
    if seed >= _SEEDS:
        raise InputError(f"seed must be below 2**63; got one of {len(str(seed))} digits")
    check_jobs(jobs)
    check_weights(asked.weights)
    check_screen(asked.screen)
    if asked.regime is not None:
        check_regime(asked.regime, asked.targets, asked.exclude)
    if asked.sample is not None:
        check_whole("sample", asked.sample, 100)
    table, questions, structure, use, aside = _read(asked)
    if asked.joint:
        _check_joint(questions)
    rows = None if runs == 1 else max(1, round(config.subset * table.rows))
    _check_folds(rows or table.rows, table.source, config)
    paired = runs > 1 and config.subset == HALF
    batches = make_batches(questions, asked.joint, runs, seed, rows, table, paired)
    problem = Problem(table, batches, sampler, rule, config, structure, aside)
    record = {
        "preset": asked.preset,
        "rule": _name(asked.rule),
        "sampler": _name(asked.sampler),
        "joint": asked.joint,
        "runs": runs,
        "pairs": runs // 2 if paired else 0,
        "seed": seed,
        "rows": structure.name,
        "rows_why": structure.why,
        "rows_asked": asked.rows,
        "rows_drifting": list(structure.drifting),
        "exclude": _listed(asked.exclude),
        "missing": asked.missing,
        "time": asked.time,
        "sample": asked.sample,
        "weights": asked.weights,
        "screen": asked.screen,
        **({} if asked.regime is None else {"regime": asked.regime}),
        **({"kinds": {str(name): kind for name, kind in asked.kinds.items()}} if asked.kinds else {}),
        **config.flat(),
    }
    return Prepared(problem, tuple(questions), record, _memory(problem, jobs), use)


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _name(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def _read(asked: Asked) -> tuple[Table, list[Question], RowStructure, TableUse, Aside | None]:
    opened, total, sampled = open_sample(asked.data, lambda names: _wanted(names, asked), asked.sample, asked.seed)
    opened, candidates = with_kinds(opened, asked.kinds), asked.candidates
    if asked.regime is not None:
        opened, candidates = labelled(opened, asked.regime), among(candidates, asked.regime)
    structure = declared(asked.rows, opened.frame, opened.source)
    apart = None if structure is None else structure.column
    roles = Roles(
        asked.targets,
        candidates,
        asked.keep,
        asked.groups,
        asked.periodic,
        asked.exclude,
        asked.missing,
        asked.time,
        apart,
        asked.weights,
    )
    found = survey(opened, roles, most_inputs=kept_of(len(opened.frame.columns), asked.screen))
    table, questions = found.require()
    if structure is not None and found.kept_rows is not None:
        structure = structure.take(found.kept_rows)
    told = f"{len(opened.frame):,} of {total:,} rows were drawn at random (seed {asked.seed})." if sampled else ""
    use = TableUse.of(found, table.rows, asked.missing, told, total)
    table, questions, use, aside = _screened(asked, table, questions, use, found.weights)
    if structure is None:
        structure = judge(table, questions)
    else:
        structure = replace(structure, doubt=doubt_of_copies(table, questions, structure))
    if found.weights is not None:
        doubt = "; ".join(filter(None, (structure.doubt, doubt_of(found.weights, str(asked.weights)))))
        structure = replace(structure, weights=scaled(found.weights), doubt=doubt)
    return table, questions, structure, use, aside


def _screened(
    asked: Asked, table: Table, questions: list[Question], use: TableUse, weights: np.ndarray | None
) -> tuple[Table, list[Question], TableUse, Aside | None]:
    """The questions with the candidates that a quick look leaves, where there are very many and the rule searches;
    and what it sets aside, to be held against the answer."""
    left: list[Question] = []
    gone: dict[str, SetAside] = {}
    searches = asked.rule == "certified" or isinstance(asked.screen, int)
    for question in questions:
        most = kept_of(len(question.candidates), asked.screen) if searches and not asked.joint else None
        if most is not None:
            looked = screen_question(table, question, most, weights)
            gone[question.target] = {name: question.candidates[name] for name in looked.gone}
            question = looked.question
        left.append(question)
    if not gone:
        return table, questions, use, None
    used = {name for question in left for name in (question.target, *question.inputs)}
    some = {name: column for name, column in table.columns.items() if name in used}
    out = {*gone, *(name for own in gone.values() for columns in own.values() for name in columns)}
    rest = {name: column for name, column in table.columns.items() if name in out}
    aside = Aside(replace(table, columns=rest), gone)
    return replace(table, columns=some), left, use.screened({t: tuple(own) for t, own in gone.items()}), aside


def _wanted(names: Sequence[str], asked: Asked) -> list[str]:
    """The columns that are worth reading: all but the excluded ones, or those that were named."""
    out = [text for text in _listed(asked.exclude) if text in names or is_pattern(text)]
    gone = {name for text in out for name in ([text] if text in names else matching(text, names))}
    texts = [text for _, text in named_texts(Roles(asked.targets, asked.candidates, asked.keep, asked.groups))]
    if asked.targets is None or asked.candidates is None or isinstance(asked.candidates, Mapping):
        texts += [str(one) for one in (asked.time, asked.rows, asked.weights, asked.regime) if one is not None]
        texts += [str(name) for name in asked.kinds or ()]
        return [name for name in names if name not in gone or name in texts]
    texts += [str(one) for one in (asked.time, asked.rows, asked.weights, asked.regime) if one is not None]
    texts += [str(name) for named in (asked.periodic, asked.kinds) for name in named or ()]
    kept = {name for text in texts for name in ([text] if text in names else matching(text, names))}
    # Where a name is not there, what it could have meant is to be told.
    unknown = [text for text in texts if text not in names and not is_pattern(text) and text not in (asked.rows,)]
    return list(names) if unknown else [name for name in names if name in kept and name not in gone]


def _check_joint(questions: Sequence[Question]) -> None:
    first = questions[0]
    for other in questions[1:]:
        if other.inputs != first.inputs:
            raise InputError(
                f"joint=True needs the same inputs for every target; '{first.target}' and '{other.target}' differ: "
                "give candidates as one list, or leave joint out"
            )


def _check_folds(rows: int, source: str, config: Settings) -> None:
    if config.folds > rows // _ROWS_PER_FOLD:
        raise InputError(
            f"setting 'folds' is {config.folds} for {rows} rows of {source}: use at most {rows // _ROWS_PER_FOLD}"
        )


def _memory(problem: Problem, jobs: Any) -> Memory:
    """The estimate for one process; too much for this machine is refused, for a cluster's workers nobody can tell."""
    flow, distilled = problem.settings.flow, problem.settings.kernel.distilled
    rows, certificate = problem.batches[0].rows or problem.table.rows, problem.settings.certificate
    size = Size(
        rows=rows,
        columns=len(problem.table.columns),
        together=max(len(batch.questions) for batch in problem.batches),
        distilled=distilled,
        dense=dense_rows(),
        side_by_side=max(len(some) for n in range(len(problem.batches)) for some in problem.path_batches(n)),
        tested=max(certificate.tested, certificate.rows_of_answer(rows)) if problem.certified else 0,
        width=flow.width,
        depth=flow.depth,
        batch=flow.batch,
    )
    if is_cluster(jobs):
        return estimate(size)
    processes = min(jobs, len(problem.batches))
    return check_memory(size, processes, held=POOL.nbytes if processes == 1 else 0.0)
