"""The benchmarks of twins run small: what they report, and that they notice a sampler that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from forebear.systems import algebraic
from forebear.systems.laws import Gaussian
from forebear.twin import batches
from forebear_experiments.benchmarks import langevin as wells
from forebear_experiments.benchmarks import measure
from forebear_experiments.benchmarks.support.accuracy import Judge, exact_draws
from forebear_experiments.benchmarks.surrogate import Samples, Surrogate
from forebear_experiments.benchmarks.twin import accuracy, heavy

TINY: dict[str, Any] = {"steps": 20, "width": 8, "depth": 1, "ode_steps": 2, "batch": 256}


@pytest.fixture(scope="module", autouse=True)
def few_shapes() -> Iterator[None]:
    """Every shape is compiled once; here most of the time would go there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 2**11)
        patch.setattr(batches, "MOST", 2**11)
        yield


def test_judge_tells_a_shift_from_the_floor() -> None:
    system = algebraic(rows=200)
    rng = np.random.default_rng(0)
    judge = Judge(system.quantiles["y1"], system.table, 500, rng, sd=0.5)
    right = exact_draws(system.quantiles["y1"], system.table, 500, rng)
    assert judge(right)["over_floor"] == pytest.approx(1, abs=0.1)
    moved = judge(right + 1.0)
    assert moved["w1"][0] == pytest.approx(1, abs=0.01) and moved["w1_sd"][0] == pytest.approx(2, abs=0.02)
    assert moved["w1_to_second_sample"][0] == pytest.approx(1, abs=0.01)


def test_surrogate_learns_a_smooth_map_and_solves_the_published_system() -> None:
    rng = np.random.default_rng(0)

    def draw(count: int) -> Samples:
        x, z = rng.normal(3.0, 2.0, (count, 1)), rng.normal(size=(count, 1))
        return Samples(x, z, np.sin(x[:, 0]) + 0.5 * z[:, 0], ("x",))

    few, more, new = draw(40), draw(400), draw(300)
    errors = [np.mean((Surrogate(s)(new.x, new.z[None])[0] - new.y) ** 2) for s in (few, more)]
    assert errors[1] < 0.01 < errors[0]
    # By hand: factors 1 + k on standardised inputs and raw latents, nugget 1.
    x = (few.x - few.x.mean()) / few.x.std()
    kernel = np.prod([1 + np.exp(-0.5 * (v - v.T) ** 2) for v in (x, few.z)], axis=0)
    scaled = (few.y - few.y.mean()) / few.y.std()
    fitted = kernel @ np.linalg.solve(kernel + np.eye(40), scaled) * few.y.std() + few.y.mean()
    np.testing.assert_allclose(Surrogate(few)(few.x, few.z[None])[0], fitted, atol=1e-4)


def test_surrogate_rows_carry_the_published_figures() -> None:
    rows = measure(
        "surrogate", flows=["twin"], trajectories=1, sizes=(100, 500), validation=50, inputs=20, draws=50, **TINY
    )["rows"]
    floor, flow, small, large = rows
    assert floor["w1"][0] < flow["w1"][0] and flow["published_w1"] == [3.42e-2, 2.55e-2]
    # Twenty steps are no training: the check must fail.
    assert not flow["holds"] and not large["holds"]
    assert large["published_mse"] == 6.02e-2 and "published_mse" not in small
    assert large["mse"] < small["mse"]


class _Normal:
    """A twin of y given a: normal with a spread that is off by a factor."""

    targets, distillation = ("y",), None

    def __init__(self, factor: float):
        self.factor = factor

    def quantile(self, given: pd.DataFrame, q: list[float], outside: str) -> np.ndarray:
        return self.factor * norm.ppf(q)[:, None, None] * np.ones((1, len(given), 1))

    def sample(self, given: pd.DataFrame, n: int, seed: int, outside: str) -> np.ndarray:
        return self.factor * np.random.default_rng(seed).normal(size=(n, len(given), 1))


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False), (1.2, False)])
def test_coverage_notices_a_wrong_spread(factor: float, holds: bool) -> None:
    rng = np.random.default_rng(0)
    system = heavy(rows=20_000)
    table = pd.DataFrame({"x1": rng.normal(size=20_000), "y": rng.normal(size=20_000)})
    law = Gaussian(lambda rows: np.zeros(len(rows)), lambda rows: np.ones(len(rows)))
    new = type(system)("normal", table, ("y",), ("x1",), {"y": ("x1",)}, quantiles={"y": law})
    row = accuracy(_Normal(factor), new, 50, 400, seed=0)["y"]  # type: ignore[arg-type]
    assert row["holds"] is holds and (row["over_floor"] < 1.5) is holds


def test_twin_rows_hold_coverage_distances_and_speed() -> None:
    rows = measure(
        "twin",
        names=["algebraic"],
        rows=1_000,
        held_out=500,
        inputs=10,
        draws=50,
        batches=(64,),
        repeats=3,
        distil_steps=20,
        **TINY,
    )["rows"]
    *laws, speed = rows
    assert speed["ratio"] == pytest.approx(speed["baseline_s"] / speed["ours_s"])
    assert len(laws) == 6 and sum("distilled" in row["what"] for row in laws) == 3
    assert all(("w1_to_teacher_sd" in row) == ("distilled" in row["what"]) for row in laws)
    assert [row["what"][:12] for row in laws if "holds" not in row] == ["algebraic y2"] * 2
    assert all(0 <= row.get("coverage", 0) <= 1 for row in laws)


def test_heavy_tails_are_heavy() -> None:
    system = heavy(rows=20_000)
    scaled = system.table["y"] / np.exp(0.5 * system.table["x1"])
    assert np.quantile(np.abs(scaled), 0.95) == pytest.approx(3.18, abs=0.15)


def test_well_changes_need_the_other_side() -> None:
    assert wells.well_changes(np.array([[-1.0, 0.1, -0.1, 0.1, -1.0]])) == 0
    assert wells.well_changes(np.array([[1.0, 0.0, -1.0, -1.0, 0.0, 1.0]])) == pytest.approx(2 / 5)


def test_langevin_rows_compare_with_a_simulation() -> None:
    small: dict[str, Any] = {"trajectories": 50, "points": 20, "rollouts": 100, "length": 60, "settle": 10}
    rows = measure("langevin", lags=(2,), burn_in=200, seeds=(0, 1), **small, **TINY)["rows"]
    second, twin, _, other, mean = rows
    assert second["w1"] < twin["w1"] and twin["trained_on"] == 500
    assert mean["rate_ratio"] == pytest.approx((twin["rate_ratio"] + other["rate_ratio"]) / 2)
    assert mean["holds"] == (abs(mean["rate_ratio"] - 1) <= wells.MOST_OFF)


def test_twin_ko_compares_pruned_with_full() -> None:
    rows = measure("twin-ko", trajectories=2, length=300, inputs=20, draws=200, **TINY)["rows"]
    assert len(rows) == 12 and {row["twin"] for row in rows} == {"full", "pruned"}
    full = {row["what"].replace("full", "pruned"): row["w1"][0] for row in rows if row["twin"] == "full"}
    for row in rows:
        most = min(row["published_w1"][0], full.get(row["what"], np.inf) if row["twin"] == "pruned" else np.inf)
        assert row["holds"] == (row["w1"][0] <= most)
    # Twenty steps are no training: the distances must show it.
    assert sum(row["w1"][0] for row in rows) > 2 * sum(row["floor"][0] for row in rows)
    assert not all(row["holds"] for row in rows)
