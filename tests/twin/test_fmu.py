"""FMUs of twins: valid by FMPy's checker, and simulated without forebear they say what the twin says."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from native import STRICT, compiler, simulated
from toys import toy_twin

import forebear as fb
from forebear.twin.counted import counted_latents
from forebear.twin.dynamics import resolve
from forebear.twin.move import condition, next_state, shifted, with_action, wrapped
from forebear.twin.twin import Twin

TURN = 2 * np.pi
VERSIONS = ("3.0", "2.0")
ODD = {"y é": ("a [kg]", 'ang<&">'), "seed": ("kind\n", "a [kg]")}


@pytest.fixture(scope="module")
def twin() -> Twin:
    """Names that no XML likes, one of them that of a parameter; units; a category with missing cells."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a [kg]": rng.normal(3, 2, 300), 'ang<&">': rng.uniform(0, 360, 300)})
    frame["kind\n"] = rng.choice(["r'\"*/", "grün", "?? \\"], 300)
    frame.loc[rng.random(300) < 0.1, "kind\n"] = None
    for target in ODD:
        frame[target] = rng.normal(5, 2, 300)
    return replace(toy_twin(frame, ODD, {'ang<&">': 360.0}), units={"a [kg]": "kg", "y é": "m/s²"})


@pytest.mark.parametrize("fmi", VERSIONS)
def test_a_step_is_a_draw_at_the_inputs(twin: Twin, fmi: str, tmp_path: Path) -> None:
    compiler()
    twin.export(tmp_path / "twin.fmu", fmi=fmi)
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(3, 2, 30), rng.uniform(0, 360, 30), rng.integers(-1, 3, 30)])
    names = ["a [kg]", 'ang<&">', "kind_"]
    columns = {"time": np.arange(30.0), **dict(zip(names, x.T, strict=True))}
    signals = {name: column.tolist() for name, column in columns.items()}
    problems, told = simulated(tmp_path / "twin.fmu", 29.0, start={"seed_": 11}, signals=signals)
    assert problems == []
    given = np.where(x == -1, np.nan, x)
    # The inputs at the beginning of a step are those of its draw.
    expected = twin.at_latents(given[:-1], counted_latents(11, 1, 29, 2)[None])[0]
    np.testing.assert_allclose(np.stack([told["y é"], told["seed"]], axis=1)[1:], expected, atol=2e-5)
    outside = twin.outside(np.where(np.isnan(given), 0.0, given))
    assert told["outside"][1:] == pytest.approx(outside[:-1], abs=1e-9)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_latents_can_be_fixed_and_moved(twin: Twin, fmi: str, tmp_path: Path) -> None:
    compiler()
    twin.export(tmp_path / "twin.fmu", fmi=fmi)
    z = np.random.default_rng(2).normal(size=(20, 2))
    signals = {"time": list(range(20)), "latent_y é": z[:, 0].tolist(), "latent_seed": z[:, 1].tolist()}
    _, told = simulated(tmp_path / "twin.fmu", 19.0, start={"fixed_latents": True}, signals=signals)
    middle = _starts(tmp_path / "twin.fmu")
    x = np.array([[middle["a [kg]"], middle['ang<&">'], middle["kind_"]]])
    expected = twin.at_latents(np.repeat(x, 20, axis=0), z[None])[0]
    found = np.stack([told["y é"], told["seed"]], axis=1)
    np.testing.assert_allclose(found[1:], expected[:-1], atol=2e-5)  # of a deviation of 2


def _starts(file: Path) -> dict[str, float]:
    """Start values of the inputs, as an importer reads them."""
    fmpy = pytest.importorskip("fmpy")
    told = fmpy.read_model_description(str(file))
    return {one.name: float(one.start) for one in told.modelVariables if one.causality == "input"}


def test_it_says_units_ranges_and_labels(twin: Twin, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    twin.export(tmp_path / "twin.fmu", binary=False)
    told = fmpy.read_model_description(str(tmp_path / "twin.fmu"))
    by_name = {one.name: one for one in told.modelVariables}
    known = twin.ranges[0]
    assert known is not None
    load, kind, angle = by_name["a [kg]"], by_name["kind_"], by_name['ang<&">']
    assert (float(load.min), float(load.max), load.unit) == (known.low, known.high, "kg")
    assert angle.min is None and by_name["y é"].unit == "m/s²"
    draws = twin.sample(twin.rows, n=20, seed=1, outside="ignore")
    for place, target in enumerate(twin.targets):
        own = by_name[target]
        assert float(own.min) < draws[..., place].min() < draws[..., place].max() < float(own.max)
        assert float(own.max) - float(own.min) < 3 * np.ptp(draws[..., place])
    items = {item.name: int(item.value) for item in kind.declaredType.items}
    assert items == {"?? \\": 0, "grün": 1, "r'\"*/": 2, "missing": -1}
    assert {one.name for one in told.modelVariables if one.causality == "output"} == {"y é", "seed", "outside"}


@pytest.mark.parametrize("fmi", VERSIONS)
def test_a_state_has_the_range_that_was_seen(wheel: Twin, fmi: str, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    wheel.export(tmp_path / "wheel.fmu", fmi=fmi, binary=False)
    assert fmpy.validation.validate_fmu(str(tmp_path / "wheel.fmu")) == []
    by_name = {one.name: one for one in fmpy.read_model_description(str(tmp_path / "wheel.fmu")).modelVariables}
    known = wheel.ranges[wheel.inputs.index("speed_0")]
    assert known is not None and by_name["angle"].min is None
    for name in ("speed", "start_speed_0"):
        assert (float(by_name[name].min), float(by_name[name].max)) == (known.low, known.high)


def _record() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for episode in range(8):
        angle, speed = rng.uniform(-3, 3), 0.0
        for _ in range(25):
            u, gear = rng.normal(), rng.choice(["fast", "slow"])
            rows.append((episode, angle, speed, u, gear))
            speed = 0.9 * speed + 0.3 * u * (2 if gear == "fast" else 1) + 0.1 * rng.normal()
            angle += speed
    return pd.DataFrame(rows, columns=["episode", "angle", "speed", "u", "gear"])


@pytest.fixture(scope="module")
def wheel() -> Twin:
    """With memory, an angle, and an action that is a category."""
    lagged = fb.lagged(
        _record(),
        lags=3,
        state=["angle", "speed"],
        action=["u", "gear"],
        episode="episode",
        periodic={"angle": TURN},
    )
    ancestors = {"d_angle": ("angle_0", "angle_3", "u_0"), "d_speed": ("speed_0", "u_1", "gear_2")}
    return toy_twin(lagged.table, ancestors, lagged.periodic)


def _moved(twin: Twin, past: np.ndarray, actions: np.ndarray, z: np.ndarray) -> np.ndarray:
    """States of one trajectory, by the functions that rollouts are made of; `past` (lags + 1, variables), newest
    first."""
    plan, core = resolve(None, twin), twin.core()
    moments, found = jnp.asarray(past[None], jnp.float32), []
    for action, latents in zip(actions, z, strict=True):
        full = with_action(plan, moments, jnp.asarray(action[None], jnp.float32))
        y = core.push(core.params, condition(plan, full), jnp.asarray(latents[None], jnp.float32))
        state = wrapped(plan, next_state(plan, full[:, 0, : len(plan.state)], y))
        moments = shifted(plan, full, state)
        found.append(np.asarray(state)[0])
    return np.array(found)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_a_rollout_moves_its_state(wheel: Twin, fmi: str, tmp_path: Path) -> None:
    compiler()
    wheel.export(tmp_path / "wheel.fmu", fmi=fmi, step=0.5)
    rng = np.random.default_rng(3)
    past = np.column_stack([rng.uniform(-3, 3, 4), rng.normal(size=4), rng.normal(size=4), rng.integers(0, 2, 4)])
    past[0, 2:] = 0.0
    names = ["angle", "speed", "u", "gear"]
    start: dict[str, Any] = {
        f"start_{name}_{lag}": past[lag, i] if name != "gear" else int(past[lag, i])
        for lag in range(4)
        for i, name in enumerate(names)
        if lag or i < 2
    }
    actions = np.column_stack([rng.normal(size=12), rng.integers(0, 2, 12)])
    times = [0.5 * k for k in range(12)]
    signals = {"time": times, "u": actions[:, 0].tolist(), "gear": actions[:, 1].tolist()}
    problems, told = simulated(tmp_path / "wheel.fmu", 5.0, every=0.5, start={**start, "seed": 5}, signals=signals)
    assert problems == []
    expected = _moved(wheel, past, actions[:10], counted_latents(5, 0, 10, 2))
    states = np.stack([told["angle"], told["speed"]], axis=1)
    assert states[0] == pytest.approx(past[0, :2], abs=1e-6)
    apart = states[1:] - expected
    apart[:, 0] = (apart[:, 0] + np.pi) % TURN - np.pi
    assert np.abs(apart).max() < 1e-4 and np.abs(apart[0]).max() < 1e-5
    assert np.abs(states[:, 0]).max() <= np.pi + 1e-9
    # Steps of the simulator that are shorter than those of the twin hold the state, longer ones take several.
    for every in (0.25, 1.0):
        _, other = simulated(tmp_path / "wheel.fmu", 5.0, every=every, start={**start, "seed": 5})
        _, own = simulated(tmp_path / "wheel.fmu", 5.0, every=0.5, start={**start, "seed": 5})
        common = [0.0, 1.0, 3.0, 5.0]
        picked = [[run["speed"][run["time"].tolist().index(t)] for t in common] for run in (own, other)]
        assert picked[0] == picked[1]


def test_seeds_make_the_noise(wheel: Twin, tmp_path: Path) -> None:
    compiler()
    wheel.export(tmp_path / "wheel.fmu")
    first, again, other = (
        simulated(tmp_path / "wheel.fmu", 5.0, start={"seed": seed})[1]["speed"].tolist() for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("fmi", VERSIONS)
def test_a_state_can_be_kept_written_down_and_taken_up_again(wheel: Twin, fmi: str, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    compiler()
    wheel.export(tmp_path / "wheel.fmu", fmi=fmi)
    folder = fmpy.extract(str(tmp_path / "wheel.fmu"), unzipdir=str(tmp_path / "open"))
    told = fmpy.read_model_description(folder)
    unit = fmpy.instantiate_fmu(folder, told, "CoSimulation")
    speed = next(one.valueReference for one in told.modelVariables if one.name == "speed")
    if fmi == "2.0":
        unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    read = unit.getReal if fmi == "2.0" else unit.getFloat64

    def go_on(time: float) -> list[float]:
        found = []
        for k in range(4):
            unit.doStep(currentCommunicationPoint=time + k, communicationStepSize=1.0)
            found += read([speed])
        return found

    go_on(0.0)
    kept = unit.getFMUState() if fmi == "3.0" else unit.getFMUstate()
    first = go_on(4.0)
    unit.setFMUState(kept) if fmi == "3.0" else unit.setFMUstate(kept)
    assert go_on(4.0) == first
    written = unit.serializeFMUState(kept) if fmi == "3.0" else unit.serializeFMUstate(kept)
    read_back = unit.deserializeFMUState(written) if fmi == "3.0" else unit.deSerializeFMUstate(written)
    unit.setFMUState(read_back) if fmi == "3.0" else unit.setFMUstate(read_back)
    assert go_on(4.0) == first
    unit.terminate()
    unit.freeInstance()


def test_the_sources_compile_anywhere_without_a_warning(twin: Twin, wheel: Twin, tmp_path: Path) -> None:
    for number, (one, fmi) in enumerate([(twin, "3.0"), (twin, "2.0"), (wheel, "3.0"), (wheel, "2.0")]):
        file = tmp_path / f"number{number}.fmu"
        one.export(file, fmi=fmi, binary=False)
        with zipfile.ZipFile(file) as archive:
            assert not [name for name in archive.namelist() if name.startswith("binaries")]
            archive.extractall(tmp_path / str(number))
        folder = tmp_path / str(number) / "sources"
        command = [compiler(), *STRICT, "-shared", "-fPIC", "-o", "x", f"fmi{fmi[0]}.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True)


def test_the_same_twin_is_the_same_file(wheel: Twin, tmp_path: Path) -> None:
    wheel.export(tmp_path / "a.fmu", binary=False)
    first = (tmp_path / "a.fmu").read_bytes()
    wheel.export(tmp_path / "a.fmu", binary=False)
    assert (tmp_path / "a.fmu").read_bytes() == first


def test_a_target_that_is_an_input_too_is_called_otherwise(tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    toy_twin(frame, {"b": ("a",), "c": ("a", "b")}).export(tmp_path / "x.fmu", binary=False)
    told = fmpy.read_model_description(str(tmp_path / "x.fmu"))
    assert {one.name for one in told.modelVariables if one.causality == "input"} == {"a", "given_b"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fmi": "1.0"}, "fmi is '1.0'"),
        ({"step": 0}, "step must be a number above 0; got 0"),
        ({"rollout": True}, "does not say which state it moves"),
        ({"version": "2.0"}, "'version' is not an option of .fmu files"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    twin: Twin, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(fb.InputError) as told:
        twin.export(tmp_path / "x.fmu", **options)
    assert message in str(told.value) and "\n" not in str(told.value) and not list(tmp_path.iterdir())


def test_a_compiler_that_is_missing_or_fails_is_told_with_a_remedy(
    twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for named, said in ((sys.executable, "failed"), ("no-such-compiler", "is not there")):
        monkeypatch.setenv("CC", named)
        with pytest.raises(fb.InputError, match=f"{said}.*binary=False") as told:
            twin.export(tmp_path / "x.fmu")
        assert "\n" not in str(told.value) and not list(tmp_path.iterdir())
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fb.InputError, match="there is no C compiler .* install one"):
        twin.export(tmp_path / "x.fmu")
