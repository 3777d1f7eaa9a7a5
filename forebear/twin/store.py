"""A twin in a folder: `twin.json` says what it is, `twin.safetensors` holds the numbers. Loading runs no code."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import ColumnCode
from forebear.errors import InputError
from forebear.flow.network import Network
from forebear.flow.samplers import SAMPLERS
from forebear.flow.settings import FlowSettings
from forebear.kinds import check_kinds
from forebear.storage.arrays import load_arrays, save_arrays
from forebear.storage.files import read_json, write_json
from forebear.storage.records import from_record, to_record
from forebear.twin.model import FlowModel, SamplerModel, TwinModel
from forebear.twin.settings import TwinSettings
from forebear.twin.spline import SplineModel
from forebear.twin.twin import Range, Target, Twin
from forebear.version import __version__

FORMAT = 1
"""of a saved twin; a newer one is refused"""
_ABOUT, _ARRAYS = "twin.json", "twin.safetensors"
_TABLES = ("values", "low", "high", "shift")


def save_twin(twin: Twin, folder: str | Path, made: Any = None) -> None:
    """Write the twin beside the folder, then rename: the folder never holds half a twin.

    `made`, plain lists and numbers, tells what it was made from; `made_from` reads it back.
    """
    place = Path(folder)
    _check_place(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror}): choose another folder") from None
    try:
        arrays = _arrays(twin)
        save_arrays(scratch / _ARRAYS, arrays, {"format": FORMAT})
        write_json(scratch / _ABOUT, {**_record(twin), **({} if made is None else {"made": made})})
        scratch.chmod(0o755)
        if place.is_dir():
            os.replace(place, scratch / "before")
        os.replace(scratch, place)
        shutil.rmtree(place / "before", ignore_errors=True)
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror}): choose another folder") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def load_twin(folder: str | Path) -> Twin:
    """A twin that `Twin.save` wrote, on whatever device this machine has.

    >>> load_twin("no/such/twin")
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/twin: there is no twin in this folder (twin.json is missing)
    """
    place = Path(folder)
    if not (place / _ABOUT).is_file():
        raise InputError(f"{folder}: there is no twin in this folder ({_ABOUT} is missing)")
    remedy = "save the twin again"
    record = read_json(place / _ABOUT, remedy)
    foreign = InputError(f"{place / _ABOUT}: not a forebear twin, or damaged: {remedy}")
    if not isinstance(record, dict) or not isinstance(record.get("format"), int):
        raise foreign
    if record["format"] > FORMAT:
        raise InputError(f"{place}: written by a newer forebear (format {record['format']}): update this one")
    arrays, _ = load_arrays(place / _ARRAYS, remedy)
    inputs = record.get("inputs")
    named = [c["kind"] for c in inputs if isinstance(c, dict) and "kind" in c] if isinstance(inputs, list) else []
    check_kinds(named, str(place / _ABOUT))
    try:
        return _restore(record, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise foreign from None


def has_twin(folder: Path) -> bool:
    """Whether a twin is in this folder."""
    return (folder / _ABOUT).is_file()


def made_from(folder: Path) -> Any:
    """What the twin in a folder was made from, as `save_twin` was told; None if it was not, or it cannot be read."""
    try:
        record = read_json(folder / _ABOUT)
    except InputError:
        return None
    return record.get("made") if isinstance(record, dict) else None


def _check_place(place: Path) -> None:
    if place.exists() and not place.is_dir():
        raise InputError(f"{place}: not a folder: choose another name for the twin")
    if place.is_dir() and {file.name for file in place.iterdir()} not in (set(), {_ABOUT, _ARRAYS}):
        raise InputError(f"{place}: holds files that are not a twin: choose another folder")


class _Target(NamedTuple):
    """A target without the tables of its dequantiser, which are kept with the arrays."""

    name: str
    kind: Literal["continuous", "lattice", "atoms"]
    centre: float
    scale: float
    levels: tuple[object, ...]
    open_ends: tuple[bool, bool]


def _record(twin: Twin) -> dict[str, Any]:
    model = _networks_of(twin)
    return {
        "format": FORMAT,
        "version": __version__,
        "model": _word(model),
        "joint": twin.joint,
        "inputs": to_record(twin.columns),
        "targets": [
            to_record(_Target(t.name, t.dequantiser.kind, t.centre, t.scale, t.levels, t.open_ends))
            for t in twin.outputs
        ],
        "ancestors": to_record(twin.ancestors),
        "ranges": to_record(twin.ranges),
        "settings": {
            **asdict(twin.settings.flow),
            "held_out": twin.settings.held_out,
            "test": twin.settings.test,
        },
        "units": dict(twin.units),
        "distillation": twin.distillation,
        "table": twin.table,
        "layers": len(model.networks.weights),
        "activation": model.networks.activation,
        "shape": model.shape,
    }


def _arrays(twin: Twin) -> dict[str, np.ndarray]:
    arrays, model = {"rows": twin.rows, "test_rows": np.asarray(twin.test_rows, np.int64)}, _networks_of(twin)
    if isinstance(model, SamplerModel):
        arrays["seen"] = np.asarray(model.seen)
    for kind in ("weights", "biases"):
        for place, array in enumerate(getattr(model.networks, kind)):
            arrays[f"{kind}.{place}"] = np.asarray(array)
    for place, target in enumerate(twin.outputs):
        for table in _TABLES:
            arrays[f"target.{place}.{table}"] = getattr(target.dequantiser, table)
    return arrays


def _restore(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Twin:
    flow_names = {field.name for field in fields(FlowSettings)}
    flow = FlowSettings(**{name: value for name, value in record["settings"].items() if name in flow_names})
    columns = from_record(tuple[ColumnCode, ...], record["inputs"])
    outputs = tuple(
        Target(
            t.name,
            Dequantiser(t.kind, *(arrays[f"target.{place}.{table}"] for table in _TABLES)),
            t.centre,
            t.scale,
            t.levels,
            t.open_ends,
        )
        for place, t in enumerate(from_record(tuple[_Target, ...], record["targets"]))
    )
    # A twin saved before rows were set aside has none.
    shares = {"held_out": float(record["settings"]["held_out"]), "test": float(record["settings"].get("test", 0.0))}
    twin = Twin(
        columns,
        outputs,
        from_record(dict[str, tuple[str, ...]], record["ancestors"]),
        _model(record, arrays, flow),
        bool(record["joint"]),
        from_record(tuple[Range | None, ...], record["ranges"]),
        arrays["rows"],
        TwinSettings(flow, **shares),
        dict(record["units"]),
        record["distillation"],
        arrays.get("test_rows", np.zeros(0, np.int64)),
        str(record.get("table", "")),
    )
    _check_parts(twin)
    # Weights of another shape would fail only when they are used, and then not in one line.
    twin.sample(np.zeros((1, len(columns))), n=1)
    return twin


# More steps of a solver than anyone needs: without a bound, a twin from elsewhere could keep a process busy for ever.
_MOST_STEPS = 10_000


def _check_parts(twin: Twin) -> None:
    """What fits together in a twin that was saved whole, or a ValueError."""
    names = {column.name for column in twin.columns}
    numbers = [n for t in twin.outputs for n in (t.centre, t.scale)] + [c.scale for c in twin.columns]
    networks = _networks_of(twin).networks
    weights = (*networks.weights, *networks.biases)
    if not (
        twin.outputs
        and all(np.isfinite(numbers))
        and all(target.scale > 0 for target in twin.outputs)
        and all(column.scale > 0 for column in twin.columns)
        and len(twin.ranges) == len(twin.columns)
        and set(twin.ancestors) == {target.name for target in twin.outputs}
        and all(set(inputs) <= names for inputs in twin.ancestors.values())
        and twin.rows.ndim == 2
        and twin.test_rows.ndim == 1
        and twin.test_rows.dtype.kind == "i"
        and twin.rows.shape[1] == len(names) == len(twin.columns)
        and all(len(array) == len(weights[0]) and bool(jnp.isfinite(array).all()) for array in weights)
        and 0 < twin.settings.flow.ode_steps <= _MOST_STEPS
        and twin.settings.flow.tolerance >= 1e-12
    ):
        raise ValueError("parts of different twins")


def _model(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], flow: FlowSettings) -> TwinModel:
    layers = range(record["layers"])
    networks = Network(
        tuple(jnp.asarray(arrays[f"weights.{layer}"]) for layer in layers),
        tuple(jnp.asarray(arrays[f"biases.{layer}"]) for layer in layers),
        record["activation"],
    )
    if record["model"] == "flow":
        return FlowModel(networks, record["shape"]["outputs"], flow)
    if record["model"] == "spline":
        return SplineModel(networks, **record["shape"])
    # Of the built-in samplers: whatever else a file may name is refused.
    sampler = SAMPLERS[record["model"]](flow.untrained())
    return SamplerModel(networks, jnp.asarray(arrays["seen"]), record["shape"]["outputs"], sampler)


def _networks_of(twin: Twin) -> TwinModel:
    assert isinstance(twin.model, TwinModel), "Twin.save has refused what is not made of networks"
    return twin.model


def _word(model: TwinModel) -> str:
    """What kind of model it is, for the file."""
    if not isinstance(model, SamplerModel):
        return "flow" if isinstance(model, FlowModel) else "spline"
    words = [word for word, made in SAMPLERS.items() if type(model.sampler) is made]
    if not words:
        name = type(model.sampler).__name__
        raise InputError(f"save knows forebear's own samplers, and {name} is not one: call distil() first")
    return words[0]
