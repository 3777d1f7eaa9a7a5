"""Lunar Lander: what the engines do to the velocities."""

from __future__ import annotations

from functools import partial

from forebear.systems.lander import lander
from forebear_experiments.framework.experiment import (
    CERTIFIED,
    JUMP,
    Claim,
    Experiment,
    Findings,
    Part,
    exact_claim,
    named,
    tally,
)

PUBLISHED = {"dvx": ("theta", "a1", "a2"), "dvy": ("theta", "a1"), "domega": ("a2",)}
EQUATIONS = ("theta", "a1", "a2")
"""what the closed form reads, for each of the three; a2 in dvy, and theta and a1 in domega, weakly"""

# M = 8,000 and a lengthscale of 1 in the text, 5,000 and 2 in the released scripts: only the second gives the
# published sets with an exact sampler.
_PART = Part(
    lander,
    partial(lander, 60),
    published=PUBLISHED,
    paper={"epochs": 1_000, "lengthscale": 2.0, "distilled": 5_000},
)


def _claims(findings: Findings) -> list[Claim]:
    claims = [exact_claim(findings, "", t, JUMP, names, names) for t, names in PUBLISHED.items()]
    for target, names in PUBLISHED.items():
        chosen = findings.chosen("", target, CERTIFIED)
        fits = all(set(names) <= set(found) <= set(EQUATIONS) for found in chosen)
        what = f"{target}: all of {named(names)}, and nothing that the equations do not read (certified rule)"
        claims.append(Claim(what, named(names), tally(chosen), fits))
    return claims


EXPERIMENTS = {
    "lander": Experiment(
        "Lunar Lander, thrust stage",
        (_PART,),
        _claims,
        runs=3,
        decided="5,000 draws and a lengthscale of 2, as in the released scripts; the text says 8,000 and 1",
    )
}
