"""Environments around a twin as Stable-Baselines3 wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from forebear.errors import InputError

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv  # pyright: ignore[reportMissingImports]


def as_sb3(envs: VectorEnv) -> VecEnv:
    """A `VecEnv` that steps these environments; they must reset in the same step, as its interface demands.

    Any vector environment of Gymnasium will do whose `info` holds arrays, one environment per row.
    """
    if envs.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
        raise InputError(
            "Stable-Baselines3 resets in the same step: make the environments with "
            "autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP"
        )
    return _adapter()(envs)


@cache
def _adapter() -> Callable[[VectorEnv], VecEnv]:
    """The class, made when it is wanted: its base is not there without Stable-Baselines3."""
    try:
        from stable_baselines3.common.vec_env import VecEnv  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError("as_sb3 needs stable-baselines3: run `pip install 'forebear[sb3]'`") from None

    class SteppedTogether(VecEnv):
        """Many environments that one call steps."""

        def __init__(self, envs: VectorEnv):
            self.envs = envs
            self._actions: Any = None
            super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

        def reset(self) -> np.ndarray:
            # The base keeps one seed for each environment; here one generator serves them all.
            observation, info = self.envs.reset(seed=self._seeds[0])
            self.reset_infos = _rows(info, self.num_envs)
            self._reset_seeds()
            self._reset_options()
            return observation

        def step_async(self, actions: np.ndarray) -> None:
            self._actions = actions

        def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
            observation, reward, terminated, truncated, info = self.envs.step(self._actions)
            over = terminated | truncated
            told = _rows(info, self.num_envs)
            for place in np.flatnonzero(over).tolist():
                # What belongs to the step, and not to the reset after it.
                told[place] = _row(info["final_info"], place)
                told[place]["terminal_observation"] = info["final_obs"][place]
                told[place]["TimeLimit.truncated"] = bool(truncated[place] and not terminated[place])
            return observation, reward.astype(np.float32), over, told

        def close(self) -> None:
            self.envs.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            raise InputError(f"'{attr_name}' cannot be set for single environments: make them anew")

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
            raise InputError(f"'{method_name}' cannot be called on single environments: they step together")

        def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
            return [False for _ in self._get_indices(indices)]

        def get_images(self) -> Sequence[np.ndarray | None]:
            return [None] * self.num_envs

        def _get_indices(self, indices: None | int | Iterable[int]) -> Iterable[int]:
            if indices is None:
                return range(self.num_envs)
            return [indices] if isinstance(indices, int) else indices

    return SteppedTogether


def _rows(info: dict[str, Any], count: int) -> list[dict[str, Any]]:
    return [_row(info, place) for place in range(count)]


def _row(info: dict[str, Any], place: int) -> dict[str, Any]:
    """What one environment has to say; masks and what came before a reset are left out."""
    return {name: values[place] for name, values in info.items() if not name.startswith(("_", "final_"))}
