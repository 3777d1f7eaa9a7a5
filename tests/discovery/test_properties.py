"""What must not change the answer of the kernel stage."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forebear import LargestJump, Path
from forebear.data.table import Column
from forebear.discovery.embed import Lengthscales, embed, standard
from forebear.discovery.path import prune

ROWS, NAMES = 60, ("a", "b", "c", "d")


class Problem(NamedTuple):
    columns: list[Column]
    z: np.ndarray
    y: np.ndarray
    lengthscales: Lengthscales
    nugget: float

    def path(self, rows: np.ndarray | None = None) -> Path:
        """As `discover` does it, on the given rows of the problem."""
        rows = np.arange(ROWS) if rows is None else rows
        points = embed(self.columns, rows, self.z[rows], self.lengthscales)
        units = {column.name: (place,) for place, column in enumerate(self.columns)}
        return prune(points, standard(self.y[rows])[:, None], units, self.nugget)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Four columns, of which some shape the mean, the spread, or nothing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    z = rng.normal(size=(ROWS, 1))
    y = draw(st.sampled_from([0.0, 0.3])) * z[:, 0]
    columns = []
    for name in NAMES:
        kind = draw(st.sampled_from(["real", "real", "periodic", "category"]))
        if kind == "category":
            values = rng.integers(0, 3, ROWS).astype(float)
            columns.append(Column(name, "category", values, levels=("u", "v", "w")))
        elif kind == "periodic":
            values = rng.uniform(0, 4, ROWS)
            columns.append(Column(name, "periodic", values, period=1.5))
        else:
            values = rng.normal(size=ROWS)
            columns.append(Column(name, "real", values))
        role = draw(st.sampled_from(["mean", "spread", "nothing"]))
        shape = np.cos(2 * np.pi * values / 1.5)
        y = y + (shape if role == "mean" else shape * z[:, 0] if role == "spread" else 0.0)
    lengthscales = Lengthscales(draw(st.sampled_from([0.5, 1.0, 4.0])), draw(st.sampled_from([0.3, 1.0])))
    nugget = draw(st.sampled_from([0.1, 1.0, 10.0]))
    return Problem(columns, z, y + 0.1 * rng.normal(size=ROWS), lengthscales, nugget)


def assert_same(one: Path, other: Path) -> None:
    """The same ratios, the same scores by name, and so the same set."""
    assert set(LargestJump()(one)) == set(LargestJump()(other))
    assert one.removed == other.removed
    np.testing.assert_allclose(one.nsr, other.nsr, rtol=1e-7, atol=1e-9)
    order = [other.candidates.index(unit) for unit in one.candidates]
    np.testing.assert_allclose(one.scores, other.scores[:, order], rtol=1e-6, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(problems(), st.permutations(range(len(NAMES))))
def test_order_of_columns(problem: Problem, order: list[int]) -> None:
    assert_same(problem.path(), problem._replace(columns=[problem.columns[i] for i in order]).path())


@settings(max_examples=15, deadline=None)
@given(problems(), st.permutations(range(ROWS)))
def test_order_of_rows(problem: Problem, order: list[int]) -> None:
    assert_same(problem.path(), problem.path(np.array(order)))


@settings(max_examples=25, deadline=None)
@given(problems(), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.booleans())
def test_shift_and_scale_of_a_column(problem: Problem, shift: float, scale: float, flip: bool) -> None:
    """An angle is rescaled together with its period; the labels of a category change places."""

    def moved(column: Column) -> Column:
        if column.kind == "category":
            return replace(column, values=(column.values + 1) % 3)
        factor = -scale if flip else scale
        period = None if column.period is None else column.period * scale
        return replace(column, values=shift + factor * column.values, period=period)

    for place in range(len(NAMES)):
        columns = [moved(c) if i == place else c for i, c in enumerate(problem.columns)]
        assert_same(problem.path(), problem._replace(columns=columns).path())


@settings(max_examples=15, deadline=None)
@given(problems(), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_shift_and_scale_of_target_and_latent(problem: Problem, shift: float, scale: float) -> None:
    assert_same(problem.path(), problem._replace(y=shift - scale * problem.y, z=shift + scale * problem.z).path())


@settings(max_examples=25, deadline=None)
@given(problems())
def test_every_row_twice(problem: Problem) -> None:
    """With every row twice the same function fits, at twice the weight of the data against the penalty.

    Let K2 hold every row and column of K twice. Then alpha2 = (alpha, alpha) / 2 solves (K2 + 2 g I) alpha2 = (y, y)
    if alpha solves (K + g I) alpha = y; signal and noise are equal. So the path with twice the nugget is the same,
    scores and all; with the nugget left alone it is the path that half of the nugget gives on the single rows.
    """
    twice = np.tile(np.arange(ROWS), 2)
    assert_same(problem.path(), problem._replace(nugget=2 * problem.nugget).path(twice))
    assert_same(problem._replace(nugget=problem.nugget / 2).path(), problem.path(twice))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sets(st.sampled_from(NAMES), min_size=1, max_size=2))
def test_every_row_twice_at_the_same_nugget(seed: int, true: set[str]) -> None:
    """Where the answer is clear, a factor of two in the nugget does not change it."""
    rng = np.random.default_rng(seed)
    columns = [Column(name, "real", rng.normal(size=ROWS)) for name in NAMES]
    z = rng.normal(size=(ROWS, 1))
    y = 0.2 * z[:, 0] + sum(np.tanh(column.values) for column in columns if column.name in true)
    problem = Problem(columns, z, np.asarray(y), Lengthscales(2.0, 1.0), 1.0)
    assert set(LargestJump()(problem.path())) == true
    assert set(LargestJump()(problem.path(np.tile(np.arange(ROWS), 2)))) == true
