"""The laws of a distilled twin as plain numbers, from which a page computes what Python computes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forebear.errors import InputError
from forebear.kinds import kind_named
from forebear.twin.spline import LEAST_SLOPE, LEAST_STEP, SplineModel
from forebear.twin.sweep import stops, typical
from forebear.twin.twin import Target, Twin

# Above so many weights they are sent in 16 bits a number, with a scale a column, so that 200 targets fit.
_MOST_SINGLES = 250_000
# Rows of the data that travel along, to tell whether a combination of inputs is like any in the data.
_ROWS = 256
_AXIS_LEVELS = np.array([0.002, 0.01, 0.25, 0.5, 0.75, 0.99, 0.998])


def pack(values: Any, dtype: str = "<f4") -> dict[str, Any]:
    """An array as text: base64 of its little-endian numbers, and its shape.

    >>> pack(np.zeros((1, 2)))
    {'type': 'f4', 'shape': [1, 2], 'data': 'AAAAAAAAAAA='}
    """
    array = np.ascontiguousarray(np.asarray(values), dtype)
    text = base64.b64encode(array.tobytes()).decode("ascii")
    return {"type": dtype[1:], "shape": list(array.shape), "data": text}


def pack_short(values: Any) -> dict[str, Any]:
    """A matrix in 16 bits a number, each column with a scale of its own; errors are 1.6e-5 of its largest number.

    >>> pack_short(np.array([[1.0], [-2.0]]))["shape"]
    [2, 1]
    """
    array = np.asarray(values, float)
    scale = np.maximum(np.abs(array).max(axis=0, initial=0.0), 1e-30) / 32767
    return {**pack(np.round(array / scale), "<i2"), "scale": pack(scale)}


def twin_numbers(twin: Twin, marginals: Mapping[str, np.ndarray] | None = None) -> dict[str, Any]:
    """Columns, some rows, and the law of every target. `marginals` are observed values, which set the axes."""
    if twin.joint or not isinstance(twin.model, SplineModel):
        raise InputError("a report needs a distilled twin with one law per target: found.twin(joint=False).distil()")
    weights, biases = ([np.asarray(layer) for layer in layers] for layers in _layers(twin.model))
    short = sum(layer.size for layer in weights) > _MOST_SINGLES
    rows = twin.rows[np.linspace(0, len(twin.rows) - 1, min(_ROWS, len(twin.rows))).astype(int)]
    seen = marginals if marginals else _predicted(twin, rows)
    return {
        "reach": twin.model.reach,
        "leastStep": LEAST_STEP,
        "leastSlope": LEAST_SLOPE,
        "activation": twin.model.networks.activation,
        "columns": [_column(twin, i, start) for i, start in enumerate(typical(twin))],
        "rows": pack(rows),
        "laws": {
            target.name: {
                **_law(twin, target, [layer[i] for layer in weights], short),
                "biases": [pack(layer[i]) for layer in biases],
                "axis": _axis(target, seen[target.name]),
            }
            for i, target in enumerate(twin.outputs)
        },
    }


def joint_numbers(twin: Twin) -> dict[str, Any]:
    """The joint law of all targets, one network after the other, from which a page makes draws of them together."""
    if not twin.joint or not isinstance(twin.model, SplineModel):
        raise InputError("the joint part of a report needs a distilled joint twin: found.twin(joint=True).distil()")
    weights, biases = ([np.asarray(layer) for layer in layers] for layers in _layers(twin.model))
    short = sum(layer.size for layer in weights) > _MOST_SINGLES
    put = pack_short if short else pack
    return {
        "targets": list(twin.targets),
        "columns": [_column(twin, i, start) for i, start in enumerate(typical(twin))],
        "laws": [
            {
                "weights": [put(layer[i]) for layer in weights],
                "biases": [pack(layer[i]) for layer in biases],
                "reach": twin.model.reach,
                "centre": target.centre,
                "scale": target.scale,
                **_values(target),
            }
            for i, target in enumerate(twin.outputs)
        ],
    }


def _present(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]


def _column(twin: Twin, i: int, start: float) -> dict[str, Any]:
    code = twin.columns[i]
    along, values = stops(twin, i, 2, (0.0, 1.0))
    few = along == "number" and len(np.unique(_present(twin.rows[:, i]))) == len(values)
    return {
        "name": code.name,
        "scale": code.scale,
        "features": [list(feature) for feature in code.features],
        "period": code.period,
        "levels": [str(level) for level in code.levels],
        "unit": twin.units.get(code.name, ""),
        "values": values.tolist() if few else None,
        **kind_named(code.kind).widget(_present(twin.rows[:, i]), code, twin.ranges[i], start),
    }


def _layers(model: SplineModel) -> tuple[Sequence[Any], Sequence[Any]]:
    return model.networks.weights, model.networks.biases


def _law(twin: Twin, target: Target, weights: list[np.ndarray], short: bool) -> dict[str, Any]:
    own = [place for place, name in enumerate(twin.inputs) if name in twin.ancestors[target.name]]
    widths = [column.width for column in twin.columns]
    seen = np.repeat(np.isin(np.arange(len(widths)), own), widths)
    # Inputs of other targets have no weight here.
    layers = [weights[0][seen], *weights[1:]]
    return {
        "inputs": own,
        "weights": [pack_short(layer) if short else pack(layer) for layer in layers],
        "centre": target.centre,
        "scale": target.scale,
        "unit": twin.units.get(target.name, ""),
        **_values(target),
    }


def _values(target: Target) -> dict[str, Any]:
    """The values of a lattice or the atoms, and their cells on the continuous scale, ends open where they are."""
    cells = target.collapser
    return {
        "kind": cells.kind,
        "levels": [str(level) for level in target.levels],
        "values": pack(cells.values, "<f8"),
        "low": pack(cells.low, "<f8"),
        "high": pack(cells.high, "<f8"),
        "shift": pack(cells.shift, "<f8"),
    }


def _predicted(twin: Twin, rows: np.ndarray) -> dict[str, np.ndarray]:
    """What the twin expects at these rows, where nothing observed is at hand."""
    found = twin.quantile(rows, _AXIS_LEVELS, outside="ignore")
    return {name: found[:, :, i].ravel() for i, name in enumerate(twin.targets)}


def _axis(target: Target, observed: np.ndarray) -> list[float]:
    """The stretch of values that the figure of the law shows: where the data lies, but for the far tails."""
    ends, core = np.quantile(observed, [0.0, 1.0]), np.quantile(observed, [0.005, 0.995])
    margin = 0.15 * (core[1] - core[0]) or 0.5 * target.scale
    return [
        float(max(ends[0] - 0.5 * margin, core[0] - margin)),
        float(min(ends[1] + 0.5 * margin, core[1] + margin)),
    ]
