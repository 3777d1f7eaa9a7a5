"""A seven-joint arm that reaches for a point, simulated by MuJoCo and pushed by random torques."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.systems._paths import numbered, positive
from forebear.systems.system import System

JOINTS, LARGEST_TORQUE, EFFORT = 7, 20.0, 0.01
DT, FRAMES = 0.01, 2
"""seconds of one MuJoCo step, and how many make one step of the environment"""
BASE, GOAL, GOAL_SPREAD = (0.0, -0.188, 0.0), (0.0, 0.25, 0.0), 0.1
SHOULDER, UPPER_ARM, FOREARM, FINGER, TIP = 0.1, 0.4, 0.321, 0.07691, 0.09137
"""metres along x: to the shoulder, the elbow, the wrist, from the wrist to the fingers, and each half of a finger"""
ANGLES, SPEEDS, TORQUES = numbered("theta", JOINTS), numbered("omega", JOINTS), numbered("a", JOINTS)


class Link(NamedTuple):
    """A body of the arm, seen from the one that carries it; without an axis it is fixed to that one."""

    name: str
    x: float
    geoms: tuple[str, ...]
    axis: str = ""
    limits: tuple[float, float] | None = None
    """None: the joint turns for ever"""
    damping: float = 0.0


def _capsule(radius: float, start: str, end: str) -> str:
    return f'<geom type="capsule" size="{radius}" fromto="{start} {end}"/>'


def _across(radius: float, half: float, axis: str) -> str:
    """A capsule centred in its body, along one axis."""
    ends = ({"x": f"{s}{half} 0 0", "y": f"0 {s}{half} 0"}[axis] for s in "-+")
    return _capsule(radius, *ends)


def _ball(radius: float, place: str) -> str:
    return f'<geom type="sphere" size="{radius}" pos="{place}"/>'


_HEAD = (_ball(0.05, "-.06 .05 .2"), _ball(0.05, ".06 .05 .2"), _ball(0.03, "-.06 .09 .2"), _ball(0.03, ".06 .09 .2"))
LINKS = (
    Link("shoulder pan", 0, (*_HEAD, _capsule(0.1, "0 0 -.4", "0 0 .2")), "z", (-2.2854, 1.714602), 10),
    Link("shoulder lift", SHOULDER, (_across(0.1, 0.1, "y"),), "y", (-0.5236, 1.3963), 10),
    Link("upper arm roll", 0, (_across(0.02, 0.1, "x"),), "x", (-3.9, 0.8), 0.1),
    Link("upper arm", 0, (_capsule(0.06, "0 0 0", f"{UPPER_ARM} 0 0"),)),
    Link("elbow flex", UPPER_ARM, (_across(0.06, 0.02, "y"),), "y", (-2.3213, 0), 1),
    Link("forearm roll", 0, (_across(0.02, 0.1, "x"),), "x", None, 0.1),
    Link("forearm", 0, (_capsule(0.05, "0 0 0", f"{FOREARM} 0 0"),)),
    Link("wrist flex", FOREARM, (_across(0.01, 0.02, "y"),), "y", (-2.094, 0), 0.1),
    Link("wrist roll", 0, (_across(0.01, 0.02, "x"),), "x", None, 0.1),
)
"""the chain, each carried by the one before it; palm and fingers are fixed to the last"""


class Arm:
    """The arm in MuJoCo, without gravity and without contacts.

    An observation has 17 numbers: 7 angles in radians, not wrapped, 3 coordinates of the goal, 7 angular velocities.
    The goal rests, so this is the whole state, and one step, of 0.02 s, is a function of observation and action: the
    constraint solver starts from nothing each time and remembers no earlier step. An action is 7 torques, held within
    20. The reward is `-|end effector - goal|^2 - 0.01 |action|^2`, with the end effector where the step has left it.
    Episodes do not end. The limits of the joints are stiff springs, which hard torques pass by up to 0.3 rad.

    >>> arm = Arm()
    >>> start = arm.reset(np.random.default_rng(0))
    >>> after, reward = arm.step(np.ones(7))
    >>> many, rewards = arm.step_many(np.stack([start, start]), np.ones((2, 7)))
    >>> after.shape, bool((many == after).all()), bool((rewards == reward).all())
    ((17,), True, True)
    """

    def __init__(self) -> None:
        self._mujoco = _mujoco()
        self.model = self._mujoco.MjModel.from_xml_string(_xml())
        self.data = self._mujoco.MjData(self.model)
        self._others = self._mujoco.MjData(self.model)

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        """Stretched out, at rest, and with a new goal: the observation.

        >>> Arm().reset(np.random.default_rng(0)).round(2).tolist()[7:10]
        [0.01, 0.24, 0.06]
        """
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[JOINTS:] = GOAL + GOAL_SPREAD * rng.standard_normal(3)
        return self._observation()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float]:
        """Apply one action: the next observation and the reward.

        >>> arm = Arm()
        >>> _ = arm.reset(np.random.default_rng(0))
        >>> observation, reward = arm.step(np.zeros(7))
        >>> round(reward, 2)
        -1.14
        """
        held = np.clip(np.asarray(action, dtype=float), -LARGEST_TORQUE, LARGEST_TORQUE)
        self.data.ctrl[:] = held
        self._mujoco.mj_step(self.model, self.data, FRAMES)
        observation = self._observation()
        return observation, float(self.reward(observation, held))

    def step_many(self, observations: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One step of several arms, rows of (arms, 17) and (arms, 7): next observations and rewards.

        The numbers are those of `step`, and the arm that `reset` and `step` move stays where it is.

        >>> arm = Arm()
        >>> rest = np.stack([arm.reset(np.random.default_rng(i)) for i in range(3)])
        >>> after, rewards = arm.step_many(rest, np.zeros((3, 7)))
        >>> after.shape, rewards.shape
        ((3, 17), (3,))
        """
        held = np.clip(np.asarray(actions, dtype=float), -LARGEST_TORQUE, LARGEST_TORQUE)
        goals = JOINTS + len(GOAL)
        # MuJoCo's own order: time, positions, velocities; those of the goal are zero
        state = np.zeros((len(observations), 1 + 2 * goals))
        state[:, 1 : 1 + goals] = observations[:, :goals]
        state[:, 1 + goals : 1 + goals + JOINTS] = observations[:, goals:]
        controls = np.repeat(held[:, None], FRAMES, axis=1)
        moved, _ = self._mujoco.rollout.rollout(self.model, self._others, state, controls)
        after = moved[:, -1, 1 : 1 + goals + JOINTS]
        return after, self.reward(after, held)

    @staticmethod
    def end_effector(q: Any) -> Any:
        """Where the point between the finger tips is, (..., 3), at joint angles (..., 7); numpy or JAX arrays.

        Rotations and lengths in turn, from the wrist back to the base. The last joint does not move the point.

        >>> Arm.end_effector(np.zeros(7)).round(5).tolist()
        [0.98928, -0.188, 0.0]
        """
        xp = q.__array_namespace__()
        zero = xp.zeros_like(q[..., 0])
        point = [zero + FINGER + TIP, zero, zero]
        for length, turns in ((FOREARM, ((1, 5),)), (UPPER_ARM, ((0, 4), (1, 3))), (SHOULDER, ((0, 2), (1, 1)))):
            for axis, joint in turns:
                point = _turned(xp, point, axis, q[..., joint])
            point = [point[0] + length, *point[1:]]
        point = _turned(xp, point, 2, q[..., 0])
        return xp.stack([value + base for value, base in zip(point, BASE, strict=True)], axis=-1)

    @staticmethod
    def reward(observation: Any, action: Any) -> Any:
        """The reward (...) of observations (..., 17) that actions (..., 7) have led to; numpy or JAX arrays.

        >>> Arm.reward(np.zeros(17), np.ones(7)).round(5).tolist()
        -1.08402
        """
        miss = Arm.end_effector(observation[..., :JOINTS]) - observation[..., JOINTS : JOINTS + len(GOAL)]
        return -(miss**2).sum(axis=-1) - EFFORT * (action**2).sum(axis=-1)

    def _observation(self) -> np.ndarray:
        return np.concatenate([self.data.qpos, self.data.qvel[:JOINTS]])


class Rollouts(NamedTuple):
    """Episodes side by side."""

    observations: np.ndarray
    """(rollouts, steps + 1, 17)"""
    actions: np.ndarray
    """(rollouts, steps, 7)"""
    rewards: np.ndarray
    """(rollouts, steps)"""


def reacher_rollouts(rollouts: int = 100, steps: int = 150, seed: int = 0) -> Rollouts:
    """Episodes of the arm under torques that are uniform within 20, fresh at each step.

    Each has a generator of its own, so the first ones do not depend on how many follow.

    >>> reacher_rollouts(rollouts=2, steps=3).observations.shape
    (2, 4, 17)
    """
    positive(rollouts=rollouts, steps=steps)
    arm, rngs = Arm(), np.random.default_rng(seed).spawn(rollouts)
    seen = [np.stack([arm.reset(rng) for rng in rngs])]
    actions = np.stack([rng.uniform(-LARGEST_TORQUE, LARGEST_TORQUE, (steps, JOINTS)) for rng in rngs])
    rewards = np.empty((rollouts, steps))
    for n in range(steps):
        after, rewards[:, n] = arm.step_many(seen[-1], actions[:, n])
        seen.append(after)
    return Rollouts(np.stack(seen, axis=1), actions, rewards)


def reacher(rollouts: int = 100, steps: int = 150, seed: int = 0) -> System:
    """Increments of angles and velocities over one step of 0.02 s, against state and torques.

    The noise is in the actions: given state and torques the step is exact. Which inputs each increment depends on is
    not known target by target, for a chain of bodies couples all joints to some degree, and `ancestors` is empty.

    The angles are not wrapped and not declared periodic, as in the published runs. It matters: joints 5 and 7 turn
    without end and wind up to tens of radians, where a kernel in the angle itself no longer sees what repeats every
    turn. Joints 1 and 2 hardly move. So theta1, theta2, theta5 and theta7 were pruned there.

    Needs the extra `control`.

    >>> data = reacher(rollouts=2, steps=5)
    >>> data.table.shape, data.targets[:2], data.ancestors
    ((10, 35), ('dtheta1', 'dtheta2'), {})
    """
    seen, actions, _ = reacher_rollouts(rollouts, steps, seed)
    # without the goal, which nothing pushes
    states = np.delete(seen, range(JOINTS, JOINTS + len(GOAL)), axis=2)
    rows = np.concatenate([states[:, :-1], actions, np.diff(states, axis=1)], axis=2)
    targets = tuple(f"d{name}" for name in ANGLES + SPEEDS)
    return System(
        name="reacher",
        table=pd.DataFrame(rows.reshape(-1, rows.shape[-1]), columns=[*ANGLES, *SPEEDS, *TORQUES, *targets]),
        targets=targets,
        candidates=ANGLES + SPEEDS + TORQUES,
        ancestors={},
    )


def _turned(xp: ModuleType, point: list[Any], axis: int, angle: Any) -> list[Any]:
    """Coordinates of a point after a turn about axis 0, 1 or 2."""
    b, c = (axis + 1) % 3, (axis + 2) % 3
    cos, sin = xp.cos(angle), xp.sin(angle)
    moved = list(point)
    moved[b], moved[c] = cos * point[b] - sin * point[c], sin * point[b] + cos * point[c]
    return moved


def _mujoco() -> Any:
    try:
        import mujoco
        import mujoco.rollout
    except ImportError:
        raise InputError("reacher needs mujoco: run `pip install 'forebear[control]'`") from None
    return mujoco


def _finger(side: str) -> str:
    bend = f"{TIP} {side}.00495 0"
    return (
        f'<body pos="{FINGER} {side}.03 0">{_capsule(0.01, "0 0 0", bend)}'
        f'<body name="tip{side}" pos="{bend}">{_capsule(0.01, "0 0 0", f"{TIP} 0 0")}</body></body>'
    )


def _body(link: Link, base: str, carried: str) -> str:
    ends = "" if link.limits is None else f' range="{link.limits[0]} {link.limits[1]}"'
    direction = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}.get(link.axis)
    joint = f'<joint name="{link.name}" axis="{direction}" damping="{link.damping}"{ends}/>' if direction else ""
    return f'<body name="{link.name}" pos="{base}">{joint}{"".join(link.geoms)}{carried}</body>'


def _xml() -> str:
    """The model: the chain from its far end inwards, the goal on three slides, a motor for each joint."""
    tree = f'<body name="palm">{_capsule(0.05, ".05 0 -.02", ".05 0 .02")}</body>{_finger("+")}{_finger("-")}'
    for place, link in reversed(list(enumerate(LINKS))):
        tree = _body(link, f"{link.x} 0 0" if place else " ".join(map(str, BASE)), tree)
    slides = "".join(
        f'<joint type="slide" axis="{axis}" armature="0" damping="0"/>' for axis in ("1 0 0", "0 1 0", "0 0 1")
    )
    motors = "".join(
        f'<motor joint="{link.name}" gear="1" ctrlrange="{-LARGEST_TORQUE} {LARGEST_TORQUE}"/>'
        for link in LINKS
        if link.axis
    )
    return f"""
    <mujoco model="reacher">
      <compiler angle="radian" inertiafromgeom="true" autolimits="true"/>
      <option timestep="{DT}" integrator="RK4" gravity="0 0 0"><flag warmstart="disable"/></option>
      <default>
        <joint type="hinge" armature="0.04" margin="0.002"/>
        <geom density="1000" margin="0.002" condim="1" contype="0" conaffinity="0"/>
      </default>
      <worldbody>
        {tree}
        <body name="goal">{slides}{_ball(0.05, "0 0 0")}</body>
      </worldbody>
      <actuator>{motors}</actuator>
    </mujoco>"""
