"""Stochastic heat equation with noisy, controlled ends."""

from __future__ import annotations

from functools import partial

from forebear.systems.heat import heat
from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Part, set_claims

_PART = Part(
    heat,
    partial(heat, 40, 100),
    published={"dx1": ("x1", "x2", "u1"), "dx10": ("x9", "x10", "u2")},
    paper={"epochs": 1_000},
)


def _claims(findings: Findings) -> list[Claim]:
    return set_claims(findings, _PART)


EXPERIMENTS = {"heat": Experiment("Stochastic heat equation", (_PART,), _claims, runs=5)}
