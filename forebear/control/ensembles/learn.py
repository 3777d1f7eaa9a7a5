"""Training of an ensemble on all data so far: from the weights at hand, each member on rows drawn for it."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax import Array
from jaxtyping import Float, Key, Shaped

from forebear.control.ensembles.ensemble import Ensemble, Inputs, Weights, fresh_weights, law, prepare
from forebear.control.ensembles.settings import EnsembleSettings

_BOUNDS_PRICE = 0.01
"""of each unit between the bounds of the log variances"""
_CONSTANT = 1e-12
"""a column that deviates less counts as one that does not vary"""


class Learner(NamedTuple):
    """An ensemble in training."""

    ensemble: Ensemble
    moments: Any
    """of Adam; they live as long as the weights"""


class Examples(NamedTuple):
    """Tables of fixed size that fill up, so that nothing is compiled again as data comes in."""

    x: Array
    """(capacity, inputs)"""
    y: Array
    """(capacity, outputs)"""
    rows: Array | int
    """how many are there"""


@partial(jax.jit, static_argnames=("outputs", "settings"))
def begin(
    seen: Float[Array, "runs inputs"], keys: Key[Array, " runs"], *, outputs: int, settings: EnsembleSettings
) -> Learner:
    """Ensembles that have learned nothing, one per run; seen is (runs, inputs)."""

    def alone(shown: Array, key: Array) -> Learner:
        weights = fresh_weights(shown, outputs, settings, key=key)
        inputs = Inputs(jnp.zeros_like(shown), jnp.ones_like(shown), shown)
        return Learner(Ensemble(weights, inputs, jnp.full(outputs, jnp.nan)), optax.scale_by_adam().init(weights))

    return jax.vmap(alone)(seen, keys)


def standardised(
    learner: Learner, x: Float[np.ndarray, "*runs rows inputs"], seen: Shaped[np.ndarray, "*runs inputs"]
) -> Learner:
    """The learner with inputs scaled to these rows (…, rows, inputs), in double precision: some hardly vary."""
    scale = x.std(axis=-2)
    inputs = Inputs(
        jnp.asarray(x.mean(axis=-2), jnp.float32),
        jnp.asarray(np.where(scale < _CONSTANT, 1.0, scale), jnp.float32),
        jnp.asarray(seen, jnp.float32),
    )
    return learner._replace(ensemble=learner.ensemble._replace(inputs=inputs))


def with_constants(learner: Learner, y: Float[np.ndarray, "*runs rows outputs"]) -> Learner:
    """The learner that keeps what is the same in all these rows (…, rows, outputs), and does not learn it."""
    constant = np.where(y.std(axis=-2) < _CONSTANT, y[..., 0, :], np.nan)
    return learner._replace(ensemble=learner.ensemble._replace(constant=jnp.asarray(constant, jnp.float32)))


@partial(jax.jit, static_argnames="settings")
def learn(
    learner: Learner, examples: Examples, keys: Key[Array, " runs"], *, settings: EnsembleSettings
) -> tuple[Learner, Float[Array, " runs"]]:
    """So many epochs for every run (leading axis of all but the number of rows), and the loss of their last step.

    Each member has a bootstrap sample of its own, drawn anew at every call, in a new order at every epoch.
    """
    alone = partial(_learn_one, settings=settings)
    return jax.vmap(alone, in_axes=(0, Examples(0, 0, None), 0))(learner, examples, keys)  # type: ignore[arg-type]


def _learn_one(
    learner: Learner, examples: Examples, key: Array, *, settings: EnsembleSettings
) -> tuple[Learner, Array]:
    x = prepare(learner.ensemble.inputs, examples.x)
    shape = (settings.members, len(x))
    sample_key, order_key = jr.split(key)
    sample = jr.randint(sample_key, shape, 0, examples.rows)
    batches = -(-examples.rows // settings.batch)
    varies = jnp.isnan(learner.ensemble.constant).astype(jnp.float32)
    gradient = jax.value_and_grad(partial(_loss, varies=varies, decay=settings.decay))

    def epoch(number: Array, state: Any) -> Any:
        ticket = jr.uniform(jr.fold_in(order_key, number), shape)
        order = jnp.argsort(jnp.where(jnp.arange(len(x)) < examples.rows, ticket, jnp.inf), axis=1)
        shuffled = jnp.take_along_axis(sample, order, axis=1)
        # A batch may reach beyond the end of the table; what lies there does not count.
        shuffled = jnp.pad(shuffled, ((0, 0), (0, settings.batch)))

        def step(number: Array, state: Any) -> Any:
            weights, moments, _ = state
            first = number * settings.batch
            chosen = jax.lax.dynamic_slice_in_dim(shuffled, first, settings.batch, axis=1)
            counts = (first + jnp.arange(settings.batch) < examples.rows).astype(jnp.float32)
            loss, slope = gradient(weights, x[chosen], examples.y[chosen], counts)
            updates, moments = optax.scale_by_adam().update(slope, moments)
            return jax.tree.map(lambda w, u: w - settings.rate * u, weights, updates), moments, loss

        return jax.lax.fori_loop(0, batches, step, state)

    state = (learner.ensemble.weights, learner.moments, jnp.float32(0))
    weights, moments, loss = jax.lax.fori_loop(0, settings.epochs, epoch, state)
    return Learner(learner.ensemble._replace(weights=weights), moments), loss


def _loss(
    weights: Weights,
    x: Float[Array, "members rows inputs"],
    y: Float[Array, "members rows outputs"],
    counts: Array,
    *,
    varies: Array,
    decay: tuple[float, float, float],
) -> Float[Array, ""]:
    """Gaussian likelihood, mean over rows and outputs and summed over members; weight decay; the price of bounds."""
    mean, log_variance = law(weights, x)
    misfit = (mean - y) ** 2 * jnp.exp(-log_variance) + log_variance
    misfit = (misfit * varies).sum(axis=-1) / jnp.maximum(varies.sum(), 1.0)
    fit = (misfit * counts).sum() / counts.sum()
    between = len(weights.matrices) - 2
    prices = [decay[0], *[decay[1]] * between, decay[2]]
    size = sum(0.5 * price * (matrix**2).sum() for price, matrix in zip(prices, weights.matrices, strict=True))
    return fit + size + _BOUNDS_PRICE * (weights.upper.sum() - weights.lower.sum())
