"""What is made on a GPU works there and on a machine without one; skipped where JAX sees no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.api.found import Found
from forebear.twin.twin import Twin

pytestmark = pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX sees no GPU")

GIVEN = pd.DataFrame({"x1": [-2.0, 0.5, 1.0], "x2": [0.0, 1.0, -1.0]})
ON_THE_CPU = """
import sys, jax, numpy as np, pandas as pd, forebear as fb
assert jax.default_backend() == "cpu"
twin = fb.load_twin(sys.argv[1])
given = pd.read_csv(sys.argv[2])
draws = twin.sample(given, 50, seed=3)
np.savez(sys.argv[3], draws=draws, z=twin.latent(given, draws[0]), log_prob=twin.log_prob(given, draws[0]))
"""


def _table(rows: int = 6_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"])
    frame["scale"] = np.exp(0.5 * x[:, 0]) * rng.normal(size=rows)
    frame["both"] = x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=rows)
    return frame


@pytest.fixture(scope="module")
def found() -> Found:
    return fb.discover(_table(), targets=["scale", "both"], progress=False)


@pytest.fixture(scope="module")
def twin(found: Found) -> Twin:
    return found.twin(progress=False)


def test_the_graph_is_found_there(found: Found) -> None:
    assert found.ancestors == {"scale": ("x1",), "both": ("x1", "x2")}


@pytest.mark.parametrize("distilled", [False, True])
def test_a_twin_made_there_loads_without_a_gpu(twin: Twin, distilled: bool, tmp_path: Path) -> None:
    kept = twin.distil(steps=1_500, progress=False) if distilled else twin
    kept.save(tmp_path / "twin")
    GIVEN.to_csv(tmp_path / "given.csv", index=False)
    files = [str(tmp_path / name) for name in ("twin", "given.csv", "cpu.npz")]
    without = {**os.environ, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", ON_THE_CPU, *files], check=True, timeout=300, env=without)
    there = np.load(files[2])
    draws = kept.sample(GIVEN, 50, seed=3)
    np.testing.assert_allclose(there["draws"], draws, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(there["z"], kept.latent(GIVEN, draws[0]), atol=2e-2)
    np.testing.assert_allclose(there["log_prob"], kept.log_prob(GIVEN, draws[0]), atol=5e-2)


def test_draws_repeat(twin: Twin) -> None:
    assert np.array_equal(twin.sample(GIVEN, 1_000, seed=1), twin.sample(GIVEN, 1_000, seed=1))
    deviation = twin.sample(GIVEN, 20_000)[:, :, 0].std(axis=0)
    np.testing.assert_allclose(deviation, np.exp(0.5 * GIVEN["x1"]), rtol=0.15)


def test_rollouts_run_there() -> None:
    rng = np.random.default_rng(0)
    x = np.zeros((100, 60))
    for n in range(59):
        x[:, n + 1] = 0.9 * x[:, n] + 0.3 * rng.normal(size=100)
    paths = pd.DataFrame({"x": x.ravel(), "episode": np.repeat(np.arange(100), 60)})
    lagged = fb.lagged(paths, state=["x"], lags=0, episode="episode", increments=True)
    found = fb.discover(lagged.table, targets=lagged.targets, candidates=lagged.candidates, progress=False)
    moved = found.twin(progress=False).rollout(np.zeros((2_000, 1, 1)), 40, seed=0)
    assert moved.states[-1, :, 0].std() == pytest.approx(0.3 / np.sqrt(1 - 0.81), rel=0.1)
