"""Candidates that a quick look had set aside, held against the latents of the answer: does one of them still show?

The look is made before anything is known of the target (`forebear.discovery.screen`). Once the search has an answer,
every candidate that it never saw is tested against that answer, alone and in products with kept columns, and
corrected for all of them (Holm). What shows is asked again of a flow made for that set, since one that serves every
subset serves none perfectly.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from forebear.data.table import Table
from forebear.discovery.dependence import (
    CROSSED,
    Features,
    Probe,
    TestResult,
    all_latent_features,
    measure,
    result_of,
)
from forebear.discovery.effective import memory_of_column
from forebear.discovery.problem import Aside, SetAside
from forebear.discovery.residuals import features
from forebear.discovery.search import weigh
from forebear.discovery.structure import ORDERED, RowStructure
from forebear.discovery.subsets import SharedFlow
from forebear.discovery.tester import SetTests
from forebear.kernel.threads import cores

# Features of a column alone, and of both columns in a product.
_ALONE, _IN_PRODUCTS = 3, 1


def still_shown(
    tests: SetTests, kept: frozenset[str], flow: SharedFlow, aside: Aside, closer: Callable[[], SetTests]
) -> list[str]:
    """Those of the candidates set aside that the latents of a set know of, by the flow that serves every subset and
    by a `closer` one; the table of `aside` has the rows of the flow's."""
    own = aside.candidates.get(tests.tester.question.target, {})
    shown = _shown(tests, kept, flow, aside.table, own)
    if not shown:
        return []
    return _shown(closer(), kept, flow, aside.table, {name: own[name] for name in shown})


def _shown(tests: SetTests, kept: frozenset[str], flow: SharedFlow, table: Table, aside: SetAside) -> list[str]:
    if not aside:
        return []
    tester, rows = tests.tester, flow.tested_rows
    z = tests.latents(kept)
    if tester.observed is not None:
        whole = np.flatnonzero(tester.observed[:, tester.on(kept) > 0].all(axis=1))
        tester, rows, z = tester.on_rows(whole), rows[whole], z[whole]
    given, clear = tester.clearing(kept)
    latents, unexplained = clear(all_latent_features(z)), tester.unexplained(kept)

    def one(candidate: str) -> tuple[str, TestResult]:
        own = [_features(table, name, rows, flow.structure) for name in aside[candidate]]
        found = result_of([measure(candidate, latents, _probe(own, given), clear, tester.dependence)])
        return candidate, found._replace(shift=float(np.sqrt(found.effect)) * unexplained)

    with ThreadPoolExecutor(cores()) as pool:
        results = dict(pool.map(one, aside))
    rejected = weigh(results, None, tester.level, tester.settings.matters).rejected
    return [name for name in aside if name in rejected]


def _features(table: Table, name: str, rows: np.ndarray, structure: RowStructure) -> Features:
    column = table.columns[name]
    values = features(replace(column, values=column.values[rows]))[:, :_ALONE]
    return Features(values, *memory_of_column(values)) if structure.kind == ORDERED else Features(values)


def _probe(own: list[Features], given: list[Features]) -> Probe:
    """Features of a candidate alone, and their products with each kept column."""
    crossed = [a.first(_IN_PRODUCTS).times(k.first(_IN_PRODUCTS)) for a in own for k in given]
    ranks = [np.arange(one.values.shape[1]) for one in own] + [np.full(c.values.shape[1], CROSSED) for c in crossed]
    return Probe(Features.joined([*own, *crossed]), np.concatenate(ranks))
