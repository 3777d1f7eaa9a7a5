"""What every sampler must do, forebear's own and others: add yours to `SAMPLERS`."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.data.table import read_columns
from forebear.flow.sampler import NetworkSampler
from forebear.flow.samplers import SAMPLERS as BUILT_IN
from forebear.systems import System
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin

ROOT = Path(__file__).parents[2]
LinearSampler: Any = runpy.run_path(str(ROOT / "docs" / "skeletons" / "sampler.py"))["LinearSampler"]
QUICK = fb.FlowSettings(steps=400, width=24, depth=2, batch=256, rate=1e-2)
ROWS = 800


def _system() -> System:
    """y = 2 a + (0.5 + b^2 / 4) z: location by a, spread by b; c does nothing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 2)), columns=["a", "b"])
    frame["c"] = rng.choice(["u", "v"], ROWS)
    frame["y"] = 2 * frame["a"] + (0.5 + frame["b"] ** 2 / 4) * rng.normal(size=ROWS)

    def quantile(given: pd.DataFrame, level: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        return (2 * given["a"] + (0.5 + given["b"] ** 2 / 4) * ndtri(level)).to_numpy()

    return System("fan", frame, ("y",), ("a", "b", "c"), {"y": ("a", "b")}, quantiles={"y": quantile})


SYSTEM = _system()
FRAME = SYSTEM.table
INPUTS = ("a", "b", "c")
TABLE = read_columns(FRAME, "the table", [*INPUTS, "y"])
GIVEN = TABLE.frame(INPUTS)
"""as a discovery hands it to a sampler: categories with their labels"""


@dataclass(frozen=True)
class TwoLatents:
    """A law that is no quantile map, and has no way back: |z| sign, two latents for one output."""

    latents: int = 2

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        return 2 * given[["a"]].to_numpy() + 0.5 * np.abs(z[:, :1]) * np.sign(z[:, 1:])


class TwoLatentSampler:
    """Knows its law without learning it."""

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> TwoLatents:
        return TwoLatents()


class Falling:
    """A law that falls with its latent: invertible, but no quantile map."""

    latents = 1

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        return 2 * given[["a"]].to_numpy() - z

    def pull(self, given: pd.DataFrame, y: np.ndarray) -> np.ndarray:
        return 2 * given[["a"]].to_numpy() - y

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Falling:
        return self


class OwnNetworks(fb.GaussianSampler):
    """A sampler of networks that forebear does not know."""


SAMPLERS: dict[str, Any] = {
    **{word: made(QUICK) for word, made in BUILT_IN.items()},
    "own networks": OwnNetworks(QUICK),
    "oracle": SYSTEM.oracle(),
    "skeleton": LinearSampler(),
    "two latents": TwoLatentSampler(),
    "falling": Falling(),
}
each = pytest.mark.parametrize("name", SAMPLERS)
_made: dict[str, Any] = {}


def _law(name: str) -> Any:
    if name not in _made:
        _made[name] = SAMPLERS[name].fit(GIVEN, FRAME[["y"]], seed=0)
    return _made[name]


def _twin(name: str) -> Twin:
    key = f"twin of {name}"
    if key not in _made:
        settings = TwinSettings.resolve({}, QUICK)
        _made[key] = fit_twin(TABLE, {"y": INPUTS}, joint=False, settings=settings, seed=0, sampler=SAMPLERS[name])
    return _made[key]


@each
def test_the_interface(name: str) -> None:
    assert isinstance(SAMPLERS[name], fb.Sampler)
    assert isinstance(_law(name), fb.Law)


@each
def test_push_has_a_shape_and_is_finite(name: str) -> None:
    law = _law(name)
    z = np.random.default_rng(1).normal(size=(30, law.latents))
    y = np.asarray(law.push(GIVEN.head(30), z))
    assert y.shape == (30, 1) and np.isfinite(y).all()
    # Rows do not see each other.
    some = np.asarray(law.push(GIVEN[5:10].reset_index(drop=True), z[5:10]))
    assert some == pytest.approx(y[5:10], abs=1e-4)


@each
def test_the_same_seed_gives_the_same_law(name: str) -> None:
    sampler: Any = SAMPLERS[name]
    z = np.random.default_rng(1).normal(size=(30, _law(name).latents))
    if isinstance(sampler, NetworkSampler):  # shorter, for it is trained twice more
        sampler = type(sampler)(fb.FlowSettings(steps=10, width=8, depth=1))
    first, again = (sampler.fit(GIVEN, TABLE.frame(["y"]), seed=3).push(GIVEN.head(30), z) for _ in range(2))
    assert (np.asarray(first) == np.asarray(again)).all()


@each
def test_pull_inverts_push(name: str) -> None:
    law = _law(name)
    z = np.random.default_rng(1).normal(size=(30, law.latents))
    if not hasattr(law, "pull"):
        assert name in ("two latents", "oracle")
        return
    y = np.asarray(law.push(GIVEN.head(30), z))
    assert np.asarray(law.pull(GIVEN.head(30), y)) == pytest.approx(z, abs=2e-2)


@each
def test_it_learns_the_location(name: str) -> None:
    law = _law(name)
    z = np.zeros((ROWS, law.latents))
    assert np.corrcoef(np.asarray(law.push(GIVEN, z))[:, 0], FRAME["a"])[0, 1] > 0.9


@each
def test_it_reaches_a_twin(name: str) -> None:
    twin = _twin(name)
    some = FRAME.head(40)
    draws = twin.sample(some, n=64, seed=1)
    assert draws.shape == (64, 40, 1) and (draws == twin.sample(some, n=64, seed=1)).all()
    assert np.corrcoef(draws.mean(axis=0)[:, 0], some["a"])[0, 1] > 0.9
    quantiles = twin.quantile(some, [0.1, 0.5, 0.9])
    assert (np.diff(quantiles, axis=0) >= 0).all()
    if twin.law.latents:
        # Quantiles are those of the draws, read off a map or not.
        below = (twin.sample(some, n=2_000, seed=2) <= quantiles[1]).mean(axis=0)
        assert below == pytest.approx(np.full((40, 1), 0.5), abs=0.08)
    assert np.isfinite(twin.validate(FRAME.iloc[:200], seed=0).scores["y"].crps)


LACKS = {
    "mean": {"latent", "log_prob", "distil", "export_onnx"},
    "own networks": {"save"},
    "oracle": {"latent", "log_prob", "distil", "core", "export_onnx", "save"},
    "skeleton": {"core", "export_onnx", "save"},
    "two latents": {"latent", "log_prob", "distil", "core", "export_onnx", "save"},
    "falling": {"log_prob", "distil", "core", "export_onnx", "save"},
}


@each
def test_what_a_law_lacks_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    twin, some = _twin(name), FRAME.head(8)
    calls = {
        "latent": lambda: twin.latent(some, some[["y"]]),
        "log_prob": lambda: twin.log_prob(some, some[["y"]]),
        "core": twin.core,
        "save": lambda: twin.save(tmp_path / "twin"),
        "distil": lambda: twin.distil(rows=16, steps=1, progress=False),
    }
    lacking = LACKS.get(name, set())
    for what, call in calls.items():
        if what in lacking:
            with pytest.raises(fb.InputError) as error:
                call()
            assert str(error.value).startswith(what) and len(str(error.value)) < 200, str(error.value)
        else:
            call()
    if "export_onnx" in lacking:
        with pytest.raises(fb.InputError, match=r"^export_onnx needs .* law.*(sampler='flow'|distil\(\))"):
            twin.export_onnx(tmp_path / "twin.onnx")


@pytest.mark.parametrize("name", [name for name in SAMPLERS if "latent" not in LACKS.get(name, set())])
def test_latents_of_a_twin_are_standard_normal_under_its_own_law(name: str) -> None:
    twin = _twin(name)
    some = FRAME.head(400)
    y = twin.sample(some, n=1, seed=5)[0]
    z = twin.latent(some, y)
    assert abs(z.mean()) < 0.2 and 0.8 < z.std() < 1.2
    if "log_prob" not in LACKS.get(name, set()):
        # A density integrates to one.
        line = np.linspace(-12, 12, 4_001)[:, None]
        at = pd.concat([FRAME.head(1)] * len(line), ignore_index=True)
        mass = np.exp(twin.log_prob(at, line)).sum() * (line[1, 0] - line[0, 0])
        assert mass == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("name", ["flow", "gaussian", "mean"])
@pytest.mark.parametrize("joint", [False, True])
def test_twins_of_built_in_samplers_are_saved_and_loaded(name: str, joint: bool, tmp_path: Path) -> None:
    frame = FRAME.assign(k=np.round(FRAME["a"]).clip(-2, 2))
    table = read_columns(frame, "the table", [*INPUTS, "y", "k"])
    tiny = TwinSettings.resolve({"steps": 10, "width": 8, "depth": 1, "ode_steps": 2})
    twin = fit_twin(table, {"y": INPUTS, "k": ("a",)}, joint=joint, settings=tiny, seed=0, sampler=name)
    twin.save(tmp_path / "twin")
    back = fb.load_twin(tmp_path / "twin")
    assert (back.sample(frame.head(9), n=3) == twin.sample(frame.head(9), n=3)).all()
    assert (back.quantile(frame.head(9), 0.2) == twin.quantile(frame.head(9), 0.2)).all()
    if name != "mean":
        assert (back.log_prob(frame.head(9), frame.head(9)) == twin.log_prob(frame.head(9), frame.head(9))).all()
    core = twin.core()
    z = np.full((9, core.latents), 0.3, np.float32)
    told = np.asarray(core.push(core.params, jnp.asarray(twin.rows[:9], jnp.float32), jnp.asarray(z)))
    assert told == pytest.approx(twin.at_latents(twin.rows[:9], z[None])[0], abs=1e-3)


def test_a_student_of_a_foreign_law_is_a_twin_like_any_other(tmp_path: Path) -> None:
    student = _twin("skeleton").distil(rows=512, steps=300, progress=False)
    assert student.distillation is not None and student.distillation["y"]["w1"] < 0.2
    student.save(tmp_path / "twin")
    assert fb.load_twin(tmp_path / "twin").core().latents == 1


def test_the_sampler_of_a_discovery_reaches_its_twin(tmp_path: Path) -> None:
    quick: dict[str, Any] = {"distilled": 60, "rule": lambda path: ["a"], "progress": False}
    tiny: dict[str, Any] = {"steps": 5, "width": 4, "depth": 1, "progress": False}
    found = fb.discover(FRAME, "y", sampler=LinearSampler(), folds=1, out=tmp_path / "run", **quick)
    assert type(found.twin(progress=False).law).__name__ == "ForeignLaw"
    assert found.twin(sampler="gaussian", **tiny).log_prob(FRAME.head(2), FRAME.head(2)).shape == (2, 1)
    back = fb.load(tmp_path / "run")
    with pytest.raises(fb.InputError, match="the sampler LinearSampler is not saved with the discovery"):
        back.twin()
    assert back.twin(sampler=LinearSampler(), progress=False).quantile(FRAME.head(2), 0.5).shape == (2, 1)
    small = {key: value for key, value in tiny.items() if key != "progress"}
    mean = fb.discover(FRAME, "y", sampler="mean", folds=1, **quick, **small)
    assert mean.twin(**tiny).law.latents == 0


def test_settings_of_a_sampler_that_is_passed_hold_unless_changed() -> None:
    quick: dict[str, Any] = {"distilled": 60, "rule": lambda path: ["a"], "progress": False}
    found = fb.discover(FRAME, "y", sampler=LinearSampler(), folds=1, **quick)
    own = fb.GaussianSampler(fb.FlowSettings(steps=7, width=4, depth=1))
    assert found.twin(sampler=own, progress=False).settings.flow == own.settings
    assert found.twin(sampler=own, steps=3, progress=False).settings.flow.steps == 3


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        ("flwo", "unknown sampler 'flwo'. Did you mean 'flow'?"),
        (3, "sampler must be a name or have a method fit"),
    ],
)
def test_no_sampler(sampler: Any, message: str) -> None:
    table = read_columns(FRAME, "the table", ["a", "y"])
    with pytest.raises(fb.InputError) as error:
        fit_twin(table, {"y": ("a",)}, joint=False, settings=TwinSettings(), seed=0, sampler=sampler)
    assert message in str(error.value)


class Narrow:
    """A law that returns too little, or what is no number."""

    latents = 1

    def __init__(self, told: float | None):
        self.told = told

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Narrow:
        return self

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        return np.zeros((1, 7)) if self.told is None else np.full((len(given), 1), self.told)


@pytest.mark.parametrize(
    ("told", "message"), [(None, "Narrow.push must return an array of shape"), (np.nan, "not finite")]
)
def test_laws_that_return_nonsense(told: float | None, message: str) -> None:
    table = read_columns(FRAME, "the table", ["a", "y"])
    twin = fit_twin(table, {"y": ("a",)}, joint=False, settings=TwinSettings(), seed=0, sampler=Narrow(told))
    with pytest.raises(fb.InputError, match=message):
        twin.sample(FRAME.head(3), n=2)
