"""Load a twin from a folder, on whatever device this machine has. Loading runs no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import ColumnCode
from forebear.errors import InputError
from forebear.flow.network import Network
from forebear.flow.samplers import SAMPLERS
from forebear.flow.settings import FlowSettings
from forebear.kinds import check_kinds
from forebear.storage.arrays import load_arrays
from forebear.storage.files import read_json
from forebear.storage.records import from_record
from forebear.twin.blend import BlendLaw
from forebear.twin.blend_store import restore_blends
from forebear.twin.model import FlowModel, SamplerModel, TwinModel
from forebear.twin.provenance import Learned
from forebear.twin.reference import restore_reference
from forebear.twin.settings import TwinSettings
from forebear.twin.spline import SplineModel
from forebear.twin.store import ARRAYS, FORMAT, TABLES, StoredTarget, networks_of
from forebear.twin.twin import Range, Target, Twin
from forebear.twin.versions import ABOUT, place_of


def load_twin(folder: str | Path, version: int | None = None) -> Twin:
    """A twin that `Twin.save` wrote, on whatever device this machine has.

    Arguments:
        version: of a twin that has learned on (`twin_versions` lists them); None takes the one in use.

    >>> load_twin("no/such/twin")
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/twin: there is no twin in this folder (twin.json is missing)
    """
    place = Path(folder)
    if not (place / ABOUT).is_file():
        raise InputError(f"{folder}: there is no twin in this folder ({ABOUT} is missing)")
    place = place_of(place, version)
    remedy = "save the twin again"
    record = read_json(place / ABOUT, remedy)
    foreign = InputError(f"{place / ABOUT}: not a forebear twin, or damaged: {remedy}")
    if not isinstance(record, dict) or not isinstance(record.get("format"), int):
        raise foreign
    if record["format"] > FORMAT:
        raise InputError(f"{place}: written by a newer forebear (format {record['format']}): update this one")
    arrays, _ = load_arrays(place / ARRAYS, remedy)
    inputs = record.get("inputs")
    named = [c["kind"] for c in inputs if isinstance(c, dict) and "kind" in c] if isinstance(inputs, list) else []
    check_kinds(named, str(place / ABOUT))
    try:
        return _restore(record, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise foreign from None


def _restore(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Twin:
    flow_names = {field.name for field in fields(FlowSettings)}
    flow = FlowSettings(**{name: value for name, value in record["settings"].items() if name in flow_names})
    columns = from_record(tuple[ColumnCode, ...], record["inputs"])
    outputs = tuple(
        Target(
            t.name,
            Dequantiser(t.kind, *(arrays[f"target.{place}.{table}"] for table in TABLES), step=t.step),
            t.centre,
            t.scale,
            t.levels,
            t.open_ends,
        )
        for place, t in enumerate(from_record(tuple[StoredTarget, ...], record["targets"]))
    )
    # A twin saved before rows were set aside has none.
    asked = record["settings"]
    shares = {"held_out": float(asked["held_out"]), "test": float(asked.get("test", 0.0))}
    treat = from_record(dict[str, str], asked.get("treat", {}))
    twin = Twin(
        columns,
        outputs,
        from_record(dict[str, tuple[str, ...]], record["ancestors"]),
        _model(record, arrays, flow, columns, outputs),
        bool(record["joint"]),
        from_record(tuple[Range | None, ...], record["ranges"]),
        arrays["rows"],
        TwinSettings(flow, **shares, law=asked.get("law", "flow"), treat=treat),
        dict(record["units"]),
        record["distillation"],
        arrays.get("test_rows", np.zeros(0, np.int64)),
        str(record.get("table", "")),
        arrays.get("aside", np.zeros((0, len(outputs)))),
        restore_reference(record.get("reference"), arrays, len(columns), len(outputs)),
        from_record(tuple[Learned, ...], record.get("provenance", [])),
    )
    _check_parts(twin)
    # Weights of another shape would fail only when they are used, and then not in one line.
    twin.sample(np.zeros((1, len(columns))), n=1, outside="ignore")
    return twin


# More steps of a solver than anyone needs: without a bound, a twin from elsewhere could keep a process busy for ever.
_MOST_STEPS = 10_000


def _check_parts(twin: Twin) -> None:
    """What fits together in a twin that was saved whole, or a ValueError."""
    names = {column.name for column in twin.columns}
    numbers = [n for t in twin.outputs for n in (t.centre, t.scale)] + [c.scale for c in twin.columns]
    networks = None if isinstance(twin.model, BlendLaw) else networks_of(twin).networks
    weights = [] if networks is None else [*networks.weights, *networks.biases]
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
        and twin.aside.ndim == 2
        and (not len(twin.aside) or twin.aside.shape[1] == len(twin.outputs))
        and twin.test_rows.dtype.kind == "i"
        and twin.rows.shape[1] == len(names) == len(twin.columns)
        and all(len(array) == len(weights[0]) and bool(jnp.isfinite(array).all()) for array in weights)
        and 0 < twin.settings.flow.ode_steps <= _MOST_STEPS
        and twin.settings.flow.tolerance >= 1e-12
    ):
        raise ValueError("parts of different twins")


def _model(
    record: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    flow: FlowSettings,
    columns: tuple[ColumnCode, ...],
    outputs: tuple[Target, ...],
) -> TwinModel | BlendLaw:
    if record["model"] == "blend":
        centre, scale = (np.array([getattr(target, name) for target in outputs]) for name in ("centre", "scale"))
        return restore_blends(record["blends"], arrays, columns, centre, scale)
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
