"""Save a twin to a folder: `twin.json` says what it is, `twin.safetensors` holds the numbers; see also `load.py`."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from forebear.errors import InputError
from forebear.flow.samplers import SAMPLERS
from forebear.storage.arrays import save_arrays
from forebear.storage.files import read_json, scratch_for, write_json
from forebear.storage.records import to_record
from forebear.twin.blend import BlendLaw
from forebear.twin.blend_store import blend_arrays, blend_records
from forebear.twin.model import FlowModel, SamplerModel, TwinModel
from forebear.twin.reference import reference_arrays, reference_record
from forebear.twin.versions import ABOUT, VERSIONS, add_version, version_numbers
from forebear.version import __version__

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

FORMAT = 1
"""of a saved twin; a newer one is refused"""
ARRAYS = "twin.safetensors"
TABLES = ("values", "low", "high", "shift")


def save_twin(twin: Twin, folder: str | Path, made: Any = None) -> None:
    """Write the twin beside the folder, then rename: the folder never holds half a twin. Where it holds one version
    already, there is a moment without any between two renames.

    A twin that has learned on becomes the next version of the one that is there, as does any twin where there are
    versions already. `made`, plain lists and numbers, tells what it was made from; `made_from` reads it back.
    """
    place = Path(folder)
    _check_place(place)
    numbers = version_numbers(place)
    later = bool(numbers) and (len(numbers) > 1 or bool(twin.provenance))
    beside = place / VERSIONS / "next" if later else place
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        scratch = scratch_for(beside)
        scratch.mkdir()
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror}): choose another folder") from None
    try:
        arrays = _arrays(twin)
        save_arrays(scratch / ARRAYS, arrays, {"format": FORMAT})
        write_json(scratch / ABOUT, {**_record(twin), **({} if made is None else {"made": made})})
        if later:
            add_version(place, scratch)
            return
        if place.is_dir():
            os.replace(place, scratch / "before")
        os.replace(scratch, place)
        shutil.rmtree(place / "before", ignore_errors=True)
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror}): choose another folder") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def has_twin(folder: Path) -> bool:
    """Whether a twin is in this folder."""
    return (folder / ABOUT).is_file()


def made_from(folder: Path) -> Any:
    """What the twin in a folder was made from, as `save_twin` was told; None if it was not, or it cannot be read."""
    try:
        record = read_json(folder / ABOUT)
    except InputError:
        return None
    return record.get("made") if isinstance(record, dict) else None


def _check_place(place: Path) -> None:
    if place.exists() and not place.is_dir():
        raise InputError(f"{place}: not a folder: choose another name for the twin")
    if place.is_dir() and {file.name for file in place.iterdir()} - {VERSIONS} not in (set(), {ABOUT, ARRAYS}):
        raise InputError(f"{place}: holds files that are not a twin: choose another folder")


class StoredTarget(NamedTuple):
    """A target without the tables of its dequantiser, which are kept with the arrays."""

    name: str
    kind: Literal["continuous", "lattice", "atoms"]
    centre: float
    scale: float
    levels: tuple[object, ...]
    open_ends: tuple[bool, bool]
    step: float = 0.0


def _record(twin: Twin) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": __version__,
        "joint": twin.joint,
        "inputs": to_record(twin.columns),
        "targets": [
            to_record(
                StoredTarget(t.name, t.dequantiser.kind, t.centre, t.scale, t.levels, t.open_ends, t.dequantiser.step)
            )
            for t in twin.outputs
        ],
        "ancestors": to_record(twin.ancestors),
        "ranges": to_record(twin.ranges),
        "settings": {
            **asdict(twin.settings.flow),
            "held_out": twin.settings.held_out,
            "test": twin.settings.test,
            "law": twin.settings.law,
            "treat": dict(twin.settings.treat),
        },
        "units": dict(twin.units),
        "distillation": twin.distillation,
        "table": twin.table,
        "reference": reference_record(twin.reference),
        "provenance": to_record(twin.provenance),
        **_model_record(twin),
    }


def _model_record(twin: Twin) -> dict[str, Any]:
    if isinstance(twin.model, BlendLaw):
        return {"model": "blend", "blends": blend_records(twin.model)}
    model = networks_of(twin)
    return {
        "model": _word(model),
        "layers": len(model.networks.weights),
        "activation": model.networks.activation,
        "shape": model.shape,
    }


def _arrays(twin: Twin) -> dict[str, np.ndarray]:
    arrays = {"rows": twin.rows, "test_rows": np.asarray(twin.test_rows, np.int64)}
    arrays["aside"] = twin.aside
    arrays |= reference_arrays(twin.reference)
    if isinstance(twin.model, BlendLaw):
        arrays |= blend_arrays(twin.model)
    else:
        model = networks_of(twin)
        if isinstance(model, SamplerModel):
            arrays["seen"] = np.asarray(model.seen)
        for kind in ("weights", "biases"):
            for place, array in enumerate(getattr(model.networks, kind)):
                arrays[f"{kind}.{place}"] = np.asarray(array)
    for place, target in enumerate(twin.outputs):
        for table in TABLES:
            arrays[f"target.{place}.{table}"] = getattr(target.dequantiser, table)
    return arrays


def networks_of(twin: Twin) -> TwinModel:
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
