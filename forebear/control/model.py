"""What a planner moves: a step of the user's own, or a twin with the memory it was trained on.

A planner carries a state along; that of a twin is its history (lags + 1, variables), newest moment first. All
functions are of one trajectory.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from forebear.errors import InputError, check_whole, listed
from forebear.twin.core import Core
from forebear.twin.dynamics import Dynamics, Plan, resolve
from forebear.twin.history import read_starts
from forebear.twin.model import FlowModel
from forebear.twin.move import condition, next_state, shifted, with_action, wrapped
from forebear.twin.twin import Twin

Step = Callable[[Array, Array, Array], Array]
"""(state, action, noise) -> next state, of one trajectory, traceable by JAX; noise is standard normal"""


class Model(eqx.Module):
    """Dynamics to plan with."""

    noise: eqx.AbstractVar[int]
    """standard normal numbers that a step takes"""

    @abc.abstractmethod
    def begin(self, start: Any, episode: str | None = None) -> np.ndarray:
        """What is carried along, of each start (starts, …)."""

    @abc.abstractmethod
    def state(self, carried: Array) -> Array:
        """The state in what is carried."""

    @abc.abstractmethod
    def step(self, carried: Array, action: Array, noise: Array) -> Array:
        """A step of the dynamics."""

    @abc.abstractmethod
    def observe(self, carried: Array, action: Array, state: Array) -> Array:
        """The same when the action led to this state, whatever the dynamics say."""


class StepModel(Model):
    """A function of the user's."""

    function: Step
    noise: int = eqx.field(static=True)

    def begin(self, start: Any, episode: str | None = None) -> np.ndarray:
        """States, a row each; a single one may come without that axis."""
        if episode is not None:
            raise InputError("episode belongs to tables; the start of a step function is an array (starts, states)")
        states = np.atleast_2d(np.asarray(start, float))
        if states.ndim != 2 or not states.size or not np.isfinite(states).all():
            raise InputError(
                f"start must be an array (starts, states) of finite numbers; got shape {np.shape(start)}"
            )
        return states

    def state(self, carried: Array) -> Array:
        """All of it."""
        return carried

    def step(self, carried: Array, action: Array, noise: Array) -> Array:
        """What the function says."""
        moved = jnp.asarray(self.function(carried, action, noise), carried.dtype)
        if moved.shape != carried.shape:
            raise InputError(
                f"the step must return the next state, shape {carried.shape}, for one trajectory; it returned "
                f"shape {moved.shape}"
            )
        return moved

    def observe(self, carried: Array, action: Array, state: Array) -> Array:
        """Nothing else is remembered."""
        return state


class TwinSteps(Model):
    """A twin."""

    core: Core
    plan: Plan = eqx.field(static=True)
    noise: int = eqx.field(static=True)

    def begin(self, start: Any, episode: str | None = None) -> np.ndarray:
        """Histories, from all that `Twin.rollout` takes."""
        return read_starts(start, self.plan, episode).astype(float)

    def state(self, carried: Array) -> Array:
        """That of the newest moment."""
        return carried[0, : len(self.plan.state)]

    def condition(self, carried: Array, action: Array) -> Array:
        """The inputs that the twin is given (inputs,): the row that `forebear.lagged` makes of this history."""
        return condition(self.plan, with_action(self.plan, carried[None], action[None]))[0]

    def step(self, carried: Array, action: Array, noise: Array) -> Array:
        """A draw of the twin, moved on."""
        y = self.core.push(self.core.params, self.condition(carried, action)[None], noise[None])
        moved = next_state(self.plan, self.state(carried)[None], y)
        return self.observe(carried, action, wrapped(self.plan, moved)[0])

    def observe(self, carried: Array, action: Array, state: Array) -> Array:
        """The history one moment later."""
        full = with_action(self.plan, carried[None], action[None])
        return shifted(self.plan, full, wrapped(self.plan, state[None]))[0]


def model_of(dynamics: Twin | Step, names: Dynamics | None, noise: int | None) -> Model:
    """The model that a user means, or a word on why it cannot be planned with by gradients."""
    model = dynamics_of(dynamics, names, noise)
    if isinstance(dynamics, Twin) and isinstance(model, TwinSteps):
        _check_smooth(dynamics)
        if not model.plan.action:
            raise InputError("nothing to plan: every input of the twin is a state, none an action")
    return model


def dynamics_of(dynamics: Twin | Step, names: Dynamics | None, noise: int | None) -> Model:
    """The model that a user means, whatever is done with it."""
    if isinstance(dynamics, Twin):
        if noise is not None:
            raise InputError(
                "noise belongs to a step function; a twin knows how many numbers a draw takes: leave it out"
            )
        plan, core = resolve(names, dynamics), dynamics.core()
        return TwinSteps(core=core, plan=plan, noise=core.latents)
    if not callable(dynamics):
        raise InputError(f"dynamics must be a twin or a function (state, action, noise) -> state; got {dynamics!r}")
    if names is not None:
        raise InputError("names belong to a twin; a step function has none: leave them out")
    return step_model(dynamics, noise)


def step_model(function: Step, noise: int | None) -> StepModel:
    """A user's function that takes so many numbers as noise."""
    if noise is None:
        raise InputError("noise=… must say how many standard normal numbers the step function takes; 0 for none")
    check_whole("noise", noise, 0)
    return StepModel(function=function, noise=int(noise))


def _check_smooth(twin: Twin) -> None:
    steps = [t.name for t in twin.outputs if t.dequantiser.kind != "continuous"]
    labels = [c.name for c in twin.columns if c.levels]
    if steps or labels:
        raise InputError(
            f"{listed([*steps, *labels])}: a planner that follows gradients needs continuous numbers, not integers, "
            "atoms or labels: use forebear.control.pets"
        )
    if isinstance(twin.model, FlowModel) and twin.model.settings.solver != "rk4":
        raise InputError("a twin with an adaptive solver cannot be differentiated: plan with twin.distil()")
