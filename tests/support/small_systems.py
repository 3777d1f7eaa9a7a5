"""The simulators at sizes that take a moment."""

from __future__ import annotations

from collections.abc import Callable

from forebear import systems
from forebear.systems import System

SMALL: dict[str, Callable[..., System]] = {
    "lorenz63": lambda **k: systems.lorenz63(trajectories=20, steps=500, **k),
    "lorenz63-residual": lambda **k: systems.lorenz63(residuals=True, trajectories=20, steps=500, **k),
    "lorenz96": lambda **k: systems.lorenz96(pairs=300, **k),
    "kraichnan-orszag": lambda **k: systems.kraichnan_orszag(trajectories=50, steps=200, **k),
    "algebraic": systems.algebraic,
    "heat": lambda **k: systems.heat(trajectories=100, steps=100, **k),
    "pendulum": lambda **k: systems.pendulum(episodes=100, **k),
    "langevin": lambda **k: systems.langevin(trajectories=20, points=15, burn_in=100, **k),
    "michaelis-menten": lambda **k: systems.michaelis_menten(paths=20, duration=5.0, **k),
}
