"""Inputs that shape how the outputs of a joint law move together, though not how any one of them moves.

Each output has a certified set of its own. If the union of two such sets fixes the joint law of the two outputs, then
products of features of their latents are independent of every other input, given the union. What fails this test is
added to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np

from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import TestResult, judge, probe_candidate
from forebear.discovery.multiple import holm
from forebear.discovery.residuals import latent_features
from forebear.discovery.tester import SetTests

# Features of either latent in a product: the third one of both sees dependence in the tails.
_ORDERS = 3


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
    pair: tuple[int, int]
    candidate: str
    result: TestResult


def couple(searched: Search, certificates: Sequence[Certificate]) -> list[Certificate]:
    """The certificates of the outputs of one joint law, with what shapes their dependence added, worst first.

    A pair of outputs that fails is tested again before anything is added: a flow that serves every subset serves no
    one perfectly, and what it misses of either output shows in their product.
    """
    found = list(certificates)
    tests = searched.tests
    settings = tests[0].tester.settings
    pairs = list(combinations(range(len(found)), 2))
    tested: dict[tuple[int, int], list[_Finding]] = {}
    twice: set[tuple[int, int]] = set()
    while True:
        for pair in pairs:
            if pair not in tested:
                tested[pair] = _test(pair, [tests[number] for number in pair], _union(found, pair))
        findings = [finding for pair in pairs for finding in tested[pair]]
        sure = holm({str(n): finding.result.p_value for n, finding in enumerate(findings)}, settings.level)
        rejected = [findings[int(n)] for n in sure if findings[int(n)].result.effect >= settings.least_effect]
        if not rejected:
            return found
        worst = max(rejected, key=lambda finding: finding.result.statistic)
        if worst.pair not in twice:
            kept = _union(found, worst.pair)
            closer = searched.look_again(worst.pair, [frozenset()] * 2, [kept] * 2)
            tested[worst.pair] = _test(worst.pair, closer, kept)
            twice.add(worst.pair)
            continue
        for number in worst.pair:
            found[number] = _with(found[number], worst.candidate, worst.result)
        changed = {pair for pair in pairs if set(pair) & set(worst.pair)}
        tested = {pair: done for pair, done in tested.items() if pair not in changed}
        twice -= changed


def _union(found: Sequence[Certificate], pair: tuple[int, int]) -> frozenset[str]:
    return frozenset(found[pair[0]].kept) | frozenset(found[pair[1]].kept)


def _test(pair: tuple[int, int], tests: Sequence[SetTests], kept: frozenset[str]) -> list[_Finding]:
    """Every candidate outside a set, against products of features of the latents of two outputs."""
    removed = tests[0].tester.removed(kept)
    if not removed:
        return []
    given, clearing = tests[0].tester.clearing(kept)
    dependence = tests[0].tester.dependence
    left, right = (latent_features(test.latents(kept))[:, :_ORDERS] for test in tests)
    products = clearing((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))
    return [
        _Finding(pair, candidate, judge(candidate, products, probe_candidate(columns, given), clearing, dependence))
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
