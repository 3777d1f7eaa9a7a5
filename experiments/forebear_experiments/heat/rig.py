"""The heated rod as a control problem: its true step, steps with learned ends, and linear control to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array

from forebear.control.mpc import world_noise
from forebear.systems.heat import CONTROLS, LARGEST_CONTROL, NODES, NOISE, STATES, heat_matrices
from forebear.twin.twin import Twin

BOUNDS = [(-LARGEST_CONTROL, LARGEST_CONTROL)] * len(CONTROLS)
ENDS = (0, NODES - 1)
"""the nodes where the controls act"""
EFFORT = 0.1
"""what a squared control costs beside a squared temperature"""

_transfer, _inflow = heat_matrices()
_STAY = np.eye(NODES) + _transfer


def cost(state: Array, action: Array) -> Array:
    """Of one step."""
    return jnp.sum(state**2) + EFFORT * jnp.sum(action**2)


def final_cost(state: Array) -> Array:
    """Of the state at the horizon."""
    return jnp.sum(state**2)


def true_step(state: Array, action: Array, noise: Array) -> Array:
    """The rod itself: noise (10,) standard normal, in proportion to the temperature."""
    # In the precision of the state: constants of numpy are remembered in the first one that they are used with.
    stay, inflow = (jnp.asarray(matrix, state.dtype) for matrix in (_STAY, _inflow))
    return stay @ state + inflow @ action + NOISE * state * noise


class LearnedStep(eqx.Module):
    """The rod with both ends learned and all between them known; the noise of an end is the latent of its sampler."""

    draw: Callable[[Array, Array], Array]
    """(inputs, latents) -> the increments of both ends"""
    places: tuple[int, ...] = eqx.field(static=True)
    """of the inputs, among states and controls"""

    @classmethod
    def of(cls, twin: Twin, draw: Callable[[Array, Array], Array]) -> LearnedStep:
        """With a sampler that takes the inputs of a twin, in its order."""
        return cls(draw, tuple((STATES + CONTROLS).index(name) for name in twin.inputs))

    def condition(self, state: Array, action: Array) -> Array:
        """What the sampler is given (inputs,)."""
        return jnp.concatenate([state, action])[np.array(self.places)]

    def __call__(self, state: Array, action: Array, noise: Array) -> Array:
        """A step, of one trajectory."""
        ends = np.array(ENDS)
        increments = self.draw(self.condition(state, action), noise[ends])
        return true_step(state, action, noise).at[ends].set(state[ends] + increments)


class LinearControl(NamedTuple):
    """The best control without bounds, u = -gain x; from X it costs X' value X."""

    gain: np.ndarray
    value: np.ndarray


def linear_control(rounds: int = 2_000) -> LinearControl:
    """From Riccati's equation, with noise in proportion to the state.

    >>> linear_control().gain.shape
    (2, 10)
    """
    value, gain = np.eye(NODES), np.zeros((len(CONTROLS), NODES))
    for _ in range(rounds):
        weight = EFFORT * np.eye(len(CONTROLS)) + _inflow.T @ value @ _inflow
        gain = np.linalg.solve(weight, _inflow.T @ value @ _STAY)
        spread = NOISE**2 * np.diag(np.diag(value))
        value = np.eye(NODES) + _STAY.T @ value @ (_STAY - _inflow @ gain) + spread
    return LinearControl(gain, value)


def follow(policy: Callable[[Array], Any], start: np.ndarray, steps: int, seed: int) -> np.ndarray:
    """The cost (steps, trials) of a policy on the rod, with the noise that `Mpc.simulate` has for this seed."""
    with jax.enable_x64(True):
        noises = world_noise(jr.key(seed), steps, len(start), NODES)

        def step(states: Array, noise: Array) -> tuple[Array, Array]:
            actions = jnp.clip(jax.vmap(policy)(states), -LARGEST_CONTROL, LARGEST_CONTROL)
            return jax.vmap(true_step)(states, actions, noise), jax.vmap(cost)(states, actions)

        return np.asarray(jax.jit(lambda first: jax.lax.scan(step, first, noises)[1])(jnp.asarray(start)))
