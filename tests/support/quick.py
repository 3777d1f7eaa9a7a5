"""The same few settings, and so the same few compiled shapes, wherever a test trains and its answer means little."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebear.discovery import settings as discovery
from forebear.flow.settings import FlowSettings
from forebear.twin import settings as twin

TINY: dict[str, Any] = {"steps": 20, "width": 8, "depth": 1}
"""a network that has hardly begun to learn"""
KERNEL: dict[str, Any] = {"lengthscale": 1.0, "latent_lengthscale": 1.0, "nugget": 1.0}
"""nothing to choose"""
QUICK: dict[str, Any] = {"steps": 60, "width": 16, "depth": 2, "subset_steps": 60, "distilled": 100, "tested": 300}
QUICK |= KERNEL
"""a discovery with certificate in a second, once it is compiled"""


def trains_briefly(patch: pytest.MonkeyPatch, steps: int = 300) -> None:
    """Everything is computed as ever, by small networks that are trained for a few hundred steps at most.

    Code that asks for more steps, or for none in particular, gets these.
    """
    real, fast = FlowSettings.total_steps, discovery.PRESETS["fast"]
    small = replace(fast.flow, width=32, depth=2)
    kernel = replace(fast.kernel, distilled=400, **KERNEL)
    patch.setattr(FlowSettings, "total_steps", lambda self, rows: min(steps, real(self, rows)))
    certificate = replace(fast.certificate, tested=2_000)
    patch.setitem(discovery.PRESETS, "fast", replace(fast, flow=small, kernel=kernel, certificate=certificate))
    patch.setattr(twin, "_FLOW", replace(twin._FLOW, width=32, depth=2, batch=512, ode_steps=8))
