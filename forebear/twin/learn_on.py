"""A model that goes on learning: its networks from the weights that they have, a blend through a map of its latents.

The networks of a blend hear trees, and trees cannot go on growing where the law has changed. So a blend stays what it
is, and one more network learns the law of its latents given the inputs: standard normal where nothing changed, which
is what it says before it has learned anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from forebear.data.weights import lesson_rows, weighted_rows
from forebear.errors import InputError
from forebear.flow.network import Network, stack
from forebear.flow.samplers import FlowSampler
from forebear.flow.settings import FlowSettings
from forebear.flow.train import Rows, Training, fit
from forebear.run.notes import told
from forebear.twin.blend import BlendLaw
from forebear.twin.blend_nets import WAYS
from forebear.twin.distil import input_masks
from forebear.twin.distil import law_loss as spline_loss
from forebear.twin.law import ForeignLaw
from forebear.twin.model import FlowModel, SamplerModel, TwinModel
from forebear.twin.quantiles import COUNT, QuantileModel
from forebear.twin.quantiles import law_loss as quantile_loss
from forebear.twin.spline import SplineModel
from forebear.twin.twin import Twin

# Of the steps and of the rate of the first training; never fewer steps than this.
_STEPS, _RATE, _LEAST_STEPS = 0.4, 0.3, 300
_STUDENT = FlowSettings(steps=1_500, batch=256, rate=2e-3, averaging=0.99)
_CORRECTION = FlowSettings(width=48, depth=3, steps=1_500, batch=256, rate=3e-3, averaging=0.99)
# Squares of the weights of a map of latents count so much; latents beyond this are no help to it.
_DECAY, _FARTHEST = 1e-4, 8.0


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows to go on with, old and new."""

    x: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, "rows targets"]
    """continuous: lattice values and atoms spread out"""
    weights: Float[np.ndarray, "rows laws"]
    """how much each counts, for each law; a joint twin has one"""
    watched: Bool[np.ndarray, " rows"]
    """rows that choose the best weights along the training"""


def learned_on(twin: Twin, lesson: Lesson, seed: int, tick: Callable[[float], None]) -> TwinModel | BlendLaw:
    """The model of a twin after one more lesson, law by law."""
    if isinstance(twin.model, ForeignLaw):
        raise InputError("update needs a law of forebear's own, and this sampler is yours: fit it again on all rows")
    rng, laws = np.random.default_rng(seed), lesson.weights.shape[1]

    def part(place: int) -> Callable[[float], None]:
        return lambda share: tick((place + share) / laws)

    if isinstance(twin.model, BlendLaw):
        blends = [
            replace(blend, correction=_corrected(twin, twin.model, i, lesson, rng, part(i)))
            for i, blend in enumerate(twin.model.blends)
        ]
        return replace(twin.model, blends=tuple(blends))
    networks = [_further(twin, twin.model, i, lesson, rng, part(i)) for i in range(laws)]
    return with_networks(twin.model, networks)


def with_networks(model: TwinModel, networks: list[Network]) -> Any:
    """The model with other networks, stacked in their order."""
    joined = jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *networks)
    if isinstance(model, FlowModel):
        return FlowModel(joined, model.outputs, model.settings)
    if isinstance(model, SamplerModel):
        return SamplerModel(joined, model.seen, model.outputs, model.sampler)
    assert isinstance(model, SplineModel)
    return SplineModel(joined, model.reach, model.autoregressive)


def own_networks(model: TwinModel, laws: int, place: int) -> Network:
    """Those of one law: one network, or all of a joint student."""
    count = len(model.networks.weights[0]) // laws
    some = slice(place * count, (place + 1) * count)
    return jax.tree.map(lambda array: array[some], model.networks)


def _further(
    twin: Twin, model: TwinModel, place: int, lesson: Lesson, rng: np.random.Generator, tick: Callable[[float], None]
) -> Network:
    """The networks of one law, trained on."""
    networks, laws = own_networks(model, lesson.weights.shape[1], place), lesson.weights.shape[1]
    x = twin.encoder.single(lesson.x)
    scaled = ((lesson.y - [t.centre for t in twin.outputs]) / [t.scale for t in twin.outputs]).astype(np.float32)
    own = scaled if laws == 1 else scaled[:, place : place + 1]
    masks = input_masks(twin)[place : place + 1]
    if isinstance(model, SplineModel):
        if model.autoregressive:
            count = scaled.shape[1]
            x = np.concatenate([x, scaled], axis=1)
            masks = np.concatenate([np.tile(masks[:1], (count, 1)), np.tril(np.ones((count, count)), -1)], axis=1)
        y, loss, settings = own.T[:, :, None], spline_loss, _STUDENT
    else:
        y = own[None]
        flow = twin.settings.flow
        steps = max(_LEAST_STEPS, round(_STEPS * flow.total_steps(len(x))))
        settings = replace(flow, steps=steps, rate=_RATE * flow.rate)
        loss = model.sampler.loss if isinstance(model, SamplerModel) else FlowSampler.loss
    seed = int(rng.integers(2**31))
    data, watched = _rows(x, y, lesson, place)
    return told(fit(Training(networks, loss, data, watched, masks, settings, seed), tick)).models


def _rows(x: np.ndarray, y: np.ndarray, lesson: Lesson, place: int) -> tuple[Rows, Rows]:
    """Rows to learn from, drawn as their weights say, and rows to watch, each as often as it counts."""
    weights = lesson.weights[:, place]
    learn, watch = np.flatnonzero(~lesson.watched), np.flatnonzero(lesson.watched & (weights > 0))
    watch = watch[weighted_rows(weights[watch], len(watch))]
    return Rows(x[learn], y[:, learn], lesson_rows(weights[learn])), Rows(x[watch], y[:, watch])


def _corrected(
    twin: Twin, law: BlendLaw, place: int, lesson: Lesson, rng: np.random.Generator, tick: Callable[[float], None]
) -> QuantileModel:
    """The law of the latents of a blend, from what it is by now."""
    blend = law.blends[place]
    bare = replace(
        law, blends=(replace(blend, correction=None),), centre=law.centre[[place]], scale=law.scale[[place]]
    )
    counted = lesson.weights[:, place] > 0
    z = np.zeros(len(lesson.x))
    z[counted] = bare.pull(lesson.x[counted], lesson.y[counted, place : place + 1])[:, 0]
    z = np.clip(z, -_FARTHEST, _FARTHEST)
    x = law.encoder.single(lesson.x)
    start = _unchanged(x.shape[1], rng) if blend.correction is None else blend.correction.networks
    share = WAYS[1].share
    y = np.stack([z, np.full(len(z), share), np.full(len(z), _DECAY)], axis=1)[None]
    data, watched = _rows(x, y, lesson, place)
    masks, seed = input_masks(twin)[place : place + 1], int(rng.integers(2**31))
    trained = told(fit(Training(start, quantile_loss, data, watched, masks, _CORRECTION, seed), tick)).models
    hidden = jnp.asarray(masks[:, :, None], jnp.float32)
    return QuantileModel(replace(trained, weights=(trained.weights[0] * hidden, *trained.weights[1:])))


def _unchanged(features: int, rng: np.random.Generator) -> Network:
    """A network that says the standard normal law at all inputs."""
    sizes = {"width": _CORRECTION.width, "depth": _CORRECTION.depth, "activation": _CORRECTION.activation}
    fresh = Network.fresh(features, COUNT, rng=rng, **sizes)
    return stack([replace(fresh, weights=(*fresh.weights[:-1], jnp.zeros_like(fresh.weights[-1])))])
