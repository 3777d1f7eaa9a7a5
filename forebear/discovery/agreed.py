"""Repeated runs agree on a set: the certificate of that set, on all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from forebear.discovery.certificate import Certificate
from forebear.discovery.certify import CertificateSearch, begin_search, certify_given
from forebear.discovery.problem import Batch, Context, Problem
from forebear.storage.folder import RunFolder
from forebear.storage.records import from_record, to_record


def certify_agreed(
    problem: Problem, sets: Mapping[str, frozenset[str]], runs: int, folder: RunFolder | None = None
) -> dict[str, Certificate]:
    """The certificate of the set that runs agree on, for every target.

    A run sees some of the rows and may have chosen another set, so its certificate is not that of what all of them
    say together. Outputs of a joint law have none: what moves their dependence belongs to no output alone.
    """
    first = [batch for batch in problem.batches if batch.run == 0]
    if runs < 2 or not problem.certified or first[0].joint:
        return {}
    found: dict[str, Certificate] = {}
    for number, batch in enumerate(first):
        kept = None if folder is None else folder.get(f"agreed-{number}")
        if kept is None:
            made = certify_given(_search(problem, batch, runs), [sets[q.target] for q in batch.questions])
            own = {question.target: one for question, one in zip(batch.questions, made, strict=True)}
            if folder is not None:
                folder.put(f"agreed-{number}", to_record(own))
        else:
            own = {target: from_record(Certificate, one) for target, one in kept.items()}
        found.update(own)
    return found


def _search(problem: Problem, batch: Batch, runs: int) -> CertificateSearch:
    """A search over all rows, with random numbers of its own."""
    whole = replace(batch, run=runs, rows=None, seed=(batch.seed[0], runs, batch.seed[2]), pair=None)
    return begin_search(replace(problem, batches=(whole,)), 0, Context())
