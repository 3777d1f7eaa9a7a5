"""Michaelis-Menten kinetics from random starts: the product shapes nothing."""

from __future__ import annotations

from functools import partial

from forebear.systems.michaelis_menten import michaelis_menten
from forebear_experiments.framework.experiment import RULES, Claim, Experiment, Findings, Part, tally

_PART = Part(
    michaelis_menten,
    partial(michaelis_menten, 60, 10.0),
    paper={"depth": 2, "activation": "relu", "batch": 5_000, "epochs": 1_000},
)


def _claims(findings: Findings) -> list[Claim]:
    claims = []
    for rule, word in RULES.items():
        for target in findings.targets(""):
            chosen = findings.chosen("", target, rule)
            never = not any("x4" in names for names in chosen)
            claims.append(Claim(f"{target}: x4 is never an ancestor ({word})", "never", tally(chosen), never))
    return claims


EXPERIMENTS = {
    "michaelis-menten": Experiment(
        "Michaelis-Menten kinetics",
        (_PART,),
        _claims,
        runs=3,
        decided="random starts: from the fixed one, two columns determine the others and no data can tell them apart",
    )
}
