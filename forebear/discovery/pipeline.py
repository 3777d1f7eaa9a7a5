"""The method on one page: which inputs shape the law of each target, and what is the evidence?

    stage       makes                                                            in
    read        the rows of a run, their folds, targets made continuous          problem.py
    fit laws    samplers of every target, cross-fitted                           laws.py, subsets.py
    draw        draws at rows that the sampler has not seen                      distil.py
    trace       the path: fit a kernel, remove the weakest candidate, again      trace.py, path.py
    search      sets whose latents know nothing of what they leave out           certify.py, subsets.py, search.py
    certify     a closer look, and the evidence for the best set                 certify.py, tester.py, dependence.py
    choose      the answer: a rule reads path and certificate                    choose.py

Every stage is a function of the problem, the number of a batch of targets and what earlier stages made, and returns
what it found with its notes. The context holds what an earlier process kept and who listens; results do not depend on
it. Run folders, processes, clusters and bars are in `forebear.discovery.execute`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from forebear.discovery.certificate import Certificate
from forebear.discovery.certify import Certificates, CertificateSearch, begin_search, certify_sets, search_sets
from forebear.discovery.choose import LargestJump, choose
from forebear.discovery.distil import DRAWN, Drawn, draw, draw_shared
from forebear.discovery.laws import fit_laws
from forebear.discovery.path import Path
from forebear.discovery.problem import ALONE, Context, Problem, read
from forebear.discovery.trace import TRACED, Traced, trace


class TargetResult(NamedTuple):
    """What was found out about one target."""

    path: Path
    certificate: Certificate | None
    chosen: tuple[str, ...]
    notes: tuple[str, ...] = ()


Results = Mapping[str, TargetResult]


def discover_batch(problem: Problem, number: int, context: Context = ALONE) -> Results:
    """All stages for one batch of targets."""
    kept = context.kept
    # The flows behind the certificate can serve the path, too.
    shared = begin_search(problem, number, context) if problem.shares_flows else None
    with ThreadPoolExecutor(1) as beside:
        # The search needs no draws, and neither it nor the paths keep every core busy.
        searched = beside.submit(search_sets, problem, number, context, shared) if problem.certified else None
        drawn = kept.load("draws", DRAWN)
        if drawn is None and shared is not None:
            drawn = kept.save("draws", DRAWN, draw_shared(problem, number, shared))
        elif drawn is None:
            rows = read(problem, number)
            drawn = kept.save("draws", DRAWN, draw(problem, number, rows, fit_laws(problem, number, rows, context)))
        traced = [
            kept.load(f"path-{part}", TRACED)
            or kept.save(f"path-{part}", TRACED, trace(problem, number, part, drawn, context))
            for part in range(len(problem.path_batches(number)))
        ]
        context.tick("prune", 1.0)
        certified = certify(problem, number, traced, searched.result(), context) if searched else None
    return conclude(problem, number, drawn, traced, certified)


def certify(
    problem: Problem,
    number: int,
    traced: Sequence[Traced],
    searched: CertificateSearch,
    context: Context = ALONE,
) -> Certificates:
    """Search from what the paths suggest too, and certify the best set of every target."""
    suggest = getattr(problem.rule, "starts", (LargestJump(),))
    starts = [[rule(path) for rule in suggest] for path in paths_of(problem, number, traced)]
    return certify_sets(searched, starts, problem.batches[number].joint, context)


def conclude(
    problem: Problem, number: int, drawn: Drawn, traced: Sequence[Traced], certified: Certificates | None
) -> Results:
    """Choose, and gather what was found out about every target."""
    found = Certificates((), ()) if certified is None else certified
    results = {}
    for place, path in enumerate(paths_of(problem, number, traced)):
        target = problem.batches[number].questions[place].target
        certificate = found.certificates[place] if found.certificates else None
        notes = (*drawn.notes, *found.notes, *(note for one in traced if path in one for note in one.notes))
        chosen = choose(problem.rule, path, certificate)
        results[target] = TargetResult(path, certificate, chosen, tuple(dict.fromkeys(notes)))
    return results


def paths_of(problem: Problem, number: int, traced: Sequence[Traced]) -> list[Path]:
    """The path of every target of a batch, in the order of its questions."""
    places = [place for mine in problem.path_batches(number) for place in mine]
    paths = [path for one in traced for path in one.paths]
    return [path for _, path in sorted(zip(places, paths, strict=True), key=lambda both: both[0])]
