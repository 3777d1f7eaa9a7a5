"""A blend as plain arrays and plain records, and back; what is read is checked, and runs no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import jax.numpy as jnp
import numpy as np

from forebear.data.scaling import ColumnCode, Encoder
from forebear.flow.network import Network
from forebear.trees.arrays import Trees
from forebear.twin.atom import Atom
from forebear.twin.blend import SUMMARIES, Assistants, Blend, BlendLaw
from forebear.twin.knots import LATENTS
from forebear.twin.model import TwinModel
from forebear.twin.quantiles import QuantileModel
from forebear.twin.spline import SplineModel
from forebear.twin.votes import Cells, Votes

_ARRAYS = ("marginal", "weights", "knots", "reach")
_ENDS = ("low", "high", "width", "centre", "scale")
_TREES = tuple(one.name for one in fields(Trees))
_WORDS = {"spline": SplineModel, "quantiles": QuantileModel}


def blend_records(law: BlendLaw) -> list[dict[str, Any]]:
    """What describes each blend beside its arrays."""
    return [_record(blend) for blend in law.blends]


def _record(blend: Blend) -> dict[str, Any]:
    told: dict[str, Any] = {
        "plain": [_model_record(model) for model in blend.plain],
        "assisted": [_model_record(model) for model in blend.assisted],
        "assistants": None
        if blend.assistants is None
        else {"folds": blend.assistants.folds, "spread": blend.assistants.spread},
        "forest": blend.forest is not None,
    }
    if blend.correction is not None:
        told["correction"] = _model_record(blend.correction)
    if blend.atom is not None:
        told["atom"] = {**{name: getattr(blend.atom, name) for name in _ENDS}, **_votes_record(blend.atom.votes)}
    if blend.cells is not None:
        told["cells"] = {"edges": blend.cells.edges.tolist(), **_votes_record(blend.cells.votes)}
    return told


def _model_record(model: TwinModel) -> dict[str, Any]:
    word = next(word for word, made in _WORDS.items() if type(model) is made)
    return {"model": word, **_network_record(model.networks), "shape": model.shape}


def _votes_record(votes: Votes) -> dict[str, Any]:
    return {"heat": votes.heat, **_network_record(votes.networks)}


def _network_record(networks: Network) -> dict[str, Any]:
    return {"layers": len(networks.weights), "activation": networks.activation}


def blend_arrays(law: BlendLaw) -> dict[str, np.ndarray]:
    """The arrays of all blends."""
    found: dict[str, np.ndarray] = {}
    for place, blend in enumerate(law.blends):
        found |= _arrays(blend, f"blend.{place}")
    return found


def _arrays(blend: Blend, here: str) -> dict[str, np.ndarray]:
    found = {f"{here}.{name}": np.asarray(getattr(blend, name)) for name in _ARRAYS}
    for word, models in (("plain", blend.plain), ("assisted", blend.assisted)):
        for number, model in enumerate(models):
            found |= _network_arrays(f"{here}.{word}.{number}", model.networks)
    if blend.correction is not None:
        found |= _network_arrays(f"{here}.correction", blend.correction.networks)
    if blend.assistants is not None:
        found[f"{here}.base"] = blend.assistants.base
        found |= _tree_arrays(f"{here}.boosted", blend.assistants.boosted)
    forest = blend.forest if blend.assistants is None else blend.assistants.forest
    if forest is not None:
        found |= _tree_arrays(f"{here}.forest", forest)
    if blend.atom is not None:
        found |= _network_arrays(f"{here}.votes", blend.atom.votes.networks)
    if blend.cells is not None:
        found |= _network_arrays(f"{here}.votes", blend.cells.votes.networks)
    return found


def _network_arrays(here: str, networks: Network) -> dict[str, np.ndarray]:
    return {
        f"{here}.{kind}.{layer}": np.asarray(array)
        for kind in ("weights", "biases")
        for layer, array in enumerate(getattr(networks, kind))
    }


def _tree_arrays(here: str, trees: Trees) -> dict[str, np.ndarray]:
    return {f"{here}.{name}": getattr(trees, name) for name in _TREES}


def restore_blends(
    records: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, np.ndarray],
    columns: tuple[ColumnCode, ...],
    centre: np.ndarray,
    scale: np.ndarray,
) -> BlendLaw:
    """The law that was saved; a ValueError or KeyError where parts do not fit together."""
    encoder = Encoder(columns)
    blends = [_blend(record, arrays, f"blend.{i}", encoder.width) for i, record in enumerate(records)]
    if len(blends) != len(centre):
        raise ValueError("parts of different twins")
    return BlendLaw(encoder, tuple(blends), centre, scale)


def _blend(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], here: str, features: int) -> Blend:
    plain = [_model(own, arrays, f"{here}.plain.{i}", features) for i, own in enumerate(record["plain"])]
    told = features + 2 + len(SUMMARIES)
    assisted = [_model(own, arrays, f"{here}.assisted.{i}", told) for i, own in enumerate(record["assisted"])]
    about = record["assistants"]
    grown = _trees(arrays, f"{here}.forest", features) if about is not None or record["forest"] else None
    assistants = None
    if about is not None and grown is not None:
        mean, folds, spread = _trees(arrays, f"{here}.boosted", features), int(about["folds"]), float(about["spread"])
        assistants = Assistants(mean, folds, grown, arrays[f"{here}.base"], spread)
        if folds < 1 or not np.isfinite(spread) or assistants.base.shape != (3,):
            raise ValueError("damaged blend")
    # Twins of 0.4 do not know how far their data reach: nothing is outside.
    marginal, weights, knots, reach = (arrays.get(f"{here}.{name}", np.zeros((3, features))) for name in _ARRAYS)
    parts = len(plain) + len(assisted) + bool(record["forest"]) + bool(len(marginal))
    whole = all(np.isfinite(array).all() for array in (marginal, weights, knots, reach))
    shapes = weights.shape == (parts,) and len(knots) == 2 and reach.shape == (3, features)
    if not (whole and shapes and len(marginal) in (0, len(LATENTS))):
        raise ValueError("damaged blend")
    forest = grown if record["forest"] else None
    learned = record.get("correction")
    correction = None if learned is None else _model(learned, arrays, f"{here}.correction", features)
    if not (correction is None or (isinstance(correction, QuantileModel) and correction.latents == 1)):
        raise ValueError("damaged blend")
    there = f"{here}.votes"
    atom = None if "atom" not in record else _atom(record["atom"], arrays, there, features)
    cells = None if "cells" not in record else _cells(record["cells"], arrays, there, features)
    laws = tuple(plain), tuple(assisted), assistants, forest, marginal, weights
    return Blend(*laws, knots, reach, correction, atom, cells)


def _atom(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], here: str, features: int) -> Atom:
    low, high, width, centre, scale = ends = [float(record[name]) for name in _ENDS]
    if not (np.isfinite(ends).all() and low < high and min(width, scale) > 0):
        raise ValueError("damaged blend")
    return Atom(_votes(record, arrays, here, features, 2), low, high, width, centre, scale)


def _cells(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], here: str, features: int) -> Cells:
    edges = np.asarray(record["edges"], float)
    if not (edges.ndim == 1 and len(edges) > 2 and np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise ValueError("damaged blend")
    return Cells(_votes(record, arrays, here, features, len(edges) - 1), edges)


def _votes(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], here: str, features: int, some: int) -> Votes:
    networks, heat = _networks(record, arrays, here, features), float(record["heat"])
    if networks.weights[-1].shape[-1] != some or not (np.isfinite(heat) and heat > 0):
        raise ValueError("damaged blend")
    return Votes(networks, heat)


def _model(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], here: str, inputs: int) -> TwinModel:
    return _WORDS[record["model"]](_networks(record, arrays, here, inputs), **record["shape"])


def _networks(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray], here: str, inputs: int) -> Network:
    weights, biases = (
        tuple(jnp.asarray(arrays[f"{here}.{kind}.{layer}"]) for layer in range(record["layers"]))
        for kind in ("weights", "biases")
    )
    same = all(len(array) == len(weights[0]) and bool(jnp.isfinite(array).all()) for array in (*weights, *biases))
    if not same or weights[0].shape[1] != inputs:
        raise ValueError("damaged networks")
    return Network(weights, biases, record["activation"])


def _trees(arrays: Mapping[str, np.ndarray], here: str, features: int) -> Trees:
    trees = Trees(*(arrays[f"{here}.{name}"] for name in _TREES))
    trees.check(features)
    return trees
