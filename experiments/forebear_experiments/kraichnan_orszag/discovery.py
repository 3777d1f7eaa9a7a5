"""The Kraichnan-Orszag problem with noise, and the distance of its twins to the exact laws."""

from __future__ import annotations

from functools import partial

from forebear.systems.kraichnan_orszag import kraichnan_orszag
from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Part, Rows, set_claims

_PART = Part(
    kraichnan_orszag,
    partial(kraichnan_orszag, 50, 100),
    published={"dx1": ("x1", "x3"), "dx2": ("x2", "x3"), "dx3": ("x1", "x2")},
    paper={"depth": 2, "batch": 5_000, "epochs": 500},
)


def _claims(findings: Findings) -> list[Claim]:
    claims = set_claims(findings, _PART)
    for row in findings.measured.get("twins", []):
        measured, published = row["w1"], row["published_w1"]
        claims.append(
            Claim(
                f"W1 to the exact law, {row['what']}",
                f"{published[0]:.2e} ± {published[1]:.2e}",
                f"{measured[0]:.2e} ± {measured[1]:.2e}",
                bool(row["holds"]),
            )
        )
    return claims


def _twins(seed: int, quick: bool) -> Rows:
    from forebear_experiments.benchmarks.twin_ko import run

    if quick:
        return run(trajectories=10, length=200, inputs=50, draws=500, seed=seed, steps=300)
    return run(seed=seed)


EXPERIMENTS = {
    "kraichnan-orszag": Experiment(
        "Stochastic Kraichnan-Orszag problem", (_PART,), _claims, runs=5, measures={"twins": _twins}
    )
}
