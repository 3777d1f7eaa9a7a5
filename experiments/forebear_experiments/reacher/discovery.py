"""An arm of seven joints: which angles, velocities and torques its motion depends on."""

from __future__ import annotations

from functools import partial

from forebear.systems.reacher import reacher
from forebear_experiments.framework.experiment import RULES, Claim, Experiment, Findings, Part, named, tally

NEVER = ("theta1", "theta2", "theta5", "theta7")
PHYSICS = {
    "theta2": "the inertia about the vertical axis falls as the shoulder lifts, so theta2 shapes how joint 1 moves"
}
"""what an input does, if it does something after all"""
ACTIONS = tuple(f"a{joint}" for joint in range(1, 8))

# Fourteen outputs, and their dependence pair by pair, are a lot to test.
_TESTED = {"tested": 4_000}

_PART = Part(
    reacher,
    partial(reacher, 20, 100),
    joint=True,
    paper={
        "width": 128,
        "epochs": 1_000,
        "lengthscale": 10.0,
        "latent_lengthscale": 10.0,
        "distilled": 2_000,
        **_TESTED,
    },
    fast=_TESTED,
)


def union(findings: Findings, rule: str) -> list[tuple[str, ...]]:
    """What any of the fourteen outputs needs, in every run."""
    targets = findings.targets("")
    runs = zip(*(findings.chosen("", target, rule) for target in targets), strict=True)
    units = findings.answers[""][0]["targets"][targets[0]]["units"]
    return [tuple(unit for unit in units if any(unit in names for names in run)) for run in runs]


def _claims(findings: Findings) -> list[Claim]:
    passing = [told["passes"] for record in findings.answers[""] for told in record["targets"].values()]
    claims = [
        Claim(
            "the certificate of every output passes",
            None,
            f"{sum(passing)} of {len(passing)}",
            all(passing),
            "the motion has no noise: whatever the flow gets wrong shows in some input",
        )
    ]
    units = findings.answers[""][0]["targets"][findings.targets("")[0]]["units"]
    for rule, word in RULES.items():
        unions = union(findings, rule)
        pruned = [tuple(unit for unit in units if unit not in names) for names in unions]
        for angle in NEVER:
            count = sum(angle in names for names in unions)
            kept_by = sorted(
                {t for t in findings.targets("") for names in findings.chosen("", t, rule) if angle in names}
            )
            told = f"in {count} of {len(unions)} runs" + (f", for {named(kept_by)}" if kept_by else "")
            why = PHYSICS.get(angle, "") if count else ""
            claims.append(Claim(f"{angle} is no ancestor of any output ({word})", "never", told, count == 0, why))
        kept = sum(set(ACTIONS) <= set(names) for names in unions)
        claims.append(
            Claim(
                f"all seven torques are ancestors ({word})",
                "always",
                f"{kept} of {len(unions)}",
                kept == len(unions),
                "" if kept == len(unions) else "the largest jump stops above torques that move an output little",
            )
        )
        also = "of omega1, omega2 and omega7, none to all also pruned"
        claims.append(Claim(f"pruned from the union ({word})", also, tally(pruned), True))
    return claims


EXPERIMENTS = {"reacher": Experiment("Seven-joint arm", (_PART,), _claims, runs=5)}
