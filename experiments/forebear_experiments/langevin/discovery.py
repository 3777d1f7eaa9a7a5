"""A double well whose momentum is hidden: which lags stand in for it, and trajectories of the pruned twin."""

from __future__ import annotations

from functools import partial

from forebear.systems.langevin import langevin
from forebear_experiments.framework.experiment import RULES, Claim, Experiment, Findings, Part, Rows, tally

_TARGET = "dx"
_MOST_LAGS = 4
_PART = Part(
    langevin,
    partial(langevin, 200, 60, 2_000),
    paper={"depth": 2, "activation": "tanh", "batch": 5_000, "epochs": 1_000, "latent_lengthscale": 10.0},
)


def _claims(findings: Findings) -> list[Claim]:
    claims = []
    for rule, word in RULES.items():
        chosen = findings.chosen("", _TARGET, rule)
        few = all({"x_0", "x_1"} <= set(names) and len(names) <= _MOST_LAGS for names in chosen)
        what = f"a compact set of lags: x_0 and x_1, and at most {_MOST_LAGS - 2} more of ten ({word})"
        claims.append(Claim(what, "a compact set of lags", tally(chosen), few))
    for row in findings.measured.get("trajectories", []):
        if "holds" not in row:
            continue
        off, spread = row["rate_ratio"], row["rate_ratio_error"] or float("nan")
        claims.append(
            Claim(
                f"rate of well changes over the simulated one, within a tenth: {row['what']}",
                None,
                f"{off:.3f} ± {spread:.3f}",
                bool(row["holds"]),
            )
        )
        claims.append(
            Claim(
                f"the twin's stationary law of |x|: W1 to a long simulation, {row['what']}",
                "marginals agree",
                f"{row['w1_of_modulus']:.4f} (another simulation: {row['w1_of_modulus_of_a_simulation']:.4f})",
                row["w1_of_modulus"] < 0.01,
            )
        )
    return claims


def _trajectories(seed: int, quick: bool) -> Rows:
    from forebear_experiments.benchmarks.langevin import run

    if not quick:
        return run(seeds=range(seed, seed + 3))
    small = {"trajectories": 100, "points": 60, "rollouts": 200, "length": 120, "settle": 20, "burn_in": 2_000}
    return run(lags=(2,), seeds=(seed,), steps=300, **small)


EXPERIMENTS = {
    "langevin": Experiment(
        "Langevin double well, hidden momentum",
        (_PART,),
        _claims,
        runs=3,
        measures={"trajectories": _trajectories},
    )
}
