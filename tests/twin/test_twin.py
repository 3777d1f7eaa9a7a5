"""Twins against laws that are known: the maths, the names, the shapes, the seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import kstest, norm

import forebear as fb
from forebear.api.found import Found
from forebear.data.table import read_columns
from forebear.twin import batches, law
from forebear.twin.fit import fit_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin

ROWS = 6_000
QUICK = TwinSettings.resolve({"steps": 1_200, "batch": 512, "width": 48, "depth": 3, "ode_steps": 8})


@pytest.fixture(scope="module", autouse=True)
def few_shapes() -> Iterator[None]:
    """Every shape is compiled once; here most of the time would go there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 2**11)
        yield


def _table(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Laws that are known, from inputs of every kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(5.0, 2.0, rows), "b": rng.uniform(-1, 1, rows)})
    frame["phase"] = rng.uniform(0, 360, rows)
    frame["mode"] = rng.choice(["low", "high"], rows)
    frame["normal"] = frame["a"] + np.exp(frame["b"]) * rng.normal(size=rows)
    frame["heavy"] = (1 + 0.5 * frame["b"]) * rng.standard_t(4, rows)
    distance = np.where(frame["mode"] == "high", 3, 1)
    frame["modes"] = rng.choice([-1.0, 1.0], rows) * distance + rng.normal(0, 0.3, rows)
    frame["wave"] = np.cos(2 * np.pi * frame["phase"] / 360) + 0.2 * rng.normal(size=rows)
    frame["alone"] = rng.gamma(3.0, size=rows)
    frame["count"] = rng.poisson(np.exp(0.5 + frame["b"]))
    frame["rain"] = np.maximum(0.0, frame["b"] + 0.5 * rng.normal(size=rows))
    frame["kind"] = np.where(rng.random(rows) < norm.cdf(2 * frame["b"]), "good", "bad")
    return frame


ANCESTORS = {
    "normal": ("a", "b"),
    "heavy": ("b",),
    "modes": ("mode",),
    "wave": ("phase",),
    "alone": (),
    "count": ("b",),
    "rain": ("b",),
    "kind": ("b",),
}


def _twin(frame: pd.DataFrame, ancestors: dict[str, tuple[str, ...]], joint: bool = False) -> Twin:
    table = read_columns(frame, "the table", list(frame.columns), {"phase": 360.0} if "phase" in frame else None)
    return fit_twin(table, ancestors, joint=joint, settings=QUICK, seed=1, units={"a": "m/s"} if "a" in frame else {})


@pytest.fixture(scope="module")
def twin() -> Twin:
    return _twin(_table(), ANCESTORS)


@pytest.fixture(scope="module")
def joint() -> Twin:
    """Two targets that depend on each other: their correlation is x."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.9, 0.9, ROWS)
    first, second = rng.normal(size=(2, ROWS))
    frame = pd.DataFrame({"x": x, "u": first, "v": x * first + np.sqrt(1 - x**2) * second})
    return _twin(frame, {"u": ("x",), "v": ("x",)}, joint=True)


@pytest.fixture(scope="module")
def fresh() -> pd.DataFrame:
    return _table(2_000, seed=9)


def _column(twin: Twin, values: np.ndarray, target: str) -> np.ndarray:
    return values[..., twin.targets.index(target)]


def test_what_a_twin_knows_of_itself(twin: Twin) -> None:
    assert twin.targets == tuple(ANCESTORS)
    assert twin.inputs == ("a", "b", "phase", "mode")
    assert dict(twin.ancestors) == ANCESTORS
    assert twin.units == {"a": "m/s"}
    assert twin.levels == {"mode": ("high", "low"), "kind": ("bad", "good")}
    assert list(twin.support.index) == ["a", "b"]
    assert "normal <- a, b; " in repr(twin) and "alone <- nothing" in repr(twin)


def test_quantiles_of_a_normal_law(twin: Twin) -> None:
    given = {"a": [4.0, 7.0], "b": [-0.5, 0.5], "phase": [0, 0], "mode": ["low", "low"]}
    levels = [0.1, 0.5, 0.9]
    found = _column(twin, twin.quantile(given, levels), "normal")
    exact = np.array([4.0, 7.0]) + np.exp([-0.5, 0.5]) * ndtri(levels)[:, None]
    assert found == pytest.approx(exact, abs=0.25)
    assert _column(twin, twin.quantile(given, 0.5), "normal") == pytest.approx(exact[1], abs=0.25)


def test_two_modes_whose_distance_depends_on_a_category(twin: Twin) -> None:
    given = pd.DataFrame({"a": 5.0, "b": 0.0, "phase": 0.0, "mode": ["low", "high"]})
    draws = _column(twin, twin.sample(given, n=2_000), "modes")
    assert np.abs(draws).mean(axis=0) == pytest.approx([1.0, 3.0], abs=0.15)
    # Between the modes there is hardly anything.
    assert (np.abs(draws[:, 1]) < 1.5).mean() < 0.05


def test_an_angle_goes_round(twin: Twin) -> None:
    given = pd.DataFrame({"a": 5.0, "b": 0.0, "phase": [10.0, 370.0, 180.0], "mode": "low"})
    medians = _column(twin, twin.quantile(given, 0.5), "wave")
    assert medians[0] == pytest.approx(medians[1], abs=1e-3)
    assert medians == pytest.approx([np.cos(np.pi / 18), np.cos(np.pi / 18), -1.0], abs=0.12)


def test_inputs_of_other_targets_do_not_matter(twin: Twin) -> None:
    given = pd.DataFrame({"a": [0.0, 9.0], "b": [0.3, 0.3], "phase": [0.0, 99.0], "mode": ["low", "high"]})
    medians = twin.quantile(given, 0.5)
    same = [name in ("heavy", "alone", "count", "rain", "kind") for name in twin.targets]
    assert (medians[0] == medians[1]).tolist() == same


@pytest.mark.parametrize("target", ["normal", "heavy", "modes", "wave", "alone"])
def test_latents_are_standard_normal(twin: Twin, fresh: pd.DataFrame, target: str) -> None:
    z = _column(twin, twin.latent(fresh, fresh), target)
    assert kstest(z, "norm").statistic < 0.04
    if ANCESTORS[target] == ("b",):
        assert abs(np.corrcoef(np.abs(z), fresh["b"])[0, 1]) < 0.1


@pytest.mark.parametrize("target", ["count", "rain", "kind"])
def test_latents_of_values_with_mass_are_standard_normal(twin: Twin, fresh: pd.DataFrame, target: str) -> None:
    assert kstest(_column(twin, twin.latent(fresh, fresh), target), "norm").statistic < 0.05


def test_push_is_the_inverse_of_pull(twin: Twin, fresh: pd.DataFrame) -> None:
    some = fresh.head(200)
    z = twin.latent(some, some)
    core = twin.core()
    x = some[["a", "b", "phase"]].assign(mode=(some["mode"] == "low").astype(float)).to_numpy(np.float32)
    back = np.asarray(core.push(core.params, jnp.asarray(x), jnp.asarray(z, jnp.float32)))
    for target in ("normal", "heavy", "wave", "alone"):
        assert _column(twin, back, target) == pytest.approx(some[target].to_numpy(), abs=0.02)
    for target in ("count", "rain"):
        assert _column(twin, back, target) == pytest.approx(some[target].to_numpy(), abs=0.02)


def test_draws_lie_on_the_lattice_and_on_the_atoms(twin: Twin, fresh: pd.DataFrame) -> None:
    draws = twin.sample(fresh.head(300), n=20)
    seen = _table()
    assert set(np.unique(_column(twin, draws, "count"))) <= set(seen["count"])
    assert set(np.unique(_column(twin, draws, "kind"))) == {0.0, 1.0}
    rain = _column(twin, draws, "rain")
    assert (rain == 0).mean() == pytest.approx((fresh["rain"].head(300) == 0).mean(), abs=0.06)
    assert rain.min() == pytest.approx(0, abs=0.02)


def test_log_prob_is_a_density_where_the_law_has_one(twin: Twin) -> None:
    b = np.array([-0.5, 0.5])
    given = pd.DataFrame({"a": 5.0, "b": np.repeat(b, 801), "phase": 0.0, "mode": "low"})
    grid = np.tile(np.linspace(-4, 14, 801), 2)
    y = pd.DataFrame({t: grid if t == "normal" else 0.0 for t in twin.targets}).assign(kind="bad")
    density = np.exp(_column(twin, twin.log_prob(given, y), "normal")).reshape(2, -1)
    assert np.trapezoid(density, grid[:801], axis=1) == pytest.approx([1.0, 1.0], abs=0.01)
    exact = norm.pdf(grid[:801], 5.0, np.exp(b)[:, None])
    assert np.abs(density - exact).max() < 0.12


def test_log_prob_is_a_probability_where_the_law_has_atoms(twin: Twin) -> None:
    b = np.array([-0.8, 0.0, 0.8])
    given = pd.DataFrame({"a": 5.0, "b": b, "phase": 0.0, "mode": "low"})
    zero = pd.DataFrame({t: [0.0] * 3 for t in twin.targets}).assign(kind="good")
    mass = np.exp(twin.log_prob(given, zero))
    assert _column(twin, mass, "kind") == pytest.approx(norm.cdf(2 * b), abs=0.1)
    assert _column(twin, mass, "rain") == pytest.approx(norm.cdf(-2 * b), abs=0.07)
    assert _column(twin, mass, "count") == pytest.approx(np.exp(-np.exp(0.5 + b)), abs=0.07)
    counts = np.unique(_table()["count"])
    each = pd.concat([zero.assign(count=k) for k in counts])
    every = _column(twin, np.exp(twin.log_prob(pd.concat([given] * len(counts)), each)), "count")
    assert every.reshape(len(counts), 3).sum(axis=0) == pytest.approx([1, 1, 1], abs=1e-5)


def test_a_joint_twin_has_the_dependence_between_targets(joint: Twin) -> None:
    given = pd.DataFrame({"x": [-0.8, 0.0, 0.8]})
    draws = joint.sample(given, n=3_000)
    found = [np.corrcoef(draws[:, i].T)[0, 1] for i in range(3)]
    assert found == pytest.approx([-0.8, 0.0, 0.8], abs=0.08)
    y = np.array([[0.0, 0.0]] * 3)
    exact = -np.log(2 * np.pi) - 0.5 * np.log(1 - given["x"].to_numpy() ** 2)
    assert joint.log_prob(given, y) == pytest.approx(exact, abs=0.2)
    z = joint.latent(given, np.array([[0.3, -0.2]] * 3))
    core = joint.core()
    back = core.push(core.params, jnp.asarray(given.to_numpy(np.float32)), jnp.asarray(z, jnp.float32))
    assert np.asarray(back) == pytest.approx(np.array([[0.3, -0.2]] * 3), abs=1e-3)
    assert joint.quantile(given, [0.5]) == pytest.approx(np.zeros((1, 3, 2)), abs=0.15)


def test_shapes_and_seeds(twin: Twin, fresh: pd.DataFrame) -> None:
    some = fresh.head(7)
    draws = twin.sample(some, n=3, seed=5)
    assert draws.shape == (3, 7, len(twin.targets)) and draws.dtype == np.float64
    assert (draws == twin.sample(some, n=3, seed=5)).all()
    assert (draws != twin.sample(some, n=3, seed=6)).any()
    assert twin.quantile(some, [0.1, 0.2]).shape == (2, 7, len(twin.targets))
    assert twin.latent(some, some).shape == twin.log_prob(some, some).shape == (7, len(twin.targets))


def test_draws_do_not_depend_on_pieces(twin: Twin, fresh: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    some = fresh[["b"]].head(50).assign(a=5.0, phase=0.0, mode="low")
    whole = twin.sample(some, n=10)
    monkeypatch.setattr(batches, "LEAST", 16)
    monkeypatch.setattr(batches, "MOST", 64)
    assert twin.sample(some, n=10) == pytest.approx(whole, abs=1e-4)


def test_new_numbers_of_rows_seldom_compile(joint: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []
    push = law._push
    monkeypatch.setattr(batches, "LEAST", 16)
    monkeypatch.setattr(law, "_push", lambda model, x, z: seen.append(x.shape) or push(model, x, z))
    for rows in (33, 50, 64):
        joint.sample({"x": np.zeros(rows)}, n=1)
    assert set(seen) == {(64, 1)}


def test_frames_dicts_and_arrays_say_the_same(twin: Twin, fresh: pd.DataFrame) -> None:
    some = fresh.head(5)
    frame = twin.quantile(some, 0.5)
    names = ["a", "b", "phase", "mode"]
    assert (twin.quantile({name: some[name].tolist() for name in names[::-1]}, 0.5) == frame).all()
    assert (twin.quantile(some[names].to_numpy(object), 0.5) == frame).all()
    codes = some[names].assign(mode=(some["mode"] == "low").astype(float)).to_numpy(float)
    assert (twin.quantile(codes, 0.5) == frame).all()
    assert twin.quantile(jnp.asarray(codes, jnp.float32), 0.5) == pytest.approx(frame, abs=1e-3)


def test_core_agrees_with_the_face_and_runs_inside_compiled_loops(twin: Twin) -> None:
    core = twin.core()
    x = np.array([[4.0, 0.2, 30.0, 1.0], [6.0, -0.2, 200.0, 0.0]])
    z = ndtri(0.3)
    latents = jnp.full((2, core.latents), z, jnp.float32)
    face = twin.quantile(x, 0.3)

    @jax.jit
    def loop(params, x):
        def step(carry, _):
            return carry, core.push(params, carry, latents)

        return jax.lax.scan(step, x, None, length=3)[1]

    inside = np.asarray(loop(core.params, jnp.asarray(x, jnp.float32)))
    for each in inside:
        assert each == pytest.approx(face, abs=1e-3)
    one = jax.vmap(lambda row, z: core.push(core.params, row[None], z[None])[0])
    alone = one(jnp.asarray(x, jnp.float32), latents)
    assert np.asarray(alone) == pytest.approx(face, abs=1e-3)


def test_outside_tells_how_far_the_data_was_left(twin: Twin) -> None:
    low, high = twin.support.loc["a", ["low", "high"]]
    std = _table()["a"].std(ddof=0)
    given = pd.DataFrame({"a": [5.0, high + 2 * std, low - 0.5 * std], "b": 0.0, "phase": 9e3, "mode": "low"})
    assert twin.outside(given) == pytest.approx([0, 2, 0.5], abs=1e-6)
    core = twin.core()
    x = given.assign(mode=1.0).to_numpy(np.float32)
    assert np.asarray(core.outside(core.params, jnp.asarray(x))) == pytest.approx([0, 2, 0.5], abs=1e-4)


def test_columns_far_from_zero_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"time": 1.7e9 + rng.uniform(0, 100, 2_000)})
    frame["y"] = 1e8 + (frame["time"] - 1.7e9) + rng.normal(size=2_000)
    found = _twin(frame, {"y": ("time",)}).quantile({"time": [1.7e9 + 20, 1.7e9 + 80]}, 0.5)
    assert found[:, 0] - 1e8 == pytest.approx([20, 80], abs=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": None}, "given: no column 'b'. Did you mean 'B'?"),
        ({"a": [1.0, np.nan]}, "given: column 'a' has no value in row 2: drop or fill those rows"),
        ({"a": [np.inf, 1.0]}, "given: column 'a' is infinite in row 1: drop or replace those rows"),
        (
            {"a": ["x", "y"]},
            "given: column 'a' must hold numbers but holds labels such as 'x'",
        ),
        (
            {"mode": ["low", "hgih"]},
            "column 'mode' holds 'hgih' in row 2, never seen in the data. Did you mean 'high'?",
        ),
        ({"mode": ["low", None]}, "given: column 'mode' has no value in row 2: drop or fill those rows"),
    ],
)
def test_bad_rows_are_told(twin: Twin, change: dict, message: str) -> None:
    given = {"a": [1.0, 2.0], "b": [0.0, 0.0], "phase": [0.0, 0.0], "mode": ["low", "low"], **change}
    if given["b"] is None:
        given["B"] = [0.0, 0.0]
        del given["b"]
    with pytest.raises(fb.InputError) as error:
        twin.sample(given)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.sample(np.zeros((3, 2))), "an array must have shape (rows, 4)"),
        (lambda t: t.sample(np.full((3, 4), 7.0)), "holds 7 in row 1: an array gives a category by its code, 0 to 1"),
        (lambda t: t.sample(np.zeros((3, 4)), n=0), "n must be a whole number of at least 1; got 0"),
        (lambda t: t.sample(np.zeros((3, 4)), seed=-1), "seed must be a whole number of at least 0; got -1"),
        (lambda t: t.quantile(np.zeros((3, 4)), 1.0), "quantiles must lie strictly between 0 and 1; got 1.0"),
        (lambda t: t.latent(np.zeros((3, 4)), np.zeros((2, 8))), "y has 2 rows and given has 3"),
        (lambda t: t.log_prob(np.zeros((1, 4)), {"normal": [1.0]}), "y: no column 'heavy'"),
    ],
)
def test_bad_calls_are_told(twin: Twin, call, message: str) -> None:
    with pytest.raises(fb.InputError, match=".") as error:
        call(twin)
    assert message in str(error.value)


# What a discovery of this table would be like, made without one.
def _found(frame: pd.DataFrame) -> Found:
    chosen = {"y1": ("left",), "y2": ()}
    found = fb.discover(
        frame,
        ["y1", "y2"],
        groups={"left": ["a", "b"]},
        keep=["k"],
        rule=lambda path: chosen["y1"],
        sampler="mean",
        steps=20,
        width=4,
        depth=1,
        distilled=40,
        nugget=1.0,
        lengthscale=1.0,
    )
    return Found(replace(found.record, choices=(chosen,)), found.table)


@pytest.fixture(scope="module")
def found() -> Found:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=["a", "b", "c", "k"])
    frame["y1"] = frame["a"] + rng.normal(size=400)
    frame["y2"] = frame["k"] * rng.normal(size=400)
    return _found(frame)


TINY: dict[str, Any] = {"steps": 20, "width": 8, "depth": 1, "batch": 64}


def test_groups_are_written_out_and_kept_inputs_stay(found: Found) -> None:
    assert found.ancestors == {"y1": ("left", "k"), "y2": ("k",)}
    twin = found.twin(**TINY)
    assert dict(twin.ancestors) == {"y1": ("a", "b", "k"), "y2": ("k",)}
    assert twin.inputs == ("a", "b", "k")
    assert found.twin(pruned=False, **TINY).inputs == ("a", "b", "c", "k")
    together = found.twin(joint=True, sampler="flow", **TINY)
    assert dict(together.ancestors) == {"y1": ("a", "b", "k"), "y2": ("a", "b", "k")}
    assert together.log_prob(np.zeros((2, 3)), np.zeros((2, 2))).shape == (2,)


def test_a_twin_of_targets_without_any_ancestor() -> None:
    frame = _table(800).filter(["b", "alone"])
    twin = _twin(frame, {"alone": ()})
    assert twin.inputs == ()
    draws = twin.sample(pd.DataFrame(index=range(3)), n=1_000)
    assert draws.shape == (1_000, 3, 1)
    assert draws.mean() == pytest.approx(3.0, abs=0.25)
    assert twin.sample(np.zeros((2, 0)), n=1).shape == (1, 2, 1)
    assert twin.outside(np.zeros((2, 0))).tolist() == [0, 0]


def test_the_same_seed_gives_the_same_twin(found: Found) -> None:
    x = np.zeros((2, 3))
    first, again, other = (found.twin(seed=seed, **TINY).quantile(x, 0.3) for seed in (3, 3, 4))
    assert (first == again).all() and (first != other).any()


def test_a_saved_result_makes_the_same_twin(found: Found, tmp_path) -> None:
    found.save(tmp_path / "run")
    x = np.zeros((2, 3))
    assert (fb.load(tmp_path / "run").twin(**TINY).quantile(x, 0.3) == found.twin(**TINY).quantile(x, 0.3)).all()


def test_other_data_and_no_data(found: Found) -> None:
    bare = Found(found.record)
    with pytest.raises(fb.InputError, match="saved without its table: pass the table as data="):
        bare.twin()
    assert found.table is not None
    frame = found.table.frame()
    assert (bare.twin(data=frame, **TINY).quantile(np.zeros((1, 3)), 0.5)).shape == (1, 2)
    with pytest.raises(fb.InputError, match="no column 'y2'"):
        bare.twin(data=frame.drop(columns="y2"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stesp": 3}, "unknown setting 'stesp'. Did you mean 'steps'?"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"held_out": 0.9}, "setting 'held_out' must lie between 0 and 0.5; got 0.9"),
        ({"units": {"q": "m"}}, "units: no column 'q'"),
        ({"units": {"a": 3}}, "units: the unit of 'a' must be text; got 3"),
    ],
)
def test_bad_settings_are_told(found: Found, settings: dict, message: str) -> None:
    with pytest.raises(fb.InputError) as error:
        found.twin(**settings)
    assert message in str(error.value)


def test_a_small_table_is_not_learned_by_heart() -> None:
    """With rows held out the latents of new rows stay close to standard normal; without, they scatter."""
    rng = np.random.default_rng(0)

    def rows(count: int) -> pd.DataFrame:
        frame = pd.DataFrame(rng.normal(size=(count, 3)), columns=["a", "b", "c"])
        return frame.assign(y=frame["a"] + rng.normal(size=count))

    frame, new = rows(150), rows(2_000)
    table = read_columns(frame, "t", list(frame.columns))

    def spread(held_out: float) -> float:
        settings = TwinSettings.resolve({"steps": 800, "batch": 256, "held_out": held_out, "ode_steps": 8})
        twin = fit_twin(table, {"y": ("a", "b", "c")}, joint=False, settings=settings, seed=0)
        return float(-twin.log_prob(new, new).mean())

    careful, careless = spread(0.15), spread(0.0)
    assert careful < min(2.5, careless - 0.5)
