"""Train many networks at once: one compiled loop over steps, all models side by side under vmap.

The number of steps, the rate and the input masks are ordinary arguments of the compiled loop, so that a second
call with tables of the same shape compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int, PRNGKeyArray

from forebear.flow.settings import FlowSettings
from forebear.flow.shuffle import rows_at
from forebear.flow.single import single

Model = TypeVar("Model", bound=eqx.Module)
Loss = Callable[[Any, Array, Array, Array], Array]
"""(model, x (batch, features), y (batch, outputs), key) -> mean loss of the batch"""

_WARM_UP = 0.05
_CALLS = 20
"""The loop returns to Python so often, to show progress and to look for divergence."""


class Diverged(FloatingPointError):
    """The loss of a model became NaN, infinite, or far worse than where it began."""


class Rows(NamedTuple):
    """What the models learn from."""

    x: Any
    """(rows, features), the same for every model"""
    y: Any
    """(models, rows, outputs)"""
    draws: Any = None
    """row numbers (some,), in proportion to the weights of the rows, that batches are drawn from; None: all rows"""


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
    loss: Array
    """(models,) of the latest batch"""


class _Best(NamedTuple):
    """The weights of each model that served the held-out rows best so far, and their loss there."""

    arrays: eqx.Module
    loss: Array


# A training whose loss ends at so many times that of its first steps has left the region where it could learn.
_EXPLODED = 100.0
# Attempts at a training, each at a tenth of the rate of the one before.
_ATTEMPTS = 3


class Training(NamedTuple):
    """Everything that a training depends on: the same one gives the same weights, to the last bit."""

    models: Any
    """untrained, stacked along a leading axis"""
    loss: Loss
    data: Rows
    held_out: Rows | None
    masks: Any
    """(models, features)"""
    settings: FlowSettings
    seed: int


class Trained(NamedTuple):
    """What comes out of a training."""

    models: Any
    """stacked, as they went in"""
    notes: tuple[str, ...] = ()
    """what went otherwise than asked"""


def fit(training: Training, tick: Callable[[float], None] = lambda share: None) -> Trained:
    """Train, again at a tenth of the rate where it diverges, twice; then it is an error.

    The notes say how often that was; if the last attempt fails as well, they travel with the exception.
    """
    models, loss, data, held_out, masks, settings, seed = training
    notes: list[str] = []
    while True:
        try:
            fitted = train(models, loss, data, held_out, masks, settings, key=jr.key(seed), tick=tick)
            return Trained(fitted, tuple(notes))
        except Diverged as trouble:
            if len(notes) == _ATTEMPTS - 1:
                for note in notes:
                    trouble.add_note(note)
                raise
            settings = replace(settings, rate=settings.rate / 10)
            notes.append(f"{trouble}; training again at {settings.rate:g}")


def train(
    models: Model,
    loss: Loss,
    data: Rows,
    held_out: Rows | None,
    masks: ArrayLike,
    settings: FlowSettings,
    *,
    key: PRNGKeyArray,
    tick: Callable[[float], None] = lambda share: None,
) -> Model:
    """Train stacked `models` (leading axis) on shared inputs.

    `masks` (models, features) says what each model sees: the other features are set to zero. All models see the
    same rows in the same order, each with noise of its own. With `held_out` rows each model ends with the weights
    that served those best along the way; without, with the last ones. `tick` is told the share of work done.

    >>> from forebear.flow.network import Network, stack
    >>> rng = np.random.default_rng(0)
    >>> models = stack([Network.fresh(1, 1, width=8, depth=1, activation="tanh", rng=rng) for _ in range(2)])
    >>> x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    >>> y = np.stack([x, -x])
    >>> squared = lambda model, x, y, key: jnp.mean((model(x) - y) ** 2)
    >>> settings = FlowSettings(steps=300, batch=64, rate=1e-2)
    >>> fitted = train(models, squared, Rows(x, y), None, np.ones((2, 1)), settings, key=jr.key(1))
    >>> predictions = eqx.filter_vmap(lambda model: model(jnp.asarray(x)))(fitted)
    >>> bool(abs(predictions - y).max() < 0.1)
    True
    """
    draws = None if data.draws is None else jax.device_put(np.asarray(data.draws, np.int32))
    data, held_out = jax.tree.map(single, (data._replace(draws=None), held_out))
    data = data._replace(draws=draws)
    seen = single(masks)
    rows = data.x.shape[0]
    total = settings.total_steps(rows)
    recipe = _Recipe(
        single(settings.rate),
        jax.device_put(np.int32(total)),
        jax.device_put(np.bool_(settings.schedule == "cosine")),
        single(settings.averaging),
    )
    arrays, static = eqx.partition(models, eqx.is_array)
    state, best = _begin(arrays, len(data.y))
    first = None
    batch = min(settings.batch, rows)
    validation_key, training_key = jr.split(key)
    calls = min(_CALLS, total)
    for call in range(calls):
        start, stop = total * call // calls, total * (call + 1) // calls
        state = _advance(state, data, seen, recipe, training_key, start, stop, batch=batch, loss=loss, static=static)
        losses = np.asarray(state.loss)
        first = np.abs(losses) + 1 if first is None else first
        if not (losses < _EXPLODED * first).all():
            raise Diverged(f"training diverged within {stop} steps at a rate of {settings.rate:g}")
        if held_out is not None:
            best = _better(best, state.average, held_out, seen, validation_key, loss=loss, static=static)
        tick((call + 1) / calls)
    return eqx.combine(state.average if held_out is None else best.arrays, static)


def _begin(arrays: Any, models: int) -> tuple[_State, _Best]:
    worst = single(np.full(models, np.inf))
    # Adam begins with zeros; made by numpy, because JAX would compile a program to make them.
    shapes = jax.eval_shape(_adam().init, arrays)
    zeros = jax.tree.map(lambda one: jax.device_put(np.zeros(one.shape, one.dtype)), shapes)
    return _State(arrays, zeros, arrays, worst), _Best(arrays, worst)


def _adam() -> optax.GradientTransformation:
    return optax.scale_by_adam()


def _rate(recipe: _Recipe, step: Int[Array, ""]) -> Float[Array, ""]:
    warm_up = jnp.maximum(1.0, _WARM_UP * recipe.total)
    decay = 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip((step - warm_up) / (recipe.total - warm_up), 0, 1)))
    return recipe.rate * jnp.where(recipe.cosine, jnp.minimum((step + 1) / warm_up, 1.0) * decay, 1.0)


@partial(jax.jit, static_argnames=("batch", "loss", "static"))
def _advance(
    state: _State,
    data: Rows,
    masks: Float[Array, "models features"],
    recipe: _Recipe,
    key: PRNGKeyArray,
    start: Array | int,
    stop: Array | int,
    *,
    batch: int,
    loss: Loss,
    static: eqx.Module,
) -> _State:
    """Steps start … stop - 1 of the training."""
    models, rows = data.y.shape[0], (data.y.shape[1] if data.draws is None else data.draws.shape[0])
    batches = rows // batch

    def model_loss(arrays: eqx.Module, mask: Array, y_batch: Array, x_batch: Array, key: Array) -> Array:
        return loss(eqx.combine(arrays, static), x_batch * mask, y_batch, key)

    gradients = jax.vmap(jax.value_and_grad(model_loss), in_axes=(0, 0, 0, None, 0))
    order_key, step_key = jr.split(key)

    def step(number: Array, state: _State) -> _State:
        epoch, place = number // batches, number % batches
        chosen = rows_at(place * batch + jnp.arange(batch), rows, jr.fold_in(order_key, epoch))
        chosen = chosen if data.draws is None else data.draws[chosen]
        noise_key = jr.fold_in(step_key, number)
        losses, gradient = gradients(
            state.arrays, masks, data.y[:, chosen], data.x[chosen], jr.split(noise_key, models)
        )
        updates, optimiser = _adam().update(gradient, state.optimiser)
        rate = _rate(recipe, number)
        arrays = jax.tree.map(lambda a, u: a - rate * u, state.arrays, updates)
        # Early on the average forgets faster, so that it does not remember the random start.
        decay = jnp.minimum(recipe.averaging, number / (number + 10.0))
        average = jax.tree.map(lambda m, a: decay * m + (1 - decay) * a, state.average, arrays)
        return _State(arrays, optimiser, average, losses)

    return jax.lax.fori_loop(start, stop, step, state)


# Held-out losses are averaged over about this many draws of time and noise, the same ones at every look.
_VALIDATION_DRAWS = 4_096


@partial(jax.jit, static_argnames=("loss", "static"))
def _better(
    best: _Best,
    arrays: eqx.Module,
    held_out: Rows,
    masks: Float[Array, "models features"],
    key: PRNGKeyArray,
    *,
    loss: Loss,
    static: eqx.Module,
) -> _Best:
    keys = jr.split(key, max(1, _VALIDATION_DRAWS // held_out.x.shape[0]))

    def held_out_loss(arrays: eqx.Module, mask: Array, y: Array) -> Array:
        model = eqx.combine(arrays, static)
        x = held_out.x * mask
        if len(keys) == 1:  # a loop around it takes longer to compile
            return loss(model, x, y, keys[0])
        return jnp.mean(jax.lax.map(lambda k: loss(model, x, y, k), keys))

    now = jax.vmap(held_out_loss)(arrays, masks, held_out.y)
    improved = now < best.loss

    def pick(old: Array, new: Array) -> Array:
        return jnp.where(improved.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return _Best(jax.tree.map(pick, best.arrays, arrays), jnp.minimum(now, best.loss))
