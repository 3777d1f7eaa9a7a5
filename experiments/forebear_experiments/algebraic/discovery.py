"""Three laws of which only the spread, the modes or the tails move."""

from __future__ import annotations

from functools import partial

from forebear.systems.algebraic import algebraic
from forebear_experiments.framework.experiment import Claim, Experiment, Findings, Part, set_claims

_TRUTH = {"y1": "x1", "y2": "x3", "y3": "x2"}
_ROWS = {"y1": 1_000, "y2": 1_000, "y3": 10_000}
_KERNELS = {
    "y1": {"latent_lengthscale": 1.0, "nugget": 0.1},
    "y2": {"latent_lengthscale": 0.1, "nugget": 1.0},
    "y3": {"latent_lengthscale": 1.0, "nugget": 0.1},
}

_PARTS = tuple(
    Part(
        partial(algebraic, rows),
        partial(algebraic, min(rows, 2_000)),
        f"{target}, {rows:,} rows",
        targets=(target,),
        published={target: (_TRUTH[target],)},
        paper={"activation": "relu", "epochs": 5_000, "lengthscale": 5.0, **_KERNELS[target]},
    )
    for target, rows in _ROWS.items()
)


def _claims(findings: Findings) -> list[Claim]:
    return [claim for part in _PARTS for claim in set_claims(findings, part)]


EXPERIMENTS = {"algebraic": Experiment("Algebraic system", _PARTS, _claims, runs=10)}
