"""Soft actor-critic in any vector environment, by SBX; a training that is interrupted goes on where it was kept."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from forebear.errors import InputError, check_fields, positive, whole

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

Act = Callable[[np.ndarray], np.ndarray]
"""observations (rows, size) -> actions (rows, actions)"""


@dataclass(frozen=True)
class SacSettings:
    """Hyper-parameters; the defaults are those of Stable-Baselines3, but for the size of the buffer."""

    timesteps: int = 200_000
    """transitions, over all environments"""
    rate: float = 3e-4
    decays: bool = False
    """whether the learning rate falls linearly to zero; SBX leaves that of the entropy coefficient as it is"""
    buffer: int = 200_000
    batch: int = 256
    tau: float = 0.005
    discount: float = 0.99
    widths: tuple[int, ...] = (256, 256)
    learning_starts: int = 100
    updates: int = 1
    """after each step of all environments, which is as many transitions as there are environments"""
    evaluate_every: int = 10_000
    """transitions from one evaluation, and one checkpoint, to the next"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS, word="")


_CHECKS = {
    **dict.fromkeys(("timesteps", "buffer", "batch", "updates", "evaluate_every"), whole()),
    "learning_starts": whole(0),
    **dict.fromkeys(("rate", "tau", "discount"), positive()),
}


@dataclass
class Course:
    """How a training goes."""

    curve: list[dict[str, float]] = field(default_factory=list)
    """of each evaluation: transitions so far, mean return and its spread over episodes, seconds so far; the entropy
    coefficient, and the training episodes that ended since the last one (see `how_they_ended`)"""
    best: Any = None
    """the actor's parameters at the best evaluation"""
    seconds: float = 0.0


def how_they_ended(infos: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of training episodes: how many, their mean return and length, and the share cut off by a limit of time.

    Arguments:
        infos: what Stable-Baselines3 tells of a step with which an episode ended, one each.

    >>> how_they_ended([{"episode": {"r": 3.0, "l": 3}, "TimeLimit.truncated": True}])
    {'episodes': 1, 'trained_return': 3.0, 'trained_length': 3.0, 'cut_off': 1.0}
    """
    if not infos:
        return {"episodes": 0}
    ends = [(info["episode"]["r"], info["episode"]["l"], info.get("TimeLimit.truncated", False)) for info in infos]
    names = ("trained_return", "trained_length", "cut_off")
    return {"episodes": len(infos), **dict(zip(names, np.mean(ends, axis=0).tolist(), strict=True))}


@dataclass(frozen=True)
class Trained:
    """What a training leaves behind."""

    final: Act
    """the policy at its end, without noise"""
    best: Act
    """the policy of the best evaluation, the first of equals"""
    course: Course


def train_sac(
    envs: VectorEnv,
    settings: SacSettings,
    *,
    seed: int,
    score: Callable[[Act], np.ndarray],
    place: Path | None = None,
) -> Trained:
    """Train, and evaluate on the way; needs the extra `sb3`.

    Arguments:
        envs: environments that reset in the same step. They run on the CPU, whatever the policy is trained on.
        seed: of networks, exploration and environments.
        score: plays some episodes with a policy and gives their returns.
        place: a folder for checkpoints; a training that finds one of its own there goes on from it, with new
            episodes. None keeps nothing.
    """
    from forebear.control.sac_state import keep, take_up

    model = sac_model(envs, settings, seed)
    course = Course()
    if place is not None:
        take_up(model, course, place, settings, seed)
    left = settings.timesteps - model.num_timesteps
    if left > 0:
        watch = _watch(model, course, settings, score, lambda: place and keep(model, course, place, settings, seed))
        model.learn(left, callback=watch, log_interval=10**9, reset_num_timesteps=model.num_timesteps == 0)
    return Trained(_act(model, model.policy.actor_state.params), _act(model, course.best), course)


def host() -> AbstractContextManager[Any]:
    """What is made or called inside lives on the CPU: an environment of a few rows is not worth the way to a GPU."""
    return jax.default_device(jax.devices("cpu")[0])


def on_cpu(envs: VectorEnv) -> VectorEnv:
    """The same environments, stepped on the CPU."""
    from gymnasium.vector import VectorWrapper

    class OnCpu(VectorWrapper):
        def reset(self, **options: Any) -> Any:
            with host():
                return self.env.reset(**options)

        def step(self, actions: Any) -> Any:
            with host():
                return self.env.step(actions)

    return OnCpu(envs)


def sac_model(envs: VectorEnv, settings: SacSettings, seed: int) -> Any:
    """SBX's SAC, ready to learn in environments that reset in the same step; they run on the CPU."""
    from forebear.envs.sb3 import as_sb3

    sac = _sbx()
    from stable_baselines3.common.vec_env import VecMonitor  # pyright: ignore[reportMissingImports]

    rate = settings.rate
    return sac(
        "MlpPolicy",
        VecMonitor(as_sb3(on_cpu(envs))),
        learning_rate=(lambda left: left * rate) if settings.decays else rate,
        buffer_size=settings.buffer,
        learning_starts=settings.learning_starts,
        batch_size=settings.batch,
        tau=settings.tau,
        gamma=settings.discount,
        gradient_steps=settings.updates,
        policy_kwargs={"net_arch": list(settings.widths)},
        seed=seed,
    )


def _watch(
    model: Any, course: Course, settings: SacSettings, score: Callable[[Act], np.ndarray], save: Callable[[], Any]
) -> Any:
    """Evaluates and keeps, after every `evaluate_every` transitions."""
    from stable_baselines3.common.callbacks import BaseCallback  # pyright: ignore[reportMissingImports]

    class Watch(BaseCallback):
        def __init__(self) -> None:
            super().__init__()
            self.next = _after(model.num_timesteps, settings.evaluate_every)
            self.started = time.perf_counter() - course.seconds
            self.ended: list[Mapping[str, Any]] = []

        def _on_step(self) -> bool:
            self.ended += [info for info in self.locals["infos"] if "episode" in info]
            if self.num_timesteps >= self.next:
                self.next = _after(self.num_timesteps, settings.evaluate_every)
                _evaluate(model, course, score, self.started, how_they_ended(self.ended))
                self.ended = []
                save()
            return True

        def _on_training_end(self) -> None:
            course.seconds = time.perf_counter() - self.started
            save()

    return Watch()


def _after(done: int, every: int) -> int:
    return (done // every + 1) * every


def _evaluate(
    model: Any, course: Course, score: Callable[[Act], np.ndarray], started: float, ended: dict[str, float]
) -> None:
    params = model.policy.actor_state.params
    returns = score(_act(model, params))
    mean = float(np.mean(returns))
    if course.best is None or mean > max(row["mean"] for row in course.curve):
        course.best = params
    course.seconds = time.perf_counter() - started
    told = {"timesteps": model.num_timesteps, "mean": mean, "std": float(np.std(returns))}
    told |= {"entropy": float(model.ent_coef_state.apply_fn({"params": model.ent_coef_state.params})), **ended}
    course.curve.append({**told, "seconds": course.seconds})


def _act(model: Any, params: Any) -> Act:
    """The policy with these parameters, without noise."""
    policy = model.policy
    state = policy.actor_state.replace(params=policy.actor_state.params if params is None else params)

    def act(observations: np.ndarray) -> np.ndarray:
        squashed = np.asarray(policy.select_action(state, np.asarray(observations, np.float32)))
        return policy.unscale_action(np.clip(squashed, -1, 1))

    return act


def check_sac() -> None:
    """Say at once that an extra is missing, and not after a twin has been trained."""
    _sbx()


def _sbx() -> Any:
    try:
        with warnings.catch_warnings():
            # What its dependencies say of each other when they are loaded.
            warnings.simplefilter("ignore")
            from sbx import SAC  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError("SAC needs sbx-rl: run `pip install 'forebear[sb3]'`") from None
    return SAC
