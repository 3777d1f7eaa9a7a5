"""Inputs that shape how the outputs of a joint law move together, though not how any one of them moves.

Each output has a certified set of its own. If the union of such sets fixes the joint law of two outputs, or of three,
then products of features of their latents are independent of every other input, given the union. What fails this test
is added to each of them. Pairs come first; three outputs can also depend on each other where no two of them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np

from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import TestResult, judge, probe_candidate
from forebear.discovery.multiple import holm
from forebear.discovery.residuals import latent_features, products
from forebear.discovery.tester import SetTests

# Features of each latent in a product of two, and of three: the third one of both sees dependence in the tails.
_ORDERS = {2: 3, 3: 2}
# Outputs of a joint law whose triples are tested: their number grows with the cube.
MOST_IN_TRIPLES = 10


class Search(Protocol):
    """What is asked here of a `forebear.discovery.certify.CertificateSearch`."""

    @property
    def tests(self) -> Sequence[SetTests]:
        """Of each output."""
        ...

    def look_again(
        self, numbers: Sequence[int], doubtful: Sequence[frozenset[str]], sure: Sequence[frozenset[str]]
    ) -> list[SetTests]:
        """Tests of some outputs with flows of their own."""
        ...


class _Finding(NamedTuple):
    outputs: tuple[int, ...]
    candidate: str
    result: TestResult


def couple(searched: Search, certificates: Sequence[Certificate]) -> list[Certificate]:
    """The certificates of the outputs of one joint law, with what shapes their dependence added, worst first."""
    found = _couple(searched, certificates, 2)
    return _couple(searched, found, 3) if 3 <= len(found) <= MOST_IN_TRIPLES else found


def _couple(searched: Search, certificates: Sequence[Certificate], size: int) -> list[Certificate]:
    """With what shapes the dependence of so many outputs at a time.

    Outputs that fail are tested again before anything is added: a flow that serves every subset serves no one
    perfectly, and what it misses of an output shows in the products.
    """
    found = list(certificates)
    tests = searched.tests
    settings = tests[0].tester.settings
    together = list(combinations(range(len(found)), size))
    tested: dict[tuple[int, ...], list[_Finding]] = {}
    twice: set[tuple[int, ...]] = set()
    while True:
        for outputs in together:
            if outputs not in tested:
                tested[outputs] = _test(outputs, [tests[number] for number in outputs], _union(found, outputs))
        findings = [finding for outputs in together for finding in tested[outputs]]
        sure = holm({str(n): finding.result.p_value for n, finding in enumerate(findings)}, settings.level)
        rejected = [findings[int(n)] for n in sure if findings[int(n)].result.effect >= settings.least_effect]
        if not rejected:
            return found
        worst = max(rejected, key=lambda finding: finding.result.statistic)
        if worst.outputs not in twice:
            kept = _union(found, worst.outputs)
            closer = searched.look_again(worst.outputs, [frozenset()] * size, [kept] * size)
            tested[worst.outputs] = _test(worst.outputs, closer, kept)
            twice.add(worst.outputs)
            continue
        for number in worst.outputs:
            found[number] = _with(found[number], worst.candidate, worst.result)
        changed = {outputs for outputs in together if set(outputs) & set(worst.outputs)}
        tested = {outputs: done for outputs, done in tested.items() if outputs not in changed}
        twice -= changed


def _union(found: Sequence[Certificate], outputs: Sequence[int]) -> frozenset[str]:
    return frozenset[str]().union(*(found[number].kept for number in outputs))


def _test(outputs: tuple[int, ...], tests: Sequence[SetTests], kept: frozenset[str]) -> list[_Finding]:
    """Every candidate outside a set, against products of features of the latents of some outputs."""
    removed = tests[0].tester.removed(kept)
    if not removed:
        return []
    given, clearing = tests[0].tester.clearing(kept)
    dependence = tests[0].tester.dependence
    each = [latent_features(test.latents(kept))[:, : _ORDERS[len(outputs)]] for test in tests]
    latents = clearing(reduce(products, each))
    return [
        _Finding(outputs, candidate, judge(candidate, latents, probe_candidate(columns, given), clearing, dependence))
        for candidate, columns in removed.items()
    ]


def _with(certificate: Certificate, candidate: str, result: TestResult) -> Certificate:
    """A certificate to which a candidate is added, unless it has it already."""
    if candidate in certificate.kept:
        return certificate
    order = list(certificate.tests)
    kept = sorted([*certificate.kept, candidate], key=order.index)
    shifted = result._replace(shift=float(np.sqrt(result.effect)))
    return replace(
        certificate,
        kept=tuple(kept),
        tests={**certificate.tests, candidate: shifted},
        actions={
            name: Action(0.0, 0.0, 0.0, 1.0) if name == candidate else certificate.actions[name] for name in kept
        },
        negligible=tuple(name for name in certificate.negligible if name != candidate),
    )
