"""A discovery as tasks on a cluster: for each study a training, paths of a few targets each, certificates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebear.data.table import Table
from forebear.discovery.kept import Drawn, Traced
from forebear.discovery.settings import Settings
from forebear.discovery.study import Outcome, Study, conclude, draw, trace
from forebear.discovery.trace import companies
from forebear.flow.sampler import NetworkSampler, Sampler
from forebear.run.engine import Failures
from forebear.run.parts import Parts


@dataclass(frozen=True, eq=False)
class Work:
    """What every task needs; sent to each worker once."""

    table: Table
    studies: tuple[Study, ...]
    sampler: Sampler | NetworkSampler
    settings: Settings


def on_cluster(
    work: Work, numbers: Sequence[int], places: Mapping[int, Path], client: Any
) -> Iterator[tuple[int, dict[str, Outcome]]]:
    """(place in `numbers`, outcomes), as studies are done. Parts come back to this process, which keeps them: workers
    need no common disk, and a run that is interrupted goes on from the last task that was done."""
    from forebear.run.cluster import Tasks, Tries

    failures, tries = Failures(len(numbers)), Tries(len(numbers))
    for places_now in tries:
        lost: dict[int, BaseException] = {}
        with Tasks(client, work) as tasks:
            for place in places_now:
                _submit(tasks, work, place, numbers[place], Parts(places.get(numbers[place])))
            for (place, part), answer in tasks.answers():
                parts = Parts(places.get(numbers[place]))
                if isinstance(answer, BaseException):
                    # A task that fails takes those that need it along: the first reason is the one to tell.
                    lost.setdefault(place, answer)
                elif isinstance(answer, Drawn):
                    answer.keep(parts)
                elif isinstance(answer, Traced):
                    answer.keep(parts, part)
                else:
                    yield place, answer
        for place, error in lost.items():
            if not tries.again(place, error):
                failures.add(work.studies[numbers[place]].label, error)
    failures.tell()


def _submit(tasks: Any, work: Work, place: int, number: int, parts: Parts) -> None:
    """The tasks of one study; what is kept already is passed on as it is."""
    study = work.studies[number]
    kept_draws = Drawn.kept(parts)
    drawn = tasks.submit((place, None), _draw, number) if kept_draws is None else tasks.put(kept_draws)
    traced = []
    for part in range(len(companies(study.questions, work.settings.kernel.distilled))):
        kept = Traced.kept(parts, part)
        traced.append(kept or tasks.submit((place, part), _trace, number, part, drawn))
    tasks.submit((place, None), _conclude, number, drawn, *traced)


def _draw(work: Work, number: int) -> Drawn:
    return draw(work.table, work.studies[number], work.sampler, work.settings)


def _trace(work: Work, number: int, part: int, drawn: Drawn) -> Traced:
    return trace(work.table, work.studies[number], work.settings, part, drawn.draws)


def _conclude(work: Work, number: int, drawn: Drawn, *traced: Traced) -> dict[str, Outcome]:
    return conclude(work.table, work.studies[number], work.settings, drawn, traced)
