"""Teach a one-pass model what the flow of a twin knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import ndtri

from forebear.flow.network import Network, stack
from forebear.flow.settings import FlowSettings
from forebear.flow.train import Rows, Training, fit
from forebear.kinds import kind_named
from forebear.run.notes import told
from forebear.twin.law import ModelLaw
from forebear.twin.spline import Spline, SplineModel

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

_ACTIVATION = "silu"
# Width and depth: of the student of a smooth flow, and of one that has to follow trees too.
_SMALL, _LARGE = (48, 2), (96, 3)
_STEPS, _REACH = 12, 4.0
# Latents of a row in the lessons; their spread is a little above one, so that the tails are well taught.
_DRAWS, _SPREAD = 8, 1.25
_TESTED_ROWS, _TESTED_DRAWS = 256, 200


@dataclass(frozen=True)
class Lessons:
    """What the teacher says: features (rows, features), latents and outputs (draws, rows, targets)."""

    x: np.ndarray
    z: np.ndarray
    y: np.ndarray


def distil(twin: Twin, rows: int, steps: int, seed: int, tick: Callable[[float], None]) -> Twin:
    """The student of a twin, with its errors against the teacher."""
    rng = np.random.default_rng(seed)
    draws = 1 if twin.joint else _DRAWS
    latents = _latents((draws, rows, len(twin.outputs)), rng, 1.0 if twin.joint else _SPREAD)
    lessons = _ask(twin, _places(twin, rows, rng), latents)
    learn = _learn_law if twin.joint else _learn_map
    settings = FlowSettings(steps=int(steps), batch=256, rate=1e-2, averaging=0.998)
    model = learn(lessons, twin, settings, rng, tick)
    # Its latents of the rows set aside would be others, and those rows are not at hand.
    student = replace(twin, model=model, distillation=None, aside=np.zeros((0, len(twin.outputs))))
    return replace(student, distillation=_errors(twin, student, rng))


def _places(twin: Twin, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Inputs to ask about: rows of the data, a share of them moved a little, a tenth of them outwards."""
    x = twin.rows[rng.integers(len(twin.rows), size=rows)]
    nudges = [kind_named(column.kind).nudge(column) for column in twin.columns]
    scale = np.array([nudge.spread for nudge in nudges])
    centre = np.array([c.centre for c in twin.columns])
    moved = x + rng.normal(size=x.shape) * scale * (rng.random((rows, 1)) < _share_moved(twin))
    outwards = np.where(rng.random((rows, 1)) < 0.1, 1.2, 1.0)
    open_ended = np.array([nudge.outwards for nudge in nudges], bool)
    return np.where(open_ended, centre + outwards * (moved - centre), moved)


def _share_moved(twin: Twin) -> float:
    """Half; of a law with trees in it fewer, as it is rough between the rows of the data, and hard to learn there."""
    return 0.25 if "networks" in twin.law.lacks else 0.5


def _latents(shape: tuple[int, ...], rng: np.random.Generator, spread: float) -> np.ndarray:
    """Stratified over the first axis, in random order."""
    order = np.argsort(rng.random(shape), axis=0)
    return spread * ndtri((order + rng.uniform(1e-6, 1 - 1e-6, shape)) / shape[0])


def _ask(twin: Twin, places: np.ndarray, z: np.ndarray) -> Lessons:
    """Outputs stay standardised, and continuous where the twin has a lattice."""
    x = twin.encoder.single(places)
    if isinstance(twin.law, ModelLaw):
        return Lessons(x, z, twin.law.standardised(x, z))
    centre, scale = (np.array([getattr(target, name) for target in twin.outputs]) for name in ("centre", "scale"))
    return Lessons(x, z, (twin.law.push(places, z) - centre) / scale)


def _learn_map(
    lessons: Lessons, twin: Twin, settings: FlowSettings, rng: np.random.Generator, tick: Callable[[float], None]
) -> SplineModel:
    """Least squares: the student's quantile map to the teacher's."""
    pairs = np.concatenate([lessons.z, lessons.y]).transpose(2, 1, 0)
    encoder_mask = input_masks(twin)
    size = _LARGE if "networks" in twin.law.lacks else _SMALL
    networks = _train(_map_loss, lessons.x, pairs, encoder_mask, size, settings, rng, tick)
    return SplineModel(networks, _REACH, autoregressive=False)


def _map_loss(network: Network, x: Array, pairs: Array, key: Array) -> Array:
    del key
    z, y = jnp.split(pairs, 2, axis=1)
    splines = Spline.of(network(x), _REACH)
    return jnp.mean((jax.vmap(splines, 1, 1)(z) - y) ** 2)


def _learn_law(
    lessons: Lessons, twin: Twin, settings: FlowSettings, rng: np.random.Generator, tick: Callable[[float], None]
) -> SplineModel:
    """Maximum likelihood, target after target, on draws of the teacher."""
    y = lessons.y[0]
    count = y.shape[1]
    x = np.concatenate([lessons.x, y.astype(np.float32)], axis=1)
    masks = np.concatenate([np.ones((count, lessons.x.shape[1])), np.tril(np.ones((count, count)), -1)], axis=1)
    networks = _train(law_loss, x, y.T[:, :, None], masks, _SMALL, settings, rng, tick)
    return SplineModel(networks, _REACH, autoregressive=True)


def law_loss(network: Network, x: Array, y: Array, key: Array) -> Array:
    """What is unlikely about y (rows, 1) by the splines of a network, up to a constant."""
    del key
    splines = Spline.of(network(x), _REACH)
    z = splines.inverse(y[:, 0])
    return jnp.mean(0.5 * z**2 + jnp.log(splines.slope(z)))


def _train(
    loss: Callable[[Network, Array, Array, Array], Array],
    x: np.ndarray,
    y: np.ndarray,
    masks: np.ndarray,
    size: tuple[int, int],
    settings: FlowSettings,
    rng: np.random.Generator,
    tick: Callable[[float], None],
) -> Network:
    """One network per target on x (rows, features) and y (targets, rows, some)."""
    sizes = {"width": size[0], "depth": size[1], "activation": _ACTIVATION}
    models = stack([Network.fresh(x.shape[1], 1 + 2 * _STEPS, rng=rng, **sizes) for _ in y])
    seed = int(rng.integers(2**31))
    data = Rows(x, y.astype(np.float32))
    fitted = told(fit(Training(models, loss, data, None, masks, settings, seed), tick)).models
    first = fitted.weights[0] * jnp.asarray(masks[:, :, None], jnp.float32)
    return Network((first, *fitted.weights[1:]), fitted.biases, _ACTIVATION)


def input_masks(twin: Twin) -> np.ndarray:
    """The features of each target's own inputs (targets, features)."""
    widths = [column.width for column in twin.columns]
    seen = [[name in twin.ancestors[target] for name in twin.inputs] for target in twin.targets]
    return np.array([np.repeat(np.array(row, float), widths) for row in seen]).reshape(len(seen), -1)


def _errors(teacher: Twin, student: Twin, rng: np.random.Generator) -> dict[str, Any]:
    """Against the teacher at rows of the data, in standard deviations of the target.

    w1: mean distance of the two laws, input by input, in Wasserstein-1. rmse: of the two maps at equal latents; a
    joint student has latents of its own, and none.
    """
    places = teacher.rows[rng.integers(len(teacher.rows), size=_TESTED_ROWS)]
    levels = ndtri((np.arange(_TESTED_DRAWS) + 0.5) / _TESTED_DRAWS)
    count = len(teacher.outputs)
    z = np.broadcast_to(levels[:, None, None], (_TESTED_DRAWS, _TESTED_ROWS, count))
    if teacher.joint:
        z = rng.normal(size=z.shape)
    theirs, ours = (_ask(twin, places, z).y for twin in (teacher, student))
    w1 = np.abs(np.sort(theirs, axis=0) - np.sort(ours, axis=0)).mean(axis=(0, 1))
    rmse = [None] * count if teacher.joint else np.sqrt(((theirs - ours) ** 2).mean(axis=(0, 1))).tolist()
    return {t: {"w1": float(w), "rmse": r} for t, w, r in zip(teacher.targets, w1, rmse, strict=True)}
