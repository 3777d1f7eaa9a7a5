"""Twins as environments to plan and to train policies in, for Gymnasium and Stable-Baselines3."""

try:
    import gymnasium as _gymnasium
except ImportError:
    raise ImportError("forebear.envs needs gymnasium: run `pip install 'forebear[control]'`") from None

from forebear.envs.single import TwinEnv as TwinEnv
from forebear.envs.vector import TwinVectorEnv as TwinVectorEnv

del _gymnasium

__all__ = ["TwinEnv", "TwinVectorEnv"]
