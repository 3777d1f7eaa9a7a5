"""Gymnasium's Lunar Lander with continuous actions, watched at the moment its engines have fired."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.run.engine import spread
from forebear.systems._paths import positive
from forebear.systems.system import System

if TYPE_CHECKING:
    import gymnasium

STATES = ("x", "y", "vx", "vy", "theta", "omega", "left", "right")
ACTIONS, TARGETS = ("a1", "a2"), ("dvx", "dvy", "domega")
SCALE, MAIN_POWER, SIDE_POWER = 30.0, 13.0, 0.6
MASS, INERTIA, CENTRE = 4.816667, 0.783881, 0.101307
"""of the hull: kilograms, about its centre of mass, and how far that lies above the origin of the body"""
TIME_LIMIT = 1_000
SIDE_THRESHOLD = 0.5
_BATCH = 25

Surrogate = Callable[[np.ndarray, np.ndarray], Any]
"""(observation of 8, action of 2) -> dvx, dvy, domega in metres and radians per second"""


def thrust(theta: Any, a1: Any, a2: Any, d0: Any, d1: Any) -> np.ndarray:
    """What the engines add to vx, vy and omega, in m/s and rad/s: (..., 3), for angles, actions and noise (...).

    `d0` and `d1` are the two draws of a step, uniform within 1/30. Both engines and all three numbers share them, so
    given state and action the three are dependent. The main engine is off for a1 <= 0, the side engines for
    |a2| <= 0.5.

    >>> thrust(0.0, 1.0, 0.0, 0.0, 0.0).round(4).tolist()
    [0.0, 0.3599, 0.0]
    >>> thrust(0.3, -1.0, 0.5, 0.01, 0.02).tolist()
    [0.0, 0.0, 0.0]
    """
    theta, a1, a2, d0, d1 = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (theta, a1, a2, d0, d1)))
    sin, cos = np.sin(theta), np.cos(theta)
    main = MAIN_POWER * np.where(a1 > 0, (np.clip(a1, 0, 1) + 1) / 2, 0)
    side = SIDE_POWER * np.where(np.abs(a2) > SIDE_THRESHOLD, np.clip(np.abs(a2), SIDE_THRESHOLD, 1), 0)
    along, across = 4 / SCALE + 2 * d0, 3 * d1 + 0.4 * np.sign(a2)
    # the side engines push at a height that changes with the angle: Gymnasium sets it 17 pixels along x, 14 along y
    arm = across * ((14 + 3 * sin**2) / SCALE - CENTRE) + d0 * sin * cos / 10
    dvx = (main * (d1 * cos - along * sin) + side * (across * cos - d0 * sin)) / MASS
    dvy = (main * (d1 * sin + along * cos) + side * (across * sin + d0 * cos)) / MASS
    # adding zero makes every zero a positive one
    return np.stack([dvx, dvy, (main * CENTRE * d1 - side * arm) / INERTIA], axis=-1) + 0.0


def engines_off(action: np.ndarray) -> bool:
    """Whether an action fires no engine.

    >>> engines_off(np.array([-0.2, 0.5])), engines_off(np.array([-0.2, 0.6]))
    (True, False)
    """
    return bool(action[0] <= 0 and abs(action[1]) <= SIDE_THRESHOLD)


def tapped_lander(
    surrogate: Surrogate | None = None, *, zero_when_off: bool = False, time_limit: int = TIME_LIMIT
) -> gymnasium.Env:
    """A `TappedLander` that is truncated after `time_limit` steps, as Gymnasium's own is after 1,000.

    Never train without the limit: a surrogate with some noise left when the engines are off keeps the landed craft
    awake, and the episode has no other end.

    >>> env = tapped_lander()
    >>> observation, _ = env.reset(seed=0)
    >>> *_, info = env.step(np.array([-1.0, 0.0]))
    >>> observation.shape, info["thrust"].tolist()
    ((8,), [0.0, 0.0, 0.0])
    """
    kind = tapped_lander_class()
    from gymnasium.wrappers import TimeLimit

    return TimeLimit(kind(surrogate, zero_when_off=zero_when_off), max_episode_steps=time_limit)


def lander(episodes: int = 5000, seed: int = 0, jobs: Any = 1) -> System:
    """Changes of velocity that the engines make in one step of 0.02 s, under uniform random actions.

    The states are as Gymnasium observes them before the step: x and y in half viewports, vx, vy and omega times 0.2,
    0.1333 and 0.4 s, theta in radians, contact of the legs as 0 or 1. The targets are physical, m/s and rad/s, taken
    when the engines have fired and before gravity, joints and contacts act.

    `ancestors` holds the published sets. They name what matters most and not the whole law, for `thrust` gives the
    closed form: dvy also depends on a2, weakly, as the side engines push a little upwards on a tilted craft; and
    domega on a1, whose noise has zero mean, and on theta, which moves the point where the side engines push.

    An episode ends when the craft crashes, leaves or rests; about one in 500 runs on to the limit of 1,000 steps.
    5,000 episodes are about 550,000 rows, made in half a minute, and a quarter of the rows have all engines off and
    increments of exactly zero. `jobs` processes share the episodes, or a dask client, and the table is the same for
    any of them. Needs the extra `control`.

    >>> data = lander(episodes=1)
    >>> data.table.shape[1], data.ancestors
    (13, {'dvx': ('theta', 'a1', 'a2'), 'dvy': ('theta', 'a1'), 'domega': ('a2',)})
    """
    positive(episodes=episodes)
    tapped_lander_class()
    pieces = [(seed, first, min(first + _BATCH, episodes)) for first in range(0, episodes, _BATCH)]
    rows = np.concatenate([flown for _, flown in spread(_fly, pieces, jobs)])
    return System(
        name="lander",
        table=pd.DataFrame(rows, columns=[*STATES, *ACTIONS, *TARGETS]),
        targets=TARGETS,
        candidates=STATES + ACTIONS,
        ancestors={"dvx": ("theta", "a1", "a2"), "dvy": ("theta", "a1"), "domega": ("a2",)},
    )


def _fly(piece: tuple[int, int, int]) -> np.ndarray:
    """Rows of states, actions and increments of the episodes first to last - 1, each with its own generator."""
    seed, first, last = piece
    env, rows = tapped_lander(), []
    for episode in range(first, last):
        rng = np.random.default_rng([seed, episode])
        seen, _ = env.reset(seed=int(rng.integers(2**31)))
        over = False
        while not over:
            action = rng.uniform(-1, 1, 2)
            after, _, terminated, truncated, info = env.step(action)
            rows.append(np.concatenate([seen, action, info["thrust"]]))
            seen, over = after, terminated or truncated
    env.close()
    return np.stack(rows)


@cache
def tapped_lander_class() -> Any:
    """The class `TappedLander`, made when it is wanted: its base is not there without Gymnasium and Box2D.

    >>> tapped_lander_class().__name__
    'TappedLander'
    """
    LunarLander = _lunar_lander()
    from gymnasium.utils import EzPickle

    class TappedLander(LunarLander):
        """Lunar Lander that tells what its engines did, in `info["thrust"]`, or lets a surrogate do it instead.

        Everything but the thrust stays Gymnasium's: gravity, legs, contacts, rewards with the price of fuel, and the
        ends of episodes. With `zero_when_off` the surrogate is not asked when no engine fires. Known physics as that
        is, it also lets the craft fall asleep, which is how a landing ends: noise of 0.03 m/s per step prevents it.

        Arguments:
            surrogate: (observation, action) -> dvx, dvy, domega in m/s and rad/s; actions are clipped to [-1, 1].
            zero_when_off: leave the velocities alone when no engine fires, whatever the surrogate would say.
            render_mode: as in Gymnasium.
        """

        def __init__(
            self, surrogate: Surrogate | None = None, *, zero_when_off: bool = False, render_mode: str | None = None
        ):
            self.surrogate, self.zero_when_off = surrogate, zero_when_off
            self._watched = False
            super().__init__(render_mode=render_mode, continuous=True)
            # Over the parent's own call: a copy is made with these arguments.
            EzPickle.__init__(self, surrogate, zero_when_off=zero_when_off, render_mode=render_mode)

        @property
        def world(self) -> Any:
            """Box2D's world, whose next step is announced."""
            return self._world

        @world.setter
        def world(self, world: Any) -> None:
            self._world = _Announced(world, self._fired)

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            # The parent's reset takes a step, which is not the agent's.
            self._watched = False
            self._seen, info = super().reset(seed=seed, options=options)
            self._watched = True
            return self._seen, info

        def step(self, action: Any) -> Any:
            if not self._watched:
                return super().step(action)
            self._action = np.clip(np.asarray(action, dtype=float), -1, 1)
            self._before = _velocities(self.lander)
            self._seen, reward, terminated, truncated, info = super().step(action)
            return self._seen, reward, terminated, truncated, {**info, "thrust": self._thrust}

        def _fired(self) -> None:
            """The engines have pushed, and nothing has moved yet."""
            if not self._watched:
                return
            if self.surrogate is not None and not (self.zero_when_off and engines_off(self._action)):
                wanted = self._before + _three(self.surrogate(self._seen, self._action))
                self.lander.linearVelocity = (float(wanted[0]), float(wanted[1]))
                self.lander.angularVelocity = float(wanted[2])
            self._thrust = _velocities(self.lander) - self._before

    TappedLander.__qualname__ = "TappedLander"
    return TappedLander


def __getattr__(name: str) -> Any:
    """`TappedLander` as a name of this module, so that it can be imported and pickled like any class."""
    if name == "TappedLander":
        return tapped_lander_class()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class _Announced:
    """A world that is used as the one inside it, and tells before each step."""

    def __init__(self, world: Any, tell: Callable[[], None]):
        object.__setattr__(self, "_inside", world)
        object.__setattr__(self, "_tell", tell)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_inside"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inside, name, value)

    def Step(self, *arguments: Any) -> None:
        self._tell()
        self._inside.Step(*arguments)


def _velocities(body: Any) -> np.ndarray:
    return np.array([*body.linearVelocity, body.angularVelocity])


def _three(increments: Any) -> np.ndarray:
    found = np.asarray(increments, dtype=float)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(f"a surrogate must return three finite numbers (dvx, dvy, domega); got {increments!r}")
    return found


def _lunar_lander() -> Any:
    try:
        with warnings.catch_warnings():
            # Said by Python of the types that SWIG makes for Box2D, once and whoever imports it.
            warnings.filterwarnings("ignore", "builtin type .* has no __module__ attribute", DeprecationWarning)
            import Box2D  # noqa: F401
            from gymnasium.envs.box2d.lunar_lander import LunarLander
    except ImportError:
        raise InputError("lander needs gymnasium and Box2D: run `pip install 'forebear[control]'`") from None
    return LunarLander
