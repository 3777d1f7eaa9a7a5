"""What every exporter must do: add how the files of yours are read again to `READERS`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from native import Law, compiler, simulated
from skeletons import skeleton
from toys import toy_twin

import forebear as fb
from forebear.storage import files as files_module
from forebear.twin import export as exports
from forebear.twin.counted import counted_latents
from forebear.twin.export import EXPORTERS, Exporter, register
from forebear.twin.twin import Twin

SKELETON: Exporter = skeleton("exporter").CsvExporter()
ALL = {**EXPORTERS, SKELETON.ending: SKELETON}
TWINS: dict[str, dict[str, tuple[str, ...]]] = {
    "one target": {"y": ("a",)},
    "several targets, inputs of every kind": {"y": ("a", "angle"), "u": ("kind", "a"), "v": ("angle",)},
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(exports, "EXPORTERS", dict(EXPORTERS))
    register(SKELETON)
    yield


def _twin(name: str) -> Twin:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(3, 2, 200), "angle": rng.uniform(0, 360, 200)})
    frame["kind"] = rng.choice(["red", "green", "blue"], 200)
    for target in ("y", "u", "v"):
        frame[target] = rng.normal(5, 2, 200)
    return toy_twin(frame, TWINS[name], {"angle": 360.0})


def _onnx(file: Path, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    x = np.asarray(twin.rows[:100], np.float32)
    z = (2 * rng.normal(size=(100, len(twin.targets)))).astype(np.float32)
    core = twin.core()
    [theirs] = session.run(["y"], {"x": x, "z": z})
    return theirs, np.asarray(core.push(core.params, jnp.asarray(x), jnp.asarray(z)))


def _csv(file: Path, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
    table = pd.read_csv(file)
    some = table.iloc[::97]
    given = some[list(twin.inputs)].to_numpy()
    ours = [twin.quantile(given[i : i + 1], [level])[0, 0] for i, level in enumerate(some["level"])]
    return some[list(twin.targets)].to_numpy(), np.array(ours)


def _plain_c(file: Path, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
    z = 2 * np.random.default_rng(1).normal(size=(100, len(twin.targets)))
    return Law(file, len(twin.targets)).push(twin.rows[:100], z), twin.at_latents(twin.rows[:100], z[None])[0]


def _fmu(file: Path, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
    compiler()
    columns = {"time": np.arange(100.0), **dict(zip(twin.inputs, twin.rows[:100].T, strict=True))}
    signals = {name: values.tolist() for name, values in columns.items()}
    problems, told = simulated(file, 99.0, start={"seed": 1}, signals=signals)
    assert problems == []
    z = counted_latents(1, 1, 99, len(twin.targets))
    return np.stack([told[name][1:] for name in twin.targets], axis=1), twin.at_latents(twin.rows[:99], z[None])[0]


READERS: dict[str, Callable[[Path, Twin], tuple[np.ndarray, np.ndarray]]] = {
    ".onnx": _onnx,
    ".c": _plain_c,
    ".fmu": _fmu,
    ".csv": _csv,
}
"""by ending: what the file computes somewhere, and what the twin computes there"""


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("ending", ALL)
def test_the_file_computes_what_the_twin_computes(ending: str, name: str, tmp_path: Path) -> None:
    _needed(ending)
    twin = _twin(name)
    twin.export(tmp_path / f"twin{ending}")
    theirs, ours = READERS[ending](tmp_path / f"twin{ending}", twin)
    assert theirs.shape == ours.shape and ours.std() > 0
    np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-4 * ours.std())


@pytest.mark.parametrize("ending", ALL)
def test_says_what_it_is(ending: str) -> None:
    exporter = ALL[ending]
    assert exporter.ending == ending and ending.startswith(".") and ending == ending.lower()
    if exporter.needs is not None:
        project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf8")
        assert f"\n{exporter.needs} = [" in project.partition("[project.optional-dependencies]")[2]


@pytest.mark.parametrize("ending", ALL)
def test_writes_whole_or_not_at_all(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _needed(ending)
    file, twin = tmp_path / f"twin{ending}", _twin("one target")
    twin.export(file)
    before = file.read_bytes()

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_module.os, "replace", full)
    for place in (file, tmp_path / f"other{ending}"):
        with pytest.raises(fb.InputError, match="the disk is full"):
            twin.export(place)
    assert [one.name for one in tmp_path.iterdir()] == [file.name] and file.read_bytes() == before


@pytest.mark.parametrize("ending", [name for name, one in ALL.items() if one.needs is not None])
def test_names_the_extra_that_is_missing(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def only_ours(name: str, *given: Any, **named: Any) -> Any:
        if name.partition(".")[0] == ALL[ending].needs:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", only_ours)
    with pytest.raises(fb.InputError, match=rf"run `pip install 'forebear\[{ALL[ending].needs}\]'`") as told:
        _twin("one target").export(tmp_path / f"twin{ending}")
    assert "\n" not in str(told.value) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["twin.xyz", "twin", "twin.onnx.gz"])
def test_other_endings_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match=r"the ending must be \.onnx, \.c, \.fmu or \.csv$") as told:
        _twin("one target").export(tmp_path / name)
    assert "\n" not in str(told.value) and not list(tmp_path.iterdir())


def _needed(ending: str) -> None:
    if (extra := ALL[ending].needs) is not None:
        pytest.importorskip(extra)
    if ending == ".fmu":
        compiler()
