"""The published experiments, each by one call: data, training, discovery, figures, and a table of claims.

One file an experiment; each holds an `Experiment` for every name below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from forebear.errors import InputError, near_miss

if TYPE_CHECKING:
    from forebear.reproduce.experiment import Experiment

EXPERIMENTS = {
    "lorenz63": ("lorenz63", "stochastic Lorenz-63: which states shape the law of each increment"),
    "lorenz63-residual": ("lorenz63", "stochastic Lorenz-63 with known drift: which states shape the noise"),
    "lorenz96": ("lorenz96", "two-scale Lorenz-96, ten sites: the four neighbours of every site"),
    "lorenz96-scaling": ("lorenz96", "two-scale Lorenz-96 from 10 to 200 sites, and the time of pruning"),
    "pendulum": ("pendulum", "a noisy pendulum whose velocity is hidden: which lags are its memory"),
    "pendulum-control": ("pendulum_control", "the pendulum swung up by policies that were trained in twins"),
    "heat": ("heat", "a stochastic heat equation: the neighbourhood of both controlled ends"),
    "heat-control": ("heat_control", "the heat equation under model predictive control, with twins of both ends"),
    "lander": ("lander", "Lunar Lander: which inputs shape the thrust"),
    "lander-control": ("lander_control", "Lunar Lander landed by policies trained with the thrust of twins"),
    "lander-hover": ("lander_hover", "Lunar Lander: how often policies hover, in the true environment and in a twin"),
    "reacher": ("reacher", "an arm of seven joints: what its motion does not depend on"),
    "reacher-control": ("reacher_control", "the arm learns to reach: with all inputs, and with the discovered ones"),
    "reacher-goal": (
        "reacher_goal",
        "the arm again: should it learn that its goal stays, or take that as given",
    ),
    "oil": ("oil", "oil returns and geopolitical risk, over four decades and in windows"),
    "kraichnan-orszag": ("kraichnan_orszag", "the Kraichnan-Orszag problem with noise"),
    "algebraic": ("algebraic", "laws whose spread, modes or tails alone move"),
    "langevin": ("langevin", "a double well whose momentum is hidden: which lags are its memory"),
    "michaelis-menten": ("michaelis_menten", "enzyme kinetics as a jump process"),
}
"""name -> the module that holds it, what it is about"""


def find_experiment(name: str) -> Experiment:
    """An experiment by its name.

    >>> find_experiment("heat").title
    'Stochastic heat equation'
    >>> find_experiment("haet")
    Traceback (most recent call last):
    forebear.errors.InputError: there is no experiment 'haet'. Did you mean 'heat'?
    """
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment '{name}'. {near_miss(name, EXPERIMENTS)}")
    return import_module(f"forebear.reproduce.{EXPERIMENTS[name][0]}").EXPERIMENTS[name]
