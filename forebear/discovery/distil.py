"""Draws from a fitted sampler become the regression problem of the kernel stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int

from forebear.data.table import Table
from forebear.data.weights import weighted_rows
from forebear.discovery.laws import Laws
from forebear.discovery.problem import Problem, Rows
from forebear.discovery.subsets import SharedFlow
from forebear.discovery.tester import SetTests
from forebear.flow.sampler import Law

# Makes the random numbers of shared draws others than those of the search.
_OWN_NUMBERS = 0xD4A3
# Hyper-parameters are chosen on this many distilled rows: the choice costs their cube at every grid point.
ROWS_TO_TUNE = 1_200
# The same for a path that is shared, where a table has few rows: so many draws for each of them.
_TUNED_BY = 2


class Searched(Protocol):
    """The search that paths share flows with."""

    tests: list[SetTests]
    flow: SharedFlow


class Draws(NamedTuple):
    """Rows of the table with a draw of every law at each: targets share rows and latents, so that they can share
    kernels."""

    rows: Int[np.ndarray, " M"]
    """row numbers"""
    z: Float[np.ndarray, "M latents"]
    y: Float[np.ndarray, "M outputs"]
    """of all laws; each row's draw comes from the law that was not trained on that row"""
    rivals: Float[np.ndarray, "folds few outputs"]
    """what the law of every fold draws at the first few of the rows, from the same latents"""

    def of(self, outputs: Sequence[int]) -> Draws:
        """The draws of some of the outputs."""
        return self._replace(y=self.y[:, list(outputs)], rivals=self.rivals[..., list(outputs)])


class Drawn(NamedTuple):
    """What the samplers of a batch drew."""

    draws: Draws
    notes: tuple[str, ...] = ()


class _DrawnForm:
    """How draws are kept."""

    def pack(self, value: Drawn) -> tuple[Mapping[str, np.ndarray], Any]:
        """The arrays as they are."""
        return value.draws._asdict(), {"notes": list(value.notes)}

    def unpack(self, arrays: Mapping[str, np.ndarray], about: Any) -> Drawn:
        """The draws that were packed."""
        return Drawn(Draws(**arrays), tuple(about["notes"]))


DRAWN = _DrawnForm()


def draw(problem: Problem, number: int, rows: Rows, laws: Laws) -> Drawn:
    """Draws of the laws of a batch, each at rows that it has not seen."""
    inputs = [task.inputs for task in problem.batches[number].tasks]
    count = problem.settings.kernel.distilled
    weights = rows.structure.weights
    return Drawn(
        distil(laws.by_fold, rows.fold, rows.table, inputs, count, rng=rows.rng, weights=weights), laws.notes
    )


def draw_shared(problem: Problem, number: int, searched: Searched) -> Drawn:
    """Draws of the flows behind the certificates of a batch, all inputs on, each at rows that they have not seen.

    A flow that serves every subset serves the largest well enough to tell which inputs it hangs on.
    """
    rng = np.random.default_rng(np.random.SeedSequence((*problem.batches[number].seed, _OWN_NUMBERS)))
    testers, among = [test.tester for test in searched.tests], searched.flow.searched_rows
    chosen = _drawn_rows(len(among), problem.settings.kernel.distilled, rng, testers[0].weights)
    z = rng.normal(size=len(chosen))
    few = chosen[: min(ROWS_TO_TUNE, _TUNED_BY * len(among))]
    own = np.stack([tester.draws(chosen, z) for tester in testers], axis=1)
    rivals = [
        np.stack([tester.draws(few, z[: len(few)], fold) for tester in testers], axis=1)
        for fold in range(testers[0].flow.folds)
    ]
    return Drawn(Draws(among[chosen], z[:, None], own, np.stack(rivals)))


def _drawn_rows(
    rows: int, count: int, rng: np.random.Generator, weights: Float[np.ndarray, " rows"] | None
) -> Int[np.ndarray, " count"]:
    """So many row numbers: none comes twice before every row has come once, or each as often as its weight says."""
    if weights is not None:
        return rng.permutation(weighted_rows(weights, count, rng.random()))
    rounds = -(-count // rows)
    return np.concatenate([rng.permutation(rows) for _ in range(rounds)])[:count]


def distil(
    laws: Sequence[Sequence[Law]],
    fold: Int[np.ndarray, " rows"],
    table: Table,
    inputs: Sequence[Sequence[str]],
    count: int,
    *,
    rng: np.random.Generator,
    weights: Float[np.ndarray, " rows"] | None = None,
) -> Draws:
    """Draw `count` rows, latents for each, and the answers of the laws of the row's fold.

    `laws` are by fold, then by task, with `inputs` by task; `fold` (rows,) says which of them to ask at a row. No row
    comes twice before every row has come once; beyond that rows are reused with fresh latents. Of rows with `weights`
    (rows,) each comes as often as its weight says.
    """
    rows = _drawn_rows(table.rows, count, rng, weights)
    z = rng.normal(size=(count, max(law.latents for law in laws[0])))
    # A law is asked at the rows of its fold, and at the first few, where all are compared.
    asked = [
        np.flatnonzero((fold[rows] == number) | (np.arange(count) < ROWS_TO_TUNE)) for number in range(len(laws))
    ]
    # Folds differ in size, from run to run too. All are filled up to one size, so that nothing is compiled twice.
    roomy = min(count, ROWS_TO_TUNE + 5 * max(0, count - ROWS_TO_TUNE) // (4 * len(laws)))
    size = roomy if max(map(len, asked)) <= roomy else count
    outputs = []
    for task, names in enumerate(inputs):
        given = table.frame(names).iloc[rows]
        by_fold = []
        for number, of_fold in enumerate(laws):
            filled = np.resize(asked[number], size)
            law = of_fold[task]
            told = law.push(given.iloc[filled].reset_index(drop=True), z[filled, : law.latents])
            y = np.full((count, np.asarray(told).size // size), np.nan)
            y[filled] = np.asarray(told, float).reshape(size, -1)
            by_fold.append(y)
        outputs.append(np.stack(by_fold))
    drawn = np.concatenate(outputs, axis=2)
    own, rivals = drawn[fold[rows], np.arange(count)], drawn[:, :ROWS_TO_TUNE]
    if not (np.isfinite(own).all() and np.isfinite(rivals).all()):
        raise FloatingPointError("the sampler returned values that are not finite")
    return Draws(rows, z, own, rivals)
