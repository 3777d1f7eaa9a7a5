"""Train many networks at once: one compiled loop over steps, all models side by side under vmap.

The number of steps, the rate and the input masks are ordinary arguments of the compiled loop, so that a second
call with tables of the same shape compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import Array

from forebear.flow.settings import FlowSettings

Model = TypeVar("Model", bound=eqx.Module)
Loss = Callable[[eqx.Module, Array, Array, Array], Array]
"""(model, x (batch, features), y (batch, outputs), key) -> mean loss of the batch"""

_WARM_UP = 0.05
_CALLS = 20
"""The loop returns to Python this many times, to show progress and to look for divergence."""


class Diverged(FloatingPointError):
    """The loss of a model became NaN or infinite."""


class _Recipe(NamedTuple):
    """What the compiled loop needs to know of the settings, as numbers, so that none of them recompiles it."""

    rate: Array
    total: Array
    cosine: Array
    averaging: Array


class _State(NamedTuple):
    arrays: eqx.Module
    optimiser: optax.OptState
    average: eqx.Module
    order: Array
    loss: Array


def train(
    models: Model,
    loss: Loss,
    x: Array,
    y: Array,
    masks: Array,
    settings: FlowSettings,
    *,
    key: Array,
    held_out: float = 0.1,
    tick: Callable[[float], None] = lambda share: None,
) -> Model:
    """Train stacked `models` (leading axis) on shared inputs.

    x has shape (rows, features), y (models, rows, outputs), masks (models, features): a model sees x with the
    masked features set to zero. All models see the same rows in the same order, each with noise of its own.
    `tick` is called now and then with the share of the work done.

    >>> import numpy as np
    >>> from forebear.flow.network import Network
    >>> make = lambda key: Network(1, 1, width=8, depth=1, activation="tanh", key=key)
    >>> models = eqx.filter_vmap(make)(jr.split(jr.key(0), 2))
    >>> x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    >>> y = np.stack([x, -x])
    >>> squared = lambda model, x, y, key: jnp.mean((model(x) - y) ** 2)
    >>> settings = FlowSettings(steps=300, batch=64, rate=1e-2)
    >>> fitted = train(models, squared, x, y, np.ones((2, 1), np.float32), settings, key=jr.key(1))
    >>> predictions = eqx.filter_vmap(lambda model: model(x))(fitted)
    >>> bool(abs(predictions - y).max() < 0.1)
    True
    """
    held = int(held_out * x.shape[0])
    # held-out rows
    perm = jr.permutation(jr.fold_in(key, 2**30), x.shape[0])
    x, y = jnp.asarray(x)[perm], jnp.asarray(y)[:, perm]
    xv, yv, x, y = x[:held], y[:, :held], x[held:], y[:, held:]
    best, kept = jnp.full(y.shape[0], jnp.inf), None
    rows = x.shape[0]
    batch = min(settings.batch, rows)
    total = settings.total_steps(rows)
    recipe = _Recipe(
        jnp.float32(settings.rate),
        jnp.int32(total),
        jnp.asarray(settings.schedule == "cosine"),
        jnp.float32(settings.averaging),
    )
    arrays, static = eqx.partition(models, eqx.is_array)
    state = _State(arrays, _adam().init(arrays), arrays, jnp.arange(rows), jnp.float32(0))
    data = (jnp.asarray(x), jnp.asarray(y), jnp.asarray(masks))
    for call in range(_CALLS):
        start, stop = total * call // _CALLS, total * (call + 1) // _CALLS
        state = _advance(state, data, recipe, key, start, stop, batch=batch, loss=loss, static=static)
        if not bool(jnp.isfinite(state.loss)):
            raise Diverged(f"training diverged within {stop} steps at a rate of {settings.rate:g}")
        tick((call + 1) / _CALLS)
        if held:
            v = _validate(state.average, xv, yv, data[2], key, loss=loss, static=static)
            better = v < best
            best = jnp.where(better, v, best)
            kept = state.average if kept is None else jax.tree.map(lambda k, a: jnp.where(better.reshape((-1,) + (1,) * (a.ndim - 1)), a, k), kept, state.average)
            DEBUG.append(np.asarray(v))
    return eqx.combine(kept if held else state.average, static)


import numpy as np
DEBUG = []
@partial(jax.jit, static_argnames=("loss", "static"))
def _validate(arrays, x, y, masks, key, *, loss, static):
    reps = max(1, 8000 // x.shape[0])
    def one(a, mask, yy):
        return jnp.mean(jax.vmap(lambda k: loss(eqx.combine(a, static), x * mask, yy, k))(jr.split(key, reps)))
    return jax.vmap(one)(arrays, masks, y)


def _adam() -> optax.GradientTransformation:
    return optax.scale_by_adam()


def _rate(recipe: _Recipe, step: Array) -> Array:
    warm_up = jnp.maximum(1.0, _WARM_UP * recipe.total)
    decay = 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip((step - warm_up) / (recipe.total - warm_up), 0, 1)))
    return recipe.rate * jnp.where(recipe.cosine, jnp.minimum((step + 1) / warm_up, 1.0) * decay, 1.0)


@partial(jax.jit, static_argnames=("batch", "loss", "static"))
def _advance(
    state: _State,
    data: tuple[Array, Array, Array],
    recipe: _Recipe,
    key: Array,
    start: Array,
    stop: Array,
    *,
    batch: int,
    loss: Loss,
    static: eqx.Module,
) -> _State:
    """Steps start … stop - 1 of the training."""
    x, y, masks = data
    models, rows = y.shape[:2]
    batches = rows // batch

    def model_loss(arrays: eqx.Module, mask: Array, y_batch: Array, x_batch: Array, key: Array) -> Array:
        return loss(eqx.combine(arrays, static), x_batch * mask, y_batch, key)

    gradients = jax.vmap(jax.value_and_grad(model_loss), in_axes=(0, 0, 0, None, 0))

    def step(number: Array, state: _State) -> _State:
        step_key = jr.fold_in(key, number)
        order_key, noise_key = jr.split(step_key)
        place = number % batches
        order = jax.lax.cond(place == 0, lambda: jr.permutation(order_key, rows), lambda: state.order)
        chosen = jax.lax.dynamic_slice(order, (place * batch,), (batch,))
        losses, gradient = gradients(
            state.arrays, masks, y[:, chosen], x[chosen], jr.split(noise_key, models)
        )
        updates, optimiser = _adam().update(gradient, state.optimiser)
        rate = _rate(recipe, number)
        arrays = jax.tree.map(lambda a, u: a - rate * u, state.arrays, updates)
        # Early on the average forgets faster, so that it does not remember the random start.
        decay = jnp.minimum(recipe.averaging, number / (number + 10.0))
        average = jax.tree.map(lambda m, a: decay * m + (1 - decay) * a, state.average, arrays)
        return _State(arrays, optimiser, average, order, jnp.max(losses))

    return jax.lax.fori_loop(start, stop, step, state)
