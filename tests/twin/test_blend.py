"""Laws blended of networks and trees: an exact law is found, the pieces fit together, and nothing runs on loading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import forebear as fb
from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.flow.network import Network, stack
from forebear.storage.files import read_json, write_json
from forebear.twin import blend_fit
from forebear.twin.blend import BlendLaw
from forebear.twin.blend_fit import Sizes
from forebear.twin.blend_nets import WAYS, Learner, Way
from forebear.twin.blend_trees import FOLDS
from forebear.twin.fit import fit_twin
from forebear.twin.knots import LATENTS, MIXED, mixed
from forebear.twin.quantiles import COUNT, QuantileModel, law_loss
from forebear.twin.route import trees_win
from forebear.twin.scores import crps
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _noisy(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 2 * x[:, 0] + (0.3 + np.abs(x[:, 1])) * rng.normal(size=len(x))


def _table(draw: Draw, rows: int, inputs: int = 3, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(rows, inputs))
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(inputs)]).assign(y=draw(x, rng))


def _twin(frame: pd.DataFrame, seed: int = 0, **settings: object) -> Twin:
    table = read_columns(frame, "the table", list(frame.columns))
    asked = TwinSettings.resolve(settings)
    return fit_twin(table, {"y": list(frame.columns[:-1])}, joint=False, settings=asked, seed=seed)


@pytest.fixture(scope="module")
def quick() -> Twin:
    """A blend that was trained for moments."""
    usual = Sizes.of(300)
    tiny = {"steps": 60, "width": 16, "depth": 2}
    small = Sizes(1, replace(usual.plain, **tiny), replace(usual.assisted, **tiny), 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blend_fit.Sizes, "of", classmethod(lambda cls, rows: small))
        # Weights of all pieces, so that all of them are saved.
        patch.setattr(blend_fit, "_weigh", lambda tables, y: np.full(len(tables), 1 / len(tables)))
        return _twin(_table(_noisy, 300))


GIVEN = pd.DataFrame({"x0": [-0.5, 0.0, 0.9], "x1": [0.1, 0.8, -0.4], "x2": [0.0, 0.2, -0.9]})


def test_every_way_of_learning_has_an_ensemble_of_all_folds(quick: Twin) -> None:
    assert isinstance(quick.law, BlendLaw)
    [blend] = quick.law.blends
    assert len(blend.plain) == len(blend.assisted) == 2
    assert all(model.latents == FOLDS for model in (*blend.plain, *blend.assisted))


def test_ways_without_weight_are_given_up_after_one_network(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Way] = []

    def train(self: Learner, way: Way, part: object, settings: object, decay: float = 0.0) -> Network:
        trained.append(way)
        inputs = self.lesson.features.shape[1] + self.summaries.shape[1]
        return stack([Network.fresh(inputs, COUNT, width=4, depth=1, activation="silu", rng=self.rng)])

    def weigh(tables: list[np.ndarray], y: np.ndarray) -> np.ndarray:
        weights = np.zeros(len(tables))
        weights[0], weights[-2] = 0.6, 0.4
        return weights

    monkeypatch.setattr(Learner, "train", train)
    monkeypatch.setattr(blend_fit, "_weigh", weigh)
    law = _twin(_table(_noisy, 150)).law
    assert isinstance(law, BlendLaw)
    assert trained[:4] == list(WAYS) and trained[4:] == [WAYS[0]] * (FOLDS - 1)
    [blend] = law.blends
    assert len(blend.plain) == 1 and not blend.assisted and blend.forest is not None


def test_what_networks_say_plainly_is_what_the_compiled_model_says() -> None:
    rng = np.random.default_rng(0)
    nets = stack([Network.fresh(3, COUNT, width=8, depth=2, activation="silu", rng=rng) for _ in range(2)])
    model, x = QuantileModel(nets), rng.normal(size=(7, 3)).astype(np.float32)
    compiled = [model.push(jnp.asarray(x), jnp.full((7, 2), z, jnp.float32)).T for z in LATENTS]
    np.testing.assert_allclose(model.tables(x), np.stack(compiled, axis=2), atol=2e-5)


def test_the_mixture_has_the_quantiles_of_the_laws_it_mixes() -> None:
    rng = np.random.default_rng(0)
    centre, spread, weights = (
        rng.normal(size=(3, 5, 1)),
        rng.uniform(0.1, 2, size=(3, 5, 1)),
        np.array([0.2, 0.5, 0.3]),
    )
    told = mixed(centre + spread * LATENTS, weights)
    below = np.tensordot(weights, ndtr((told - centre) / spread), axes=1)
    seen = np.abs(MIXED) < 3.5
    np.testing.assert_allclose(below[:, seen], np.broadcast_to(ndtr(MIXED), told.shape)[:, seen], atol=3e-3)


@pytest.mark.parametrize(("share", "decay"), [(0.0, 0.0), (1.0, 0.0), (0.0, 5.0)])
def test_the_loss_is_the_crps_or_the_density_of_the_law_that_is_said(share: float, decay: float) -> None:
    quiet = Network((jnp.zeros((1, 1, COUNT)),), (jnp.zeros((1, COUNT)),), "silu")  # says a standard normal law
    y = np.random.default_rng(0).normal(size=4_000)
    pairs = np.stack([y, np.full(4_000, share), np.full(4_000, decay)], axis=1).astype(np.float32)
    one = Network(tuple(w[0] for w in quiet.weights), tuple(b[0] for b in quiet.biases), "silu")
    loss = float(law_loss(one, jnp.ones((4_000, 1)), jnp.asarray(pairs), jnp.zeros(2)))
    expected = 0.5 * np.mean(y**2) if share else 1 / np.sqrt(np.pi)
    assert abs(loss - expected) < 0.02


def test_a_small_table_gets_a_blend_and_a_setting_of_the_flow_a_flow(quick: Twin) -> None:
    assert isinstance(quick.law, BlendLaw)
    assert type(_twin(_table(_noisy, 300), steps=5, width=8, depth=1).law).__name__ == "ModelLaw"
    assert type(_twin(_table(_noisy, 60), law="auto").law).__name__ == "ModelLaw", "too few rows to weigh with"


def test_latents_and_values_are_inverses(quick: Twin) -> None:
    y = quick.quantile(GIVEN, [0.01, 0.3, 0.5, 0.9, 0.999])
    for values, level in zip(y, [0.01, 0.3, 0.5, 0.9, 0.999], strict=True):
        np.testing.assert_allclose(ndtr(quick.latent(GIVEN, values)), level, rtol=1e-6)
    assert (np.diff(y, axis=0) > 0).all()


def test_the_density_is_that_of_the_draws(quick: Twin) -> None:
    one = GIVEN.iloc[:1]
    grid = np.linspace(-12, 12, 24_001)
    density = np.exp(quick.log_prob(pd.concat([one] * len(grid)), grid[:, None])[:, 0])
    assert abs(density.sum() * 0.001 - 1) < 1e-3
    below = density[grid < 0].sum() * 0.001
    draws = quick.sample(one, n=20_000)[:, 0, 0]
    assert abs(np.mean(draws < 0) - below) < 0.015


def test_it_is_saved_whole_and_loads_to_the_bit(quick: Twin, tmp_path: Path) -> None:
    quick.save(tmp_path / "twin")
    again = fb.load_twin(tmp_path / "twin")
    assert isinstance(again.law, BlendLaw)
    np.testing.assert_array_equal(again.sample(GIVEN, n=20), quick.sample(GIVEN, n=20))
    np.testing.assert_array_equal(again.log_prob(GIVEN, np.zeros((3, 1))), quick.log_prob(GIVEN, np.zeros((3, 1))))
    assert again.settings == quick.settings


def test_a_damaged_blend_is_refused_in_one_line(quick: Twin, tmp_path: Path) -> None:
    quick.save(tmp_path / "twin")
    record = read_json(tmp_path / "twin" / "twin.json")
    record["blends"][0]["forest"] = False
    write_json(tmp_path / "twin" / "twin.json", record)
    with pytest.raises(InputError, match="not a forebear twin, or damaged"):
        fb.load_twin(tmp_path / "twin")


def test_its_student_serves_compiled_code(quick: Twin) -> None:
    student = quick.distil(rows=256, steps=50, progress=False)
    assert student.core().latents == 1 and student.sample(GIVEN, n=5).shape == (5, 3, 1)


def _onnx_says(file: Path, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(file))
    return session.run(None, {"x": x.astype(np.float32), "z": z.astype(np.float32)})[0]


def test_its_onnx_graph_is_that_of_its_student(quick: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    student = quick.distil(rows=256, steps=50, progress=False)
    own = replace(quick)
    monkeypatch.setitem(own.__dict__, "student", student)
    own.export(tmp_path / "twin.onnx")
    own.export_onnx(tmp_path / "again")
    z = np.array([[-1.0], [0.0], [2.0]])
    expected = student.law.push(GIVEN.to_numpy(), z[None])[0]
    for name in ("twin.onnx", "again"):
        np.testing.assert_allclose(_onnx_says(tmp_path / name, GIVEN.to_numpy(), z), expected, atol=1e-4)


def test_beyond_the_data_it_is_the_less_sure_the_further_the_target_may_have_moved(quick: Twin) -> None:
    """The target follows x0 (correlation about 0.8) and not x2."""

    def width(**moved: float) -> float:
        rows = {"x0": 0.0, "x1": 0.0, "x2": 0.0, **moved}
        low, high = quick.quantile(rows, [0.16, 0.84], outside="ignore")[:, 0, 0]
        return float(high - low)

    own, trees = quick.law, replace(quick)
    assert isinstance(own, BlendLaw)
    [blend] = own.blends
    np.testing.assert_allclose(blend.reach[2], [0.8, 0.0, 0.0], atol=0.2)
    still = BlendLaw(own.encoder, (replace(blend, reach=np.zeros((3, 3))),), own.centre, own.scale)
    trees = replace(quick, model=still)
    at = {"x0": 3.0, "x1": 0.0, "x2": 0.0}
    low, high = trees.quantile(at, [0.16, 0.84], outside="ignore")[:, 0, 0]
    # Two units beyond 1, a slope of two.
    assert width(x0=3.0) - (high - low) == pytest.approx(2 * 2 * 2 * 0.95, rel=0.35)
    assert width(x0=3.0) > width(x0=2.0) > width(x0=0.9)


@pytest.mark.parametrize("rough", [True, False])
def test_trees_are_preferred_where_a_law_is_rough_and_nowhere_else(rough: bool) -> None:
    """Boxes that a smooth mean cannot follow, or a plane that trees cannot beat."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, size=(3_000, 2)).astype(np.float32)
    boxes = rng.normal(size=(4, 4))[tuple(np.floor(x).astype(int).T)]
    mean = boxes if rough else x.sum(axis=1)
    y = mean + 0.3 * rng.normal(size=len(x))
    rows, held_out = np.arange(2_500), np.arange(2_500, 3_000)
    plane = np.column_stack([np.ones(len(x)), x])
    flow = plane[held_out] @ np.linalg.lstsq(plane[rows], y[rows])[0]
    assert trees_win(x, y, rows, held_out, flow, 0) is rough


def test_what_it_cannot_be_is_said() -> None:
    frame = _table(_noisy, 150)
    table = read_columns(frame, "the table", list(frame.columns))
    settings = TwinSettings.resolve({"law": "blend"})
    with pytest.raises(InputError, match="leave joint=True out"):
        fit_twin(table, {"y": ["x0"]}, joint=True, settings=settings, seed=0)
    with pytest.raises(InputError, match="leave sampler= out"):
        fit_twin(table, {"y": ["x0"]}, joint=False, settings=settings, seed=0, sampler="gaussian")
    with pytest.raises(InputError, match="setting 'law' is 'tree'"):
        TwinSettings.resolve({"law": "tree"})


def _skewed(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.exp(x[:, 0] + 0.5 * rng.normal(size=len(x)))


def _two_modes(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x[:, 1] + np.where(rng.random(len(x)) < 0.5, 1.0, -1.0) * (1 + x[:, 0]) + 0.2 * rng.normal(size=len(x))


def _heavy(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.sin(3 * x[:, 0]) + 0.3 * rng.standard_t(2.5, size=len(x))


def _grades(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(np.round(4 + 2 * x[:, 0] + 0.8 * rng.normal(size=len(x))), 1, 7)


def _steps(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.floor(3 * x[:, 0]) * np.sign(x[:, 1]) + 0.2 * rng.normal(size=len(x))


def _no_signal(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=len(x)) ** 2


KINDS: dict[str, tuple[Draw, int, int]] = {
    "spread that depends": (_noisy, 800, 3),
    "skewed": (_skewed, 500, 4),
    "two modes": (_two_modes, 3_000, 3),
    "heavy tails": (_heavy, 1_500, 3),
    "grades": (_grades, 1_000, 5),
    "steps": (_steps, 1_000, 3),
    "many useless inputs": (_noisy, 2_000, 30),
    "no signal": (_no_signal, 300, 6),
    "few rows": (_noisy, 200, 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_known_laws_are_found_nearly_and_covered(name: str) -> None:
    draw, rows, inputs = KINDS[name]
    twin = _twin(_table(draw, rows, inputs))
    rng = np.random.default_rng(99)
    x = rng.uniform(-1, 1, size=(1_000, inputs))
    y = draw(x, rng)
    ours = crps(twin.sample(x, n=300)[..., 0], y).mean()
    exact = crps(np.stack([draw(x, rng) for _ in range(300)]), y).mean()
    low, high = twin.quantile(x, [0.05, 0.95])[..., 0]
    covered = float(np.mean((low <= y) & (y <= high)))
    print(f"{name}: CRPS {ours:.4f}, exact {exact:.4f} ({ours / exact - 1:+.1%}), 90% covers {covered:.3f}")
    assert ours < exact * (1.35 if name == "steps" else 1.12)
    least = 0.85 if rows < 500 else 0.87
    assert covered > least - 0.01 and (name == "grades" or covered < 0.96)
