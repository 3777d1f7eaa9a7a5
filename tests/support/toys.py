"""Twins that were never trained: one-pass networks of random weights, at once and for nothing.

For tests of what is done with a twin, not of how good it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np
import pandas as pd

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import ColumnCode
from forebear.data.table import read_columns
from forebear.flow.network import Network
from forebear.kinds import kind_named
from forebear.twin.settings import TwinSettings
from forebear.twin.spline import SplineModel
from forebear.twin.twin import Target, Twin

WIDTH, POINTS = 8, 4


def toy_twin(
    frame: pd.DataFrame, ancestors: Mapping[str, Sequence[str]], periodic: Mapping[str, float] | None = None
) -> Twin:
    """A twin of continuous targets with the columns, scaling and ranges of the data, and some smooth law."""
    used = {name for names in ancestors.values() for name in names}
    names = [name for name in frame.columns if name in used]
    periods = {name: period for name, period in (periodic or {}).items() if name in used}
    table = read_columns(frame, "the table", dict.fromkeys([*names, *ancestors]), periods, gaps=True)
    codes = tuple(ColumnCode.of(table.columns[name]) for name in names)
    values = [table.columns[name].values for name in names]
    ranges = [kind_named(code.kind).range(v[~np.isnan(v)]) for code, v in zip(codes, values, strict=True)]
    targets = [
        Target(name, Dequantiser("continuous"), float(np.mean(frame[name])), float(np.std(frame[name])))
        for name in ancestors
    ]
    rng = np.random.default_rng(0)
    masks = [np.repeat([c.name in inputs for c in codes], [c.width for c in codes]) for inputs in ancestors.values()]
    features = sum(code.width for code in codes)
    first = np.stack([rng.normal(0, 0.5, (features, WIDTH)) * mask[:, None] for mask in masks])
    second = rng.normal(0, 0.1, (len(targets), WIDTH, 1 + 2 * POINTS))
    second[:, :, 0] *= 5
    layers = tuple(jnp.asarray(layer, jnp.float32) for layer in (first, second))
    biases = tuple(jnp.zeros((len(targets), layer.shape[2]), jnp.float32) for layer in layers)
    return Twin(
        codes,
        tuple(targets),
        {target: tuple(inputs) for target, inputs in ancestors.items()},
        SplineModel(Network(layers, biases, "silu"), 4.0, autoregressive=False),
        joint=False,
        ranges=tuple(ranges),
        rows=np.stack(values, axis=1),
        settings=TwinSettings(),
    )
