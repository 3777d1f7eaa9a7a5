"""Model predictive control in scenarios: plan ahead, act once, look again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array

from forebear.control.chance import Chance, share_interval
from forebear.control.limits import Limits, read_limits
from forebear.control.model import Model, Step, StepModel, TwinSteps, model_of, step_model
from forebear.control.scenario import Cost, FinalCost, Problem, draw_noise, shift
from forebear.errors import InputError, check_whole
from forebear.twin.dynamics import Dynamics
from forebear.twin.limits import Bounds, action_ends, check_ends
from forebear.twin.twin import Twin

_FRESH = 1_000
"""trajectories at least that a plan within limits is checked on"""

_SLIP = 1.5
"""so many times the share that may leave the limits, for sure, are told in a warning"""

__all__ = ["ClosedLoop", "Mpc", "Plans", "mpc"]


class Plans(NamedTuple):
    """A plan for each start."""

    actions: np.ndarray
    """(starts, horizon, actions), within the bounds; actions[:, 0] are those to take now"""
    cost: np.ndarray
    """(starts,) expected over the scenarios"""
    evaluations: np.ndarray
    """(starts,) of the expected cost and its gradient"""
    inside: np.ndarray | None = None
    """(starts,) share of fresh trajectories that stay within the limits; of several trainings the least of theirs"""
    interval: np.ndarray | None = None
    """(starts, 2) of that share, 95%"""
    met: np.ndarray | None = None
    """(starts,) whether the plan keeps enough of the scenarios that it was made for within the limits"""


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """What happened when plans were made and acted on; times first, then trials."""

    states: np.ndarray
    """(steps + 1, trials, states) of the world; states[0] is the start"""
    actions: np.ndarray
    """(steps, trials, actions)"""
    costs: np.ndarray
    """(steps, trials) the cost at each step"""
    evaluations: np.ndarray
    """(steps, trials) that each plan took"""
    violations: np.ndarray | None = None
    """(steps, trials) how far the state after each step is outside the limits; 0 and below inside"""
    inside: np.ndarray | None = None
    """(steps, trials) share of fresh trajectories that stay within the limits under each plan"""
    met: np.ndarray | None = None
    """(steps, trials) whether each plan keeps enough of the scenarios that it was made for within the limits"""

    @property
    def violating(self) -> np.ndarray:
        """Which trials left the limits at some step (trials,)."""
        if self.violations is None:
            raise InputError("nothing can be violated: the controller was made without limits=…")
        return np.any(self.violations > 0, axis=0)

    @property
    def cost(self) -> np.ndarray:
        """The sum over the steps of each trial (trials,)."""
        return self.costs.sum(axis=0)


def mpc(
    dynamics: Twin | Step | Sequence[Twin | Step],
    cost: Cost,
    bounds: Bounds | Sequence[tuple[float, float]] | None = None,
    *,
    noise: int | None = None,
    terminal: FinalCost | None = None,
    horizon: int = 20,
    scenarios: int = 64,
    iterations: int = 300,
    tolerance: float = 1e-3,
    names: Dynamics | None = None,
    pessimism: float = 0.0,
    limits: Limits | None = None,
    share: float = 0.95,
) -> Mpc:
    """A controller that minimises the expected cost over the next steps, at every step anew.

    A plan is a sequence of actions that is the same in all scenarios of the noise; it minimises the mean of the
    summed costs by L-BFGS, in double precision. The search itself has no bounds: actions are clipped where they are
    used. All starts are planned for at once, in one compiled call.

    Arguments:
        dynamics: a twin whose columns are states and actions, preferably distilled; or a function (state, action,
            noise) -> next state of one trajectory that JAX can trace, where noise is standard normal. A list of
            either is one system learned several times, as by twins with other seeds: plans are made for all of them.
        cost: a function (state, action) -> number of one trajectory.
        bounds: least and greatest value of each action: for a twin by name, by default the range of its data; for a
            function a list of pairs.
        noise: how many numbers the function takes as noise.
        terminal: a function (state) -> number, the cost of the state at the horizon.
        horizon: steps ahead.
        scenarios: draws of the noise that a plan is made for.
        iterations: of L-BFGS at most.
        tolerance: a plan is done when the norm of the gradient is so small.
        names: what the columns of a twin mean; None reads it from their names, as `Twin.rollout` does.
        pessimism: of a list, how much it counts that the trainings disagree: the cost that is minimised is the mean
            of theirs and so many of their deviations. Where nothing was learned they disagree most.
        limits: where states must stay at every step of the horizon: for a twin by name, `{"theta": (-1, 1), "speed":
            (None, 3)}`; for a function a pair for each state, None for one without; or a function (state) -> number,
            or numbers, above 0 outside. Of a list of trainings they hold for each.
        share: of the trajectories that must stay within the limits over the whole horizon; 1 for all scenarios. Plans
            are checked on fresh trajectories. Where no plan can do it, the plan is the one that violates the limits
            least, and a warning says so.

    >>> import jax.numpy as jnp
    >>> def step(state, action, noise):
    ...     return state + action + 0.1 * noise
    >>> controller = mpc(step, lambda state, action: jnp.sum(state**2), [(-1.0, 1.0)], noise=1, horizon=5)
    >>> controller.plan([[0.4], [-3.0]]).actions[:, 0].round(1).tolist()
    [[-0.4], [1.0]]
    >>> told = controller.simulate([[0.4], [-3.0]], steps=6)
    >>> bool((abs(told.states[-1]) < 0.5).all())
    True

    The cost pulls the state to 1, and in 9 of 10 trajectories it must stay below 0.5:

    >>> wary = mpc(step, lambda s, a: jnp.sum((s - 1) ** 2), [(-1.0, 1.0)], noise=1, horizon=3,
    ...     limits=[(None, 0.5)], share=0.9)
    >>> plans = wary.plan([[0.0]])
    >>> bool(plans.met[0]), bool(0.88 < plans.inside[0] < 0.98), bool(0.2 < plans.actions[0, 0, 0] < 0.4)
    (True, True, True)
    """
    for name, value in (("horizon", horizon), ("scenarios", scenarios), ("iterations", iterations)):
        check_whole(name, value, 1)
    if not tolerance > 0:
        raise InputError(f"tolerance must be a number above 0; got {tolerance!r}")
    models = _models(dynamics, names, noise, pessimism)
    model, first = models[0], dynamics[0] if isinstance(dynamics, Sequence) else dynamics
    for name, function in (("cost", cost), ("terminal", terminal)):
        if not (callable(function) or (name == "terminal" and function is None)):
            raise InputError(f"{name} must be a function of a state; got {function!r}")
    low, high = _ends(first, model, bounds).T
    sizes = (horizon, scenarios, iterations, float(tolerance))
    chance = None if limits is None else Chance(read_limits(limits, model), _checked_share(share, scenarios))
    return Mpc(Problem(model, cost, terminal, low, high, *sizes, tuple(models[1:]), float(pessimism), chance))


def _checked_share(share: Any, scenarios: int) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise InputError(f"share must lie above 0 and be at most 1; got {share!r}")
    if share < 1 and (1 - share) * scenarios < 1 - 1e-9:
        least = math.ceil(1 / (1 - share) - 1e-9)
        raise InputError(
            f"share={share:g} cannot be told from {scenarios} scenarios: give scenarios={least} or more, or share=1"
        )
    return float(share)


def _models(dynamics: Any, names: Dynamics | None, noise: int | None, pessimism: Any) -> list[Model]:
    """One model, or several trainings of one."""
    several = list(dynamics) if isinstance(dynamics, Sequence) else [dynamics]
    if isinstance(pessimism, bool) or not isinstance(pessimism, int | float) or not pessimism >= 0:
        raise InputError(f"pessimism must be a number of at least 0; got {pessimism!r}")
    if not several or (pessimism and len(several) < 2):
        raise InputError("pessimism weighs how far several trainings disagree: give a list of twins, of other seeds")
    models = [model_of(one, names, noise) for one in several]
    if any(type(one) is not type(models[0]) or one.noise != models[0].noise for one in models):
        raise InputError("dynamics: a list must hold one system learned several times, with the same columns")
    if isinstance(models[0], TwinSteps) and any(getattr(one, "plan", None) != models[0].plan for one in models):
        raise InputError("dynamics: the twins of a list must have the same columns")
    return models


def _ends(dynamics: Any, model: Model, bounds: Any) -> np.ndarray:
    if isinstance(model, TwinSteps):
        if bounds is not None and not hasattr(bounds, "items"):
            raise InputError(f"bounds of a twin's actions go by name, such as {{'{model.plan.action[0]}': (-1, 1)}}")
        return action_ends(dynamics, model.plan, bounds)
    if bounds is None or hasattr(bounds, "items") or np.ndim(bounds) != 2 or np.shape(bounds)[1] != 2:
        raise InputError(f"bounds must be a list of pairs (low, high), one for each action; got {bounds!r}")
    return np.array([check_ends(f"bounds of action {i}", (low, high)) for i, (low, high) in enumerate(bounds)])


@dataclass(frozen=True, eq=False)
class Mpc:
    """A controller, made by `forebear.control.mpc`."""

    problem: Problem = field(repr=False)

    def plan(self, start: Any, seed: int = 0, *, after: Plans | None = None, episode: str | None = None) -> Plans:
        """The best actions from each start on.

        Arguments:
            start: states (starts, states); for a twin all that `Twin.rollout` takes.
            seed: of the scenarios.
            after: the plans made a step ago for the same trials: the search begins with what is left of them.
            episode: see `Twin.rollout`.
        """
        check_whole("seed", seed, 0)
        carried = self.problem.model.begin(start, episode)
        shape = (len(carried), self.problem.horizon, len(self.problem.low))
        if after is not None and np.shape(after.actions) != shape:
            raise InputError(f"after must be plans of shape {shape}, a step old; got {np.shape(after.actions)}")
        with jax.enable_x64(True):
            warm = jnp.zeros(shape) if after is None else shift(jnp.asarray(after.actions))
            found = _plan(self.problem, jnp.asarray(carried), warm, jr.key(seed))
            actions, cost, evaluations, met = (np.asarray(part) for part in found)
            if self.problem.chance is None:
                return Plans(actions, cost, evaluations)
            rounds = math.ceil(_FRESH / self.problem.scenarios)
            inside = _checked(self.problem, jnp.asarray(carried), found[0], rounds, jr.key(seed))
        count = rounds * self.problem.scenarios
        share = np.asarray(inside) / count
        interval = share_interval(np.asarray(inside), count)
        plans = Plans(actions, cost, evaluations, share, interval, met)
        _tell(plans, self.problem.chance.share, self.problem.scenarios)
        return plans

    def simulate(
        self,
        start: Any,
        steps: int,
        *,
        world: Step | None = None,
        noise: int | None = None,
        world_start: Any = None,
        see: Callable[[Array], Any] | None = None,
        seed: int = 0,
        episode: str | None = None,
    ) -> ClosedLoop:
        """Plan and act, step by step, in all trials at once; one compiled loop.

        Two controllers that are given the same `world`, number of trials and steps, and `seed`, meet the same noise
        in it.

        Arguments:
            start: of each trial, as for `plan`.
            steps: how many.
            world: the system that is acted on, a function (state, action, noise) -> next state; None: the dynamics
                that the controller plans with.
            noise: how many standard normal numbers the world takes.
            world_start: states of the world (trials, states) where they are not those that the controller sees.
            see: a function (state of the world) -> state that the controller sees; None: it sees all of it.
            seed: of the world's noise, and of the scenarios.
        """
        check_whole("steps", steps, 1)
        check_whole("seed", seed, 0)
        carried = self.problem.model.begin(start, episode)
        acted_on, states = self._world(carried, world, noise, world_start, see)
        with jax.enable_x64(True):
            begin = jnp.asarray(carried), jnp.asarray(states)
            told = _simulate(self.problem, acted_on, see, *begin, steps, jr.key(seed))
            return ClosedLoop(*(np.asarray(part) for part in told))

    def _world(
        self, carried: np.ndarray, world: Step | None, noise: int | None, start: Any, see: Any
    ) -> tuple[StepModel | None, np.ndarray]:
        """The system that is acted on, None for the controller's own, and its first states."""
        if world is None:
            if not (noise is None and start is None and see is None):
                raise InputError("noise, world_start and see belong to a world, and none is given: leave them out")
            return None, carried
        if isinstance(world, Twin) or not callable(world):
            raise InputError(f"world must be a function (state, action, noise) -> next state; got {world!r}")
        acted_on = step_model(world, noise)
        seen = np.stack([np.asarray(self.problem.model.state(jnp.asarray(one))) for one in carried])
        states = acted_on.begin(seen if start is None else start)
        if len(states) != len(carried):
            raise InputError(f"world_start has {len(states)} rows and start {len(carried)}: give one for each trial")
        return acted_on, states


def world_noise(key: Array, steps: int, trials: int, size: int) -> Array:
    """The noise (steps, trials, size) that a world meets, whatever acts on it."""
    return draw_noise(jr.split(key)[0], (steps, trials, size))


@eqx.filter_jit
def _plan(problem: Problem, carried: Array, warm: Array, key: Array) -> tuple[Array, Array, Array, Array]:
    found, met = problem.solve(carried, warm, key)
    return problem.clip(found.x.reshape(warm.shape)), found.value, found.evaluations, met


@eqx.filter_jit
def _checked(problem: Problem, carried: Array, actions: Array, rounds: int, key: Array) -> Array:
    """How many fresh trajectories stay inside, of the training where fewest do (trials,)."""
    # Those of the plan were drawn from the key itself.
    keys = jr.split(jr.fold_in(key, 1), rounds)
    counts = jax.lax.map(lambda own: problem.inside(carried, actions, problem.scenarios, own), keys)
    return counts.sum(axis=0).min(axis=0)


def _tell(plans: Plans, wanted: float, scenarios: int) -> None:
    """One warning where no plan is good enough, or where a plan is not as good as its scenarios say."""
    assert plans.inside is not None and plans.interval is not None and plans.met is not None
    few = plans.met & (1 - plans.interval[:, 1] > _SLIP * (1 - wanted)) & (wanted < 1)
    place = int(np.argmin(np.where(plans.met if plans.met.all() else ~plans.met, plans.inside, np.inf)))
    told = f"(start {place}: {plans.inside[place]:.0%} of fresh ones)"
    if not plans.met.all():
        warnings.warn(
            f"no plan keeps {wanted:.0%} of the trajectories within the limits from {np.sum(~plans.met)} of "
            f"{len(few)} starts {told}: there it violates them least",
            stacklevel=3,
        )
    elif few.any():
        warnings.warn(
            f"fewer than {wanted:.0%} of the trajectories stay within the limits from {few.sum()} of {len(few)} "
            f"starts {told}: {scenarios} scenarios tell too little, give more",
            stacklevel=3,
        )


class _Now(NamedTuple):
    carried: Array
    world: Array
    plans: Array


@eqx.filter_jit
def _simulate(
    problem: Problem, world: StepModel | None, see: Any, carried: Array, states: Array, steps: int, key: Array
) -> tuple[Array, ...]:
    trials, model = len(carried), problem.model
    acted_on = model if world is None else world
    plan_key, noises = jr.split(key)[1], world_noise(key, steps, trials, acted_on.noise)
    paid = jax.vmap(lambda state, action: jnp.asarray(problem.cost(state, action)).reshape(()))
    chance = problem.chance

    def judged(chance: Chance, now: _Now, after: _Now, plans: Array, number: Array) -> tuple[Array, Array]:
        """How far outside the next states are, and the share of fresh trajectories that the plans keep inside."""
        beyond = jax.vmap(lambda one: chance.beyond(model.state(one)).max())(after.carried)
        fresh = jr.fold_in(jr.fold_in(plan_key, number), 1)
        counts = problem.inside(now.carried, plans, problem.scenarios, fresh)
        return beyond, counts.min(axis=0) / problem.scenarios

    def observed(now: _Now, action: Array, moved: Array) -> Array:
        if world is None:
            return moved
        seen = moved if see is None else jax.vmap(see)(moved)
        return jax.vmap(model.observe)(now.carried, action, seen)

    def step(now: _Now, given: tuple[Array, Array]) -> tuple[_Now, tuple[Array, ...]]:
        number, noise = given
        found, met = problem.solve(now.carried, now.plans, jr.fold_in(plan_key, number))
        plans = found.x.reshape(now.plans.shape)
        action = problem.clip(plans[:, 0])
        moved = jax.vmap(acted_on.step)(now.world, action, noise)
        cost = paid(jax.vmap(model.state)(now.carried), action)
        # An action far outside its bounds has no gradient, and would stay there for good.
        after = _Now(observed(now, action, moved), moved, shift(problem.clip(plans)))
        seen = () if chance is None else (*judged(chance, now, after, plans, number), met)
        return after, (jax.vmap(acted_on.state)(moved), action, cost, found.evaluations, *seen)

    begin = _Now(carried, states, jnp.zeros((trials, problem.horizon, len(problem.low)), carried.dtype))
    _, (moved, *rest) = jax.lax.scan(step, begin, (jnp.arange(steps), noises))
    first = jax.vmap(acted_on.state)(states)[None]
    return jnp.concatenate([first, moved]), *rest
