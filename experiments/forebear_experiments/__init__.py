"""The experiments of the publication and the benchmarks of forebear: `forebear reproduce` and `forebear bench`.

One folder per experiment, with its rig (what is controlled or measured), its claims, its figures and the text of its
page; every module that `EXPERIMENTS` names holds an `Experiment` for each of its names. What the experiments share is
in `framework`, and `benchmarks` has one file per name of `forebear bench`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from forebear.errors import InputError, near_miss

if TYPE_CHECKING:
    from forebear_experiments.framework.experiment import Experiment

__version__ = "0.6.0"

EXPERIMENTS = {
    "lorenz63": ("lorenz63.discovery", "stochastic Lorenz-63: which states shape the law of each increment"),
    "lorenz63-residual": (
        "lorenz63.discovery",
        "stochastic Lorenz-63 with known drift: which states shape the noise",
    ),
    "lorenz96": ("lorenz96.discovery", "two-scale Lorenz-96, ten sites: the four neighbours of every site"),
    "lorenz96-scaling": ("lorenz96.discovery", "two-scale Lorenz-96 from 10 to 200 sites, and the time of pruning"),
    "pendulum": ("pendulum.discovery", "a noisy pendulum whose velocity is hidden: which lags are its memory"),
    "pendulum-control": ("pendulum.control", "the pendulum swung up by policies that were trained in twins"),
    "heat": ("heat.discovery", "a stochastic heat equation: the neighbourhood of both controlled ends"),
    "heat-control": ("heat.control", "the heat equation under model predictive control, with twins of both ends"),
    "lander": ("lander.discovery", "Lunar Lander: which inputs shape the thrust"),
    "lander-control": ("lander.control", "Lunar Lander landed by policies trained with the thrust of twins"),
    "lander-hover": ("lander.hover", "Lunar Lander: how often policies hover, in the true environment and in a twin"),
    "reacher": ("reacher.discovery", "an arm of seven joints: what its motion does not depend on"),
    "reacher-control": ("reacher.control", "the arm learns to reach: with all inputs, and with the discovered ones"),
    "reacher-goal": ("reacher.goal", "the arm again: should it learn that its goal stays, or take that as given"),
    "oil": ("oil.discovery", "oil returns and geopolitical risk, over four decades and in windows"),
    "kraichnan-orszag": ("kraichnan_orszag.discovery", "the Kraichnan-Orszag problem with noise"),
    "algebraic": ("algebraic.discovery", "laws whose spread, modes or tails alone move"),
    "langevin": ("langevin.discovery", "a double well whose momentum is hidden: which lags are its memory"),
    "michaelis-menten": ("michaelis_menten.discovery", "enzyme kinetics as a jump process"),
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
    return import_module(f"forebear_experiments.{EXPERIMENTS[name][0]}").EXPERIMENTS[name]
